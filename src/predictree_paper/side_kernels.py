"""Compiled loops over the scatter matrices of sides, of which there may be gigabytes."""

import numpy as np
from numba import njit

from predictree.model.tree import FloatArray, IntArray

REORDER = {"reassoc", "contract", "nsz"}  # lets the compiler vectorise sums; NaN stays NaN


@njit(cache=True, nogil=True, fastmath=REORDER, error_model="numpy")
def scatter_of_sides(bins: FloatArray, scatter: FloatArray) -> None:
    """Sum Gram matrices over the bins on either side of each threshold, about the means there.

    Parameters
    ----------
    bins : array of shape (q + 1, 1 + p, 1 + p)
        Sums of products over the rows between thresholds; the first column is of ones.
    scatter : array of shape (q, 2, p, p)
        Is filled.
    """
    q = len(scatter)
    for side in range(2):
        sums = np.zeros_like(bins[0])
        for k in range(q):  # each side is summed from its end: a difference would round more
            cut = k if side == 0 else q - 1 - k
            _add_about_means(sums, bins[cut + side], scatter[cut, side])


@njit(cache=True, nogil=True, fastmath=REORDER, error_model="numpy")
def _add_about_means(sums: FloatArray, more: FloatArray, scatter: FloatArray) -> None:
    p = len(scatter)
    for j in range(p + 1):
        sums[0, j] += more[0, j]
    count, total = sums[0, 0], sums[0, 1:]
    for i in range(p):
        mean = total[i] / count
        row, new, out = sums[1 + i, 1:], more[1 + i, 1:], scatter[i]
        for j in range(p):
            row[j] += new[j]
            out[j] = row[j] - mean * total[j]


@njit(cache=True, nogil=True, fastmath=REORDER, error_model="numpy")
def regress(
    flat: FloatArray,
    p: int,
    i: int,
    slope: FloatArray,
    kept: IntArray,
    slopes: FloatArray,
    floor: FloatArray,
) -> FloatArray:
    """Take a multiple of variable i off the others, keep some, and look one regression ahead.

    In place, as the matrices may fill much of the memory; the new ones, which are smaller, follow
    each other from the start. It looks ahead while a matrix is at hand, for the same reason.

    Parameters
    ----------
    flat : array of shape (m * p * p,)
        Scatter matrices, one after the other; the last column of each is the target.
    p : int
        Columns of each of them.
    i : int
    slope : array of shape (p,)
        By how much of variable i each column shrinks.
    kept : array of shape (k,)
        Columns that are kept, in rising order, with the target.
    slopes, floor
        As in `rss_after`, of the kept columns.

    Returns
    -------
    array of shape (m, k - 1)
        As of `rss_after`, of the new matrices.
    """
    k = len(kept)
    slope = slope[kept]
    found = np.empty((len(flat) // (p * p), k - 1))
    half, row = np.empty(k), np.empty(k)
    for s in range(len(found)):
        old, new = flat[s * p * p : (s + 1) * p * p], flat[s * k * k : (s + 1) * k * k]
        for a in range(k):
            half[a] = old[i * p + kept[a]] - 0.5 * slope[a] * old[i * p + i]
        for a in range(k):
            _gather(old[kept[a] * p : (kept[a] + 1) * p], kept, row)
            _shrink(row, half[a], half, slope[a], slope, new[a * k : (a + 1) * k])
        _rss_after(new.reshape(k, k), slopes, floor, found[s])
    return found


@njit(cache=True, nogil=True, fastmath=REORDER, error_model="numpy")
def _gather(row: FloatArray, kept: IntArray, out: FloatArray) -> None:
    for b in range(len(kept)):
        out[b] = row[kept[b]]


@njit(cache=True, nogil=True, fastmath=REORDER, error_model="numpy")
def _shrink(
    row: FloatArray,
    half_a: float,
    half: FloatArray,
    slope_a: float,
    slope: FloatArray,
    out: FloatArray,
) -> None:
    for b in range(len(row)):
        out[b] = row[b] - half_a * slope[b] - slope_a * half[b]


@njit(cache=True, nogil=True, fastmath=REORDER, error_model="numpy")
def rss_after(scatter: FloatArray, slopes: FloatArray, floor: FloatArray) -> FloatArray:
    """Return the sums of squares about the best line that follows the regression on each variable.

    Parameters
    ----------
    scatter : array of shape (m, d + 1, d + 1)
        Of sets of rows; the last column is the target.
    slopes : array of shape (d + 1, d)
        Those of all columns in each variable, which are taken off.
    floor : array of shape (d,)
        Sums of squares up to which a variable does not vary.

    Returns
    -------
    array of shape (m, d)
    """
    found = np.empty((len(scatter), len(floor)))
    for s in range(len(scatter)):
        _rss_after(scatter[s], slopes, floor, found[s])
    return found


@njit(cache=True, nogil=True, fastmath=REORDER, error_model="numpy")
def _rss_after(C: FloatArray, slopes: FloatArray, floor: FloatArray, found: FloatArray) -> None:
    """Do it for one matrix, with the entries alone that the best line needs."""
    d = len(floor)
    own, with_y = np.empty(d), np.empty(d)
    for i in range(d):
        own[i] = C[i, i]
        with_y[i] = C[d, i] - slopes[d, i] * own[i]
    explained = np.zeros(d)
    for j in range(d):
        before = explained[j]
        _keep_most(explained, C[j], own, with_y, slopes[j], slopes[d], C[d, j], floor[j], j)
        explained[j] = before  # no line on a variable follows the regression on itself
    for i in range(d):
        left = C[d, d] - (C[d, i] + with_y[i]) * slopes[d, i]
        found[i] = max(left - explained[i], 0.0)


@njit(cache=True, nogil=True, fastmath=REORDER, error_model="numpy")
def _keep_most(
    explained: FloatArray,
    with_j: FloatArray,
    own: FloatArray,
    with_y: FloatArray,
    slope_j: FloatArray,
    slope_y: FloatArray,
    jy: float,
    floor: float,
    j: int,
) -> None:
    """Raise what lines explain after each regression to what the line on variable j does.

    The regressions are the inner loop: a maximum over lines would not be vectorised.
    """
    jj = with_j[j]
    for i in range(len(explained)):
        varies = jj - (2 * with_j[i] - slope_j[i] * own[i]) * slope_j[i]
        covaries = jy - slope_y[i] * with_j[i] - with_y[i] * slope_j[i]
        more = covaries * covaries / varies if varies > floor else 0.0
        explained[i] = more if more > explained[i] else explained[i]
