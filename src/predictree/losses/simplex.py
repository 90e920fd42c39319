"""Minimising losses of convex combinations, over the simplex {w ≥ 0, Σ w = 1}.

Exact solvers for least squares, log loss, absolute error and any convex quadratic. Among equally
good weights the first two take the most even ones, so that a path with the same predictor twice
has a unique answer.
"""

import numpy as np
from scipy.linalg import solve_triangular
from scipy.optimize import linprog, nnls
from scipy.sparse import eye_array, hstack, vstack

from predictree.model.outputs import Labels
from predictree.model.tree import FloatArray

SAME = 1e-7  # relative difference below which predictors are the same on the rows at hand
MAX_STEPS = 200


def simplex_least_squares(residuals: FloatArray) -> FloatArray:
    """Minimise ‖R w‖² over the simplex, R having one column of residuals a predictor.

    On the simplex Σ w_j h_j − y = Σ w_j (h_j − y). For u = t w the non-negative least squares
    ‖R u‖² + c² (Σ u − 1)² = t² ‖R w‖² + c² (t − 1)² has its minimum over t increasing in ‖R w‖,
    so its solution is proportional to the one sought.
    """
    n = residuals.shape[1]
    size = np.sqrt(np.square(residuals).sum() / n)
    if size == 0:
        return np.full(n, 1 / n)
    triangle = np.linalg.qr(residuals, mode="r") / size
    system = np.vstack([triangle, np.ones(n)])
    u, _ = nnls(system, np.append(np.zeros(len(triangle)), 1.0))
    return _most_even(system, _normalised(u))


def _most_even(system: FloatArray, w: FloatArray) -> FloatArray:
    """Return the shortest weights that the system does not tell from w."""
    _, spread, directions = np.linalg.svd(system)
    told = directions[: np.count_nonzero(spread > SAME * spread[0])]
    if len(told) == len(w):
        return w
    firm = np.vstack([told / SAME, np.eye(len(w))])
    even, _ = nnls(firm, np.concatenate([told @ w / SAME, np.zeros(len(w))]))
    return _normalised(even)


def simplex_log_loss(p: FloatArray, mass: FloatArray) -> FloatArray:
    """Minimise −Σ mass_i log(Σ_j w_j p_ij) over the simplex, p being positive.

    Sequential quadratic programming. With m = P w and Q = diag(√mass / m) P, the gradient is
    −Qᵀ Q w and the Hessian Qᵀ Q, so that a Newton step over the simplex minimises ‖Q x − 2 Q w‖:
    the least squares above. It stops when the largest possible gain is below rounding: by
    convexity that gain is at most max_j (Pᵀ (mass / m))_j − 1.
    """
    w = np.full(p.shape[1], 1 / p.shape[1])
    for _ in range(MAX_STEPS):
        mixed = p @ w
        scaled = p * (np.sqrt(mass) / mixed)[:, None]
        step = simplex_least_squares(scaled - 2 * (scaled @ w)[:, None]) - w
        w = w + _step_length(p, mass, w, step) * step
        if (p.T @ (mass / mixed)).max() - 1 < 1e-12:
            break
    return _normalised(w)


def _step_length(p: FloatArray, mass: FloatArray, w: FloatArray, step: FloatArray) -> float:
    """Shorten the step until the loss has not risen, up to rounding.

    No row may lose more than nine tenths of its probability at once: a row that all but loses it
    would rule the next quadratic problem and ruin its condition.
    """
    mixed, change = p @ w, p @ step
    limit = -mass @ np.log(mixed) + 1e-14
    length = min(1.0, 0.9 / max(float((-change / mixed).max()), 0.9))
    while -mass @ np.log(mixed + length * change) > limit:
        length /= 2
    return length


def simplex_absolute(scores: FloatArray, y: Labels, mass: FloatArray) -> FloatArray:
    """Minimise Σ mass_i |Σ_j w_j h_ij − y_i| over the simplex, as a linear program."""
    n_rows, n = scores.shape
    size = np.abs(y - scores.mean(axis=1)).max() or 1.0  # the solver's tolerances are absolute
    target, scores = y / size, scores / size
    slack = eye_array(n_rows)
    result = linprog(
        np.concatenate([np.zeros(n), mass / mass.sum()]),
        A_ub=vstack([hstack([scores, -slack]), hstack([-scores, -slack])]).tocsr(),
        b_ub=np.concatenate([target, -target]),
        A_eq=np.concatenate([np.ones(n), np.zeros(n_rows)])[None, :],
        b_eq=[1.0],
        bounds=(0, None),
    )
    if result.x is None:
        raise RuntimeError(f"the linear program of the path weights failed: {result.message}")
    return _normalised(result.x[:n])


def simplex_quadratic(H: FloatArray, c: FloatArray) -> FloatArray:
    """Minimise ½ wᵀ H w − cᵀ w over the simplex, H being positive definite.

    With H = L Lᵀ this is ½ ‖Lᵀ w − L⁻¹ c‖², and on the simplex the target moves into the columns.
    """
    w = _by_support(H, c)
    if w is not None:
        return w
    L = np.linalg.cholesky(H)
    target = solve_triangular(L, c, lower=True)
    u, _ = nnls(
        np.vstack([(L.T - target[:, None]) / np.abs(L).max(), np.ones(len(c))]),
        np.append(np.zeros(len(c)), 1.0),
    )
    return _normalised(u)


def _by_support(H: FloatArray, c: FloatArray) -> FloatArray | None:
    """Return the same by guessing which weights are above zero; None if the guess is wrong.

    Those that are not when Σ w = 1 alone is asked for are left out. What is found is the minimum
    if no slope is steeper than those of the others.
    """
    support = np.arange(len(c))
    while True:
        sides = np.stack([np.ones(len(support)), c[support]], axis=1)
        level, pull = np.linalg.solve(H[np.ix_(support, support)], sides).T
        inside = pull + (1.0 - pull.sum()) / level.sum() * level
        if inside.min() > 0:
            break
        support = support[inside > 0]
    w = np.zeros(len(c))
    w[support] = inside
    slope = H @ w - c
    spread = slope[support].max() - slope.min()
    return _normalised(w) if spread <= 1e-12 * np.abs(c).max() else None


def shrunk_log_loss(
    p: FloatArray, mass: FloatArray, toward: FloatArray, strength: float
) -> FloatArray:
    """Minimise −Σ mass_i log(Σ_j w_j p_ij) + strength ‖w − toward‖² over the simplex.

    Newton's method as in `simplex_log_loss`, on Gram matrices: the strength makes them definite.
    """
    n, root = p.shape[1], np.sqrt(mass)
    w = 0.9 * toward + 0.1 / n
    mixed = p @ w
    for _ in range(MAX_STEPS):
        scaled = p * (root / mixed)[:, None]
        slope = scaled.T @ root
        H = scaled.T @ scaled
        H[np.arange(n), np.arange(n)] += 2 * strength
        gradient = 2 * strength * (w - toward) - slope
        if gradient @ w - gradient.min() < 1e-10:  # by convexity there is no more to gain
            break
        step = simplex_quadratic(H, 2 * slope + 2 * strength * toward) - w
        change = p @ step
        length = _damped(mixed, change, mass, w - toward, step, strength)
        w, mixed = w + length * step, mixed + length * change
    return _normalised(w)


def _damped(
    mixed: FloatArray,
    change: FloatArray,
    mass: FloatArray,
    away: FloatArray,
    step: FloatArray,
    strength: float,
) -> float:
    """Shorten the step as `_step_length` does, with the distance from the target in the loss."""

    def value(length: float) -> float:
        further = away + length * step
        return float(-mass @ np.log(mixed + length * change) + strength * further @ further)

    length = min(1.0, 0.9 / max(float((-change / mixed).max()), 0.9))
    limit = value(0.0) + 1e-14
    while value(length) > limit:
        length /= 2
    return length


def _normalised(w: FloatArray) -> FloatArray:
    """Return w on the simplex; a weight that is only rounding is none."""
    w = np.where(w > 1e-12 * w.max(), w, 0.0)
    return np.asarray(w / w.sum())
