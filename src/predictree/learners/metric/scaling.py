"""Columns on one scale, within bounds: an impossible value is no further away than a rare one."""

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from predictree.model.tree import FloatArray, IntArray

TAIL = 0.01  # share of the rows at either end; half of what lies between is added to it
WIDEST = 8.0  # standard deviations
RARE = 0.15  # of its range: the least that counts as the spread of a column of two values
KNOTS = 200  # of normal scores
OUTMOST = 0.01  # share of the rows that normal scores do not tell apart at either end


@dataclass(frozen=True, eq=False)
class Scaling:
    """What it takes to bring rows to one scale.

    Attributes
    ----------
    top : array of shape (d,)
        The largest size of every column, by which it is divided first: nothing overflows.
    low, high : array of shape (d,)
        Values are kept within.
    knots : dict of int to array
        Quantiles of the columns that are there once more, as normal scores.
    mean, size : array of shape (d + scores,)
    """

    top: FloatArray
    low: FloatArray
    high: FloatArray
    knots: dict[int, FloatArray]
    mean: FloatArray
    size: FloatArray

    @classmethod
    def of(cls, X: FloatArray, with_scores: bool) -> "Scaling":
        """Learn from training rows; with normal scores, columns of many values are there twice."""
        top = np.abs(X).max(axis=0)
        top = np.where(top > 0, top, 1.0)
        X = X / top
        low, high = X.min(axis=0), X.max(axis=0)
        two = ((low == X) | (high == X)).all(axis=0)
        inner, outer = np.quantile(X, [TAIL, 1 - TAIL], axis=0)
        half = 0.5 * (outer - inner)
        bare = two | (half <= 0)
        low, high = np.where(bare, low, inner - half), np.where(bare, high, outer + half)
        knots = _knots(X, np.flatnonzero(~two)) if with_scores else {}
        raw = _columns(X, low, high, knots)
        size = raw.std(axis=0)
        size[: len(two)] = np.where(
            two, np.maximum(size[: len(two)], RARE * (high - low)), size[: len(two)]
        )
        return cls(top, low, high, knots, raw.mean(axis=0), np.where(size > 0, size, 1.0))

    def __call__(self, X: FloatArray) -> FloatArray:
        """Return rows on the scale."""
        raw = _columns(X / self.top, self.low, self.high, self.knots)
        return np.asarray(np.clip((raw - self.mean) / self.size, -WIDEST, WIDEST))


def _knots(X: FloatArray, columns: IntArray) -> dict[int, FloatArray]:
    levels = np.linspace(0, 1, KNOTS)
    return {int(j): np.unique(np.quantile(X[:, j], levels)) for j in columns}


def _columns(
    X: FloatArray, low: FloatArray, high: FloatArray, knots: dict[int, FloatArray]
) -> FloatArray:
    """Return clipped columns, followed by those of normal scores."""
    scores = [
        ndtri(np.clip(np.interp(X[:, j], at, np.linspace(0, 1, len(at))), OUTMOST, 1 - OUTMOST))
        for j, at in knots.items()
    ]
    return np.column_stack([np.clip(X, low, high), *scores])
