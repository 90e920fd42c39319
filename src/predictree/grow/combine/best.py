"""The paper's way: one predictor a node, the pair with the least joint loss at a split."""

import warnings
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from predictree.errors import InvalidInputError, NoPredictorError, UndefinedLossWarning
from predictree.grow.fits import Chosen, Fits
from predictree.grow.leaf import (
    Candidate,
    Choice,
    Found,
    Key,
    Leaf,
    Lost,
    Pool,
    Side,
    Trial,
    joined,
)
from predictree.grow.problem import ROOT_PATH
from predictree.grow.rows import Rows
from predictree.grow.squares import Squares
from predictree.learners.forms import has_closed_form
from predictree.losses import tolerance
from predictree.model.tree import FloatArray, Split
from predictree.run.journal import Arrays


@dataclass(frozen=True)
class Best:
    """One predictor a node; each is fitted and kept as soon as a node answers with it."""

    fits: Fits

    def plant(self, rows: Rows) -> Leaf:
        """Take h_X: the learner, trained on all of S, with the least loss on V¹."""
        pool = self.fits.of_root(rows)
        while pool:
            choice, loss = least(pool, rows)
            lost = self.fits.keep([Chosen(choice, rows)])
            if lost is None:
                return Leaf(ROOT_PATH, rows, pool, choice, loss)
            self.fits.ledger.note(ROOT_PATH, [lost[1]])
            pool = [h for h in pool if h is not choice]
        raise nothing_to_plant(self.fits)

    def best(self, leaf: Leaf, trial: Trial, bar: float) -> Found | None:
        """Return the pair of predictors with the least loss, the first among equals."""
        losses = self.losses(leaf, trial)
        lowest = losses.min()
        if not lowest < bar:
            return None
        places = np.unravel_index(np.argmax(losses <= lowest + leaf.slack), losses.shape)
        if not losses[places] < bar:
            return None
        left, right = (
            _candidate(leaf, trial, int(place), side) for side, place in enumerate(places)
        )
        scores = joined(trial.goes_left, left.scores, right.scores)
        return Found(trial, float(losses[places]), scores, (left, right))

    def settle(self, leaf: Leaf, found: Found) -> Choice:
        """Fit the two predictors and keep them."""
        choice = Choice.of(leaf, found)
        lost = self.fits.keep(
            [
                Chosen(h, child.rows, found.trial.models_of(h, child.path))
                for child, h in zip(choice.children, _pair(choice), strict=True)
            ],
            leaf.one_by_one,
        )
        if lost is None:
            return choice
        h, failure = lost
        learner = self.fits.problem.learners[h.learner]
        by_form = h.owner >> 1 == leaf.path and has_closed_form(learner)
        by_form &= h.learner not in leaf.one_by_one
        if not by_form:
            self.fits.ledger.note(leaf.path, [failure])
        raise Lost(h, by_form)

    def recalled(self, leaf: Leaf, side: Side, lead: Key, arrays: Arrays) -> Candidate:
        """Return the candidate that was chosen in an earlier run."""
        return {h.key: h for h in side.pool}[lead]

    def kept(self, choice: Choice) -> Choice:
        """Keep what a choice of an earlier run answers with."""
        pair = zip(choice.children, _pair(choice), strict=True)
        lost = self.fits.keep([Chosen(h, child.rows) for child, h in pair])
        if lost is not None:
            raise Lost(lost[0], by_form=False)
        return choice

    def rehearsed(self, rest: Leaf, found: Found) -> Found:
        """Return the same: a pair is a pair."""
        return found

    def ranked(self, leaf: Leaf, trials: Iterable[Trial]) -> list[Split]:
        """Return splits, best guess first.

        The first is that of the best pair of predictors so far; if its loss is the least there is,
        it is the only one. The others follow by the best pair trained on the children: what is
        trained on ancestors is as good as it will get.
        """
        splits, joint, own = [], [], []
        for trial in trials:
            losses, m = self.losses(leaf, trial), len(trial.own)
            if losses.min() <= leaf.rows.problem.loss.least:
                return [trial.split]
            splits.append(trial.split)
            joint.append(losses.min())
            own.append(losses[:m, :m].min())
        order = [*np.argsort(joint, kind="stable")[:1], *np.argsort(own, kind="stable")]
        return [splits[i] for i in dict.fromkeys(order)]

    def by_squares(self, leaf: Leaf, squares: Squares) -> FloatArray:
        """Return the loss of every split: on each side the predictor with the least."""
        alone = np.einsum("qsgkk->qsk", squares.products)[:, :, self.offered(squares.n_own)]
        return np.asarray(np.nanmin(alone, axis=2).sum(axis=1) / squares.total)

    def losses(self, leaf: Leaf, trial: Trial) -> FloatArray:
        """Return the joint loss of every pair: own predictors, then those of the pool."""
        losses, offered = trial.pairs, self.offered(len(trial.own))
        if losses is None:
            losses = leaf.judge.pairs(trial.goes_left, trial.own)
        found = np.full_like(losses, np.inf)
        found[offered, offered] = losses[offered, offered]
        return np.where(np.isfinite(found), found, np.inf)

    @staticmethod
    def offered(n_own: int) -> slice:
        """Return which predictors a side may take, of those trained on it and then of the pool."""
        return slice(None)


def least(pool: Pool, rows: Rows) -> tuple[Candidate, float]:
    """Return the candidate with the least loss, the first among equals."""
    problem = rows.problem
    losses = np.array([problem.loss.value(rows.judged, h.scores) for h in pool])
    if not np.isfinite(losses).any():
        for error in getattr(problem.loss, "errors", [])[:1]:
            raise InvalidInputError(f"loss {problem.loss.name!r} failed on V1: {error}")
        warnings.warn(
            f"loss {problem.loss.name!r} cannot be computed on the {len(rows.v1)} rows of V1 (one "
            "class only?): the tree is a lone root with its first learner. Give V1 more rows, or "
            "choose another loss.",
            UndefinedLossWarning,
            stacklevel=5,
        )
        return pool[0], np.nan
    lowest = float(losses[np.isfinite(losses)].min())
    slack = tolerance(problem.loss, rows.judged, lowest)
    first = np.flatnonzero(np.isfinite(losses) & (losses <= lowest + slack))[0]
    return pool[first], float(losses[first])


def nothing_to_plant(fits: Fits) -> NoPredictorError:
    """Return what to raise where no learner could be fitted at the root."""
    return NoPredictorError(
        f"no learner could be fitted on all the training rows: {fits.ledger.reasons}"
    )


def _candidate(leaf: Leaf, trial: Trial, place: int, right: int) -> Candidate:
    """Return a predictor by its place among own ones and the pool, for one side."""
    m, mine = len(trial.own), trial.sides[right]
    if place >= m:
        return leaf.pool[place - m].on(mine)
    train = leaf.rows.divide(trial.split)[right].train
    return Candidate(2 * leaf.path + right, place, train, trial.own[place][mine])


def _pair(choice: Choice) -> list[Candidate]:
    """Return what the children of a split answer with."""
    return [child.answer for child in choice.children if isinstance(child.answer, Candidate)]
