"""The root of a tree of additive models: main effects, and pairs where they are worth it."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from predictree.learners.forms.additive.correction import CROWDED, Fit, Sample, covariance, fit
from predictree.learners.forms.additive.evidence import Prior
from predictree.learners.forms.additive.ground import Ground
from predictree.learners.forms.additive.monotone import Directions, bent
from predictree.learners.forms.additive.pairs import RankedPair, pair_of, ranked
from predictree.model.additive import AdditiveFunction, Curve, along
from predictree.model.tree import FloatArray, IntArray

FIRST_OF_PAIR = 0.3  # of the noise: the variance that a pair starts with
MANY_ROWS = 10_000  # from so many on, there may be half as many pairs more
HELD = 0.5  # degrees of freedom more that a group is taken to have, of many groups and few rows
CANDIDATES = 16  # features that may be in a pair: those with the strongest curves


@dataclass(frozen=True, eq=False)
class Root:
    """The models of the root.

    Attributes
    ----------
    ground : Ground
    rows : array of shape (n,)
        All rows, in the order of their folds.
    sample : Sample
    prior : Prior
    fit : Fit
    pairs : tuple of Pair
        Their columns follow those of the ground.
    fixed : tuple of Curve
        Those that only rise or fall; the models are what there is beside them.
    """

    ground: Ground
    rows: IntArray
    sample: Sample
    prior: Prior
    fit: Fit
    pairs: tuple[RankedPair, ...] = ()
    fixed: tuple[Curve, ...] = ()

    @classmethod
    def of(cls, ground: Ground, prior: Prior, directions: Directions | None = None) -> "Root":
        """Fit main effects."""
        if ground.weight.sum() < CROWDED * len(np.unique(ground.group)):
            prior = replace(prior, hold=max(prior.hold, HELD))
        rows = np.argsort(ground.fold, kind="stable")
        told = np.tile(ground.first, (len(rows), 1, 1))
        sample = ground.sample(rows, told)
        free = cls(ground, rows, sample, prior, fit(sample, prior))
        return free._following(directions) if directions else free

    @property
    def told(self) -> FloatArray:
        """What all models say of the rows: (n, n_folds + 1, k), in the order of the folds."""
        return self.sample.told(self.fit.coefficients)

    @cached_property
    def function(self) -> AdditiveFunction:
        """The function of the last model."""
        ground, b = self.ground, self.fit.last.coefficients
        spread, at = covariance(self.sample, self.fit.last, self.prior), 1 + len(ground.columns)
        main, surfaces = ground.function(b, spread, self.rows), []
        fixed = {curve.axis.feature: curve for curve in self.fixed}
        curves = tuple(fixed.get(curve.axis.feature, curve) for curve in main.curves)
        for pair in self.pairs:
            mine = slice(at, at + pair.width)
            surfaces.append(pair.surface(ground.basis, b[mine], spread[:, mine, mine], ground.unit))
            at += pair.width
        intercept = main.intercept + ground.first[-1] * ground.unit + ground.shift
        return replace(main, intercept=intercept, curves=curves, surfaces=tuple(surfaces))

    @property
    def barred(self) -> frozenset[int]:
        """The columns of X whose curves are the same everywhere."""
        return frozenset(curve.axis.feature for curve in self.fixed)

    def _following(self, directions: Directions) -> "Root":
        """Return the same with some curves that only rise or fall, and the rest fitted again."""
        ground, offset, fixed = self.ground, self.sample.offset.copy(), []
        for j, one in enumerate(ground.basis.features):
            if direction := directions.get(one.axis.feature, 0):
                x = ground.X[self.rows, one.axis.feature]
                b = self.fit.coefficients[:, 1 + np.flatnonzero(ground.feature == j), 0]
                values = bent(one, x, self.sample.weight, b, direction)
                offset += along(values.T, one.axis.place(x))[:, :, None]
                spread = self.function.curves[j].variance
                fixed.append(Curve(one.axis, values[-1][:, None] * ground.unit, spread))
        places = [one.axis.feature for one in ground.basis.features]
        held = np.isin(ground.feature, [places.index(c.axis.feature) for c in fixed])
        sample = replace(self.sample, offset=offset)
        rest = fit(sample, self.prior, self.fit.without(held, sample.group))
        return replace(self, sample=sample, fit=rest, fixed=tuple(fixed))

    def effects(self) -> list[tuple[int, FloatArray]]:
        """Return each feature, and what its curve says of all rows by place in X: (n, k)."""
        X = self.ground.X
        return [
            (c.axis.feature, along(c.values, c.axis.place(X[:, c.axis.feature])) / self.ground.unit)
            for c in self.function.curves
        ]

    def with_pairs(self, most: int) -> "Root":
        """Return the same with pairs if they gain more than a standard error out of fold.

        Parameters
        ----------
        most : int
            Pairs of few rows; of many rows there are half as many more.
        """
        most = most * 3 // 2 if self.ground.weight.sum() > MANY_ROWS else most
        found = self._candidates(most) if most else []
        if not found:
            return self
        ground = self.ground
        pairs = tuple(pair_of(ground.basis, ground.B, i, j, ground.weight) for i, j in found)
        columns = np.hstack([pair.rows(self.sample.B) for pair in pairs])
        group = np.repeat(np.arange(len(pairs)), [pair.width for pair in pairs])
        sample = self.sample.beside(columns, group)
        before = self.fit.beside(columns.shape[1], len(pairs), FIRST_OF_PAIR)
        paired = replace(self, sample=sample, fit=fit(sample, self.prior, before), pairs=pairs)
        gain = self.sample.losses(self.told) - sample.losses(paired.told)
        mass = sample.weight[sample.held]
        error = np.sqrt(np.square(gain - gain.sum() * mass / mass.sum()).sum())
        return paired if gain.sum() > error else self

    def _candidates(self, most: int) -> list[tuple[int, int]]:
        """Return the best pairs, by the places of their features in the basis."""
        ground, sample = self.ground, self.sample
        own = replace(sample, offset=self.told).own[sample.held]
        y, weight = sample.y[sample.held], sample.weight[sample.held]
        curvature = ground.family.curvature(y, own)
        response = ground.family.slope(y, own) / curvature[:, None]
        rows = self.rows[sample.held]
        place_of = {one.axis.feature: i for i, one in enumerate(ground.basis.features)}
        strength = {j: _strength(effect, ground.weight) for j, effect in self.effects()}
        strong = sorted((j for j in place_of if j not in self.barred), key=lambda j: -strength[j])
        fold = _two_at_least(ground.fold[rows])
        told = ranked(ground.X[rows], response, weight, curvature, fold, strong[:CANDIDATES])
        return [(place_of[i], place_of[j]) for _, i, j in told[:most]]


def _strength(effect: FloatArray, weight: FloatArray) -> float:
    """Return the variance of an effect, of the score where it is largest."""
    centred = effect - np.average(effect, axis=0, weights=weight)
    return float(np.average(np.square(centred), axis=0, weights=weight).max())


def _two_at_least(fold: IntArray) -> IntArray:
    """Return folds as they are, or two where there is one."""
    return fold if fold.max() > fold.min() else np.arange(len(fold)) % 2
