"""Compiled mixtures on both sides of one split. Imported only when one is needed.

Plain loops throughout: they compile in a fraction of the time that expressions of arrays take.
"""

import numpy as np
from numba import njit

from predictree.model.tree import BoolArray, FloatArray, IntArray

FAR, STEPS = 0.1, 3  # a weight that moves by more in a Newton step gets some more
LEAST, CLOSE, SMALL = 0.1, 1e-9, 1e-12  # of a row's probability; of slopes; of a matrix


@njit(cache=True, nogil=True)
def mixtures_of_sides(
    basis: FloatArray,
    mass: FloatArray,
    left: BoolArray,
    fold: IntArray,
    start: FloatArray,
    toward: FloatArray,
    strength: FloatArray,
) -> FloatArray:
    """Weights of all predictors on either side of a split, found without each fold: (2, f, p).

    They come near the least mean over rows of −log Σ_j w_j b_j plus strength / n ‖w − toward‖² over
    the simplex, the strength being that of the fold, by Newton steps: one from ``start``, at which
    all logarithms are zero, and some more where that goes far.

    Parameters
    ----------
    basis : array of shape (n, p)
    mass : array of shape (n,)
    left : array of shape (n,)
    fold : array of shape (n,)
    start : array of shape (p,)
    toward : array of shape (f, p)
    strength : array of shape (f,)
    """
    p, n_folds = basis.shape[1], len(toward)
    gram, slope = np.zeros((2, n_folds, p, p)), np.zeros((2, n_folds, p))
    total, count = np.zeros((2, n_folds)), np.zeros((2, n_folds))
    for i in range(len(basis)):
        side, f = 0 if left[i] else 1, fold[i]
        total[side, f] += mass[i]
        count[side, f] += 1
        _add(basis[i], mass[i], gram[side, f], slope[side, f])
    weights, H, pull = np.empty((2, n_folds, p)), np.empty((p, p)), np.empty(p)
    for side in range(2):
        for f in range(n_folds):
            w, hold = weights[side, f], strength[f]
            w[:] = toward[f]
            ridge = _pose(gram[side], slope[side], total[side], count[side], f, hold, w, H, pull)
            if ridge < 0:
                continue
            _on_simplex(H, pull, w)
            _shorten(basis, left, fold, side, f, start, w)
            moved = 0.0
            for u in range(p):
                moved = max(moved, abs(w[u] - start[u]))
            if moved > FAR:
                for _ in range(STEPS):
                    _step(basis, mass, left, fold, side, f, toward[f], ridge, H, pull, w)
    return weights


@njit(cache=True, nogil=True)
def squares_of_sides(
    errors: FloatArray,
    mass: FloatArray,
    left: BoolArray,
    fold: IntArray,
    toward: FloatArray,
    strength: FloatArray,
) -> FloatArray:
    """Return the weights of all predictors on both sides, found without each fold: (2, f, p).

    They minimise the mean of half the square of what errors (n, k, p) come to, held to ``toward``
    as in `mixtures_of_sides`.
    """
    p, n_folds = errors.shape[2], len(toward)
    gram, slope = np.zeros((2, n_folds, p, p)), np.zeros((2, n_folds, p))
    total, count = np.zeros((2, n_folds)), np.zeros((2, n_folds))
    for i in range(len(errors)):
        side, f = 0 if left[i] else 1, fold[i]
        total[side, f] += mass[i]
        count[side, f] += 1
        for c in range(errors.shape[1]):
            for u in range(p):
                weighted = mass[i] * errors[i, c, u]
                for v in range(u + 1):
                    gram[side, f, u, v] += weighted * errors[i, c, v]
    weights, H, pull = np.empty((2, n_folds, p)), np.empty((p, p)), np.empty(p)
    for side in range(2):
        for f in range(n_folds):
            w, hold = weights[side, f], strength[f]
            w[:] = toward[f]
            ridge = _pose(gram[side], slope[side], total[side], count[side], f, hold, w, H, pull)
            if ridge < 0:
                continue
            _divide(H, pull)
            _on_simplex(H, pull, w)
    return weights


@njit(cache=True, nogil=True)
def _pose(
    gram: FloatArray,
    slope: FloatArray,
    total: FloatArray,
    count: FloatArray,
    f: int,
    strength: float,
    toward: FloatArray,
    H: FloatArray,
    pull: FloatArray,
) -> float:
    """Pose the problem of a side's rows outside a fold; return its ridge, -1 without rows."""
    rows, summed = 0.0, 0.0
    for g in range(len(count)):
        if g != f:
            rows += count[g]
            summed += total[g]
    if rows < 1 or summed <= 0:
        return -1.0
    ridge = 2 * strength / rows
    _sum_others(gram, slope, f, summed, H, pull)
    _hold(H, pull, ridge, toward)
    return ridge


@njit(cache=True, nogil=True)
def _divide(H: FloatArray, pull: FloatArray) -> None:
    """Divide a problem by its size: when it is solved does not depend on the labels' unit."""
    size = 0.0
    for u in range(len(pull)):
        size = max(size, H[u, u])
    if size > 0:
        for u in range(len(pull)):
            pull[u] /= size
            for v in range(len(pull)):
                H[u, v] /= size


@njit(cache=True, nogil=True)
def _add(b: FloatArray, mass: float, gram: FloatArray, slope: FloatArray) -> None:
    """Add a row's products, the lower triangle, and the row itself."""
    for u in range(len(b)):
        weighted = mass * b[u]
        slope[u] += weighted
        for v in range(u + 1):
            gram[u, v] += weighted * b[v]


@njit(cache=True, nogil=True)
def _sum_others(
    gram: FloatArray, slope: FloatArray, f: int, summed: float, H: FloatArray, pull: FloatArray
) -> None:
    """Put together the means over all folds but one: H and twice the slope."""
    for u in range(len(pull)):
        pull[u] = 0.0
        for v in range(u + 1):
            H[u, v] = 0.0
        for g in range(len(gram)):
            if g != f:
                pull[u] += 2 * slope[g, u] / summed
                for v in range(u + 1):
                    H[u, v] += gram[g, u, v] / summed


@njit(cache=True, nogil=True)
def _hold(H: FloatArray, pull: FloatArray, ridge: float, toward: FloatArray) -> None:
    """Hold the weights, and make the matrix whole."""
    trace = 0.0
    for u in range(len(pull)):
        trace += H[u, u]
        for v in range(u):
            H[v, u] = H[u, v]
    for u in range(len(pull)):
        H[u, u] += ridge + SMALL * trace
        pull[u] += ridge * toward[u]


@njit(cache=True, nogil=True)
def _on_simplex(H: FloatArray, c: FloatArray, w: FloatArray) -> None:
    """Minimise ½ wᵀ H w − cᵀ w over the simplex, from w, moving weight from one to another."""
    slope = np.empty(len(w))
    for u in range(len(w)):
        slope[u] = -c[u]
        for v in range(len(w)):
            slope[u] += H[u, v] * w[v]
    for _ in range(1000):
        low, high = 0, -1
        for u in range(len(w)):
            if slope[u] < slope[low]:
                low = u
            if w[u] > 0 and (high < 0 or slope[u] > slope[high]):
                high = u
        gap = slope[high] - slope[low]
        if gap < CLOSE:
            break
        curvature = H[low, low] + H[high, high] - 2 * H[low, high]
        moved = w[high] if curvature * w[high] <= gap else gap / curvature
        w[low] += moved
        w[high] = w[high] - moved if moved < w[high] else 0.0
        for u in range(len(w)):
            slope[u] += moved * (H[low, u] - H[high, u])


@njit(cache=True, nogil=True)
def _shorten(
    basis: FloatArray,
    left: BoolArray,
    fold: IntArray,
    side: int,
    f: int,
    start: FloatArray,
    w: FloatArray,
) -> None:
    """Let no row that a step was found on lose more than nine tenths of its probability."""
    worst = 1.0 - LEAST
    for i in range(len(basis)):
        if left[i] == (side == 0) and fold[i] != f:
            lost = 1.0
            for u in range(len(w)):
                lost -= basis[i, u] * w[u]
            worst = max(worst, lost)
    length = (1.0 - LEAST) / worst
    for u in range(len(w)):
        w[u] = start[u] + length * (w[u] - start[u])


@njit(cache=True, nogil=True)
def _step(
    basis: FloatArray,
    mass: FloatArray,
    left: BoolArray,
    fold: IntArray,
    side: int,
    f: int,
    toward: FloatArray,
    ridge: float,
    H: FloatArray,
    pull: FloatArray,
    w: FloatArray,
) -> None:
    """Take a Newton step on the mean of −log Σ_j w_j b_j, held to ``toward``, in place."""
    p, summed = len(w), 0.0
    scaled, new = np.empty(p), np.empty(p)
    for u in range(p):
        pull[u], new[u] = 0.0, w[u]
        for v in range(p):
            H[u, v] = 0.0
    for i in range(len(basis)):
        if left[i] == (side == 0) and fold[i] != f:
            _scale(basis[i], w, scaled)
            _add(scaled, mass[i], H, pull)
            summed += mass[i]
    for u in range(p):
        pull[u] *= 2 / summed
        for v in range(u + 1):
            H[u, v] /= summed
    _hold(H, pull, ridge, toward)
    _on_simplex(H, pull, new)
    worst = 1.0 - LEAST
    for i in range(len(basis)):
        if left[i] == (side == 0) and fold[i] != f:
            _scale(basis[i], w, scaled)
            lost = 0.0
            for u in range(p):
                lost -= scaled[u] * (new[u] - w[u])
            worst = max(worst, lost)
    for u in range(p):
        w[u] += (1.0 - LEAST) / worst * (new[u] - w[u])


@njit(cache=True, nogil=True)
def _scale(b: FloatArray, w: FloatArray, scaled: FloatArray) -> None:
    """Bring a row to where the mixture is one."""
    mixed = 0.0
    for u in range(len(w)):
        mixed += b[u] * w[u]
    for u in range(len(w)):
        scaled[u] = b[u] / mixed
