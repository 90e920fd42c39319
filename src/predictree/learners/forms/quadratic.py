"""What splits gain by the quadratic model of the log loss at a node's own fit, from sums over rows.

On both sides of a split the node's coefficients take one Newton step, found without each fold and
judged on it by the same quadratic model. That ranks splits nearly as exact fits do; the exact loss
after that one step, which often goes too far, ranks them worse.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from predictree.data.tallies import Binned, Spread, grams, sides
from predictree.learners.forms.design import ClosedForm, Design, on_host
from predictree.model.tree import FloatArray, IntArray

FLAT = 1e-5  # curvature of a row's log loss, as it would be at a probability as small
TRACE = 1e-9  # of the rows' mass, put on every diagonal element
NOTHING = 1e-30  # the same where there is no mass, and no slope either


@dataclass(frozen=True, eq=False)
class Margin:
    """One class against the others at the node's fit.

    Attributes
    ----------
    y : array of shape (n,)
    p : array of shape (n, n_folds)
        Its probability by the models without each fold.
    beta : array of shape (n_folds, 1 + d)
        Their coefficients.
    """

    y: FloatArray
    p: FloatArray
    beta: FloatArray


@dataclass(frozen=True, eq=False)
class Grouped:
    """The rows of a node, fold after fold, and the bins of its features.

    Attributes
    ----------
    order : array of shape (n,)
    ends : sequence of int
        Where each group ends; the last is of rows that no fold holds.
    features : sequence of Binned
        Their rows in that order.
    """

    order: IntArray
    ends: Sequence[int]
    features: Sequence[Binned]


class Stepping(ClosedForm, Protocol):
    """A form that takes steps, and tells for little which splits are worth them."""

    def gains(self, grouped: Grouped, spread: Spread) -> FloatArray:
        """Return what all splits gain by the quadratic model at the node's fit."""


def gains(
    design: Design,
    weight: FloatArray,
    ridge: FloatArray,
    margins: Sequence[Margin],
    grouped: Grouped,
    spread: Spread,
    stretch: float = 1.0,
) -> FloatArray:
    """Return what all splits gain out of fold, by the models of all margins together.

    Margins of several classes that depend on each other are stretched: with k of them each moves
    against the others, and alone it would go too far by k / (k - 1).
    """
    total = np.zeros(sum(len(feature.splits) for feature in grouped.features))
    for margin in margins:
        rows = _scaled(design, weight, margin, stretch)[grouped.order]
        found = zip(
            grouped.features, grams(rows, grouped.features, grouped.ends, spread), strict=True
        )
        total += np.concatenate([_of_feature(*one, margin, ridge) for one in found])
    return total


def _scaled(design: Design, weight: FloatArray, margin: Margin, stretch: float) -> FloatArray:
    """Return rows whose products are curvatures, and minus the slopes without each fold."""
    n, a = len(weight), 1 + design.n_features
    own = margin.p[np.arange(n), np.maximum(design.train_fold, 0)]
    curvature = stretch * np.maximum(own * (1 - own), FLAT)
    response = (margin.y[:, None] - margin.p) / curvature[:, None]
    rows = np.hstack([on_host(design.train)[:, :a], response])
    rows *= np.sqrt(weight * curvature)[:, None]
    return rows


def _of_feature(
    feature: Binned, cells: FloatArray, margin: Margin, ridge: FloatArray
) -> FloatArray:
    """Return what the splits of one feature gain, from its cells."""
    n_folds, a = margin.beta.shape
    fold, place = np.arange(n_folds), np.arange(a)
    both = sides(feature.left, cells)[..., :a, :]
    held = both[:, :, :n_folds]
    rest = both.sum(axis=2, keepdims=True) - held
    curvature = rest[..., :a] + 0.0
    curvature[..., place, place] += ridge + np.maximum(TRACE * rest[..., :1, 0], NOTHING)
    slope = rest[:, :, fold, :, a + fold].transpose(1, 2, 0, 3) - ridge * margin.beta
    of_held = held[:, :, fold, :, a + fold].transpose(1, 2, 0, 3)
    step = np.linalg.solve(curvature, slope[..., None])
    bend = (held[..., :a] @ step)[..., 0]
    gain = (step[..., 0] * (of_held - 0.5 * bend)).sum(axis=-1)
    return np.asarray(gain.sum(axis=(1, 2)))
