"""Whether a split is more than chance.

The best of hundreds of splits looks better than it is on the rows that chose it. So the choice is
rehearsed: it is made again without each part of the rows, from the search to the weights, and
judged on that part. No row has a say in what it judges, so that the gain is what choosing is worth,
and its standard error that of one comparison. One way is left, as in any stack: the predictions of
other folds, which choose and weigh, come from models that were trained on the row.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Protocol

import numpy as np

from predictree.grow.algorithm import ArgMin
from predictree.grow.combine.mixture import TRACE
from predictree.grow.fits import Fits
from predictree.grow.leaf import Found, Key, Leaf, Side, Trial
from predictree.grow.problem import Problem
from predictree.learners.forms import has_closed_form
from predictree.model.tree import FloatArray, IntArray
from predictree.run.guard import Failure, attempt

Weights = Mapping[Key, float]

FIRST = 2  # parts that must show a gain for the others to be looked at


class Rehearsable(Protocol):
    """A combination that can say what it would answer without a part of the rows."""

    def rehearsed(self, rest: Leaf, found: Found) -> Found:
        """Return a find with what its sides answer with."""


def any_gain(leaf: Leaf, found: Found, argmin: ArgMin) -> bool:
    """Take any split that was found: the paper's rule."""
    return True


@dataclass(frozen=True, slots=True)
class GainsBy:
    """Demand a gain of so many standard errors of what was found without each row's fold."""

    errors: tuple[float, float]

    def __call__(self, leaf: Leaf, found: Found, argmin: ArgMin) -> bool:
        """Whether a find is more than chance."""
        return gains_by(self.errors[leaf.depth > 0], leaf, found.scores)


@dataclass(frozen=True)
class Rehearsed:
    """Demand a gain of so many standard errors, of the root and of nodes below it.

    A demand below zero convinces in any case, once all is rehearsed.
    """

    errors: tuple[float, float]
    combine: Rehearsable
    fits: Fits

    def __call__(self, leaf: Leaf, found: Found, argmin: ArgMin) -> bool:
        """Whether a find is more than chance.

        It looks better than it is: if not even that convinces, there is no need to rehearse it.
        """
        demand = self.errors[leaf.depth > 0]
        if demand == 0:
            return True
        return gains_by(demand, leaf, found.scores) and gains_by(
            demand, leaf, self.scores(leaf, argmin)
        )

    def scores(self, leaf: Leaf, argmin: ArgMin) -> FloatArray:
        """Return the scores of all rows, each by what was chosen without its part.

        If the first parts show no gain, the others are left as they are: it will not convince.
        """
        scores, demands = leaf.answer.scores.copy(), self.errors[leaf.depth > 0] > 0
        for done, p in enumerate(np.unique(leaf.rows.part).tolist()):
            if demands and done >= FIRST and not _is_better(leaf, scores):
                break
            rest = leaf.without(p)
            found = argmin(rest)
            if found is not None:
                self._answer(leaf, p, rest, self.combine.rehearsed(rest, found), scores)
        return scores

    def _answer(self, leaf: Leaf, p: int, rest: Leaf, found: Found, scores: FloatArray) -> None:
        """Write what a find that was made without one part says about the rows of that part."""
        held = np.flatnonzero(leaf.rows.part == p)
        goes_left = leaf.rows.goes_left(found.trial.split)[held]
        assert found.answers is not None
        for side, answer, mine in zip(
            found.trial.children(rest), found.answers, (goes_left, ~goes_left), strict=True
        ):
            if mine.any():
                told = self._say(leaf, p, side, found.trial, answer.weights, held[mine])
                if isinstance(told, Failure):  # then it shows no gain here
                    self.fits.ledger.note(leaf.path, [told])
                else:
                    scores[held[mine]] = told

    def _say(
        self, leaf: Leaf, p: int, side: Side, trial: Trial, weights: Weights, place: IntArray
    ) -> FloatArray | Failure:
        """Return the scores of held-out rows by one side, or which learner has none."""
        problem, rows, path, train = (
            leaf.rows.problem,
            leaf.rows.v1[place],
            side.path,
            side.rows.train,
        )
        large = {key: weight for key, weight in weights.items() if weight >= TRACE}
        known = {h.key: h.scores[place] for h in leaf.pool}
        fold = p if problem.partition.n_folds > 1 else 0
        ask = partial(own_scores, problem, train, path, fold, rows)
        own = [learner for owner, learner in large if owner == path]
        at_hand = {i: trial.models[i, path & 1] for i in own if (i, path & 1) in trial.models}
        told: dict[int, FloatArray | Failure]
        told = {i: models[fold].scores(problem.X[rows]) for i, models in at_hand.items()}
        slow = [i for i in own if i not in told and not self._is_quick(leaf, i)]
        quick = [i for i in own if i not in told and i not in slow]
        told |= {i: quick_scores(problem, train, path, fold, rows, i) for i in quick}
        asked = self.fits.executor.map(
            ask, slow, who=lambda i: problem.learners[i].name, lost=lambda failure: failure
        )
        told |= zip(slow, asked, strict=True)
        for i, scores in told.items():
            if isinstance(scores, Failure):
                return scores
            known[path, i] = scores
        mixed = sum(weight * known[key] for key, weight in large.items())
        return np.asarray(mixed / sum(large.values()))

    def _is_quick(self, leaf: Leaf, i: int) -> bool:
        return i not in leaf.one_by_one and has_closed_form(leaf.rows.problem.learners[i])


def _is_better(leaf: Leaf, scores: FloatArray) -> bool:
    """Whether scores are better than the node's."""
    loss, judged = leaf.rows.problem.loss, leaf.rows.judged
    return bool(loss.value(judged, scores) < loss.value(judged, leaf.answer.scores))


def gains_by(demand: float, leaf: Leaf, scores: FloatArray) -> bool:
    """Whether scores are better than the node's by more than so many standard errors."""
    loss, judged, before = leaf.rows.problem.loss, leaf.rows.judged, leaf.answer.scores
    gain = loss.value(judged, before) - loss.value(judged, scores)
    return bool(gain > demand * loss.error_of_gain(judged, before, scores))


def own_scores(
    problem: Problem, train: IntArray, path: int, fold: int, rows: IntArray, i: int
) -> FloatArray | Failure:
    """Train a learner on the rows of one side, without a fold, and ask it about others."""
    learner = problem.learners[i]
    return attempt(
        learner.name,
        lambda: problem.fit_fold(learner, train, path, fold).scores(problem.X[rows]),
    )


def quick_scores(
    problem: Problem, train: IntArray, path: int, fold: int, rows: IntArray, i: int
) -> FloatArray | Failure:
    """Return the same for a learner with a closed form, which also gives its models if it can."""
    mine = train[problem.partition.fold[train] != fold]
    model = attempt(problem.learners[i].name, partial(problem.fit_whole, problem.learners[i], mine))
    if model is None or isinstance(model, Failure):
        return own_scores(problem, train, path, fold, rows, i)
    return model.scores(problem.X[rows])
