"""Curves that only rise or only fall.

They are those of the free model, brought to the nearest curve that rises, and stay as they are
while the rest is fitted again. No pair, no correction and no split has their features, so that what
holds at the root holds along every path.
"""

from collections.abc import Mapping

import numpy as np
from sklearn.isotonic import isotonic_regression

from predictree.learners.forms.additive.basis import Columns
from predictree.model.additive import Axis
from predictree.model.tree import FloatArray

Directions = Mapping[int, int]
"""1 for a column of X along which answers only rise, -1 where they only fall."""


def monotone(curves: FloatArray, mass: FloatArray, direction: int) -> FloatArray:
    """Return the nearest curves that go one way.

    Parameters
    ----------
    curves : array of shape (models, cells)
        The last cell is for what is missing, and stays as it is.
    mass : array of shape (cells,)
        The rows that a cell stands for.
    direction : {-1, 1}
    """
    found = curves.copy()
    weight = np.maximum(mass[:-1], 1e-9 * mass.sum())
    for curve in found:
        curve[:-1] = isotonic_regression(curve[:-1], sample_weight=weight, increasing=direction > 0)
    return found


def mass_of(axis: Axis, column: FloatArray, weight: FloatArray) -> FloatArray:
    """Return how many rows each cell of an axis stands for."""
    left, right, share = axis.place(column)
    first = np.bincount(left, weight * (1 - share), axis.n_cells)
    return np.asarray(first + np.bincount(right, weight * share, axis.n_cells))


def bent(
    columns: Columns, x: FloatArray, weight: FloatArray, coefficients: FloatArray, direction: int
) -> FloatArray:
    """Return the curves of one feature, (models, cells), for coefficients (models, columns)."""
    mass = mass_of(columns.axis, x, weight)
    return monotone(coefficients @ columns.table.T, mass, direction)
