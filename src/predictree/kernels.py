"""Compiled loops that NumPy cannot express. Imported only when one of them is needed."""

import numpy as np
from numba import njit
from numpy.typing import NDArray

from predictree.tree import BoolArray, FloatArray, IntArray

DOUBT = 1e3  # what is left of a column is real above this many times the noise, rounding below it
EQUAL = 1e-10  # scores that differ by less, relatively, are ties
FAR, STEPS = 0.1, 3  # a weight that moves by more in a Newton step gets some more
REORDER = {"reassoc", "contract", "nsz"}  # lets the compiler vectorise sums; NaN stays NaN


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


@njit(cache=True, nogil=True)
def mixtures_of_sides(
    basis: FloatArray,
    mass: FloatArray,
    left: BoolArray,
    fold: IntArray,
    start: FloatArray,
    toward: FloatArray,
    strength: float,
    logarithmic: bool,
) -> FloatArray:
    """Weights of all predictors on either side of a split, found without each fold: (2, f, p).

    They minimise the mean over rows of ½ ‖Σ_j w_j b_j‖² plus strength / n ‖w − toward‖² over the
    simplex. Where the loss is −log Σ_j w_j b_j they come near it by Newton steps: one from
    ``start``, at which all logarithms are zero, and some more where that goes far.

    Parameters
    ----------
    basis : array of shape (n, k, p)
    mass : array of shape (n,)
    left : array of shape (n,)
    fold : array of shape (n,)
    start : array of shape (p,)
    toward : array of shape (f, p)
    """
    n, k, p = basis.shape
    n_folds = len(toward)
    gram, slope = np.zeros((2, n_folds, p, p)), np.zeros((2, n_folds, p))
    total, count = np.zeros((2, n_folds)), np.zeros((2, n_folds))
    for i in range(n):
        side, f = 0 if left[i] else 1, fold[i]
        total[side, f] += mass[i]
        count[side, f] += 1
        for c in range(k):
            b = basis[i, c]
            for u in range(p):
                weighted = mass[i] * b[u]
                slope[side, f, u] += weighted
                for v in range(u + 1):
                    gram[side, f, u, v] += weighted * b[v]
    weights = np.empty((2, n_folds, p))
    for side in range(2):
        for f in range(n_folds):
            rows, sum_of_mass = (
                count[side].sum() - count[side, f],
                total[side].sum() - total[side, f],
            )
            if rows < 1 or sum_of_mass <= 0:
                weights[side, f] = toward[f]
                continue
            ridge = 2 * strength / rows
            H = (gram[side].sum(axis=0) - gram[side, f]) / sum_of_mass
            H += np.tril(H, -1).T
            trace = np.trace(H)
            for u in range(p):
                H[u, u] += ridge + 1e-12 * trace
            pull = ridge * toward[f]
            if logarithmic:
                pull += 2 * (slope[side].sum(axis=0) - slope[side, f]) / sum_of_mass
            weights[side, f] = _on_simplex(H, pull, toward[f].copy())
    if logarithmic:
        _shorten_steps(basis, left, fold, start, weights)
        for side in range(2):
            for f in range(n_folds):
                if np.abs(weights[side, f] - start).max() > FAR:
                    mine = (left == (side == 0)) & (fold != f)
                    if mass[mine].sum() > 0:
                        seen = basis[mine, 0]
                        _newton_steps(seen, mass[mine], toward[f], strength, weights[side, f])
    return weights


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


@njit(cache=True, nogil=True)
def mixed_scores(
    scores: FloatArray, left: BoolArray, fold: IntArray, weights: FloatArray
) -> FloatArray:
    """Scores of all rows, (n, k), each by the weights, (2, f, p), of its side and fold."""
    n, k, _ = scores.shape
    mixed = np.empty((n, k))
    for i in range(n):
        mine = weights[0 if left[i] else 1, fold[i]]
        for c in range(k):
            mixed[i, c] = np.dot(scores[i, c], mine)
    return mixed


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
