"""Pairs of features that act together at the root: which ones, and their columns.

Pairs are ranked by what shrunken means of 8 × 8 cells say of the residuals of held-out rows. The
columns of a pair are products of each feature's coarsest columns.
"""

from dataclasses import dataclass

import numpy as np

from predictree.learners.forms.additive.basis import (
    LEVELS,
    LINEAR,
    SMOOTH,
    Basis,
    masses,
    quantiles,
)
from predictree.model.additive import Surface
from predictree.model.tree import FloatArray, IntArray

GRID = 8  # bins a feature
HOLDS = (4.0, 20.0, 80.0)  # rows that a cell's mean is held to zero by
PARTS = 6  # smooth parts of a feature in the columns of a pair
LEVELS_OF_PAIR = 8


@dataclass(frozen=True, eq=False)
class RankedPair:
    """Two features of a basis, by place, and the columns of each that are multiplied."""

    first: int
    second: int
    columns: tuple[IntArray, IntArray]
    center: FloatArray
    size: float

    @property
    def width(self) -> int:
        """Columns that it makes."""
        return len(self.center)

    def rows(self, B: FloatArray) -> FloatArray:
        """Return the products for the rows of a design: (n, q)."""
        return (_products(B, self.columns) - self.center) / self.size

    def surface(
        self, basis: Basis, coefficients: FloatArray, covariance: FloatArray, unit: float
    ) -> Surface:
        """Return the surface of coefficients (q, k) with a covariance (k, q, q), in some unit."""
        first, second = (basis.features[place] for place in (self.first, self.second))
        tables = []
        for place, columns in zip((self.first, self.second), self.columns, strict=True):
            start = int(np.searchsorted(basis.feature, place))
            tables.append(basis.features[place].table[:, columns - start])
        shape = len(tables[0]), len(tables[1]), -1
        flat = np.einsum("ia,jb->ijab", *tables).reshape(shape[0] * shape[1], -1)
        flat = (flat - self.center) * (unit / self.size)
        spread = [((flat @ one) * flat).sum(axis=1) for one in covariance]
        variance = np.maximum(np.column_stack(spread), 0.0)
        axes = first.axis, second.axis
        return Surface(axes, (flat @ coefficients).reshape(shape), variance.reshape(shape))


def ranked(
    X: FloatArray,
    response: FloatArray,
    mass: FloatArray,
    curvature: FloatArray,
    fold: IntArray,
    places: list[int],
) -> list[tuple[float, int, int]]:
    """Return pairs of columns of X with what they gain out of fold, best first.

    ``response`` has what is left to say of every row, (n, k), in units of the score; ``mass`` so
    many rows as each stands for.
    """
    bins = {j: bins_of(X[:, j], mass) for j in places}
    n_folds, weight = int(fold.max()) + 1, mass * curvature
    holds = np.array(HOLDS) * weight.sum() / mass.sum()
    found = []
    for at, i in enumerate(places):
        for j in places[at + 1 :]:
            width = bins[j].max() + 1
            cell = bins[i] * width + bins[j]
            found.append((_gain(cell, response, weight, fold, n_folds, holds), i, j))
    return sorted(found, key=lambda one: -one[0])


def _gain(
    cell: IntArray,
    response: FloatArray,
    weight: FloatArray,
    fold: IntArray,
    n_folds: int,
    holds: FloatArray,
) -> float:
    """Return what shrunken means of cells gain on every fold, found without it."""
    n_cells = int(cell.max()) + 1
    code = cell * n_folds + fold
    mass = np.bincount(code, weight, n_cells * n_folds).reshape(n_cells, n_folds)
    best = np.zeros(len(holds))
    for r in response.T:
        total = np.bincount(code, weight * r, n_cells * n_folds).reshape(n_cells, n_folds)
        rest, others = (s.sum(axis=1, keepdims=True) - s for s in (total, mass))
        for h, hold in enumerate(holds):
            mean = rest / (others + hold)
            best[h] += float((2 * mean * total - mean * mean * mass).sum())
    return float(best.max())


def bins_of(x: FloatArray, mass: FloatArray) -> IntArray:
    """Return a few bins of a column, of equal mass or a value each; missing ones by themselves."""
    known = ~np.isnan(x)
    values, counts = masses(x[known], mass[known])
    if len(values) > GRID:
        borders = np.unique(quantiles(values, counts, np.arange(1, GRID) / GRID))
    else:
        borders = values[1:] / 2 + values[:-1] / 2
    return np.where(known, np.searchsorted(borders, x, side="left"), len(borders) + 1)


def pair_of(basis: Basis, B: FloatArray, first: int, second: int, weight: FloatArray) -> RankedPair:
    """Return a pair of features with the columns that its rows give."""
    columns = (_coarsest(basis, first), _coarsest(basis, second))
    products = _products(B, columns)
    center = np.average(products, axis=0, weights=weight)
    square = np.average(np.square(products - center), axis=0, weights=weight).sum()
    return RankedPair(first, second, columns, center, float(np.sqrt(square)) or 1.0)


def _coarsest(basis: Basis, place: int) -> IntArray:
    """Return the last line and the coarsest smooth parts of a feature, or its first levels."""
    mine = np.flatnonzero(basis.feature == place)
    kind, order = basis.kind[mine], basis.order[mine]
    levels = mine[(kind == LEVELS) & (order < LEVELS_OF_PAIR)]
    lines = mine[kind == LINEAR][-1:]
    return np.concatenate([levels, lines, mine[(kind == SMOOTH) & (order < PARTS)]])


def _products(B: FloatArray, columns: tuple[IntArray, IntArray]) -> FloatArray:
    first, second = (B[:, 1 + c] for c in columns)
    return np.asarray((first[:, :, None] * second[:, None, :]).reshape(len(B), -1))
