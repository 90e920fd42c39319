"""Shrunk weights: at every node a convex combination of all predictors trained on its path.

At the root it is the stack of all learners. Below, the weights minimise the node's loss plus
λ / n ‖w − w_parent‖², so that a node departs from its parent only as far as its rows warrant; once
it is split off, λ is lowered where a looser hold is a clear gain.
The loss is log loss where probabilities are judged, else the squared error in units of the stack's.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from predictree.losses import Judged, targets, true_class_probability
from predictree.problem import Problem
from predictree.simplex import shrunk_log_loss, simplex_quadratic
from predictree.tree import BoolArray, FloatArray, IntArray

FREE = 1e-9  # strength at the root: none, but enough for a unique answer
TRACE = 1e-3  # a weight below this is dropped
LOOSENING, LOOSER = 4.0, 6  # by how much a hold is loosened, and how often at most
CLEAR = 1.645  # standard errors of a gain that is clear
Key = tuple[int | None, int]  # the node that a predictor was trained on, and its learner


@dataclass(frozen=True, slots=True)
class Mixture:
    """The combination of one node.

    Attributes
    ----------
    weights : mapping of Key to float
    by_fold : sequence of mappings
        The weights found without each fold's rows.
    scores : array of shape (v, k)
        Of the node's validation rows, each by the weights that were found without its fold.
    """

    weights: Mapping[Key, float]
    by_fold: Sequence[Mapping[Key, float]]
    scores: FloatArray

    def of_node(self, node_id: int) -> "Mixture":
        """Return the same, once the node that had no id has this one."""

        def named(weights: Mapping[Key, float]) -> dict[Key, float]:
            return {
                (node_id if owner is None else owner, learner): weight
                for (owner, learner), weight in weights.items()
            }

        return Mixture(named(self.weights), [named(w) for w in self.by_fold], self.scores)

    def kept(self) -> dict[tuple[int, int], float]:
        """Return the weights that are more than a trace, made to sum to one."""
        large = {
            (owner, learner): weight
            for (owner, learner), weight in self.weights.items()
            if weight >= TRACE and owner is not None
        }
        total = sum(large.values())
        return {key: weight / total for key, weight in large.items()}


@dataclass(frozen=True)
class Mixer:
    """Finds the combinations of a problem's nodes.

    Attributes
    ----------
    problem : Problem
    strength : float
        λ, how strongly a node is held to its parent.
    unit : float
        Squared error of the root's combination, in which squared errors are measured.
    """

    problem: Problem
    strength: float
    unit: float = 1.0

    def mix(
        self, rows: IntArray, keys: Sequence[Key], scores: FloatArray, parent: Mixture | None
    ) -> Mixture:
        """Combine predictors with these scores, (v, k, p), on these validation rows."""
        strength = FREE if parent is None else self.strength
        return self._mix(self._objective(rows, scores), rows, keys, scores, parent, strength)

    def sketch(
        self,
        basis: FloatArray,
        scores: FloatArray,
        rows: IntArray,
        goes_left: BoolArray,
        keys: Sequence[Key],
        parent: Mixture,
    ) -> FloatArray:
        """Return the scores of mixtures on both sides of a split, quickly.

        Every row's weights are found without its fold. They are those of `mix` for squared errors,
        and a few Newton steps towards them for log loss. ``basis`` has that of every predictor.
        """
        from predictree.kernels import mixed_scores, mixtures_of_sides

        logarithmic = self.problem.loss.combination == "log"
        start = _among(keys, parent.weights)
        toward = np.array([_among(keys, weights) for weights in parent.by_fold])
        basis = basis / (basis @ start)[:, :, None] if logarithmic else basis / self.unit**0.5
        mass, fold = self.problem.judged(rows).mass, self.problem.partition.weighing[rows]
        weights = mixtures_of_sides(
            basis, mass, goes_left, fold, start, toward, self.strength, logarithmic
        )
        return np.asarray(mixed_scores(scores, goes_left, fold, weights))

    def basis(self, judged: Judged, scores: FloatArray) -> FloatArray:
        """Return what the objective is made of: a predictor's residuals, or p of the true class."""
        if self.problem.loss.combination == "log":
            return true_class_probability(judged.y, scores)[:, None]
        return scores - targets(judged.y, scores.shape[1])

    def loosen(
        self,
        mixture: Mixture,
        rows: IntArray,
        keys: Sequence[Key],
        scores: FloatArray,
        parent: Mixture,
    ) -> Mixture:
        """Loosen the parent's hold on a mixture as long as that is a clear gain."""
        objective, strength = self._objective(rows, scores), self.strength
        judged, loss = self.problem.judged(rows), self.problem.loss
        for _ in range(LOOSER):
            strength /= LOOSENING
            looser = self._mix(objective, rows, keys, scores, parent, strength)
            gain = loss.value(judged, mixture.scores) - loss.value(judged, looser.scores)
            if not gain > CLEAR * loss.error_of_gain(judged, mixture.scores, looser.scores):
                break
            mixture = looser
        return mixture

    def _mix(
        self,
        objective: "_Objective",
        rows: IntArray,
        keys: Sequence[Key],
        scores: FloatArray,
        parent: Mixture | None,
        strength: float,
    ) -> Mixture:
        fold = self.problem.partition.weighing[rows]
        even = dict.fromkeys(keys, 1.0)
        by_fold, held_out = [], np.empty(scores.shape[:2])
        for f in range(self.problem.partition.weighing.max() + 1):
            held = fold == f
            found = _among(keys, even if parent is None else parent.by_fold[f])
            if not held.all():
                found = objective.minimise(~held, found, strength)
            held_out[held] = scores[held] @ found
            by_fold.append(dict(zip(keys, found.tolist(), strict=True)))
        toward = _among(keys, even if parent is None else parent.weights)
        weights = objective.minimise(np.ones(len(rows), dtype=bool), toward, strength)
        return Mixture(dict(zip(keys, weights.tolist(), strict=True)), by_fold, held_out)

    def _objective(self, rows: IntArray, scores: FloatArray) -> "_Objective":
        judged = self.problem.judged(rows)
        basis = np.stack([self.basis(judged, h) for h in np.moveaxis(scores, 2, 0)], axis=-1)
        if self.problem.loss.combination == "log":
            return _LogLoss(basis[:, 0], judged.mass)
        return _Squares(basis, judged.mass, self.unit)


def squared_error(rows: Judged, scores: FloatArray) -> float:
    """Return the mean squared distance of scores from labels or class indicators."""
    residual = scores - targets(rows.y, scores.shape[1])
    error = np.average(np.square(residual).sum(axis=1), weights=rows.weight)
    return max(float(error), np.finfo(float).tiny)


def _among(keys: Sequence[Key], weights: Mapping[Key, float]) -> FloatArray:
    """Return weights in the order of the keys, zero for new predictors."""
    known = np.array([weights.get(key, 0.0) for key in keys])
    total = known.sum()
    return known / total if total > 0 else np.full(len(keys), 1 / len(keys))


class _Objective(Protocol):
    """What the weights of one node minimise."""

    def minimise(self, rows: BoolArray, toward: FloatArray, strength: float) -> FloatArray:
        """Return the weights by some of the node's rows, held to others with a strength."""


@dataclass(frozen=True)
class _LogLoss:
    """Log loss of the mixture of the probabilities given to the true class."""

    p: FloatArray
    mass: FloatArray

    def minimise(self, rows: BoolArray, toward: FloatArray, strength: float) -> FloatArray:
        mass = self.mass[rows]
        each = strength / np.count_nonzero(rows)
        return shrunk_log_loss(self.p[rows], mass / mass.sum(), toward, each)


@dataclass(frozen=True)
class _Squares:
    """Half the squared error of the mixture, in some unit."""

    residuals: FloatArray  # (n, k, p)
    mass: FloatArray
    unit: float

    def minimise(self, rows: BoolArray, toward: FloatArray, strength: float) -> FloatArray:
        root = np.sqrt(self.mass[rows] / self.mass[rows].sum() / self.unit)
        block = (self.residuals[rows] * root[:, None, None]).reshape(-1, len(toward))
        gram = block.T @ block
        ridge = 2 * strength / np.count_nonzero(rows)
        place = np.arange(len(gram))
        gram[place, place] += ridge + 1e-12 * np.trace(gram)
        return simplex_quadratic(gram, ridge * toward)
