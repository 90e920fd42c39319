"""Segments: what each leaf of a tree is worth on the held-out rows that fall in it."""

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from predictree.losses import Judged, Loss, probabilities, targets
from predictree.problem import Problem
from predictree.tree import NONE, BoolArray, FloatArray, Tree
from predictree.verdict import Evidence


@dataclass(frozen=True, slots=True)
class Segment:
    """One leaf, judged on the rows of V² that fall in it by models that did not see them.

    With path weights these rows also found the weights, those of the stack as well as the tree's.

    Attributes
    ----------
    leaf : int
        Its id in ``tree_``.
    n : int
        Rows of V² in the leaf.
    base_rate : tuple of float or None
        The share of each class, or the mean label alone; None without rows.
    loss, root_loss : float or None
        Of the tree, and of one stack of all learners; None where the loss is undefined, such as
        AUC on one class.
    gain : float or None
        ``root_loss − loss``: positive where the tree is better.
    error : float or None
        Standard error of the gain; None on fewer than two rows.
    calibration : tuple of (float, float) or None
        Mean prediction and what was observed, for each class, or for the label alone.
    """

    leaf: int
    n: int
    base_rate: tuple[float, ...] | None
    loss: float | None
    root_loss: float | None
    gain: float | None
    error: float | None
    calibration: tuple[tuple[float, float], ...] | None


def segments(tree: Tree, problem: Problem, evidence: Evidence) -> tuple[Segment, ...]:
    """Return a segment for every leaf of a tree, from the evidence that judges it."""
    rows = problem.partition.v2
    leaf_of = tree.apply(problem.X[rows])
    judged = problem.judged(rows)
    return tuple(
        _segment(int(leaf), leaf_of == leaf, problem.loss, judged, evidence)
        for leaf in np.flatnonzero(tree.feature == NONE)
    )


def _segment(leaf: int, here: BoolArray, loss: Loss, rows: Judged, evidence: Evidence) -> Segment:
    inside = Judged(rows.y[here], None if rows.weight is None else rows.weight[here])
    tree, root = evidence.tree[here], evidence.stack[here]
    if not len(inside.y):
        return Segment(leaf, 0, None, None, None, None, None, None)
    mine, its = loss_on(loss, inside, tree), loss_on(loss, inside, root)
    defined = mine is not None and its is not None
    observed = observed_rates(inside, tree.shape[1])
    return Segment(
        leaf,
        len(inside.y),
        observed,
        mine,
        its,
        its - mine if defined else None,  # type: ignore[operator]
        error_on(loss, inside, root, tree) if defined else None,
        tuple(zip(predicted_rates(inside, tree), observed, strict=True)),
    )


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
