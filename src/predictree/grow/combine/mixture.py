"""Mixtures: convex combinations of predictors, held to that of the parent.

The weights of a node minimise its loss plus λ / n ‖w − w_parent‖², so that a node departs from its
parent only as far as its rows warrant. The loss is log loss where probabilities are judged, else
the squared error, in units of the root's.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from predictree.grow.combine.squares import mixtures_by_squares, products_of_sides
from predictree.grow.leaf import Key, Leaf
from predictree.grow.rows import Rows
from predictree.grow.squares import Squares
from predictree.losses import Judged, Loss
from predictree.losses.simplex import shrunk_log_loss, simplex_quadratic
from predictree.model.outputs import targets, true_class_probability
from predictree.model.tree import BoolArray, FloatArray, IntArray
from predictree.run.compiling import told_if_slow
from predictree.run.journal import Arrays

TRACE = 1e-3  # a weight below this is dropped
NO_FOLD = -1  # in place of the fold to leave out


@dataclass(frozen=True)
class Mixture:
    """The combination of one node.

    Attributes
    ----------
    weights : mapping of Key to float
    by_fold : sequence of mappings
        The weights found without each fold's rows.
    scores : array of shape (v, k)
        Of the node's validation rows, each by the weights that were found without its fold.
    lead : Key
        The predictor with the most weight; at the root the best one alone.
    unit, unit_by_fold : float, sequence of float
        What squared errors are measured in: those of the root, of all rows and without each fold.
    """

    weights: Mapping[Key, float]
    by_fold: Sequence[Mapping[Key, float]]
    scores: FloatArray
    lead: Key
    unit: float = 1.0
    unit_by_fold: tuple[float, ...] = ()

    def without(self, p: int, kept: BoolArray) -> "Mixture":
        """Return what the node would predict with, had one fold never been seen."""
        units = (self.unit_by_fold[p],) * len(self.unit_by_fold)
        weights, scores = self.by_fold[p], self.scores[kept]
        return replace(self, weights=weights, scores=scores, unit=units[p], unit_by_fold=units)

    def arrays(self) -> Arrays:
        """Return the numbers that a checkpoint keeps: owners and learners with their weights."""
        keys = list(self.weights)
        return {
            "keys": np.array(keys),
            "scores": self.scores,
            "weights": np.array([self.weights[key] for key in keys]),
            "by_fold": np.array([[weights[key] for key in keys] for weights in self.by_fold]),
        }

    def recalled(self, lead: Key, arrays: Arrays) -> "Mixture":
        """Return the mixture below this one that a checkpoint has kept."""
        keys = [(owner, learner) for owner, learner in arrays["keys"].tolist()]
        weights, *by_fold = (
            dict(zip(keys, some.tolist(), strict=True))
            for some in (arrays["weights"], *arrays["by_fold"])
        )
        return replace(self, weights=weights, by_fold=by_fold, scores=arrays["scores"], lead=lead)

    def measured(self, rows: Rows, scores: FloatArray) -> "Mixture":
        """Return the same at the root, whose errors are the unit below it.

        That without a fold is of the other folds' rows and by the weights found on them, so that
        a fold has no say in what it judges. ``scores`` are those of the predictors, (v, k, p).
        """
        fold, keys = rows.problem.partition.weighing[rows.v1], list(self.weights)
        units = tuple(
            _mean_error(rows, scores @ among(keys, weights), fold != f)
            for f, weights in enumerate(self.by_fold)
        )
        unit = _mean_error(rows, self.scores, np.ones(len(fold), dtype=bool))
        return replace(self, unit=unit, unit_by_fold=units)

    @property
    def large(self) -> dict[Key, float]:
        """The weights that are more than a trace, made to sum to one."""
        large = {key: weight for key, weight in self.weights.items() if weight >= TRACE}
        total = sum(large.values())
        return {key: weight / total for key, weight in large.items()}


def mixture_of(leaf: Leaf) -> Mixture:
    """Return the answer of a leaf that has a mixture."""
    assert isinstance(leaf.answer, Mixture)
    return leaf.answer


def mixed(
    rows: Rows, keys: Sequence[Key], scores: FloatArray, parent: Mixture | None, strength: float
) -> Mixture:
    """Combine predictors with these scores, (v, k, p), held to the parent's combination."""
    fold = rows.problem.partition.weighing[rows.v1]
    objective = _objective(rows, scores, fold)
    even = dict.fromkeys(keys, 1.0)
    units = () if parent is None else parent.unit_by_fold
    by_fold = []
    for f in range(rows.problem.partition.weighing.max() + 1):
        found = among(keys, even if parent is None else parent.by_fold[f])
        if (fold != f).any():
            unit = 1.0 if parent is None else units[f]
            found = objective.minimise(f, found, strength, unit)
        by_fold.append(dict(zip(keys, found.tolist(), strict=True)))
    mine = np.array([list(found.values()) for found in by_fold])[fold]
    held_out = np.einsum("nkp,np->nk", scores, mine)
    toward = among(keys, even if parent is None else parent.weights)
    unit = 1.0 if parent is None else parent.unit
    weights = objective.minimise(NO_FOLD, toward, strength, unit)
    named = dict(zip(keys, weights.tolist(), strict=True))
    return Mixture(named, by_fold, held_out, max(named, key=named.__getitem__), unit, units)


def sketched(
    rows: Rows,
    goes_left: BoolArray,
    keys: Sequence[Key],
    basis: FloatArray,
    scores: FloatArray,
    parent: Mixture,
    strength: float,
) -> FloatArray:
    """Return the scores of mixtures on both sides of a split, quickly.

    Every row's weights are found without its fold. They are those of `mixed` for squared errors,
    and a few Newton steps towards them for log loss. ``basis`` has that of every predictor.
    """
    from predictree.grow.combine import kernels  # noqa: PLC0415 -- compiled

    start, toward = among(keys, parent.weights), _toward(keys, parent)
    fold, mass = rows.problem.partition.weighing[rows.v1], rows.judged.mass
    if rows.problem.loss.combination == "log":
        basis, holds = basis[:, 0] / (basis[:, 0] @ start)[:, None], np.full(len(toward), strength)
        found = told_if_slow(kernels.mixtures_of_sides, "mixtures by log loss")
        weights = found(basis, mass, goes_left, fold, start, toward, holds)
    else:
        holds = strength * np.array(parent.unit_by_fold)
        found = told_if_slow(kernels.squares_of_sides, "mixtures by squares")
        weights = found(basis, mass, goes_left, fold, toward, holds)
    mine = weights[np.where(goes_left, 0, 1), fold]
    return np.asarray(np.einsum("nkp,np->nk", scores, mine))


def mixtures_of_splits(
    squares: Squares, keys: Sequence[Key], parent: Mixture, strength: float
) -> FloatArray:
    """Return the losses of such mixtures for all splits, from sums."""
    folds = len(parent.by_fold)
    products = squares.by_part(squares.products, folds)
    mass, count = (squares.by_part(each, folds) for each in (squares.mass, squares.count))
    holds = strength * np.array(parent.unit_by_fold)
    weights = mixtures_by_squares(products, mass, count, _toward(keys, parent), holds)
    lost = np.einsum("bfi,bfij,bfj->b", weights, products, weights, optimize=True)
    return np.asarray(lost.reshape(-1, 2).sum(axis=1) / squares.total)


def _toward(keys: Sequence[Key], parent: Mixture) -> FloatArray:
    """Return the weights of the parent without each fold, to which those of its sides are held."""
    return np.array([among(keys, weights) for weights in parent.by_fold])


def basis_of(loss: Loss, judged: Judged, scores: FloatArray) -> FloatArray:
    """Return what the objective is made of: a predictor's residuals, or p of the true class."""
    if loss.combination == "log":
        return true_class_probability(judged.y, scores)[:, None]
    return scores - targets(judged.y, scores.shape[1])


def squared_errors(rows: Judged, scores: FloatArray) -> FloatArray:
    """Return the squared distance of every row's scores from its label or class indicator."""
    return np.asarray(np.square(scores - targets(rows.y, scores.shape[1])).sum(axis=1))


def among(keys: Sequence[Key], weights: Mapping[Key, float]) -> FloatArray:
    """Return weights in the order of the keys, zero for new predictors."""
    known = np.array([weights.get(key, 0.0) for key in keys])
    total = known.sum()
    return known / total if total > 0 else np.full(len(keys), 1 / len(keys))


def _mean_error(rows: Rows, scores: FloatArray, some: BoolArray) -> float:
    """Return the mean squared error of some rows, which may be divided by."""
    errors, mass = squared_errors(rows.judged, scores)[some], rows.judged.mass[some]
    mean = np.average(errors, weights=mass) if mass.any() else 1.0
    return max(float(mean), np.finfo(float).tiny)


class _Objective(Protocol):
    """What the weights of one node minimise."""

    def minimise(
        self, without: int, toward: FloatArray, strength: float, unit: float
    ) -> FloatArray:
        """Return the weights by the rows of all folds but one, held to others with a strength."""


@dataclass(frozen=True)
class _LogLoss:
    """Log loss of the mixture of the probabilities given to the true class."""

    p: FloatArray
    mass: FloatArray
    fold: IntArray

    def minimise(
        self, without: int, toward: FloatArray, strength: float, unit: float
    ) -> FloatArray:
        rows = self.fold != without
        mass = self.mass[rows]
        each = strength / np.count_nonzero(rows)
        return shrunk_log_loss(self.p[rows], mass / mass.sum(), toward, each)


@dataclass(frozen=True)
class _Squares:
    """Half the squared error of the mixture, in some unit, from sums by fold."""

    products: FloatArray  # (f, p, p)
    mass: FloatArray
    count: FloatArray

    def minimise(
        self, without: int, toward: FloatArray, strength: float, unit: float
    ) -> FloatArray:
        some = np.arange(len(self.mass)) != without
        gram = self.products[some].sum(axis=0) / (self.mass[some].sum() * unit)
        ridge = 2 * strength / self.count[some].sum()
        place = np.arange(len(gram))
        gram[place, place] += ridge + 1e-12 * np.trace(gram)
        return simplex_quadratic(gram, ridge * toward)


def _objective(rows: Rows, scores: FloatArray, fold: IntArray) -> _Objective:
    loss, judged = rows.problem.loss, rows.judged
    basis = np.stack([basis_of(loss, judged, h) for h in np.moveaxis(scores, 2, 0)], axis=-1)
    if loss.combination == "log":
        return _LogLoss(basis[:, 0], judged.mass, fold)
    everywhere = np.ones(len(fold), dtype=bool)
    sums = products_of_sides(basis, judged.mass, everywhere, fold, int(fold.max()) + 1)
    return _Squares(*(each[0] for each in sums))
