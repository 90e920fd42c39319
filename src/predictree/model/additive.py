"""Additive functions as tables: a curve a feature, a surface a pair, one sum a row.

A feature's values fall between knots, where a curve is a straight line, or are levels; beyond the
outermost knots it is constant. Missing values and unknown levels have a cell of their own.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from predictree.model.tree import FloatArray, IntArray

Place = tuple[IntArray, IntArray, FloatArray]  # two cells of every row, and the second's share
MOST_ODDS = 35.0  # of log odds: the smaller probability is still above rounding
MOST = 700.0  # of a logarithm: e to it is a number


@dataclass(frozen=True, eq=False)
class Axis:
    """How the values of a feature fall into cells; the last is for what is missing or unknown.

    Attributes
    ----------
    feature : int
        Its column.
    knots : array
        Rising values, or the codes of levels.
    is_category : bool
    """

    feature: int
    knots: FloatArray
    is_category: bool = False

    @property
    def n_cells(self) -> int:
        """Knots or levels, and one for the rest."""
        return len(self.knots) + 1

    def reached(self, column: FloatArray) -> IntArray:
        """Return for every cell itself, or the nearest one that some values fall in or next to.

        Levels, and the cell for what is missing or unknown, stand for themselves.
        """
        cells = np.arange(self.n_cells)
        known = column[~np.isnan(column)]
        if not self.is_category and len(known):
            low, high = np.clip([known.min(), known.max()], self.knots[0], self.knots[-1])
            first = int(np.searchsorted(self.knots, low, side="right")) - 1
            last = int(np.searchsorted(self.knots, high, side="left"))
            cells[:-1] = np.clip(cells[:-1], first, last)
        return cells

    def place(self, column: FloatArray) -> Place:
        """Return the two cells that every value lies between, and the share of the second."""
        last = len(self.knots)
        if self.is_category:
            cell = np.minimum(np.searchsorted(self.knots, column), last - 1)
            cell = np.where(self.knots[cell] == column, cell, last)
            return cell, cell, np.zeros(len(column))
        known = np.clip(column, self.knots[0], self.knots[-1])
        left = np.clip(np.searchsorted(self.knots, known, side="right") - 1, 0, max(last - 2, 0))
        right = np.minimum(left + 1, last - 1)
        width = np.where(right > left, self.knots[right] - self.knots[left], 1.0)
        share = (known - self.knots[left]) / width
        missing = np.isnan(column)
        if missing.any():
            left, right = (np.where(missing, last, cell) for cell in (left, right))
            share = np.where(missing, 0.0, share)
        return left, right, share


def along(values: FloatArray, place: Place) -> FloatArray:
    """Return what a table of cells, (cells, …), holds at some places, with lines between cells."""
    left, right, share = place
    share = share.reshape(-1, *[1] * (values.ndim - 1))
    return np.asarray(values[left] * (1 - share) + values[right] * share)


def across(values: FloatArray, first: Place, second: Place) -> FloatArray:
    """Return what a table over two axes holds at some places."""
    total = np.zeros((len(first[0]), values.shape[2]))
    for cells, weight in ((first[0], 1 - first[2]), (first[1], first[2])):
        for others, share in ((second[0], 1 - second[2]), (second[1], second[2])):
            total += values[cells, others] * (weight * share)[:, None]
    return total


@dataclass(frozen=True, eq=False)
class Curve:
    """What a feature adds to every score: an array (cells, k) along its axis, and its variance."""

    axis: Axis
    values: FloatArray
    variance: FloatArray

    def plus(self, other: "Curve") -> "Curve":
        """Return the sum with another along the same axis, as if their errors had no relation."""
        return Curve(self.axis, self.values + other.values, self.variance + other.variance)


@dataclass(frozen=True, eq=False)
class Surface:
    """What a pair of features adds to every score, (cells, cells, k), and its variance."""

    axes: tuple[Axis, Axis]
    values: FloatArray
    variance: FloatArray


@dataclass(frozen=True, eq=False)
class AdditiveFunction:
    """f(x) = intercept + Σ curves + Σ surfaces, and the link that makes scores of it.

    Attributes
    ----------
    intercept : array of shape (k,)
    curves : tuple of Curve
    surfaces : tuple of Surface
    link : str
        A key of `LINKS`.
    span : (float, float)
        Answers of a regression are kept within.
    """

    intercept: FloatArray
    curves: tuple[Curve, ...]
    surfaces: tuple[Surface, ...] = ()
    link: str = "identity"
    span: tuple[float, float] = (-np.inf, np.inf)

    def sum(self, X: FloatArray) -> FloatArray:
        """Return f(x) of every row: (n, k)."""
        total = np.tile(self.intercept, (len(X), 1))
        for effects in self.effects(X):
            total += effects
        return total

    def effects(self, X: FloatArray) -> list[FloatArray]:
        """Return what every curve and then every surface adds: arrays (n, k)."""
        places = {axis.feature: axis.place(X[:, axis.feature]) for axis in self.axes}
        curves = [along(c.values, places[c.axis.feature]) for c in self.curves]
        return curves + [
            across(s.values, *(axis.place(X[:, axis.feature]) for axis in s.axes))
            for s in self.surfaces
        ]

    def scores(self, X: FloatArray) -> FloatArray:
        """Return the scores of the rows of X: (n, 1), or probabilities (n, classes)."""
        return np.clip(LINKS[self.link](self.sum(X)), *self.span)

    @property
    def axes(self) -> list[Axis]:
        """The axes of its curves."""
        return [curve.axis for curve in self.curves]

    def plus(self, other: "AdditiveFunction") -> Self:
        """Return the sum with another that has the same curves and no surfaces."""
        pairs = zip(self.curves, other.curves, strict=True)
        curves = tuple(mine.plus(more) for mine, more in pairs)
        return replace(self, intercept=self.intercept + other.intercept, curves=curves)


def _two_classes(f: FloatArray) -> FloatArray:
    p = 1.0 / (1.0 + np.exp(-np.clip(f, -MOST_ODDS, MOST_ODDS)))
    return np.concatenate([1.0 - p, p], axis=1)


def _classes(f: FloatArray) -> FloatArray:
    e = np.exp(f - f.max(axis=1, keepdims=True))
    return np.asarray(e / e.sum(axis=1, keepdims=True))


LINKS: dict[str, Callable[[FloatArray], FloatArray]] = {
    "identity": lambda f: f,
    "log": lambda f: np.exp(np.clip(f, -MOST, MOST)),
    "logit": _two_classes,
    "softmax": _classes,
}
"""From f(x) to scores."""
