"""Telling how a fit goes: scikit-learn's callbacks, a line for every node, or one that lives."""

import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

import numpy as np

from predictree.grower import Grower, GrowingNode, Watcher
from predictree.inspection.text import rules
from predictree.schema import Column

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:  # before scikit-learn 1.9 there are no callbacks

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Supports nothing."""

    def with_callbacks(method: Callable[..., Any]) -> Callable[..., Any]:
        """Return the method as it is."""
        return method


TICK = 0.5  # seconds between two looks of a living line

__all__ = ["All", "CallbackSupportMixin", "Calls", "Lines", "LiveLine", "with_callbacks"]


class Lines(Watcher):
    """A calm line on stderr for every node that is decided."""

    def __init__(self, columns: Sequence[Column], tree: str, start: float) -> None:
        self.columns, self.tree, self.start = columns, tree, start

    def ends(self, grower: Grower, node: GrowingNode) -> bool:
        """Say what became of a node."""
        loss = grower.problem.loss.name
        what = f"{self.tree}node {node.id} ({len(node.region.train)} rows): "
        if node.split is None:
            what += f"a leaf, {loss} {node.loss:.4g}"
        else:
            rule, _ = rules(node.split, self.columns, 4)
            what += f"{rule}, {loss} {node.loss:.4g} → {node.split_loss:.4g}"
        print(f"{what}  [{time.monotonic() - self.start:.0f} s]", file=sys.stderr, flush=True)
        return False


class LiveLine(Watcher):
    """One line on stderr that always says how far the fit is, if that is a terminal.

    A thread of its own writes it. The loss is not computed there: one of the user's may not be made
    for two threads, and neither are the filters of warnings.
    """

    def __init__(self, tree: str, start: float, time_limit: float | None) -> None:
        self.tree, self.start, self.time_limit = tree, start, time_limit
        self.size = ""

    @contextmanager
    def watching(self, grower: Grower) -> Iterator[None]:
        """Keep the line up to date; at the end it is gone."""
        if not sys.stderr.isatty():
            yield
            return
        done = threading.Event()
        ticker = threading.Thread(target=self._tick, args=(grower, done), daemon=True)
        ticker.start()
        try:
            yield
        finally:
            done.set()
            ticker.join()
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)

    def _tick(self, grower: Grower, done: threading.Event) -> None:
        while not done.wait(TICK):
            line = f"\r\x1b[K{self.tree}{self.line(grower)}"
            print(line, end="", file=sys.stderr, flush=True)

    def begins(self, grower: Grower, node: GrowingNode) -> None:
        """Look at the tree as it stands."""
        n, leaves = len(grower.nodes), len(grower.leaves)
        size = "1 node" if n == 1 else f"{n} nodes, {leaves} leaves"
        self.size = f"{size}, {_loss_of(grower)}, "

    def line(self, grower: Grower) -> str:
        """Return nodes, leaves, loss, fits and time so far."""
        spent = time.monotonic() - self.start
        clock = _minutes(spent)
        if self.time_limit is not None:
            clock += f", {_minutes(max(self.time_limit - spent, 0))} left"
        return f"{self.size}{grower.executor.fits} fits, {clock}"


class Calls(Watcher):
    """The hooks of scikit-learn's callbacks: a task for every tree, in it one for every node.

    Parameters
    ----------
    estimator : estimator
    context : CallbackContext
        Of the fit.
    fitted : callable
        Takes a grower and returns the attributes that a fit has that ended now.
    """

    def __init__(
        self,
        estimator: Any,
        context: Any,
        fitted: Callable[[Grower], Mapping[str, Any]],
    ) -> None:
        self.estimator, self.context, self.fitted = estimator, context, fitted

    @contextmanager
    def watching(self, grower: Grower) -> Iterator[None]:
        """Be a task of the fit."""
        self.tree = self.context.subcontext("tree", max_subtasks=None)
        self.tree.call_on_fit_task_begin(estimator=self.estimator)
        yield
        self.tree.call_on_fit_task_end(estimator=self.estimator, **self._state(grower))

    def begins(self, grower: Grower, node: GrowingNode) -> None:
        """Begin the task of a node."""
        self.node = self.tree.subcontext(f"node {node.id}")
        self.node.call_on_fit_task_begin(estimator=self.estimator)

    def ends(self, grower: Grower, node: GrowingNode) -> bool:
        """End the task of a node; return whether a callback wants no more."""
        state = self._state(grower)
        return bool(self.node.call_on_fit_task_end(estimator=self.estimator, **state))

    def _state(self, grower: Grower) -> dict[str, Any]:
        return {"reconstruction_attributes": lambda: self.fitted(grower)}


class All(Watcher):
    """Several watchers as one."""

    def __init__(self, watchers: Sequence[Watcher]) -> None:
        self.watchers = watchers

    @contextmanager
    def watching(self, grower: Grower) -> Iterator[None]:
        """Watch with all."""
        with ExitStack() as stack:
            for watcher in self.watchers:
                stack.enter_context(watcher.watching(grower))
            yield

    def begins(self, grower: Grower, node: GrowingNode) -> None:
        """Tell all."""
        for watcher in self.watchers:
            watcher.begins(grower, node)

    def ends(self, grower: Grower, node: GrowingNode) -> bool:
        """Tell all; return whether one wants no more."""
        return sum(watcher.ends(grower, node) for watcher in self.watchers) > 0


def _loss_of(grower: Grower) -> str:
    """Return the loss of the tree as it stands, on the rows that judge its splits."""
    problem = grower.problem
    scores = np.full((len(problem.X), problem.n_outputs), np.nan)
    for node in grower.nodes:  # parents come before children
        scores[node.region.v1] = node.scores
    rows = problem.partition.v1
    return f"{problem.loss.name} {problem.loss.value(problem.judged(rows), scores[rows]):.4g}"


def _minutes(seconds: float) -> str:
    return f"{int(seconds) // 60}:{int(seconds) % 60:02d}"
