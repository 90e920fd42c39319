"""Which columns a model may use where there are very many: those that tell most of the labels.

Every model without a fold chooses by the rows outside that fold. So no row has a say in which
columns judge it, and noise does not look like more than it is.
"""

import numpy as np

from predictree.learners.forms.additive.pairs import bins_of
from predictree.model.outputs import Labels, targets
from predictree.model.tree import BoolArray, FloatArray, IntArray

MANY = 200  # columns that all models may use
CHOSEN = 20  # columns of each model, where there are more
HOLD = 20.0  # rows that the mean of a bin is held to zero by


def screen(
    X: FloatArray, y: Labels, mass: FloatArray, fold: IntArray, columns: IntArray, n_outputs: int
) -> BoolArray:
    """Return which columns the models without each fold, and that of all, may use.

    Parameters
    ----------
    X, y, mass, fold : arrays of n rows
        A fold of -1 is outside every fold.
    columns : array of shape (d,)
        Places in X.
    n_outputs : int
        Classes, or 1.

    Returns
    -------
    array of shape (n_folds + 1, d)
    """
    n_folds = int(fold.max(initial=0)) + 1
    if len(columns) <= MANY:
        return np.ones((n_folds + 1, len(columns)), dtype=bool)
    told = targets(y, n_outputs)
    told = told - np.average(told, axis=0, weights=mass)
    scores = np.array([_told(X[:, j], told, mass, fold + 1, n_folds) for j in columns]).T
    kept = np.zeros(scores.shape, dtype=bool)
    np.put_along_axis(kept, np.argsort(-scores, axis=1, kind="stable")[:, :CHOSEN], True, axis=1)
    if n_folds == 1:  # the model of all is the one without what is held out
        kept[1] = kept[0]
    return kept


def _told(
    x: FloatArray, told: FloatArray, mass: FloatArray, part: IntArray, n_folds: int
) -> FloatArray:
    """Return what the means of a column's bins explain, outside each fold and in all rows."""
    bins, n_parts = bins_of(x, mass), n_folds + 1
    code = bins * n_parts + part
    shape = (int(bins.max()) + 1, n_parts)
    rows = np.bincount(code, mass, shape[0] * n_parts).reshape(shape)
    found = np.zeros(n_parts)
    for y in told.T:
        total = np.bincount(code, mass * y, shape[0] * n_parts).reshape(shape)
        others, n = (
            np.column_stack([s.sum(axis=1, keepdims=True) - s[:, 1:], s.sum(axis=1)])
            for s in (total, rows)
        )
        found += (np.square(others) / (n + HOLD)).sum(axis=0)
    return found
