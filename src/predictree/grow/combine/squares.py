"""Mixtures by squares on many sides of splits at once, from summed products of errors."""

import numpy as np

from predictree.losses.simplex import simplex_quadratic
from predictree.model.tree import BoolArray, FloatArray, IntArray

ROUNDS = 30  # moves of weight from one predictor to another, for many problems together
FEW = 64  # problems that are solved one by one
CLOSE = 1e-9  # difference of slopes below which nothing is moved
SMALL = 1e-12  # of the trace: makes weights of equal predictors unique


def mixtures_by_squares(
    products: FloatArray, mass: FloatArray, count: FloatArray, toward: FloatArray, hold: FloatArray
) -> FloatArray:
    """Return the weights of all predictors on many sides, found without each fold: (b, f, p).

    They minimise the mean over rows of ½ (Σ_j w_j e_j)² plus hold / n ‖w − toward‖² over the
    simplex.

    Parameters
    ----------
    products : array of shape (b, f, p, p)
        Of the predictors' errors on the rows of each side, summed by fold.
    mass, count : arrays of shape (b, f)
        Summed weights of the rows, and their number.
    toward : array of shape (f, p)
    hold : array of shape (f,)
    """
    rest, rows = (each.sum(axis=1, keepdims=True) - each for each in (mass, count))
    gram = products.sum(axis=1, keepdims=True) - products
    known = (rows > 0) & (rest > 0)
    ridge = 2 * hold / np.where(known, rows, 1.0)
    gram = gram / np.where(known, rest, 1.0)[..., None, None]
    small = SMALL * np.trace(gram, axis1=2, axis2=3)
    place = np.arange(gram.shape[-1])
    gram[..., place, place] += (ridge + small)[..., None]
    weights = np.broadcast_to(toward, gram.shape[:3]).copy()
    pull = ridge[..., None] * toward
    weights[known] = on_simplex(gram[known], pull[known], weights[known])
    return weights


def on_simplex(gram: FloatArray, pull: FloatArray, start: FloatArray) -> FloatArray:
    """Minimise ½ wᵀ H w − cᵀ w over the simplex for many H and c, (..., p, p) and (..., p).

    Weight is moved, from a start, from the predictor with the highest slope to that with the
    lowest, for all of them together. What does not come to rest soon is solved one by one.
    """
    shape, p = pull.shape, pull.shape[-1]
    gram, pull = _in_their_unit(gram.reshape(-1, p, p), pull.reshape(-1, p))
    weights = start.reshape(-1, p).copy()
    open_ = np.arange(len(weights))
    for _ in range(ROUNDS if len(weights) > FEW else 0):
        open_ = open_[_moved(gram[open_], pull[open_], weights, open_)]
    for b in open_.tolist():
        weights[b] = simplex_quadratic(gram[b], pull[b])
    return weights.reshape(shape)


def _in_their_unit(gram: FloatArray, pull: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the same problems in the unit of errors below one, for what is close is absolute."""
    size = np.trace(gram, axis1=1, axis2=2) / gram.shape[-1]
    size = np.where((size > 0) & (size < 1), size, 1.0)
    return gram / size[:, None, None], pull / size[:, None]


def _moved(gram: FloatArray, pull: FloatArray, weights: FloatArray, some: IntArray) -> BoolArray:
    """Move weight from one predictor to another, in some rows; return where that was needed."""
    mine, at = weights[some], np.arange(len(some))
    slope = np.einsum("bij,bj->bi", gram, mine) - pull
    low, high = slope.argmin(axis=1), np.where(mine > 0, slope, -np.inf).argmax(axis=1)
    gap = slope[at, high] - slope[at, low]
    curvature = gram[at, low, low] + gram[at, high, high] - 2 * gram[at, low, high]
    most = mine[at, high]
    whole = curvature * most <= gap
    moved = np.where(whole, most, gap / np.where(whole, 1.0, curvature))
    moved = np.where(gap < CLOSE, 0.0, moved)
    mine[at, low] += moved
    mine[at, high] = np.where(whole & (gap >= CLOSE), 0.0, most - moved)
    weights[some] = mine
    return np.asarray(gap >= CLOSE)


def products_of_sides(
    errors: FloatArray, mass: FloatArray, goes_left: BoolArray, fold: IntArray, n_folds: int
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Sum the products of errors, (n, k, p), the masses and the rows of both sides by fold."""
    cell = np.where(goes_left, 0, n_folds) + fold
    order = np.argsort(cell.astype(np.int16), kind="stable")
    count = np.bincount(cell, minlength=2 * n_folds)
    p, ends = errors.shape[2], np.cumsum(count).tolist()
    products, summed = np.empty((2 * n_folds, p, p)), np.empty(2 * n_folds)
    for c, (start, end) in enumerate(zip([0, *ends], ends, strict=False)):
        rows = order[start:end]
        mine, weight = errors[rows], mass[rows]
        flat = (mine * np.sqrt(weight)[:, None, None]).reshape(-1, p)
        products[c], summed[c] = flat.T @ flat, weight.sum()
    shape = 2, n_folds
    return products.reshape(*shape, p, p), summed.reshape(shape), count.reshape(shape).astype(float)
