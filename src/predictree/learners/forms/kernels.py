"""Compiled least squares on Gram matrices. Imported only when one of them is needed."""

import numpy as np
from numba import njit

from predictree.model.tree import BoolArray, FloatArray, IntArray

DOUBT = 1e3  # what is left of a column is real above this many times the noise, rounding below it
REORDER = {"reassoc", "contract", "nsz"}  # lets the compiler vectorise sums; NaN stays NaN


@njit(cache=True, nogil=True, fastmath=REORDER)
def centred_grams(sums: FloatArray, unit: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Centre and scale the columns of many Gram matrices.

    Parameters
    ----------
    sums : array of shape (b, 1 + m, 1 + m)
        Of a column of ones, or of root weights, and m others.
    unit : array of shape (m,)
        What to multiply each column by.

    Returns
    -------
    centred : array of shape (b, m, m)
    mean : array of shape (b, m)
        Before scaling.
    """
    n_systems, m = len(sums), sums.shape[1] - 1
    centred, mean = np.empty((n_systems, m, m)), np.empty((n_systems, m))
    for b in range(n_systems):
        count = max(sums[b, 0, 0], np.finfo(np.float64).tiny)
        for i in range(m):
            mean[b, i] = sums[b, 0, 1 + i] / count
        for i in range(m):
            for j in range(m):
                product = count * mean[b, i] * mean[b, j]
                centred[b, i, j] = (sums[b, 1 + i, 1 + j] - product) * unit[i] * unit[j]
    return centred, mean


@njit(cache=True, nogil=True, fastmath=REORDER)
def solve_least_squares(
    gram: FloatArray, target: FloatArray, noise: FloatArray, penalty: FloatArray, cutoff: float
) -> tuple[FloatArray, BoolArray, BoolArray]:
    """Solve many least squares problems from their Gram matrices, each by minimum norm.

    Parameters
    ----------
    gram : array of shape (b, d, d)
        XᵀX of centred columns.
    target : array of shape (b, d, t)
        Xᵀy of t targets.
    noise : array of shape (b, d)
        A squared column length below this is rounding: the column depends on the others.
    penalty : array of shape (b, d)
        Of ridge regression.
    cutoff : float
        Relative size of a singular value that an estimator takes for zero.

    Returns
    -------
    coefficients : array of shape (b, d, t)
    certain : array of shape (b,)
        False where columns are so nearly dependent that the Gram matrix cannot tell, or that the
        estimator's cutoff could matter.
    dropped : array of shape (b, d)
        The columns that were taken for constant or dependent.
    """
    n_systems, d, t = target.shape
    coefficients = np.zeros((n_systems, d, t))
    certain = np.ones(n_systems, dtype=np.bool_)
    dropped = np.zeros((n_systems, d), dtype=np.bool_)
    rest, L = np.empty((d, d)), np.empty((d, d))
    pivots = np.empty(d, dtype=np.int64)
    for b in range(n_systems):
        rest[:] = gram[b]
        rank, certain[b] = _pivoted_cholesky(rest, noise[b], penalty[b], cutoff, L, pivots)
        dropped[b][pivots[rank:]] = True
        if certain[b]:
            real = np.diag(gram[b]) > noise[b]
            solve_factored(L, pivots, rank, real, target[b], coefficients[b])
    return coefficients, certain, dropped


@njit(cache=True, nogil=True, fastmath=REORDER)
def solve_factored(
    L: FloatArray,
    pivots: IntArray,
    rank: int,
    real: BoolArray,
    target: FloatArray,
    coefficients: FloatArray,
) -> None:
    """Solve one least squares problem by minimum norm, from the factor of its Gram matrix.

    ``L`` and ``pivots`` are as `_pivoted_cholesky` has them; ``real`` tells which columns are more
    than noise; ``coefficients`` come as zeros.
    """
    x = np.empty(rank)
    for column in range(target.shape[1]):
        for k in range(rank):
            row = L[pivots[k]]
            x[k] = (target[pivots[k], column] - np.dot(row[:k], x[:k])) / row[k]
        _back_substitute(L, pivots, x)
        for k in range(rank):
            coefficients[pivots[k], column] = x[k]
    if rank < len(L):
        _shorten(L, pivots, rank, real, coefficients)


@njit(cache=True, nogil=True, fastmath=REORDER)
def _pivoted_cholesky(
    gram: FloatArray,
    noise: FloatArray,
    penalty: FloatArray,
    cutoff: float,
    L: FloatArray,
    pivots: IntArray,
) -> tuple[int, bool]:
    """Factor gram + penalty, at each step by the column that is clearest of noise; stop at noise.

    Row i of L has the part of column i in the span of the pivots, which come first in ``pivots``;
    the rest of ``pivots`` lists the columns that depend on them. Also tells whether the rank is
    clear. Pivots are squared singular values, within a modest factor. ``gram`` is used up.
    """
    d = len(gram)
    left, per_noise = np.empty(d), 1.0 / np.maximum(noise, np.finfo(np.float64).tiny)
    for i in range(d):
        pivots[i] = i
        left[i] = gram[i, i] + penalty[i] if gram[i, i] > noise[i] else 0.0
    clear, largest, least = True, 0.0, np.inf
    for k in range(d):
        best, clearest = k, left[pivots[k]] * per_noise[pivots[k]]
        for m in range(k + 1, d):
            clearness = left[pivots[m]] * per_noise[pivots[m]]
            if clearness > clearest:
                best, clearest = m, clearness
        pivots[k], pivots[best] = pivots[best], pivots[k]
        p = pivots[k]
        if left[p] <= DOUBT * noise[p]:
            break
        largest, least = max(largest, left[p]), min(least, left[p])
        clear = least > (30 * cutoff) ** 2 * largest
        L[p, k] = np.sqrt(left[p])
        per_length = 1.0 / L[p, k]
        for m in range(k + 1, d):
            i = pivots[m]
            L[i, k] = gram[i, p] * per_length
            left[i] -= L[i, k] ** 2
            factor = L[i, k] * per_length
            for j in range(d):  # also what is done with: a plain loop is quicker
                gram[i, j] -= factor * gram[p, j]
    else:
        return d, clear
    for m in range(k, d):  # what is left of every other column must be rounding, too
        i = pivots[m]
        clear = clear and left[i] <= noise[i]
    return k, clear


@njit(cache=True, nogil=True, fastmath=REORDER)
def _back_substitute(L: FloatArray, pivots: IntArray, x: FloatArray) -> None:
    """Solve Lᵀ x = x in place, over the pivots."""
    for k in range(len(x) - 1, -1, -1):
        row = L[pivots[k]]
        x[k] /= row[k]
        for m in range(k):
            x[m] -= row[m] * x[k]


@njit(cache=True, nogil=True, fastmath=REORDER)
def _shorten(
    L: FloatArray,
    pivots: IntArray,
    rank: int,
    real: BoolArray,
    coefficients: FloatArray,
) -> None:
    """Take out of the coefficients what predicts nothing: their part in the null space.

    Every column that depends on the pivots gives a null vector: itself minus its part in their
    span. A constant column has a coefficient of zero already.
    """
    d = len(L)
    null = np.zeros((d - rank, d))
    r = 0
    for m in range(rank, d):
        j = pivots[m]
        if real[j]:
            x = L[j, :rank].copy()
            _back_substitute(L, pivots, x)
            mine = null[r]
            for k in range(rank):
                mine[pivots[k]] = -x[k]
            mine[j] = 1.0
            for _ in range(2):  # once more takes off what rounding has left
                for q in range(r):
                    _take_off(mine, null[q])
                mine /= np.sqrt(np.dot(mine, mine))
            for column in coefficients.T:
                _take_off(column, mine)
            r += 1


@njit(cache=True, nogil=True, fastmath=REORDER)
def _take_off(vector: FloatArray, direction: FloatArray) -> None:
    """Take off a vector its part in a direction of length one."""
    part = 0.0
    for i in range(len(vector)):
        part += vector[i] * direction[i]
    for i in range(len(vector)):
        vector[i] -= part * direction[i]
