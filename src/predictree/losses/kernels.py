"""Compiled loops of ranking losses. Imported only when one of them is needed."""

import numpy as np
from numba import njit

from predictree.model.tree import BoolArray, FloatArray, IntArray

EQUAL = 1e-10  # scores that differ by less, relatively, are ties


@njit(cache=True, nogil=True)
def _split_by_class(
    scores: FloatArray,
    order: IntArray,
    rows: BoolArray,
    positive: BoolArray,
    mass: FloatArray,
    values: FloatArray,
    weights: FloatArray,
) -> tuple[int, int]:
    """List one side's scores in rising order: positives at [0], negatives at [1].

    Returns how many there are of each, or -1 where a score is unknown.
    """
    n_positive = n_negative = 0
    for i in order:
        if rows[i]:
            if np.isnan(scores[i]):
                return -1, -1
            if positive[i]:
                values[0, n_positive] = scores[i]
                weights[0, n_positive] = mass[i]
                n_positive += 1
            else:
                values[1, n_negative] = scores[i]
                weights[1, n_negative] = mass[i]
                n_negative += 1
    return n_positive, n_negative


@njit(cache=True, nogil=True)
def _wins(
    positive: FloatArray,
    positive_mass: FloatArray,
    negative: FloatArray,
    negative_mass: FloatArray,
) -> float:
    """Mass of pairs in which a positive outranks a negative, ties as halves; both lists rise."""
    wins = below = not_above = 0.0
    j = k = 0
    n = len(negative)
    for i in range(len(positive)):
        near = EQUAL * (1e-3 + abs(positive[i]))
        while j < n and negative[j] < positive[i] - near:
            below += negative_mass[j]
            j += 1
        while k < n and negative[k] <= positive[i] + near:
            not_above += negative_mass[k]
            k += 1
        wins += positive_mass[i] * 0.5 * (below + not_above)
    return wins


@njit(cache=True, nogil=True)
def wins_of_pairs(
    scores: FloatArray, order: IntArray, left: BoolArray, positive: BoolArray, mass: FloatArray
) -> FloatArray:
    """Mass of (positive, negative) pairs ranked rightly, for all pairs of predictors.

    Row h of ``scores`` are the scores of predictor h, row h of ``order`` the rows in rising
    order of them. Entry (g, h) joins g on the left rows with h on the others. Each list is merged
    with each list of the other side; nothing is sorted. A pair with an unknown score is NaN.
    """
    n_predictors, n_rows = scores.shape
    values = np.empty((2, n_predictors, 2, n_rows))
    masses = np.empty((2, n_predictors, 2, n_rows))
    sizes = np.empty((2, n_predictors, 2), dtype=np.int64)
    within = np.zeros((2, n_predictors))
    for side in range(2):
        rows = left if side == 0 else ~left
        for h in range(n_predictors):
            v, w = values[side, h], masses[side, h]
            p, q = _split_by_class(scores[h], order[h], rows, positive, mass, v, w)
            sizes[side, h, 0], sizes[side, h, 1] = p, q
            if p >= 0:
                within[side, h] = _wins(v[0, :p], w[0, :p], v[1, :q], w[1, :q])
    wins = np.full((n_predictors, n_predictors), np.nan)
    for g in range(n_predictors):
        p, q = sizes[0, g]
        for h in range(n_predictors):
            r, s = sizes[1, h]
            if p < 0 or r < 0:
                continue
            across = _wins(
                values[0, g, 0, :p], masses[0, g, 0, :p], values[1, h, 1, :s], masses[1, h, 1, :s]
            ) + _wins(
                values[1, h, 0, :r], masses[1, h, 0, :r], values[0, g, 1, :q], masses[0, g, 1, :q]
            )
            wins[g, h] = within[0, g] + within[1, h] + across
    return wins
