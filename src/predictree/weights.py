"""Weights on the path (Algorithm 2): convex combinations that minimise the loss on V²."""

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from predictree.execution import Failure, attempt
from predictree.grower import Grower, GrowingNode, LeafWeights, Share
from predictree.losses import Combination, Judged, targets, true_class_probability
from predictree.problem import Problem
from predictree.simplex import simplex_absolute, simplex_least_squares, simplex_log_loss
from predictree.tree import FloatArray, IntArray
from predictree.verdict import Evidence

ROWS_A_WEIGHT = 2  # of V², so that the weights of a path are more than noise


def weigh(problem: Problem, grower: Grower, min_rows: int) -> dict[int, list[Share]]:
    """Return w*(Π): for every leaf the weights of the nodes on its path, from the root down."""
    weights = {}
    for leaf in grower.leaves:
        rows = weighing_rows(problem, leaf, min_rows)
        place = np.searchsorted(problem.partition.v2, rows)
        path = leaf.ancestry()
        scores = [grower.predictors[node.predictor].v2[place] for node in path]
        found = path_weights(problem.loss.combination, problem.judged(rows), scores)
        weights[leaf.id] = [
            Share(node.id, node.predictor, float(w)) for node, w in zip(path, found, strict=True)
        ]
    return weights


def mixture_weights(grower: Grower) -> dict[int, list[Share]]:
    """Return for every leaf the weights of its mixture, training sets from the root down."""
    weights = {}
    for leaf in grower.leaves:
        assert leaf.mixture is not None
        shares = sorted((key, weight) for key, weight in leaf.mixture.kept().items())
        weights[leaf.id] = [Share(key[0], key, weight) for key, weight in shares]
    return weights


def evidence(problem: Problem, grower: Grower, weights: LeafWeights) -> Evidence:
    """Return the held-out scores on V² by which the tree is judged against its opponents.

    In a tree of mixtures every row's weights were found without its fold. Path weights were found
    on these rows; so are the stack's then.
    """
    rows = problem.partition.v2
    names = [learner.name for learner in problem.learners]
    alone = {}
    for (owner, i), models in grower.global_models.items():
        if owner != 0:
            continue
        scores = attempt(names[i], partial(problem.held_out, models, rows))
        if not isinstance(scores, Failure):
            alone[names[i]] = scores
    tree = np.empty((len(rows), problem.n_outputs))
    for leaf in grower.leaves:
        place = np.searchsorted(rows, leaf.region.v2)
        tree[place] = (
            leaf.scores
            if leaf.mixture is not None
            else sum(s.weight * grower.predictors[s.key].v2[place] for s in weights[leaf.id])
        )
    root = grower.nodes[0]
    if root.mixture is not None:
        return Evidence(tree, root.scores, alone)
    found = path_weights(problem.loss.combination, problem.judged(rows), list(alone.values()))
    stack = np.stack(list(alone.values()), axis=-1) @ found
    return Evidence(tree, stack, alone)


def weighing_rows(problem: Problem, leaf: GrowingNode, min_rows: int) -> IntArray:
    """Return V² of the leaf, or of the nearest enclosing node that has enough rows.

    Enough is ``min_rows`` and two for each of the path's weights, of which in a classification one
    is outside the largest class. The root's has to do.
    """
    path = leaf.ancestry()
    wanted = ROWS_A_WEIGHT * len(path)
    for node in reversed(path):
        rows = node.region.v2
        if len(rows) >= max(min_rows, wanted) and _varied(problem, rows, max(wanted // 2, 1)):
            return rows
    return problem.root.v2


def _varied(problem: Problem, rows: IntArray, wanted: int) -> bool:
    """Whether so many rows are outside the largest class; in a regression they all are."""
    if problem.n_outputs == 1:
        return True
    return len(rows) - int(np.bincount(problem.y[rows]).max()) >= wanted


def path_weights(
    combination: Combination, rows: Judged, scores: Sequence[FloatArray]
) -> FloatArray:
    """Return the weights of the predictors with these scores that minimise the loss on the rows."""
    if len(scores) == 1:
        return np.ones(1)
    return SOLVERS[combination](rows, np.stack(scores, axis=-1))


def _squares(rows: Judged, scores: FloatArray) -> FloatArray:
    """Least squares on the labels, or on the class indicators."""
    target = targets(rows.y, scores.shape[1])
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
