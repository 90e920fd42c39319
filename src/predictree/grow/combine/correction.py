"""Corrections: a child answers as its parent does, plus a small additive model of its own rows.

So every node is one additive function. What a node takes is chosen out of fold among models of
growing size: nothing, a constant, lines, curves; and the latter held to zero by more or by less.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from predictree.grow.leaf import Choice, Found, Key, Leaf, Side, Trial, joined
from predictree.grow.plain import require, table
from predictree.grow.problem import ROOT_PATH, Problem
from predictree.grow.rows import Rows
from predictree.learners.forms.additive.basis import LEVELS, LINEAR, MISSING, SMOOTH, Sizes
from predictree.learners.forms.additive.correction import Fit, Sample, covariance, fit, guess
from predictree.learners.forms.additive.evidence import Prior
from predictree.learners.forms.additive.family import Family, family_of
from predictree.learners.forms.additive.ground import Ground
from predictree.learners.forms.additive.monotone import Directions
from predictree.learners.forms.additive.root import Root
from predictree.model.additive import AdditiveFunction
from predictree.model.tree import BoolArray, FloatArray, IntArray
from predictree.run.journal import Arrays

ADDITIVE, LINEAR_LEARNER, CONSTANT = range(3)  # the places of the learners
EFFECTS = ("values", "variance")  # of a curve
SMOOTH_PARTS = 10  # of a feature in a correction


@dataclass(frozen=True, slots=True)
class Caution:
    """How strongly corrections are held to zero.

    Attributes
    ----------
    root : Prior
    holds : tuple of float
        From which a child takes what is best out of fold.
    constant : float
        The variance of a child's intercept, in units of the noise.
    most : float
        The largest variance that a group may give to a child's scores.
    """

    root: Prior
    holds: tuple[float, ...]
    constant: float
    most: float

    def priors(self) -> list[Prior]:
        """Return what a child may be held by."""
        return [Prior(hold, self.constant, self.most) for hold in self.holds]


OF_SQUARES = Caution(Prior(), (0.0, 0.25, 1.0), 0.5, np.inf)
OF_CLASSES = Caution(Prior(0.5), (0.0, 0.5, 1.0), 1.0, 4.0)


@dataclass(frozen=True, eq=False)
class Sum:
    """A node's answer: one additive function.

    Attributes
    ----------
    function : AdditiveFunction
        Of all rows.
    told : array of shape (n, n_folds + 1, k)
        What the models without each fold, and the last one, say of the node's rows.
    scores : array of shape (v, k)
        Held-out scores of the node's rows of V¹.
    lead : Key
        The node whose correction was the last on the way here, and of which form.
    """

    function: AdditiveFunction
    told: FloatArray
    scores: FloatArray
    lead: Key

    @property
    def weights(self) -> Mapping[Key, float]:
        """All weight is its own."""
        return {self.lead: 1.0}

    def without(self, p: int, kept: BoolArray) -> "Sum":
        """Return the same function, judged on fewer rows."""
        return replace(self, scores=self.scores[kept])

    def arrays(self) -> Arrays:
        """Return its curves, and what all models say of the rows; pairs are the root's."""
        curves = self.function.curves
        effects = {name: np.concatenate([getattr(c, name) for c in curves]) for name in EFFECTS}
        return {"told": self.told, "intercept": self.function.intercept, **effects}


def sum_of(leaf: Leaf) -> Sum:
    """Return the answer of a leaf that has one function."""
    assert isinstance(leaf.answer, Sum)
    return leaf.answer


@dataclass(frozen=True, eq=False)
class _Candidate:
    """A correction: what holds it, its models, and what they say with the parent's."""

    prior: Prior
    fit: Fit
    told: FloatArray


@dataclass(frozen=True, eq=False)
class Bed:
    """What corrections grow on: the root, and the columns that a child may use."""

    root: Root
    small: Ground
    effects: list[tuple[int, FloatArray]]

    @classmethod
    def of(cls, root: Root) -> "Bed":
        """Take the columns of a root that children use."""
        effects = [(j, effect) for j, effect in root.effects() if j not in root.barred]
        return cls(root, root.ground.coarse(SMOOTH_PARTS, root.barred), effects)

    @property
    def caution(self) -> Caution:
        """How cautious its corrections are."""
        return caution_of(self.root.ground.family)

    def linear(self) -> FloatArray:
        """Return what a model of lines and levels alone says of held-out rows, in place order."""
        basis, root = self.root.ground.basis, self.root
        first = np.unique(basis.feature, return_index=True)[1]
        lines = (basis.kind == LINEAR) & np.isin(np.arange(basis.width), first)
        kept = np.flatnonzero(lines | np.isin(basis.kind, (LEVELS, MISSING)))
        plain = Root.of(root.ground.among(kept), self.caution.root)
        held = plain.sample.held
        own = replace(plain.sample, offset=plain.told).own[held]
        return root.ground.scores(own)[np.argsort(plain.rows[held])]


def root_of(problem: Problem, sizes: Sizes, directions: Directions) -> Root:
    """Fit main effects to all rows that train or judge."""
    family = family_of(problem.loss.name, problem.n_outputs)
    ground = Ground.of(
        problem.X, problem.y, problem.weight, problem.partition.fold, family,
        problem.for_learners, problem.categories, sizes,
    )  # fmt: skip
    return Root.of(ground, caution_of(family).root, directions)


def caution_of(family: Family) -> Caution:
    """Return how cautious corrections of a kind of label are."""
    return OF_SQUARES if family.is_quadratic else OF_CLASSES


@dataclass(frozen=True, eq=False)
class Correction:
    """A child is its parent and a correction."""

    bed: Bed

    def plant(self, rows: Rows) -> Leaf:
        """Return the root."""
        root = self.bed.root
        told = np.empty_like(root.told)
        told[root.rows] = root.told
        answer = self._answer(rows, root.function, told, (ROOT_PATH, ADDITIVE))
        loss = rows.problem.loss.value(rows.judged, answer.scores)
        return Leaf(ROOT_PATH, rows, [], answer, loss)

    def ranked(self, leaf: Leaf, trials: Iterable[Trial]) -> list[Trial]:
        """Return trials by what full corrections of both sides gain, the best first."""
        told = [(self._guessed(leaf, trial), i, trial) for i, trial in enumerate(trials)]
        return [trial for _, _, trial in sorted(told, key=lambda one: (-one[0], one[1]))]

    def best(self, leaf: Leaf, trial: Trial, bar: float) -> Found | None:
        """Return what a split comes to; None if that is not below a bar."""
        sides = trial.children(leaf)
        left, right = (self._corrected(leaf, side) for side in sides)
        scores = joined(trial.goes_left, left.scores, right.scores)
        loss = leaf.rows.problem.loss.value(leaf.rows.judged, scores)
        return Found(trial, loss, scores, (left, right)) if loss < bar else None

    def settle(self, leaf: Leaf, found: Found) -> Choice:
        """Let both sides answer as they were judged."""
        return Choice.of(leaf, found)

    def recalled(self, leaf: Leaf, side: Side, lead: Key, arrays: Arrays) -> Sum:
        """Return what a side answered with in an earlier run."""
        parent = sum_of(leaf)
        forms = {(side.path, form) for form in (ADDITIVE, LINEAR_LEARNER, CONSTANT)}
        require(lead in forms | {parent.lead}, "its form")
        told = table(arrays["told"], (len(side.rows.all), *parent.told.shape[1:]))
        ends = np.cumsum([len(curve.values) for curve in parent.function.curves])
        shape = (int(ends[-1]), len(parent.function.intercept))
        effects = [np.split(table(arrays[name], shape), ends[:-1]) for name in EFFECTS]
        curves = tuple(
            replace(curve, values=values, variance=variance)
            for curve, values, variance in zip(parent.function.curves, *effects, strict=True)
        )
        intercept = table(arrays["intercept"], parent.function.intercept.shape)
        function = replace(parent.function, intercept=intercept, curves=curves)
        return self._answer(side.rows, function, told, lead)

    def kept(self, choice: Choice) -> Choice:
        """Keep a choice of an earlier run: its answers are all there is."""
        return choice

    def _guessed(self, leaf: Leaf, trial: Trial) -> float:
        prior = self.bed.caution.priors()[1]
        total = 0.0
        for side in trial.children(leaf):
            sample = self._sample(leaf, side)[1]
            total += sample.quadratic.gain(guess(sample, prior))
        return total

    def _sample(self, leaf: Leaf, side: Side) -> tuple[IntArray, Sample]:
        """Return the order of a side's rows by fold, and the rows in that order."""
        rows = side.rows.all
        order = np.argsort(self.bed.small.fold[rows], kind="stable")
        place = np.searchsorted(leaf.rows.all, rows[order])
        return order, self.bed.small.sample(rows[order], sum_of(leaf).told[place])

    def _corrected(self, leaf: Leaf, side: Side) -> Sum:
        """Return the answer of a side: the parent's, or with the correction that is best."""
        parent = sum_of(leaf)
        order, sample = self._sample(leaf, side)
        chosen = self._chosen(sample)
        told = np.empty_like(sample.offset)
        told[order] = sample.offset if chosen is None else chosen.told
        if chosen is None:
            return self._answer(side.rows, parent.function, told, parent.lead)
        b, rows = chosen.fit.last.coefficients, side.rows.all
        spread = covariance(sample, chosen.fit.last, chosen.prior)
        function = parent.function.plus(self.bed.small.function(b, spread, rows))
        return self._answer(side.rows, function, told, (side.path, self._form(chosen.fit)))

    def _chosen(self, sample: Sample) -> _Candidate | None:
        """Return the correction that is best out of fold; None if nothing is better."""
        best, least, before = None, sample.losses(sample.offset).sum(), None
        for prior in self.bed.caution.priors():
            before = fit(sample, prior, before)
            told = sample.told(before.coefficients)
            if (loss := sample.losses(told).sum()) < least:
                least, best = loss, _Candidate(prior, before, told)
        return best

    def _form(self, found: Fit) -> int:
        """Return which form a correction has, by the columns that it uses."""
        small, variance = self.bed.small, found.last.scales.variance
        used = small.columns[variance[small.group] > 0]
        kinds = small.basis.kind[used]
        if not len(kinds):
            return CONSTANT
        return ADDITIVE if (kinds == SMOOTH).any() else LINEAR_LEARNER

    def _answer(self, rows: Rows, function: AdditiveFunction, told: FloatArray, lead: Key) -> Sum:
        """Return an answer, given what all models say of the rows in ascending order."""
        ground = self.bed.small
        judged = np.searchsorted(rows.all, rows.v1)
        fold = ground.fold[rows.v1]
        return Sum(function, told, ground.scores(told[judged, fold]), lead)
