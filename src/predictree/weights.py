"""Weights on the path (Algorithm 2): convex combinations that minimise the loss on V².

Three exact solvers over the simplex {w ≥ 0, Σ w = 1}: least squares, log loss and absolute error.
Among equally good weights the first two take the most even ones, so that a path with the same
predictor twice has a unique answer.
"""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from scipy.optimize import linprog, nnls
from scipy.sparse import eye_array, hstack, vstack

from predictree.grower import GrowingNode, Kept, PredictorKey
from predictree.losses import Combination, Judged, Labels, true_class_probability
from predictree.problem import Problem
from predictree.tree import FloatArray, IntArray

SAME = 1e-7  # relative difference below which predictors are the same on the rows at hand
MAX_STEPS = 200


def weigh(
    problem: Problem,
    nodes: Sequence[GrowingNode],
    predictors: Mapping[PredictorKey, Kept],
    min_rows: int,
) -> dict[int, FloatArray]:
    """Return w*(Π): for every leaf the weights of the nodes on its path, from the root down."""
    weights = {}
    for leaf in (node for node in nodes if node.children is None):
        rows = weighing_rows(problem, leaf, min_rows)
        place = np.searchsorted(problem.partition.v2, rows)
        scores = [predictors[node.predictor].v2[place] for node in leaf.ancestry()]
        weights[leaf.id] = path_weights(problem.loss.combination, problem.judged(rows), scores)
    return weights


def weighing_rows(problem: Problem, leaf: GrowingNode, min_rows: int) -> IntArray:
    """Return V² of the leaf, or of the nearest enclosing node that has enough rows.

    Enough is ``min_rows`` and, in a classification, two classes. The root's has to do.
    """
    for node in reversed(leaf.ancestry()):
        y = problem.y[node.region.v2]
        varied = problem.n_outputs == 1 or len(np.unique(y)) > 1
        if len(y) >= min_rows and varied:
            return node.region.v2
    return problem.root.v2


def path_weights(
    combination: Combination, rows: Judged, scores: Sequence[FloatArray]
) -> FloatArray:
    """Return the weights of the predictors with these scores that minimise the loss on the rows."""
    if len(scores) == 1:
        return np.ones(1)
    return SOLVERS[combination](rows, np.stack(scores, axis=-1))


def _squares(rows: Judged, scores: FloatArray) -> FloatArray:
    """Least squares on the labels, or on the class indicators."""
    target = _targets(rows.y, scores.shape[1])
    residuals = scores - target[:, :, None]
    root = np.sqrt(rows.mass)[:, None, None]
    return simplex_least_squares((residuals * root).reshape(-1, scores.shape[2]))


def _log(rows: Judged, scores: FloatArray) -> FloatArray:
    """Log loss of the mixture of the predictors' probabilities for the true class."""
    columns = [true_class_probability(rows.y, scores[:, :, j]) for j in range(scores.shape[2])]
    return simplex_log_loss(np.column_stack(columns), rows.mass / rows.mass.sum())


def _absolute(rows: Judged, scores: FloatArray) -> FloatArray:
    """Mean absolute error of the mixture."""
    return simplex_absolute(scores[:, 0, :], rows.y, rows.mass)


SOLVERS: dict[Combination, Callable[[Judged, FloatArray], FloatArray]] = {
    "squares": _squares,
    "log": _log,
    "absolute": _absolute,
}


def _targets(y: Labels, n_outputs: int) -> FloatArray:
    if n_outputs == 1:
        return np.asarray(y, dtype=float)[:, None]
    return np.eye(n_outputs)[y]


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


def _normalised(w: FloatArray) -> FloatArray:
    """Return w on the simplex; a weight that is only rounding is none."""
    w = np.where(w > 1e-12 * w.max(), w, 0.0)
    return np.asarray(w / w.sum())
