"""What one fit of a learner costs: timed and weighed fits on few rows, and how that grows.

Memory is what Python and NumPy allocate during a fit, by `tracemalloc`, plus what the fitted model
weighs beyond that, by pickling it: the nodes of scikit-learn's trees are made in C and show there
alone. The size of the process would tell of all allocations, but not of those that reuse memory
which earlier work gave back; on few rows that is most of them.
"""

import pickle
import time
import tracemalloc
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

import numpy as np

from predictree.learners import Learner
from predictree.model.outputs import Labels
from predictree.model.tree import FloatArray, IntArray
from predictree.run.guard import Failure, attempt

T = TypeVar("T")

SHORT = 0.05  # seconds below which work is timed twice, for the lesser
LEAST, MOST = 0.3, 2.5  # powers of the rows by which a cost may grow
TINY = 1e-6  # seconds, or bytes, that stand for nothing


@dataclass(frozen=True, slots=True)
class Cost:
    """A cost as a function of the rows, known at a few numbers of them.

    Between two of these it is taken to grow by a power of the rows, and beyond by that of the
    nearest two; past the most rows at least by a straight line through the last two: a fixed cost
    that few rows still hide must not make many rows look cheap.

    Attributes
    ----------
    rows : tuple of int
        In rising order.
    costs : tuple of float
    """

    rows: tuple[int, ...]
    costs: tuple[float, ...]

    def at(self, n: float) -> float:
        """Return the cost for so many rows."""
        if n <= 0:
            return 0.0
        if len(self.rows) == 1:
            return self.costs[0] * n / self.rows[0]
        i = min(max(1, int(np.searchsorted(self.rows, n))), len(self.rows) - 1)
        (n1, n2), (c1, c2) = self.rows[i - 1 : i + 1], np.maximum(self.costs[i - 1 : i + 1], TINY)
        exponent = np.clip(np.log(c2 / c1) / np.log(n2 / n1), LEAST, MOST)
        line = c2 + max(0.0, c2 - c1) / (n2 - n1) * (n - n2)
        power = c2 * (n / n2) ** exponent
        return float(max(power, line) if n > n2 else power)


NOTHING = Cost((1,), (0.0,))


@dataclass(frozen=True, slots=True)
class Weight:
    """Bytes of one fit at its peak, and of the model that it leaves."""

    peak: int
    model: int


def timed(work: Callable[[], T]) -> tuple[float, T]:
    """Return the seconds that work takes, and what it returns; short work is done twice."""
    start = time.perf_counter()
    done = work()
    seconds = time.perf_counter() - start
    if seconds < SHORT:
        start = time.perf_counter()
        done = work()
        seconds = min(seconds, time.perf_counter() - start)
    return seconds, done


def weighed(work: Callable[[], Any]) -> Weight:
    """Return what a fit needs at its peak, and what the model that it returns weighs."""
    was_tracing = tracemalloc.is_tracing()
    if not was_tracing:
        tracemalloc.start()
    try:
        tracemalloc.reset_peak()
        before, _ = tracemalloc.get_traced_memory()
        model = work()
        after, peak = tracemalloc.get_traced_memory()
    finally:
        if not was_tracing:
            tracemalloc.stop()
    size = model_size(model)
    untraced = max(0, size - (after - before))
    return Weight(max(0, peak - before) + untraced, size)


def model_size(model: Any) -> int:
    """Return the bytes of a fitted model, as a file of it would have; 0 if it cannot be one."""
    try:
        return len(pickle.dumps(model, protocol=pickle.HIGHEST_PROTOCOL))
    except Exception:  # a model may refuse in any way it likes
        return 0


def memory_of(
    learner: Learner, X: FloatArray, y: Labels, samples: Sequence[IntArray]
) -> tuple[Cost, Cost] | Failure:
    """Return how the peak and the model of a learner's fits grow, from fits on samples of rows.

    What is imported and cached once is not the fit's: a first fit is not weighed.
    """

    def work() -> list[Weight]:
        learner.fit(X, y, samples[0], 0)
        return [weighed(partial(learner.fit, X, y, rows, 0)) for rows in samples]

    found = attempt(learner.name, work)
    if isinstance(found, Failure):
        return found
    rows = tuple(map(len, samples))
    peak = Cost(rows, tuple(float(weight.peak) for weight in found))
    return peak, Cost(rows, tuple(float(weight.model) for weight in found))


def nested_samples(y: Labels, stratify: bool, sizes: Sequence[int]) -> list[IntArray]:
    """Return rows drawn at random, as many as each size, the fewer among the more.

    Classes keep their shares, and at least a row each. Sizes beyond all rows are left out; if all
    are, it is all rows.
    """
    lots = np.random.default_rng(0).permutation(len(y))
    shares = [size / len(y) for size in sizes if size <= len(y)] or [1.0]
    classes = np.unique(y) if stratify else [None]
    strata = [lots if c is None else lots[y[lots] == c] for c in classes]
    return [
        np.sort(np.concatenate([some[: int(np.ceil(share * len(some)))] for some in strata]))
        for share in shares
    ]
