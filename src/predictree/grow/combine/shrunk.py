"""Our way: at every node a convex combination of all predictors trained on its path.

At the root it is a stack of all learners. Below, it is held to the parent's; once a split is
proved, the hold is loosened where that is a clear gain.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

import numpy as np

from predictree.grow.combine.best import least, nothing_to_plant
from predictree.grow.combine.mixture import (
    TRACE,
    Mixture,
    basis_of,
    mixed,
    mixture_of,
    mixtures_of_splits,
    sketched,
    squared_errors,
)
from predictree.grow.fits import Fits
from predictree.grow.leaf import Choice, Found, Key, Leaf, Pool, Side, Trial, joined
from predictree.grow.plain import require, table
from predictree.grow.problem import ROOT_PATH
from predictree.grow.rows import Limits, Rows
from predictree.grow.search.trials import Trials
from predictree.grow.squares import Squares
from predictree.model.tree import FloatArray, Split
from predictree.run.journal import Arrays

FREE = 1e-9  # strength at the root: none, but enough for a unique answer
LOOSENING, LOOSER = 4.0, 6  # by how much a hold is loosened, and how often at most
CLEAR = 1.645  # standard errors of a gain that is clear
NEW = (0, 0)  # owner and learner of a predictor that no parent weighs

Inherited = list[tuple[Key, FloatArray, FloatArray]]  # key, scores and basis of each of the pool


@dataclass
class Shrunk:
    """A mixture a node, held to its parent's with a strength λ."""

    strength: float
    limits: Limits
    fits: Fits
    _known: tuple[Leaf, Inherited] | None = field(default=None, init=False)

    def plant(self, rows: Rows) -> Leaf:
        """Combine all learners trained on all rows: a stack."""
        pool = self.fits.of_root(rows)
        if not pool:
            raise nothing_to_plant(self.fits)
        scores = _stacked(pool)
        mixture = mixed(rows, _keys(pool), scores, None, FREE).measured(rows, scores)
        mixture = replace(mixture, lead=least(pool, rows)[0].key)
        return Side(ROOT_PATH, rows, pool).leaf(mixture)

    def best(self, leaf: Leaf, trial: Trial, bar: float) -> Found | None:
        """Sketch the mixtures of either side."""
        rows, problem = leaf.rows, leaf.rows.problem
        own = [
            (NEW, scores, basis_of(problem.loss, rows.judged, scores))
            for scores in trial.own
            if not np.isnan(scores).any()
        ]
        keys, scores, bases = zip(*own, *self._inherited(leaf), strict=True)
        told = np.stack(bases, axis=-1), np.stack(scores, axis=-1)
        sketch = sketched(rows, trial.goes_left, keys, *told, mixture_of(leaf), self.strength)
        loss = problem.loss.value(rows.judged, sketch)
        return Found(trial, loss, sketch) if loss < bar else None

    def by_squares(self, leaf: Leaf, squares: Squares) -> FloatArray:
        """Return the losses of the sketched mixtures of all splits."""
        keys = [NEW] * squares.n_own + _keys(leaf.pool)
        return mixtures_of_splits(squares, keys, mixture_of(leaf), self.strength)

    def settle(self, leaf: Leaf, found: Found) -> Choice:
        """Ask the learners that had no say, mix exactly, and loosen the hold on either side."""
        again = None if found.trial.asked_all else self._asked_all(leaf, found.trial.split)
        settled = [self._exact(leaf, one, loosens=True) for one in (found, again) if one]
        choice = Choice.of(leaf, min(settled, key=lambda one: one.loss))
        left, right = map(self._secured, choice.children)
        return replace(choice, children=(left, right))

    def recalled(self, leaf: Leaf, side: Side, lead: Key, arrays: Arrays) -> Mixture:
        """Return the mixture that was found in an earlier run."""
        parent, n_keys = mixture_of(leaf), len(arrays["keys"])
        table(arrays["scores"], (len(side.rows.v1), leaf.rows.problem.n_outputs))
        weights = table(arrays["weights"], (n_keys,))
        by_fold = table(arrays["by_fold"], (len(parent.by_fold), n_keys))
        require(bool((weights >= 0).all() and (by_fold >= 0).all()), "its weights")
        mixture = parent.recalled(lead, arrays)
        require({lead, *(h.key for h in side.pool)} <= {*mixture.weights}, "what is mixed")
        return mixture

    def kept(self, choice: Choice) -> Choice:
        """Return a choice of an earlier run: its models are fitted in the end."""
        return choice

    def rehearsed(self, rest: Leaf, found: Found) -> Found:
        """Mix exactly, with the hold as it is: the split is judged, not the hold."""
        return self._exact(rest, found, loosens=False)

    def ranked(self, leaf: Leaf, trials: Iterable[Trial]) -> list[Split]:
        """Return splits, best guess first.

        They are, by turns, those of the best mixtures and those that help most the learner that
        ranks them: it may be too weak for the mixture to want it where another learner would gain.
        """
        splits, mixtures, alone, judged = [], [], [], leaf.rows.judged
        for trial in trials:
            found = self.best(leaf, trial, np.inf)
            splits.append(trial.split)
            mixtures.append(np.inf if found is None else found.loss)
            told = [scores for scores in trial.own if not np.isnan(scores).any()]
            errors = (np.average(squared_errors(judged, h), weights=judged.weight) for h in told)
            alone.append(min(errors, default=np.inf))
        orders = (np.argsort(losses, kind="stable").tolist() for losses in (mixtures, alone))
        by_turns = [place for places in zip(*orders, strict=True) for place in places]
        return [splits[i] for i in dict.fromkeys(by_turns)]

    def _asked_all(self, leaf: Leaf, split: Split) -> Found | None:
        """Train all learners on a split that was decided; None if that is no gain."""
        bar = leaf.loss - self.limits.min_gain - leaf.slack
        trial = next(Trials(leaf, self.limits, self.fits).of_all([[split]]))
        return self.best(leaf, trial, bar)

    def _exact(self, leaf: Leaf, found: Found, loosens: bool) -> Found:
        """Return a find with the mixtures of its sides."""
        trial, parent = found.trial, mixture_of(leaf)
        left, right = (self._of_side(side, parent, loosens) for side in trial.children(leaf))
        scores = joined(trial.goes_left, left.scores, right.scores)
        loss = leaf.rows.problem.loss.value(leaf.rows.judged, scores)
        return Found(trial, loss, scores, (left, right))

    def _of_side(self, side: Side, parent: Mixture, loosens: bool) -> Mixture:
        """Mix the candidates of one side, and loosen the hold as long as that is a clear gain."""
        keys, scores, strength = _keys(side.pool), _stacked(side.pool), self.strength
        mixture = mixed(side.rows, keys, scores, parent, strength)
        loss, judged = side.rows.problem.loss, side.rows.judged
        for _ in range(LOOSER if loosens else 0):
            strength /= LOOSENING
            looser = mixed(side.rows, keys, scores, parent, strength)
            gain = loss.value(judged, mixture.scores) - loss.value(judged, looser.scores)
            if not gain > CLEAR * loss.error_of_gain(judged, mixture.scores, looser.scores):
                break
            mixture = looser
        return mixture

    def _secured(self, child: Leaf) -> Leaf:
        """Return a new leaf without the candidates that will have no models."""
        own = [h for h in child.pool if h.owner == child.path]
        weighed = [h for h in own if child.answer.weights[h.key] >= TRACE]
        inherited = [h for h in child.pool if h.owner != child.path]
        return replace(child, pool=self.fits.secured(own, weighed) + inherited)

    def _inherited(self, leaf: Leaf) -> Inherited:
        """Return what all trials of a leaf have in common."""
        if self._known is None or self._known[0] is not leaf:
            loss, judged = leaf.rows.problem.loss, leaf.rows.judged
            pool = [(h.key, h.scores, basis_of(loss, judged, h.scores)) for h in leaf.pool]
            self._known = leaf, pool
        return self._known[1]


def _keys(pool: Pool) -> list[Key]:
    return [h.key for h in pool]


def _stacked(pool: Pool) -> FloatArray:
    return np.stack([h.scores for h in pool], axis=-1)
