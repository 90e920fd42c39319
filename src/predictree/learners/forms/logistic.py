"""Logistic regression at all splits of a node, by Newton's method from the node's own model.

The curvature of the log loss is taken at the node's coefficients, where it is a weighted Gram
matrix and so a sum over bins. It serves all steps of a training set; where it is wrong is learned
from the steps themselves, as quasi-Newton methods do. The few training sets that have not
converged after some steps are solved one by one, each with its own curvature.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from scipy.special import expit
from sklearn.multiclass import OneVsRestClassifier

from predictree.data.tallies import Spread
from predictree.learners.adapter import ClassProbability, Learner, weight_keyword
from predictree.learners.forms.design import (
    AnyArray,
    Cuts,
    Design,
    answers_of_sides,
    gram_of,
    grams_of_sides,
    moments_of_sides,
    on_host,
    side_sums,
)
from predictree.learners.forms.minimum import AtMinimum, Penalty, minimise, penalty_of
from predictree.learners.forms.quadratic import Grouped, Margin, gains
from predictree.model.tree import BoolArray, FloatArray, IntArray

CONVERGED = 1e-12  # what a step gains of the mean log loss when it is the last
SHARED_STEPS = 40  # before a training set is solved on its own
ALONE = 400  # columns squared, of a training set of all rows, up to which it is solved alone
SLOW = 1.0  # a step that leaves more than this of what there was to gain
HALF, SHORT = 0.5, 0.1
ROUNDED = 1e-8  # as long as a step gains more, single precision will do
FIXED = 1e12  # penalty of a coefficient that must stay zero
ENTRIES = 1 << 18  # margins at a time: they stay in the cache


@dataclass(frozen=True)
class LogisticForm:
    """Log loss with an intercept and a ridge penalty, for each class against the others."""

    takes_steps: ClassVar[bool] = True

    design: Design
    weight: FloatArray
    penalty: Penalty

    @staticmethod
    def fits(learner: Learner) -> bool:
        """Whether this is the closed form of a learner."""
        estimator, penalty = learner.estimator, penalty_of(learner.estimator)
        if not isinstance(learner, ClassProbability) or penalty is None:
            return False
        if isinstance(estimator, OneVsRestClassifier):
            return penalty.converges and not learner.metadata
        known = {weight_keyword(learner.name, estimator)}
        exact = penalty.converges or isinstance(learner, AtMinimum)
        return exact and learner.n_outputs == 2 and learner.metadata.keys() <= known

    @staticmethod
    def makes_models(learner: Learner) -> bool:
        """Whether this form gives the learner's models, too: it stops where the search does."""
        return False

    @classmethod
    def of(cls, learner: Learner, design: Design) -> "LogisticForm":
        """Return the closed form of a learner that it fits, on one node."""
        penalty = penalty_of(learner.estimator)
        assert penalty is not None
        return cls(design, weights_of(learner, design), penalty)

    def fit_splits(self, cuts: Cuts) -> FloatArray:
        """Return the scores of the judged rows for every split."""
        moments = moments_of_sides(self.design, cuts) if self.penalty.scaled else None
        fitted = np.stack([self._fit(node, cuts, moments) for node in self._nodes], axis=-1)
        margins = answers_of_sides(self.design, cuts, fitted[..., 1:, :], fitted[..., 0, :])
        p = expit(margins)
        if self.design.n_outputs == 2:
            return np.concatenate([1.0 - p, p], axis=-1)
        return np.asarray(p / p.sum(axis=-1, keepdims=True))

    def gains(self, grouped: Grouped, spread: Spread) -> FloatArray:
        """Return what all splits gain by the quadratic model at the node's fit."""
        margins = [self._margin(node) for node in self._nodes]
        return gains(self.design, self.weight, self._ridge_of_node, margins, grouped, spread)

    def _margin(self, node: "NodeModel") -> Margin:
        """Fit one class against the others on the node's rows without each fold."""
        sets = self.design.training_sets()
        beta = np.tile(node.beta, (len(sets), 1, 1))
        ridge = np.tile(self._ridge_of_node, (len(sets), 1))
        minimise(on_host(self.design.train), node.y, self.weight, sets, ridge, beta)
        told = on_host(node.rows) @ beta[:, 0].T
        return Margin(node.y, expit(told), beta[:, 0])

    def _fit(
        self, node: "NodeModel", cuts: Cuts, moments: tuple[FloatArray, FloatArray] | None
    ) -> FloatArray:
        """Return the coefficients of one class in every training set: (q, 2, n_folds, 1 + d)."""
        values = np.column_stack([np.ones(len(node.y)), node.y, self.weight])
        count, positive, mass = np.moveaxis(
            side_sums(self.design, cuts, lambda rows: values[rows]), -1, 0
        )
        start = np.broadcast_to(node.beta, (*mass.shape, len(node.beta))).copy()
        ridge = np.zeros(start.shape)
        ridge[..., 1:] = self.penalty.ridge / self.design.scale**2
        if moments is not None:
            mean, variance = moments
            ridge[..., 1:] = self.penalty.ridge * variance
            constant = variance == 0  # the intercept takes over from a feature of one value
            start[..., 0] += (start[..., 1:] * mean * constant).sum(axis=-1)
            start[..., 1:][constant], ridge[..., 1:][constant] = 0.0, FIXED
        mixed = (positive > 0) & (positive < count)
        if mixed.any():
            solver = Solver(self.design, cuts, node, self.weight, ridge, count, mass)
            start = solver.minimise(start, mixed)
        certain = np.where(positive > 0, np.inf, -np.inf)
        start[~mixed, 0] = np.where(count > 0, certain, np.nan)[~mixed]
        start[~mixed, 1:] = 0.0
        return start

    @cached_property
    def _nodes(self) -> list["NodeModel"]:
        """One class against the others on all rows of the node, each class in turn."""
        d, train = self.design.n_features, self.design.train
        xp, rows = train.__array_namespace__(), train[:, : 1 + d]
        rounded, ridge = xp.astype(rows, xp.float32), self._ridge_of_node
        nodes = []
        for y in on_host(train[:, 1 + d :]).T:
            beta = np.zeros((1, 1, 1 + d))
            minimise(on_host(train), y, self.weight, [np.arange(len(y))], ridge, beta)
            margin = on_host(rows @ xp.asarray(beta[0, 0]))
            root = xp.asarray(root_curvature(margin, self.weight))
            nodes.append(NodeModel(y, rows, rounded, beta[0, 0], root))
        return nodes

    @property
    def _ridge_of_node(self) -> FloatArray:
        """The penalty of every coefficient on all rows of the node: (1, 1 + d)."""
        return self.penalty.on(self.design.scale)[None]


@dataclass(frozen=True)
class NodeModel:
    """One class against the others on all rows of a node, from which the sides start.

    Attributes
    ----------
    y : array of shape (n,)
    rows, rounded : arrays of shape (n, 1 + d)
        A one and the features of S(C), in double and in single precision.
    beta : array of shape (1 + d,)
        The coefficients.
    root : array of shape (n,)
        The root of each row's weight in the curvature there.
    """

    y: FloatArray
    rows: AnyArray
    rounded: AnyArray
    beta: FloatArray
    root: AnyArray

    @cached_property
    def curvature(self) -> AnyArray:
        """The curvature of the log loss on all rows, without its penalty."""
        return gram_of(self.rows, self.root)


@dataclass(frozen=True)
class Solver:
    """One class against the others in all training sets of some splits."""

    design: Design
    cuts: Cuts
    node: NodeModel
    weight: FloatArray
    ridge: FloatArray
    count: FloatArray  # rows of every training set
    mass: FloatArray  # sum of their weights

    def minimise(self, start: FloatArray, wanted: BoolArray) -> FloatArray:
        """Return the coefficients of the wanted training sets."""
        beta, alone = start.copy(), wanted & self._small
        if (wanted & ~alone).any():
            alone |= self._step_together(beta, wanted & ~alone)
        self._solve_alone(np.argwhere(alone), start, beta)
        return beta

    def _step_together(self, beta: FloatArray, todo: BoolArray) -> BoolArray:
        """Go to the minima of training sets, in place; return those that are not there after all.

        A step that goes too far is cut back. Where steps gain little, the training set gets its
        own curvature.
        """
        curvature = grams_of_sides(self.node.rows, self.node.root, self.cuts, self.node.curvature)
        inverse = inverse_of(curvature, self.ridge, self.mass)
        gradient = self._gradients(beta, np.arange(len(beta)), exact=False)
        step, gain = steps_of(inverse, gradient, [])
        history: list[tuple[FloatArray, FloatArray]] = []  # steps, and what they did to gradients
        for _ in range(SHARED_STEPS):
            last = todo & (gain <= 2 * CONVERGED * self.mass)
            beta[last] += step[last]
            todo &= ~last
            active = np.flatnonzero(todo.any(axis=(1, 2)))
            if len(active) == 0:
                break
            latest = gradient.copy()
            near = (todo & (gain <= ROUNDED * self.mass))[active].any(axis=(1, 2))
            for exact, some in ((True, active[near]), (False, active[~near])):
                if len(some):
                    latest[some] = self._gradients(beta + step, some, exact)
            before, after = -dot(gradient, step), dot(latest, step)
            moves = todo & (after <= HALF * before)
            taken = np.where(moves[..., None], step, 0.0)
            change = np.where(moves[..., None], latest - gradient, 0.0)
            beta += taken
            gradient += change
            history.append((taken, change))
            ahead = np.where(after > 0, after, np.inf)  # unknown: as short as may be
            step *= np.where(moves, 1.0, np.maximum(before / (before + ahead), SHORT))[..., None]
            slow = moves & ~self._renew(inverse, gradient, history, step, gain, moves)
            slow &= gain > 2 * CONVERGED * self.mass
            for place in map(tuple, np.argwhere(slow)):
                inverse[place] = self._inverse_at(beta[place], place)
                for pair in history:
                    for array in pair:
                        array[place] = 0.0
            self._renew(inverse, gradient, history, step, gain, slow)
        return todo

    def _solve_alone(self, places: IntArray, start: FloatArray, beta: FloatArray) -> None:
        """Solve training sets one by one, each with its own curvature at every step."""
        where = tuple(places.T)
        sets = [self.cuts.training_set(tuple(place), self.design) for place in places]
        found = start[where][:, None, :]
        rows, ridge = on_host(self.design.train), self.ridge[where]
        minimise(rows, self.node.y, self.weight, sets, ridge, found)
        beta[where] = found[:, 0]

    @property
    def _small(self) -> BoolArray:
        """The training sets whose own curvatures cost less than gradients over all rows."""
        return np.asarray(self.count * self.ridge.shape[-1] ** 2 <= ALONE * len(self.weight))

    @staticmethod
    def _renew(
        inverse: FloatArray,
        gradient: FloatArray,
        history: list[tuple[FloatArray, FloatArray]],
        step: FloatArray,
        gain: FloatArray,
        chosen: BoolArray,
    ) -> BoolArray:
        """Take new steps in the chosen training sets; tell where they gain much less than the last.

        What a step gains tells how far the minimum is.
        """
        was = gain[chosen]
        past = [(taken[chosen], change[chosen]) for taken, change in history]
        step[chosen], gain[chosen] = steps_of(inverse[chosen], gradient[chosen], past)
        quick = np.zeros(chosen.shape, dtype=bool)
        quick[chosen] = gain[chosen] <= SLOW * was
        return quick

    def _inverse_at(self, beta: FloatArray, place: tuple[int, ...]) -> FloatArray:
        """Return the inverse of one training set's curvature at its own coefficients."""
        mine = self.cuts.training_set(place, self.design)
        rows = on_host(self.node.rows)[mine]
        rows *= root_curvature(rows @ beta, self.weight[mine])[:, None]
        return inverse_of(rows.T @ rows, self.ridge[place], self.mass[place])

    def _gradients(self, beta: FloatArray, splits: IntArray, exact: bool) -> FloatArray:
        """Return the gradient in every training set of some splits: (splits, 2, n_folds, 1 + d).

        In single precision, unless it must be exact.
        """
        xp = self.node.rows.__array_namespace__()
        kind = xp.float64 if exact else xp.float32
        rows = self.node.rows if exact else self.node.rounded
        y, weight = xp.asarray(self.node.y, dtype=kind), xp.asarray(self.weight, dtype=kind)
        left, right = beta[splits, 0], beta[splits, 1]
        q, n_folds, a = left.shape
        both = np.concatenate([right, left - right]).reshape(-1, a)
        flat = xp.asarray(both.T, dtype=kind)
        goes_left = self.cuts.trains_left[:, splits]
        sums = np.zeros((2, a, q * n_folds))  # over all rows, over the left sides
        height = max(1, ENTRIES // len(both))
        for start in range(0, len(self.weight), height):
            some = slice(start, min(start + height, len(self.weight)))
            block = rows[some, :]
            margins = block @ flat
            members = xp.repeat(xp.asarray(goes_left[some], dtype=kind), n_folds, axis=1)
            margin = margins[:, : q * n_folds] + members * margins[:, q * n_folds :]
            residual = (0.5 + 0.5 * xp.tanh(0.5 * margin) - y[some, None]) * weight[some, None]
            if n_folds > 1:
                trained = self.design.train_fold[some, None] != np.arange(n_folds)
                residual *= xp.tile(xp.asarray(trained, dtype=kind), (1, q))
            sums[0] += on_host(block.T @ residual)
            sums[1] += on_host(block.T @ (members * residual))
        by_side = np.stack([sums[1], sums[0] - sums[1]]).reshape(2, a, q, n_folds)
        return np.moveaxis(by_side, (2, 0, 3, 1), (0, 1, 2, 3)) + self.ridge[splits] * beta[splits]


def weights_of(learner: Learner, design: Design) -> FloatArray:
    """Return the weights that a learner gives to the rows of a design."""
    weight = np.ones(len(design.rows))
    for given in learner.metadata.values():
        weight = np.asarray(given, dtype=float)[design.rows]
    return weight


def root_curvature(margin: FloatArray, weight: FloatArray) -> FloatArray:
    """Return the root of each row's weight in the curvature of the log loss."""
    p = expit(margin)
    return np.asarray(np.sqrt(weight * p * (1 - p)))


def dot(a: FloatArray, b: FloatArray) -> FloatArray:
    """Return the inner products along the last axis."""
    return np.asarray((a * b).sum(axis=-1))


def inverse_of(curvature: FloatArray, ridge: FloatArray, mass: FloatArray) -> FloatArray:
    """Return the inverses of penalised curvatures; without any an intercept has a trace of it."""
    place = np.arange(ridge.shape[-1])
    curvature[..., place, place] += ridge
    curvature[..., 0, 0] += 1e-12 * mass + np.finfo(float).tiny
    return np.asarray(np.linalg.inv(curvature))


def steps_of(
    inverse: FloatArray, gradient: FloatArray, history: list[tuple[FloatArray, FloatArray]]
) -> tuple[FloatArray, FloatArray]:
    """Return the quasi-Newton steps of many problems, and twice what they promise to gain."""
    direction = quasi_newton(inverse, gradient, history)
    gain = dot(gradient, direction)
    return -direction, np.where(np.isfinite(gain), gain, np.inf)


def quasi_newton(
    inverse: FloatArray, gradient: FloatArray, history: list[tuple[FloatArray, FloatArray]]
) -> FloatArray:
    """Return the BFGS direction of many problems, from a first inverse Hessian and past steps.

    A step of length zero, of a problem that was done, tells nothing and changes nothing.
    """
    direction = gradient.copy()
    shares = []
    for moved, change in reversed(history):
        curvature = (moved * change).sum(axis=-1, keepdims=True)
        rate = np.divide(1.0, curvature, out=np.zeros_like(curvature), where=curvature > 0)
        share = rate * (moved * direction).sum(axis=-1, keepdims=True)
        direction -= share * change
        shares.append((rate, share))
    direction = (inverse @ direction[..., None])[..., 0]
    for (moved, change), (rate, share) in zip(history, reversed(shares), strict=True):
        direction += (share - rate * (change * direction).sum(axis=-1, keepdims=True)) * moved
    return direction
