"""From a grown tree to one that predicts: the weights of its paths (Algorithm 2), its models."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar

import numpy as np

from predictree.errors import NoPredictorError
from predictree.grow.combine.correction import sum_of
from predictree.grow.combine.mixture import mixture_of
from predictree.grow.fits import Models
from predictree.grow.growth import Alone, Grown, Growth, LeafWeights, Portion
from predictree.grow.leaf import Key, Leaf
from predictree.grow.problem import ROOT_PATH, Problem
from predictree.grow.proof import gains_by
from predictree.losses import Combination, Judged
from predictree.losses.judging import Evidence
from predictree.losses.simplex import simplex_absolute, simplex_least_squares, simplex_log_loss
from predictree.model.outputs import targets, true_class_probability
from predictree.model.tree import FloatArray, IntArray, Node, PathWeight, Predictor, Tree
from predictree.run.guard import Failure, attempt

ROWS_A_WEIGHT = 2  # of V², so that the weights of a path are more than noise


class _OfPredictors:
    """What is the same wherever a leaf weighs predictors."""

    stacks: ClassVar[str] = "one stack of all learners"

    def trimmed(self, growth: Growth) -> Growth:
        """Return the tree as it is."""
        return growth

    def models(self, growth: Growth, weights: LeafWeights, refit: bool) -> Mapping[Key, Models]:
        """Return the models of predictors with weight, fitted now if they are not at hand."""
        used = dict.fromkeys(share.key for shares in weights.values() for share in shares)
        trained_on = {key: growth.nodes[key[0]].leaf.rows.train for key in used}
        return growth.fits.final(trained_on, refit)

    def alone(self, growth: Growth) -> Alone:
        """Return what every learner of the root says about V²."""
        problem, alone = growth.fits.problem, {}
        for (owner, i), models in growth.fits.at_hand.items():
            if owner == ROOT_PATH:
                name = problem.learners[i].name
                scores = attempt(name, partial(problem.held_out, models, problem.partition.v2))
                if not isinstance(scores, Failure):
                    alone[name] = scores
        return alone


@dataclass(frozen=True)
class AsGrown(_OfPredictors):
    """The mixtures of the leaves, found without the fold of each row they are asked about."""

    def weights(self, growth: Growth) -> LeafWeights:
        """Return the weights of every leaf's mixture that are more than a trace."""
        return {
            leaf.path: [
                Portion(key[0], key, weight)
                for key, weight in sorted(mixture_of(leaf).large.items())
            ]
            for leaf in growth.leaves
        }

    def said(self, growth: Growth, leaf: Leaf, shares: Sequence[Portion]) -> FloatArray:
        """Return the scores that the leaf had as it grew."""
        return leaf.answer.scores

    def stack(self, growth: Growth, alone: Alone) -> FloatArray:
        """Return the scores of the root."""
        return growth.nodes[ROOT_PATH].leaf.answer.scores


@dataclass(frozen=True)
class Pruned:
    """One function a leaf; a split stays if what is below it gains so many standard errors."""

    errors: float
    linear: Callable[[], FloatArray]
    stacks: ClassVar[str] = "one additive model for all rows"

    def trimmed(self, growth: Growth) -> Growth:
        """Return the tree without the splits that are not worth it, looked at from below."""
        for path in sorted(growth.nodes, reverse=True):
            one = growth.nodes.get(path)
            if one is not None and one.split is not None and not self._is_worth_it(growth, path):
                growth = growth.without({path})
        return growth

    def weights(self, growth: Growth) -> LeafWeights:
        """Return the one function of every leaf."""
        return {
            leaf.path: [Portion(leaf.answer.lead[0], leaf.answer.lead, 1.0)]
            for leaf in growth.leaves
        }

    def models(self, growth: Growth, weights: LeafWeights, refit: bool) -> Mapping[Key, Models]:
        """Return the functions of all nodes: the tree is read as its leaves' way from the root."""
        answers = [sum_of(one.leaf) for one in growth.nodes.values()]
        return {answer.lead: (answer.function,) for answer in answers}

    def said(self, growth: Growth, leaf: Leaf, shares: Sequence[Portion]) -> FloatArray:
        """Return the scores that the leaf had as it grew."""
        return leaf.answer.scores

    def stack(self, growth: Growth, alone: Alone) -> FloatArray:
        """Return the scores of the root."""
        return growth.nodes[ROOT_PATH].leaf.answer.scores

    def alone(self, growth: Growth) -> Alone:
        """Return what a linear model says about V²."""
        return {"linear": self.linear()}

    def _is_worth_it(self, growth: Growth, path: int) -> bool:
        node = growth.nodes[path].leaf
        scores = np.empty_like(node.answer.scores)
        for leaf in growth.leaves_below(path):
            scores[np.searchsorted(node.rows.v1, leaf.rows.v1)] = leaf.answer.scores
        return gains_by(self.errors, node, scores)


@dataclass(frozen=True)
class PathWeights(_OfPredictors):
    """Algorithm 2: w*(Π), the convex combination with the least loss on V².

    A path is weighed on V² of its leaf, or of the nearest node above that has ``min_rows`` and two
    for each weight, of which in a classification one is outside the largest class.
    """

    min_rows: int

    def weights(self, growth: Growth) -> LeafWeights:
        """Return w*(Π) of every leaf."""
        return {leaf.path: self._of(growth, leaf) for leaf in growth.leaves}

    def said(self, growth: Growth, leaf: Leaf, shares: Sequence[Portion]) -> FloatArray:
        """Return the weighed sum of the path's predictors."""
        place = np.searchsorted(growth.fits.problem.partition.v2, leaf.rows.v2)
        kept = growth.fits.kept
        return np.asarray(sum(s.weight * kept[s.key].v2[place] for s in shares))

    def stack(self, growth: Growth, alone: Alone) -> FloatArray:
        """Return the combination of the root's learners that is best on these very rows."""
        problem, scores = growth.fits.problem, list(alone.values())
        rows = problem.judged(problem.partition.v2)
        found = path_weights(problem.loss.combination, rows, scores)
        return np.asarray(np.stack(scores, axis=-1) @ found)

    def _of(self, growth: Growth, leaf: Leaf) -> list[Portion]:
        problem, path = growth.fits.problem, growth.ancestry(leaf.path)
        rows = weighing_rows(problem, path, self.min_rows)
        place = np.searchsorted(problem.partition.v2, rows)
        keys = [node.answer.lead for node in path]
        scores = [growth.fits.kept[key].v2[place] for key in keys]
        found = self.found(problem, rows, scores)
        return [
            Portion(node.path, key, float(w))
            for node, key, w in zip(path, keys, found, strict=True)
        ]

    def found(self, problem: Problem, rows: IntArray, scores: list[FloatArray]) -> FloatArray:
        """Return the weights of the predictors of one path, from the root down."""
        return path_weights(problem.loss.combination, problem.judged(rows), scores)


def evidence(growth: Growth, weights: LeafWeights) -> Evidence:
    """Return the held-out scores on V² by which the tree is judged against its opponents.

    In a tree of mixtures every row's weights were found without its fold. Path weights were found
    on these rows; so are the stack's then.
    """
    finish, told = growth.finish, _told(growth, weights)
    alone = finish.alone(growth)
    return Evidence(told, finish.stack(growth, alone), alone, finish.stacks)


def _told(growth: Growth, weights: LeafWeights) -> FloatArray:
    """Return what the leaves say about V²."""
    problem, finish = growth.fits.problem, growth.finish
    rows = problem.partition.v2
    told = np.empty((len(rows), problem.n_outputs))
    for leaf in growth.leaves:
        told[np.searchsorted(rows, leaf.rows.v2)] = finish.said(growth, leaf, weights[leaf.path])
    return told


def frozen_tree(growth: Growth, weights: LeafWeights, refit: bool = False) -> Tree:
    """Return the finished tree, with the weights of every leaf.

    A predictor that no leaf weighs keeps its name but no models. With ``refit`` a predictor has one
    model, trained on all rows of its node, in place of one a fold.
    """
    fits, id_of = growth.fits, growth.id_of
    models = growth.finish.models(growth, weights, refit)
    weights = {leaf: _rescaled(shares, models) for leaf, shares in weights.items()}
    nodes = [growth.nodes[path] for path in id_of]
    keys = dict.fromkeys([*models, *(one.leaf.answer.lead for one in nodes)])
    names = [learner.name for learner in fits.problem.learners]
    predictors = [
        Predictor(names[i], id_of[owner], models.get((owner, i), ())) for owner, i in keys
    ]
    records = [_record_of(one, names, id_of, weights.get(one.leaf.path)) for one in nodes]
    return Tree.from_nodes(records, predictors, fits.problem.n_outputs)


def best_of(growths: Iterable[Growth]) -> Growth:
    """Return the grown tree with the least held-out loss, the first of equals."""
    growths = list(growths)
    if len(growths) == 1:
        return growths[0].finish.trimmed(growths[0])
    return min((growth.finish.trimmed(growth) for growth in growths), key=_held_out_loss)


def _held_out_loss(growth: Growth) -> float:
    problem = growth.fits.problem
    told = _told(growth, growth.finish.weights(growth))
    return problem.loss.value(problem.judged(problem.partition.v2), told)


def weighing_rows(problem: Problem, path: Sequence[Leaf], min_rows: int) -> IntArray:
    """Return V² of the leaf, or of the nearest enclosing node with enough; the root's has to do."""
    wanted = ROWS_A_WEIGHT * len(path)
    for node in reversed(path):
        rows = node.rows.v2
        if len(rows) >= max(min_rows, wanted) and _varied(problem, rows, max(wanted // 2, 1)):
            return rows
    return problem.partition.v2


def path_weights(
    combination: Combination, rows: Judged, scores: Sequence[FloatArray]
) -> FloatArray:
    """Return the weights of the predictors with these scores that minimise the loss on the rows."""
    if len(scores) == 1:
        return np.ones(1)
    return SOLVERS[combination](rows, np.stack(scores, axis=-1))


def _varied(problem: Problem, rows: IntArray, wanted: int) -> bool:
    """Whether so many rows are outside the largest class; in a regression they all are."""
    if problem.n_outputs == 1:
        return True
    return len(rows) - int(np.bincount(problem.y[rows]).max()) >= wanted


def _rescaled(shares: list[Portion], models: Mapping[Key, object]) -> list[Portion]:
    """Leave out the predictors that have no models, and let the others sum to one."""
    known = [share for share in shares if share.key in models]
    total = sum(share.weight for share in known)
    if total == 0:
        names = ", ".join(str(share.key) for share in shares)
        raise NoPredictorError(f"no predictor of a leaf could be fitted again: {names}")
    return [replace(share, weight=share.weight / total) for share in known]


def _record_of(
    one: Grown, names: Sequence[str], id_of: Mapping[int, int], shares: list[Portion] | None
) -> Node:
    """Return the record of a node, with the weights along its path if it is a leaf."""
    leaf, path = one.leaf, one.leaf.path
    owner, learner = leaf.answer.lead
    weights = None
    if shares is not None:
        weights = tuple(
            PathWeight(id_of[s.node], names[s.key[1]], id_of[s.key[0]], s.weight) for s in shares
        )
    return Node(
        id=id_of[path],
        parent=None if path == ROOT_PATH else id_of[path >> 1],
        depth=leaf.depth,
        children=None if one.split is None else (id_of[2 * path], id_of[2 * path + 1]),
        split=one.split,
        learner=names[learner],
        trained_on=id_of[owner],
        loss=leaf.loss,
        split_loss=one.split_loss,
        n_train=len(leaf.rows.train),
        n_v1=len(leaf.rows.v1),
        n_v2=len(leaf.rows.v2),
        weights=weights,
    )


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
