"""Mixtures by squares on many sides of splits at once, from summed products of errors."""

import numpy as np

from predictree.model.tree import BoolArray, FloatArray, IntArray

ROUNDS = 1000  # moves of weight from one predictor to another, at most
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
    start = np.broadcast_to(toward, gram.shape[:3])
    pull = ridge[..., None] * toward
    return np.where(known[..., None], on_simplex(gram, pull, start), start)


def on_simplex(gram: FloatArray, pull: FloatArray, start: FloatArray) -> FloatArray:
    """Minimise ½ wᵀ H w − cᵀ w over the simplex for many H and c, (..., p, p) and (..., p).

    Weight is moved, from a start, from the predictor with the highest slope to that with the
    lowest, until all slopes are close.
    """
    shape, p = pull.shape, pull.shape[-1]
    gram, pull = gram.reshape(-1, p, p), pull.reshape(-1, p)
    weights = start.reshape(-1, p).copy()
    slope = np.einsum("bij,bj->bi", gram, weights) - pull
    open_ = np.arange(len(weights))
    for _ in range(ROUNDS):
        slopes, mine = slope[open_], weights[open_]
        low, high = slopes.argmin(axis=1), np.where(mine > 0, slopes, -np.inf).argmax(axis=1)
        at = np.arange(len(open_))
        gap = slopes[at, high] - slopes[at, low]
        far = gap >= CLOSE
        if not far.any():
            break
        open_, low, high, gap = open_[far], low[far], high[far], gap[far]
        curvature = gram[open_, low, low] + gram[open_, high, high] - 2 * gram[open_, low, high]
        all_of_it = weights[open_, high]
        whole = curvature * all_of_it <= gap
        moved = np.where(whole, all_of_it, gap / np.where(whole, 1.0, curvature))
        weights[open_, low] += moved
        weights[open_, high] = np.where(whole, 0.0, all_of_it - moved)
        slope[open_] += moved[:, None] * (gram[open_, low] - gram[open_, high])
    return weights.reshape(shape)


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
