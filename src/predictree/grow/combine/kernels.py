"""Compiled mixtures on both sides of a split. Imported only when one of them is needed."""

import numpy as np
from numba import njit

from predictree.model.tree import BoolArray, FloatArray, IntArray

FAR, STEPS = 0.1, 3  # a weight that moves by more in a Newton step gets some more


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
    basis : array of shape (n, 1, p)
    mass : array of shape (n,)
    left : array of shape (n,)
    fold : array of shape (n,)
    start : array of shape (p,)
    toward : array of shape (f, p)
    strength : array of shape (f,)
    """
    n, _, p = basis.shape
    n_folds = len(toward)
    gram, slope = np.zeros((2, n_folds, p, p)), np.zeros((2, n_folds, p))
    total, count = np.zeros((2, n_folds)), np.zeros((2, n_folds))
    for i in range(n):
        side, f = 0 if left[i] else 1, fold[i]
        total[side, f] += mass[i]
        count[side, f] += 1
        b = basis[i, 0]
        for u in range(p):
            weighted = mass[i] * b[u]
            slope[side, f, u] += weighted
            for v in range(u + 1):
                gram[side, f, u, v] += weighted * b[v]
    weights = np.empty((2, n_folds, p))
    H, pull = np.empty((p, p)), np.empty(p)
    for side in range(2):
        for f in range(n_folds):
            rows = _others(count[side], f)
            sum_of_mass = _others(total[side], f)
            if rows < 1 or sum_of_mass <= 0:
                weights[side, f] = toward[f]
                continue
            ridge, trace = 2 * strength[f] / rows, 0.0
            for u in range(p):
                pull[u] = ridge * toward[f, u] + 2 * _others(slope[side, :, u], f) / sum_of_mass
                for v in range(u + 1):
                    H[u, v] = _others(gram[side, :, u, v], f) / sum_of_mass
                    H[v, u] = H[u, v]
                trace += H[u, u]
            for u in range(p):
                H[u, u] += ridge + 1e-12 * trace
            weights[side, f] = _on_simplex(H, pull, toward[f].copy())
    _shorten_steps(basis, left, fold, start, weights)
    for side in range(2):
        for f in range(n_folds):
            if np.abs(weights[side, f] - start).max() > FAR:
                mine = (left == (side == 0)) & (fold != f)
                if mass[mine].sum() > 0:
                    seen = basis[mine, 0]
                    _newton_steps(seen, mass[mine], toward[f], strength[f], weights[side, f])
    return weights


@njit(cache=True, nogil=True)
def _others(values: FloatArray, f: int) -> float:
    """Sum all values but one."""
    total = 0.0
    for g in range(len(values)):
        if g != f:
            total += values[g]
    return total


@njit(cache=True, nogil=True)
def _newton_steps(
    p: FloatArray, mass: FloatArray, toward: FloatArray, strength: float, w: FloatArray
) -> None:
    """Take a few Newton steps on the mean of −log Σ_j w_j p_j, held to ``toward``, in place."""
    n = len(p)
    ridge = 2 * strength / n
    for _ in range(STEPS):
        scaled = p / (p @ w).reshape(-1, 1)
        weighted = scaled * (mass / mass.sum()).reshape(-1, 1)
        H = scaled.T @ weighted
        for u in range(len(w)):
            H[u, u] += ridge + 1e-12
        step = _on_simplex(H, 2 * weighted.sum(axis=0) + ridge * toward, w.copy()) - w
        w += 0.9 / max(0.9, -(scaled @ step).min()) * step


@njit(cache=True, nogil=True)
def _on_simplex(H: FloatArray, c: FloatArray, w: FloatArray) -> FloatArray:
    """Minimise ½ wᵀ H w − cᵀ w over the simplex, from w, moving weight from one to another."""
    slope = H @ w - c
    for _ in range(1000):
        low, high = 0, -1
        for u in range(len(w)):
            if slope[u] < slope[low]:
                low = u
            if w[u] > 0 and (high < 0 or slope[u] > slope[high]):
                high = u
        gap = slope[high] - slope[low]
        if gap < 1e-9:
            break
        curvature = H[low, low] + H[high, high] - 2 * H[low, high]
        moved = w[high] if curvature * w[high] <= gap else gap / curvature
        w[low] += moved
        w[high] = w[high] - moved if moved < w[high] else 0.0
        slope += moved * (H[low] - H[high])
    return w


@njit(cache=True, nogil=True)
def _shorten_steps(
    basis: FloatArray, left: BoolArray, fold: IntArray, start: FloatArray, weights: FloatArray
) -> None:
    """Let no row that a step was found on lose more than nine tenths of its probability."""
    n_folds = weights.shape[1]
    worst = np.full((2, n_folds), 0.9)
    for i in range(len(left)):
        side = 0 if left[i] else 1
        for f in range(n_folds):
            if f != fold[i]:
                worst[side, f] = max(worst[side, f], 1.0 - np.dot(basis[i, 0], weights[side, f]))
    for side in range(2):
        for f in range(n_folds):
            length = 0.9 / worst[side, f]
            weights[side, f] = start + length * (weights[side, f] - start)
