"""Held-out scores, and what they are worth on the rows of a region; None where undefined."""

import math
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from predictree.losses import Judged, Loss
from predictree.model.outputs import probabilities, targets
from predictree.model.tree import FloatArray


@dataclass(frozen=True, slots=True)
class Evidence:
    """Held-out scores on the rows that judge: of the tree, of the stack, of each learner.

    ``stacks`` says in words what the stack is.
    """

    tree: FloatArray
    stack: FloatArray
    learners: Mapping[str, FloatArray]
    stacks: str = "one stack of all learners"


def loss_on(loss: Loss, rows: Judged, scores: FloatArray) -> float | None:
    """Return the loss of scores on the rows of a region, None where it is undefined."""
    return _defined(lambda: loss.value(rows, scores)) if len(rows.y) else None


def error_on(loss: Loss, rows: Judged, before: FloatArray, after: FloatArray) -> float | None:
    """Return the standard error of the gain of some scores over others in a region."""
    if len(rows.y) < 2:
        return None
    if np.array_equal(before, after):
        return 0.0
    return _defined(lambda: loss.error_of_gain(rows, before, after))


def observed_rates(rows: Judged, n_outputs: int) -> tuple[float, ...]:
    """Return the share of each class among rows, or their mean label alone."""
    return _means(targets(rows.y, n_outputs), rows)


def predicted_rates(rows: Judged, scores: FloatArray) -> tuple[float, ...]:
    """Return the mean probability of each class, or the mean prediction alone."""
    return _means(scores if scores.shape[1] == 1 else probabilities(scores), rows)


def _means(values: FloatArray, rows: Judged) -> tuple[float, ...]:
    return tuple(np.average(values, axis=0, weights=rows.weight).tolist())


def _defined(compute: Callable[[], float]) -> float | None:
    """Return a finite number or None.

    A region may be odder than all rows together, and a loss of the user's own may raise anything
    there; that is no reason to lose a finished fit.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            value = float(compute())
        except Exception:
            return None
    return value if math.isfinite(value) else None
