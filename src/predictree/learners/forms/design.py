"""Learners with sufficient statistics fit all splits of a node at once.

For a feature with thresholds t₁ < … < t_q the rows of S(C) fall into q + 1 bins. What such a
learner needs to know about a set of rows is a sum over them, so that the left side of a split is a
running sum over bins and the right side the rest. Folds are a further axis of the sums, not further
work: a model trained without a fold has the sum of the others.

What is large here, the rows and their products, is an array of any library that keeps to the array
API standard; what is small, a system of equations a training set, is solved by NumPy.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Protocol

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from predictree.model.outputs import Labels
from predictree.model.tree import BoolArray, FloatArray, IntArray, Split

AnyArray = Any  # of NumPy or of another library that keeps to the array API standard
CHUNK = 4096  # rows gathered at a time: they stay in the cache for the product


@dataclass(frozen=True)
class Design:
    """S(C) and V¹(C) of one node, centred and scaled, for the closed forms to share.

    Features that never vary on S(C) are left out: a coefficient of theirs is zero.

    Attributes
    ----------
    train : array of shape (n, 1 + d + t)
        A one, the features and the targets of S(C): the indicator of the second of two classes
        or of each of more, or the label of a regression, brought to mean zero and length one.
    judged : array of shape (v, d)
        The features of V¹(C), with the centre and scale of S(C).
    rows : array of shape (n,)
        The rows of S(C) in X.
    columns : array of shape (d,)
        The features that vary, as columns of X.
    width : int
        Columns of X.
    center, scale : arrays of shape (d,)
        What was taken off each feature, and what it was divided by then.
    n_outputs : int
        Columns of the scores.
    label_center, label_scale : float
        Of the label of a regression; 0 and 1 in a classification.
    train_fold, judged_fold : arrays of shape (n,) and (v,)
        The fold in which a row is held out.
    n_folds : int
    """

    train: AnyArray
    judged: AnyArray
    rows: IntArray
    columns: IntArray
    width: int
    center: FloatArray
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
        for start in range(0, len(train), CHUNK):  # at once it would go through a copy
            features[start : start + CHUNK] = X[train[start : start + CHUNK]]
        columns, center, scale = columns_of(features)
        design = design[:, : 1 + len(columns) + n_targets]
        label_center, label_scale = _fill_targets(
            design[:, 1 + len(columns) :], y[train], n_outputs
        )
        held = X[judged] if len(columns) == d else np.take(X[judged], columns, axis=1)
        np.copyto(held, center, where=np.isnan(held))
        held -= center
        held /= scale
        return cls(
            design, held, train, columns, d, center, scale, n_outputs, label_center, label_scale,
            fold[train], fold[judged], n_folds,
        )  # fmt: skip

    @property
    def n_features(self) -> int:
        """Features that vary."""
        return len(self.columns)

    def training_sets(self) -> list[IntArray]:
        """Return the rows of the design without those of each fold."""
        return [np.flatnonzero(self.train_fold != fold) for fold in range(self.n_folds)]

    def gaps(self, features: IntArray) -> FloatArray:
        """Return the least difference between different values of features, infinite without any.

        One value that differs by g from all others gives its column a squared length of g² / 2.
        """
        if not len(features):
            return np.empty(0)
        columns = on_host(self.train)[:, 1 : 1 + self.n_features]
        low, high = columns.min(axis=0), columns.max(axis=0)
        two = np.ones(self.n_features, dtype=bool)
        for start in range(0, len(columns), CHUNK):
            block = columns[start : start + CHUNK]
            two &= ((block == low) | (block == high)).all(axis=0)
        gaps = np.where(low == high, np.inf, high - low)
        for j in features[~two[features]]:
            steps = np.diff(np.sort(columns[:, j]))
            gaps[j] = steps[steps > 0].min()
        return gaps[features]

    def as_scores(self, answers: FloatArray) -> FloatArray:
        """Turn answers to the targets, (…, t), into scores, (…, k); the answers are used up."""
        if self.n_outputs == 2:
            return np.concatenate([1.0 - answers, answers], axis=-1)
        answers *= self.label_scale
        answers += self.label_center
        return answers


def columns_of(features: FloatArray) -> tuple[IntArray, FloatArray, FloatArray]:
    """Bring columns to mean zero and unit length in place, those that vary first.

    Returns which these are, and their centre and scale.
    """
    center = _means(features)
    features -= center
    scale = _lengths(features, center)
    columns = np.flatnonzero(scale)
    for place, column in enumerate(columns):  # in place: a copy could be too much
        if place < column:
            features[:, place] = features[:, column]
    features[:, : len(columns)] /= scale[columns]
    return columns, center[columns], scale[columns]


def _means(features: FloatArray) -> FloatArray:
    """Return the means of columns; a missing value is put there, where it says nothing."""
    center = features.mean(axis=0)
    for j in np.flatnonzero(np.isnan(center)):
        missing = np.isnan(features[:, j])
        center[j] = 0.0 if missing.all() else features[~missing, j].mean()
        features[missing, j] = center[j]
    return np.asarray(center)


def _lengths(features: FloatArray, center: FloatArray) -> FloatArray:
    """Root mean squares of centred columns; 0 for those that are constant up to rounding."""
    length = np.sqrt(np.einsum("ij,ij->j", features, features) / len(features))
    return np.where(length <= 1e-13 * np.abs(center), 0.0, length)


def _fill_targets(out: FloatArray, y: Labels, n_outputs: int) -> tuple[float, float]:
    if n_outputs == 1:
        center = float(y.mean())
        scale = float(y.std()) or 1.0
        out[:, 0] = (y - center) / scale
        return center, scale
    out[:] = y[:, None] == ([1] if n_outputs == 2 else np.arange(n_outputs))
    return 0.0, 1.0


@dataclass(frozen=True, eq=False)
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
        """Sort the training rows of a feature into the bins of its splits, which are nested."""
        beyond = np.zeros(len(column), dtype=np.int32)  # how many of the splits send a row right
        for split in splits:
            beyond += ~split.goes_left(column)
        cells = 1 + design.n_folds
        code = beyond * cells + design.train_fold + 1
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
        starts = [0, *self.ends[:-1].tolist()]
        return [self.order[a:b] for a, b in zip(starts, self.ends.tolist(), strict=True)]

    def border(self, split: int) -> int:
        """Return how many training rows go left."""
        return int(self.ends[(split + 1) * (1 + self.n_folds) - 1])


@dataclass(frozen=True)
class Cuts:
    """Splits of a node that are fitted together: those of one or more features."""

    bins: tuple[Bins, ...]

    @cached_property
    def places(self) -> list[tuple[Bins, int]]:
        """For every split, the bins of its feature and its place there."""
        return [(bins, split) for bins in self.bins for split in range(len(bins.goes_left))]

    @cached_property
    def goes_left(self) -> BoolArray:
        """For every split, which judged rows go left: (q, v)."""
        return np.concatenate([bins.goes_left for bins in self.bins])

    @cached_property
    def trains_left(self) -> BoolArray:
        """For every training row, which splits send it left: (n, q)."""
        left = np.zeros((len(self.bins[0].order), len(self.places)), dtype=bool)
        for column, (bins, split) in zip(left.T, self.places, strict=True):
            column[bins.order[: bins.border(split)]] = True
        return left

    def training_set(self, place: tuple[Any, ...], design: Design) -> IntArray:
        """Return the rows of the design that are trained on at a (split, side, fold)."""
        split, right, fold = place
        bins, place_of_split = self.places[split]
        border = bins.border(place_of_split)
        side = bins.order[border:] if right else bins.order[:border]
        return np.asarray(side[design.train_fold[side] != fold])

    def training_cells(self, place: tuple[Any, ...]) -> list[tuple[Bins, int]]:
        """Return the cells that are trained on at a (split, side, fold)."""
        split, right, fold = place
        bins, place_of_split = self.places[split]
        per_bin = 1 + bins.n_folds
        border = (place_of_split + 1) * per_bin
        side = range(border, len(bins.ends)) if right else range(border)
        return [(bins, cell) for cell in side if cell % per_bin != fold + 1]


class ClosedForm(Protocol):
    """A learner that fits many splits of a node at once, in steps or by solving equations."""

    takes_steps: ClassVar[bool]

    def fit_splits(self, cuts: Cuts) -> FloatArray:
        """Return the scores of the judged rows for every split, each by its own side's model.

        An array (q, v, k), equal up to rounding to what the learner's own fits would give.
        """


def without_fold(cells: AnyArray, n_folds: int) -> AnyArray:
    """Turn sums over cells, (…, 1 + n_folds, a, b), into sums over training sets, one a fold.

    The training set of fold f has the cells of all other folds. With one fold the validation rows
    are held out, and only the first cell has rows.
    """
    if n_folds == 1:
        return cells[..., :1, :, :]
    xp = cells.__array_namespace__()
    return xp.sum(cells, axis=-3, keepdims=True) - cells[..., 1:, :, :]


def training_sums(cells: AnyArray, n_folds: int) -> AnyArray:
    """Turn sums over cells into sums over training sets: (q, 2, n_folds, …), left and right."""
    xp = cells.__array_namespace__()
    by_bin = without_fold(xp.reshape(cells, (-1, 1 + n_folds, *cells.shape[1:])), n_folds)
    q = by_bin.shape[0] - 1
    sums = xp.empty((q, 2, *by_bin.shape[1:]))
    sums[0, 0, ...], sums[-1, 1, ...] = by_bin[0, ...], by_bin[-1, ...]
    for s in range(1, q):
        sums[s, 0, ...] = sums[s - 1, 0, ...] + by_bin[s, ...]
    for s in range(q - 1, 0, -1):  # the right is summed anew: a difference would round more
        sums[s - 1, 1, ...] = sums[s, 1, ...] + by_bin[s, ...]
    return sums


def grams_of_sides(
    rows: AnyArray, root_weight: AnyArray | None, cuts: Cuts, total: AnyArray
) -> FloatArray:
    """Return Aᵀ A over every training set of some splits: (q, 2, n_folds, …)."""
    sums = [
        training_sums(cell_grams(rows, root_weight, bins.cells(), total), bins.n_folds)
        for bins in cuts.bins
    ]
    return on_host(rows.__array_namespace__().concat(sums))


def cell_grams(
    rows: AnyArray, root_weight: AnyArray | None, cells: Sequence[IntArray], total: AnyArray
) -> AnyArray:
    """Return Aᵀ A over every cell; a cell with most of the rows is what the others leave."""
    xp = rows.__array_namespace__()
    rest = next((i for i, cell in enumerate(cells) if 2 * len(cell) > rows.shape[0]), None)
    sums = xp.zeros((len(cells), *total.shape))
    for i, cell in enumerate(cells):
        if i != rest and len(cell):
            sums[i, ...] = gram_of(rows, root_weight, cell)
    if rest is not None:
        sums[rest, ...] = total - xp.sum(sums, axis=0)
    return sums


def gram_of(
    rows: AnyArray, root_weight: AnyArray | None, chosen: IntArray | None = None
) -> AnyArray:
    """Return Aᵀ A over the chosen rows, or all, times their root weights, a chunk at a time."""
    xp = rows.__array_namespace__()
    n = rows.shape[0] if chosen is None else len(chosen)
    total = None
    for start in range(0, n, CHUNK):
        part = slice(start, min(start + CHUNK, n))
        some = None if chosen is None else xp.asarray(chosen[part])
        block = rows[part, :] if some is None else xp.take(rows, some, axis=0)
        if root_weight is not None:
            weight = root_weight[part] if some is None else xp.take(root_weight, some)
            block = block * weight[:, None]
        product = block.T @ block
        total = product if total is None else total + product
    return xp.zeros((rows.shape[1], rows.shape[1])) if total is None else total


def triangle_of(rows: FloatArray) -> FloatArray:
    """Return R of rows = QR: what a Gram matrix knows of them, and what it rounds off."""
    return np.asarray(np.linalg.qr(rows, mode="r"))


def answers_of_sides(
    design: Design, cuts: Cuts, coefficients: FloatArray, intercepts: FloatArray
) -> FloatArray:
    """Answer for every judged row with the linear model of its side and its fold: (q, v, t).

    Coefficients are (q, 2, n_folds, d, t) and intercepts (q, 2, n_folds, t), in the units of the
    design.
    """
    xp = design.judged.__array_namespace__()
    goes_left = cuts.goes_left
    q, v = goes_left.shape
    t = intercepts.shape[-1]
    answers = np.empty((q, v, t))
    for f in range(design.n_folds):
        flat = np.moveaxis(coefficients[:, :, f], 2, 0).reshape(design.n_features, -1)
        model = xp.asarray(flat)
        for rows in in_chunks(np.flatnonzero(design.judged_fold == f)):
            mine = xp.take(design.judged, xp.asarray(rows), axis=0)
            by_side = on_host(mine @ model).reshape(-1, q, 2, t) + intercepts[:, :, f]
            left = goes_left[:, rows].T[:, :, None]
            chosen = np.where(left, by_side[:, :, 0], by_side[:, :, 1])
            answers[:, rows] = np.moveaxis(chosen, 1, 0)
    return answers


def on_host(array: AnyArray) -> FloatArray:
    """Return an array of any library as NumPy's."""
    return (
        array if isinstance(array, np.ndarray) else np.asarray(np.from_dlpack(array), dtype=float)
    )


def side_sums(design: Design, cuts: Cuts, values: Callable[[IntArray], AnyArray]) -> FloatArray:
    """Return the sums of some values, (rows, m), over every training set: (q, 2, n_folds, m)."""
    cells = []
    for fold in range(-1, design.n_folds):
        mine = np.flatnonzero(design.train_fold == fold)
        sums: Any = 0.0
        for rows in in_chunks(mine):
            left = np.ones((len(rows), len(cuts.places) + 1))  # the last is for both sides
            left[:, :-1] = cuts.trains_left[rows]
            block = values(rows)
            sums = sums + on_host(block.__array_namespace__().asarray(left).T @ block)
        cells.append(sums)
    by_cell = np.stack(np.broadcast_arrays(*cells), axis=1)
    sides = np.stack([by_cell[:-1], by_cell[-1] - by_cell[:-1]], axis=1)
    return np.asarray(without_fold(sides[..., None], design.n_folds)[..., 0])


def moments_of_sides(design: Design, cuts: Cuts) -> tuple[FloatArray, FloatArray]:
    """Return mean and variance of every feature in every training set: (q, 2, n_folds, d).

    Rows count alike, whatever their weights: so a StandardScaler in a Pipeline sees them. A feature
    that is constant in a training set has variance zero, without rounding.
    """
    xp, d = design.train.__array_namespace__(), design.n_features

    def powers(rows: IntArray) -> AnyArray:
        block = xp.take(design.train, xp.asarray(rows), axis=0)[:, : d + 1]
        return xp.concat([block, block[:, 1:] ** 2], axis=1)

    count, first, second = np.split(side_sums(design, cuts, powers), [1, d + 1], axis=-1)
    count = np.maximum(count, 1.0)
    mean = first / count
    variance = second / count - mean**2
    doubtful = variance <= 1e-9 * second / count
    coarse = np.zeros(d, dtype=bool)
    asked = np.flatnonzero(doubtful.any(axis=(0, 1, 2)))
    coarse[asked] = design.gaps(asked) ** 2 > 1e-8 * len(design.rows)
    variance[doubtful & coarse] = 0.0  # where the gap is large, a small variance is none at all
    doubtful &= ~coarse
    for place in map(tuple, np.argwhere(doubtful.any(axis=-1))):
        columns = np.flatnonzero(doubtful[place])
        rows = cuts.training_set(place, design)
        block = on_host(design.train)[np.ix_(rows, 1 + columns)]
        constant = (block == block[:1]).all(axis=0)
        variance[(*place, columns)] = np.where(constant, 0.0, block.var(axis=0))
    return mean, variance


def in_chunks(rows: IntArray) -> Iterator[IntArray]:
    """Cut a list of rows into pieces that stay in the cache."""
    return (rows[start : start + CHUNK] for start in range(0, len(rows), CHUNK))


def standardised(estimator: Any) -> tuple[Any, bool]:
    """Take a plain StandardScaler off an estimator; tell whether there was one."""
    if type(estimator) is Pipeline and len(estimator.steps) == 2:
        scaler, last = estimator.steps[0][1], estimator.steps[1][1]
        if type(scaler) is StandardScaler and scaler.with_mean and scaler.with_std:
            return last, True
    return estimator, False
