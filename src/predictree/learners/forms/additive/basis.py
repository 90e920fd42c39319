"""The columns that an additive model is made of: for every feature lines, smooth parts and steps.

A column is a table over the cells of its feature's axis, so that any sum of columns is a curve.
Smooth parts are the first principal components of a prior on curves: that their second differences
between knots are small, or of a rougher one on first differences, for steps. Columns of one kind
and feature are a group, whose size is learned together.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from predictree.model.additive import Axis, along
from predictree.model.tree import FloatArray, IntArray

LINEAR, SMOOTH, STEPS, LEVELS, MISSING = range(5)  # kinds of columns
TAIL = 0.002  # share of the rows at either end beyond which a curve is constant
ATOM = 0.03  # share of the rows with one value from which on it is a knot
FEW = 20  # values up to which there are no tails
LEAST_LEVEL = 5  # rows of a level that has a column of its own
ROUNDING = 1e-9
MOST_LEVELS = 200


@dataclass(frozen=True, slots=True)
class Sizes:
    """How many columns a basis may have, of smooth parts and of steps, over all features."""

    smooth: int = 300
    steps: int = 500

    def of(self, n_features: int) -> tuple[int, int]:
        """Return the smooth parts and the steps of one of so many features."""
        each = max(n_features, 1)
        smooth = int(np.clip(self.smooth // each - 2, 6, 25))
        return smooth, int(np.clip(self.steps // each, 10, 80))


@dataclass(frozen=True, eq=False)
class Columns:
    """The columns of one feature.

    Attributes
    ----------
    axis : Axis
    table : array of shape (cells, m)
        Every column's value at every cell; its mean over the training rows is zero.
    kind : array of shape (m,)
    group : array of shape (m,)
        Which columns share a variance: 0, 1, … within the feature.
    order : array of shape (m,)
        Place of a smooth part or step among its like, the coarsest first.
    """

    axis: Axis
    table: FloatArray
    kind: IntArray
    group: IntArray
    order: IntArray


@dataclass(frozen=True, eq=False)
class Basis:
    """The columns of all features, with a leading one for the intercept."""

    features: tuple[Columns, ...]

    @classmethod
    def of(
        cls,
        X: FloatArray,
        weight: FloatArray,
        columns: tuple[int, ...],
        categories: frozenset[int],
        sizes: Sizes,
    ) -> "Basis":
        """Make the columns that some rows want."""
        many = [j for j in columns if j not in categories and _has_more_than_two(X[:, j])]
        smooth, steps = sizes.of(len(many))
        found = [
            _of_category(j, X[:, j], weight)
            if j in categories
            else _of_numbers(j, X[:, j], weight, smooth, steps)
            for j in columns
        ]
        return cls(tuple(one for one in found if one is not None and one.table.shape[1]))

    @cached_property
    def feature(self) -> IntArray:
        """The place in ``features`` that each column belongs to."""
        return np.repeat(np.arange(len(self.features)), [f.table.shape[1] for f in self.features])

    @cached_property
    def kind(self) -> IntArray:
        """The kind of each column."""
        return _joined([f.kind for f in self.features])

    @cached_property
    def order(self) -> IntArray:
        """The order of each column."""
        return _joined([f.order for f in self.features])

    @cached_property
    def group(self) -> IntArray:
        """The group of each column, over all features."""
        groups, start = [], 0
        for one in self.features:
            groups.append(one.group + start)
            start += int(one.group.max()) + 1
        return _joined(groups)

    @property
    def width(self) -> int:
        """Columns, without the intercept."""
        return len(self.feature)

    def design(self, X: FloatArray) -> FloatArray:
        """Return a one and the columns of every row: (n, 1 + p)."""
        B = np.empty((len(X), 1 + self.width))
        B[:, 0], start = 1.0, 1
        for one in self.features:
            stop = start + one.table.shape[1]
            B[:, start:stop] = along(one.table, one.axis.place(X[:, one.axis.feature]))
            start = stop
        return B

    def curve(self, j: int, coefficients: FloatArray) -> FloatArray:
        """Return a feature's curve, (cells, k), for coefficients (p, k)."""
        return np.asarray(self.features[j].table @ coefficients[self.feature == j])


def _of_numbers(
    feature: int, x: FloatArray, weight: FloatArray, smooth: int, steps: int
) -> Columns | None:
    """Return the columns of a feature of numbers; None if it says nothing."""
    missing = np.isnan(x)
    known, mass = x[~missing], weight[~missing]
    values, counts = masses(known, mass)
    gaps, total = float(weight[missing].sum()), float(weight.sum())
    with_gaps = LEAST_LEVEL <= gaps <= total - LEAST_LEVEL
    if len(values) < 2 and not with_gaps:
        return None
    knots, parts = _parts(values, counts, smooth, steps)
    axis = Axis(feature, knots)
    made = [_scaled(table, axis, known, mass, kind) for table, kind in parts]
    tables = [np.vstack([table, np.zeros(table.shape[1])]) for table in made]
    kinds = [kind for _, kind in parts]
    if with_gaps:
        share = gaps / total
        flag = np.full((axis.n_cells, 1), -share)
        flag[-1] = 1 - share
        tables.append(flag / np.sqrt(share * (1 - share)))
        kinds.append(MISSING)
    return _columns(axis, tables, kinds)


def masses(values: FloatArray, weight: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the distinct values, rising, and the weight of each."""
    distinct, place = np.unique(values, return_inverse=True)
    return distinct, np.bincount(place, weight, len(distinct)).astype(float)


def _parts(
    values: FloatArray, counts: FloatArray, smooth: int, steps: int
) -> tuple[FloatArray, list[tuple[FloatArray, int]]]:
    """Return the knots of a feature, and tables over them with their kinds."""
    if len(values) < 3:
        knots = values if len(values) else np.zeros(1)
        return knots, [(_line(knots), LINEAR)] if len(values) == 2 else []
    low, high = _ends(values, counts)
    coarse = knots_of(values, counts, 2 * smooth, low, high)
    fine = knots_of(values, counts, int(2.5 * steps), low, high)
    knots = np.union1d(coarse, fine)
    parts = [
        (_line(knots), LINEAR),
        (_between(coarse, np.arange(len(coarse), dtype=float)[:, None], knots), LINEAR),
        (_between(coarse, components(len(coarse), 2, smooth), knots), SMOOTH),
        (_between(fine, components(len(fine), 1, steps), knots), STEPS),
    ]
    if len(values) == 3:
        del parts[1]
    return knots, parts


def _line(knots: FloatArray) -> FloatArray:
    """Return the knots as a column between -1 and 1: squares of what is large would overflow."""
    middle, half = knots[0] / 2 + knots[-1] / 2, knots[-1] / 2 - knots[0] / 2
    return np.asarray(((knots - middle) / half)[:, None])


def _columns(axis: Axis, tables: list[FloatArray], kinds: list[int]) -> Columns:
    kept = [(t, k) for t, k in zip(tables, kinds, strict=True) if t.shape[1]]
    widths = [t.shape[1] for t, _ in kept]
    table = np.hstack([t for t, _ in kept]) if kept else np.zeros((axis.n_cells, 0))
    kind = np.repeat([k for _, k in kept], widths).astype(np.int64)
    group = np.repeat(np.arange(len(kept)), widths)
    return Columns(axis, table, kind, group, _joined([np.arange(w) for w in widths]))


def _of_category(feature: int, x: FloatArray, weight: FloatArray) -> Columns | None:
    """Return an indicator of every level with enough rows; the others are one with the unknown."""
    known = ~np.isnan(x)
    levels, counts = masses(x[known], weight[known])
    frequent = np.argsort(-counts, kind="stable")[:MOST_LEVELS]
    kept = np.sort(frequent[counts[frequent] >= LEAST_LEVEL])
    if len(kept) == 0 or (len(kept) == 1 and counts[kept[0]] > weight.sum() - LEAST_LEVEL):
        return None
    axis = Axis(feature, levels[kept], is_category=True)
    cell = axis.place(x)[0]
    share = np.bincount(cell, weight, axis.n_cells) / weight.sum()
    # the rest has a column only if it has rows: unknown levels are like the mean otherwise
    n_columns = axis.n_cells if share[-1] > 0 else axis.n_cells - 1
    table = np.eye(axis.n_cells)[:, :n_columns] - share[:n_columns]
    table[-1] *= share[-1] > 0
    return _columns(axis, [table], [LEVELS])


def _ends(values: FloatArray, counts: FloatArray) -> tuple[float, float]:
    """Return where curves end: within the tails, where there are many values."""
    low, high = float(values[0]), float(values[-1])
    if len(values) > FEW:
        inner = quantiles(values, counts, np.array([TAIL, 1 - TAIL]))
        if inner[1] > inner[0]:
            low, high = inner.tolist()
    return low, high


def quantiles(values: FloatArray, counts: FloatArray, levels: FloatArray) -> FloatArray:
    """Return quantiles of distinct, rising values that occur so many times.

    Of whole counts they are those of the repeated values, between which they lie on lines.
    """
    ends = np.cumsum(counts)
    place = levels * max(ends[-1] - 1, 0.0)
    first = np.floor(place + ROUNDING)
    low, high = (
        values[np.minimum(np.searchsorted(ends - ROUNDING, at, side="right"), len(values) - 1)]
        for at in (first, first + 1)
    )
    share = np.clip(place - first, 0.0, 1.0)
    return np.asarray(low * (1 - share) + high * share)


def knots_of(values: FloatArray, counts: FloatArray, n: int, low: float, high: float) -> FloatArray:
    """Return some n knots: all values, or the frequent ones and quantiles of the others."""
    if len(values) <= n:
        knots = values
    else:
        often = counts >= ATOM * counts.sum()
        frequent, rest = values[often], ~often
        levels = np.linspace(0, 1, max(n - len(frequent), 4))
        many = counts[rest].sum() > 10
        inner = quantiles(values[rest], counts[rest], levels) if many else values[[0, -1]]
        knots = np.union1d(frequent, inner)
    return np.unique(np.clip(np.append(knots, [low, high]), low, high))


def components(n_knots: int, order: int, most: int) -> FloatArray:
    """Return the first principal components of curves with small differences: (knots, m)."""
    difference = np.diff(np.eye(n_knots), n=min(order, n_knots - 1), axis=0)
    size, vectors = np.linalg.eigh(difference.T @ difference)
    real = size > 1e-9 * size.max()
    return np.asarray((vectors[:, real] / np.sqrt(size[real]))[:, :most])


def _between(knots: FloatArray, table: FloatArray, finer: FloatArray) -> FloatArray:
    """Return a table over knots as one over finer ones."""
    return np.column_stack([np.interp(finer, knots, column) for column in table.T])


def _scaled(
    table: FloatArray, axis: Axis, known: FloatArray, mass: FloatArray, kind: int
) -> FloatArray:
    """Centre columns on the rows and bring them to one size: lines each, parts together."""
    rows = along(np.vstack([table, np.zeros(table.shape[1])]), axis.place(known))
    mean = np.average(rows, axis=0, weights=mass)
    square = np.average(np.square(rows - mean), axis=0, weights=mass)
    size = np.sqrt(square if kind == LINEAR else square.sum())
    if not np.all(size > 0):
        return table[:, :0]
    return np.asarray((table - mean) / size)


def _has_more_than_two(x: FloatArray) -> bool:
    known = x[~np.isnan(x)]
    if not len(known):
        return False
    low, high = known.min(), known.max()
    return bool(((known != low) & (known != high)).any())


def _joined(arrays: list[IntArray]) -> IntArray:
    return np.concatenate(arrays) if arrays else np.zeros(0, dtype=np.int64)
