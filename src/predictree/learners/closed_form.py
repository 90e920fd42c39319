"""Learners with sufficient statistics fit all splits of a node at once.

For a feature with thresholds t₁ < … < t_q the rows of S(C) fall into q + 1 bins. What such a
learner needs to know about a set of rows is a sum over them, so that the left side of a split is a
running sum over bins and the right side the rest. Folds are a further axis of the sums, not further
work: a model trained without a fold has the sum of the others.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from predictree.losses import Labels
from predictree.tree import BoolArray, FloatArray, IntArray, Split

CHUNK = 4096  # rows gathered at a time: they stay in the cache for the product


@dataclass(frozen=True)
class Design:
    """S(C) and V¹(C) of one node, centred and scaled, for the closed forms to share.

    Attributes
    ----------
    train : array of shape (n, 1 + d + t)
        A one, the features and the targets of S(C): the indicator of the second of two classes
        or of each of more, or the label of a regression, brought to mean zero and length one.
    judged : array of shape (v, d)
        The features of V¹(C), with the centre and scale of S(C).
    rows : array of shape (n,)
        The rows of S(C) in X.
    scale : array of shape (d,)
    n_outputs : int
        Columns of the scores.
    label_center, label_scale : float
        Of the label of a regression; 0 and 1 in a classification.
    train_fold, judged_fold : arrays of shape (n,) and (v,)
        The fold in which a row is held out.
    n_folds : int
    """

    train: FloatArray
    judged: FloatArray
    rows: IntArray
    scale: FloatArray
    n_outputs: int
    label_center: float
    label_scale: float
    train_fold: IntArray
    judged_fold: IntArray
    n_folds: int

    @classmethod
    def of(
        cls,
        X: FloatArray,
        y: Labels,
        train: IntArray,
        judged: IntArray,
        n_outputs: int,
        fold: IntArray,
        n_folds: int,
    ) -> "Design":
        """Gather the rows once and bring their columns to one scale."""
        d, n_targets = X.shape[1], max(1, n_outputs if n_outputs > 2 else 1)
        design = np.empty((len(train), 1 + d + n_targets))
        features = design[:, 1 : d + 1]
        design[:, 0] = 1.0
        np.take(X, train, axis=0, out=features, mode="clip")
        center = features.mean(axis=0)
        features -= center
        scale = _lengths(features, center)
        features /= scale
        label_center, label_scale = _fill_targets(design[:, d + 1 :], y[train], n_outputs)
        held = X[judged]
        held -= center
        held /= scale
        return cls(
            design, held, train, scale, n_outputs, label_center, label_scale,
            fold[train], fold[judged], n_folds,
        )  # fmt: skip

    @property
    def n_features(self) -> int:
        """Columns of X."""
        return len(self.scale)

    def as_scores(self, answers: FloatArray) -> FloatArray:
        """Turn answers to the targets, (…, t), into scores, (…, k)."""
        if self.n_outputs == 2:
            return np.concatenate([1.0 - answers, answers], axis=-1)
        return np.asarray(answers * self.label_scale + self.label_center)


def _lengths(features: FloatArray, center: FloatArray) -> FloatArray:
    """Root mean squares of centred columns; 1 for those that are constant up to rounding."""
    length = np.sqrt(np.einsum("ij,ij->j", features, features) / len(features))
    constant = length <= 1e-13 * np.abs(center)
    features[:, constant] = 0.0
    return np.where(constant | (length == 0), 1.0, length)


def _fill_targets(out: FloatArray, y: Labels, n_outputs: int) -> tuple[float, float]:
    if n_outputs == 1:
        center = float(y.mean())
        scale = float(y.std()) or 1.0
        out[:, 0] = (y - center) / scale
        return center, scale
    out[:] = y[:, None] == ([1] if n_outputs == 2 else np.arange(n_outputs))
    return 0.0, 1.0


@dataclass(frozen=True)
class Bins:
    """The splits of one feature, as bins of the training rows.

    Attributes
    ----------
    order : array of shape (n,)
        The training rows, cell after cell; a cell is the part of a bin that is held out in one
        fold.
    ends : array of shape ((q + 1) * (1 + n_folds),)
        Where each cell ends in that order; the first cell of a bin is for rows of no fold.
    goes_left : array of shape (q, v)
        For every split, which judged rows go left.
    n_folds : int
    """

    order: IntArray
    ends: IntArray
    goes_left: BoolArray
    n_folds: int

    @classmethod
    def of(
        cls, splits: Sequence[Split], column: FloatArray, goes_left: BoolArray, design: Design
    ) -> "Bins":
        """Sort the training rows of a feature, none missing, into the bins of its splits."""
        thresholds = np.array([split.threshold for split in splits])
        cells = 1 + design.n_folds
        code = np.searchsorted(thresholds, column, side="right") * cells + design.train_fold + 1
        counts = np.bincount(code, minlength=(len(splits) + 1) * cells)
        few = len(counts) <= 4  # for which a look for each is quicker than sorting
        order = (
            np.concatenate([np.flatnonzero(code == cell) for cell in np.flatnonzero(counts)])
            if few
            else np.argsort(code.astype(np.min_scalar_type(len(counts))), kind="stable")
        )
        return cls(order, np.cumsum(counts), goes_left, design.n_folds)

    def cells(self) -> list[IntArray]:
        """Return the training rows of every cell."""
        return np.split(self.order, self.ends[:-1])

    def side(self, split: int, right: bool) -> IntArray:
        """Return the training rows on one side of a split."""
        border = self.ends[(split + 1) * (1 + self.n_folds) - 1]
        return self.order[border:] if right else self.order[:border]


class ClosedForm(Protocol):
    """A learner that fits all splits of a node at once."""

    def fit_splits(self, bins: Bins) -> FloatArray:
        """Return the scores of the judged rows for every split, each by its own side's model.

        An array (q, v, k), equal up to rounding to what the learner's own fits would give.
        """


def training_sums(cells: FloatArray, n_folds: int) -> FloatArray:
    """Turn sums over cells into sums over training sets: (q, 2, n_folds, …), left and right.

    The training set of fold f has the cells of all other folds. With one fold the validation rows
    are held out, and only the first cell of a bin has rows.
    """
    by_bin = cells.reshape(-1, 1 + n_folds, *cells.shape[1:])
    left = np.cumsum(by_bin[:-1], axis=0)
    right = np.cumsum(by_bin[:0:-1], axis=0)[::-1]  # summed anew: a difference would round more
    sides = np.stack([left, right], axis=1)
    if n_folds == 1:
        return sides[:, :, :1]
    return np.asarray(sides.sum(axis=2, keepdims=True) - sides[:, :, 1:])


def cell_grams(
    rows: FloatArray, root_weight: FloatArray | None, bins: Bins, total: FloatArray
) -> FloatArray:
    """Return Aᵀ A over every cell; a cell with most of the rows is what the others leave."""
    cells = bins.cells()
    rest = next((i for i, cell in enumerate(cells) if 2 * len(cell) > len(rows)), None)
    sums = np.zeros((len(cells), *total.shape))
    for i, cell in enumerate(cells):
        if i != rest:
            sums[i] = gram_of(rows, root_weight, cell)
    if rest is not None:
        sums[rest] = total - sums.sum(axis=0)
    return sums


def gram_of(rows: FloatArray, root_weight: FloatArray | None, chosen: IntArray) -> FloatArray:
    """Return Aᵀ A over the chosen rows times their root weights, gathered a chunk at a time."""
    total = np.zeros((rows.shape[1], rows.shape[1]))
    for start in range(0, len(chosen), CHUNK):
        some = chosen[start : start + CHUNK]
        block = rows[some]
        if root_weight is not None:
            block *= root_weight[some, None]
        total += block.T @ block
    return total
