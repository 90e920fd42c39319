"""Compiled search for the cuts of classification trees."""

import numpy as np
from numba import njit
from numpy.typing import NDArray

from predictree.model.tree import FloatArray, IntArray

EQUAL = 1e-10  # contrasts that differ by less, relatively, are ties


@njit(cache=True, nogil=True)
def _contrast(mass: float, signed: float, by_error: bool) -> float:
    """Return s²/w of one side of a cut: its weighted Gini index is (w - s²/w) / 2.

    Or |s|: its error, if it answers with the larger class, is (w - |s|) / 2. A side found by
    subtraction may be so light that rounding leaves nothing of it.
    """
    if by_error:
        return abs(signed)
    return signed * signed / mass if mass > 0.0 else 0.0


@njit(cache=True, nogil=True)
def best_cuts(
    order: NDArray[np.int32],
    starts: IntArray,
    first_run: IntArray,
    place: NDArray[np.int32],
    mass: FloatArray,
    total: FloatArray,
    by_error: bool,
) -> IntArray:
    """Find for each of several nodes the cut with the least Gini index, of two classes.

    Each feature is walked once, from its lowest value to its highest, for all nodes together. Where
    a node goes on to its next value, the cut between is looked at. Of cuts alike up to rounding the
    first stays: that of the lowest feature and the lowest values.

    Parameters
    ----------
    order : array of shape (d * n,)
        For one feature after the other, the rows in rising order.
    starts : array of shape (n_runs + 1,)
        Where in ``order`` each run of equal values starts, and where the last one ends.
    first_run : array of shape (d + 1,)
        The first run of each feature, and their number.
    place : array of shape (n,)
        The node of every row; below zero it has none.
    mass : array of shape (n, 2)
        Weight w > 0 and w y of every row, with y of -1 and +1.
    total : array of shape (n_nodes, 2)
        Their sums over each node.
    by_error : bool
        Whether to look for the least error instead.

    Returns
    -------
    cuts : array of shape (n_nodes, 3)
        The feature, and the runs next to the cut below and above; -1 where all rows are alike.
    """
    n_nodes = len(total)
    cuts = np.full((n_nodes, 3), -1)
    best = np.full(n_nodes, -np.inf)
    below = np.empty((n_nodes, 2))
    last = np.empty(n_nodes, dtype=np.int64)
    for feature in range(len(first_run) - 1):
        below[:] = 0.0
        last[:] = -1
        for run in range(first_run[feature], first_run[feature + 1]):
            for i in range(starts[run], starts[run + 1]):
                row = order[i]
                k = place[row]
                if k < 0:
                    continue
                if last[k] != run:
                    if last[k] >= 0:
                        w, s = below[k, 0], below[k, 1]
                        rest_w, rest_s = total[k, 0] - w, total[k, 1] - s
                        contrast = _contrast(w, s, by_error) + _contrast(rest_w, rest_s, by_error)
                        if contrast > best[k] + EQUAL * total[k, 0]:
                            best[k] = contrast
                            cuts[k, 0], cuts[k, 1], cuts[k, 2] = feature, last[k], run
                    last[k] = run
                below[k, 0] += mass[row, 0]
                below[k, 1] += mass[row, 1]
    return cuts
