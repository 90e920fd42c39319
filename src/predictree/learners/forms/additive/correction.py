"""A correction: an additive model on the rows of a node, on top of what the node says so far.

It starts at zero and is held to zero, so that shrinking it is shrinking the node to its parent.
There is one for all rows, and one without each fold for judging, whose scales are learned without
that fold, too: scales that saw a row would flatter what is said about it.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

import numpy as np

from predictree.learners.forms.additive.evidence import (
    Learned,
    Prior,
    Scales,
    Sums,
    first_scales,
    learn,
    solve,
)
from predictree.learners.forms.additive.family import Family
from predictree.model.outputs import Labels
from predictree.model.tree import FloatArray, IntArray

FULL_STEPS, FOLD_STEPS, AGAIN_STEPS = 30, 8, 12  # of learning scales
NEWTON_STEPS, NEWTON_FOLD_STEPS, NEWTON_AGAIN_STEPS = 14, 6, 3
SCALE_STEPS = 8  # of learning scales within a step of Newton's method
LOOSE = 0.1  # of the noise: the least variance where scales of several classes are learned again
SQUARES_LOOSE = 0.02  # the same for squared loss
FAR = 6.0  # no score moves farther in one step
CLOSE = 0.02  # a step that moves no score farther is the last


@dataclass(frozen=True, eq=False)
class Sample:
    """The rows of a node, fold after fold; first come those that no fold holds.

    Attributes
    ----------
    B : array of shape (n, 1 + p)
        A one and the columns.
    y : array of shape (n,)
    weight : array of shape (n,)
    offset : array of shape (n, n_folds + 1, k)
        What the models without each fold, and the last one, say so far.
    ends : array of shape (n_folds + 1,)
        Where the rows of no fold and those of each fold end.
    family : Family
    group : array of shape (p,)
        The group of every column but the first.
    """

    B: FloatArray
    y: Labels
    weight: FloatArray
    offset: FloatArray
    ends: IntArray
    family: Family
    group: IntArray

    @property
    def n_folds(self) -> int:
        """The number of folds; with a single one, the last model is the one without it."""
        return len(self.ends) - 1

    @property
    def n_groups(self) -> int:
        """The number of groups."""
        return int(self.group.max()) + 1 if len(self.group) else 0

    @cached_property
    def parts(self) -> list[slice]:
        """The rows of every fold."""
        return [slice(a, b) for a, b in pairwise(self.ends.tolist())]

    @cached_property
    def own(self) -> FloatArray:
        """What is said so far of every row by the model without its fold: (n, k)."""
        own = self.offset[:, -1].copy()
        for f, part in enumerate(self.parts):
            own[part] = self.offset[part, f]
        return own

    @property
    def held(self) -> slice:
        """The rows that some fold holds: those that judge."""
        return slice(int(self.ends[0]), len(self.y))

    def told(self, coefficients: FloatArray) -> FloatArray:
        """Return what all models say with corrections (n_folds + 1, 1 + p, k): as ``offset``."""
        return np.asarray(
            self.offset + np.einsum("np,fpk->nfk", self.B, coefficients, optimize=True)
        )

    def losses(self, told: FloatArray) -> FloatArray:
        """Return the weighed loss of every held-out row, if this is what all models say."""
        own = replace(self, offset=told).own[self.held]
        return self.weight[self.held] * self.family.loss(self.y[self.held], own)

    def rest(self, fold: int) -> slice | IntArray:
        """Return the rows outside a fold; all rows for the last model."""
        if fold == self.n_folds:
            return slice(None)
        part = self.parts[fold]
        return np.concatenate([np.arange(part.start), np.arange(part.stop, len(self.y))])

    @cached_property
    def quadratic(self) -> "Quadratic":
        """The quadratic model of the loss around what is said so far."""
        return Quadratic(self)

    def among(self, columns: IntArray, group: IntArray) -> "Sample":
        """Return the same rows with some of the columns, in groups of their own."""
        B = np.ascontiguousarray(self.B[:, np.concatenate([[0], columns + 1])])
        return replace(self, B=B, group=group)

    def beside(self, columns: FloatArray, group: IntArray) -> "Sample":
        """Return the same rows with further columns, in further groups 0, 1, …."""
        B = np.hstack([self.B, columns])
        return replace(self, B=B, group=np.concatenate([self.group, group + self.n_groups]))


class Quadratic:
    """Sums by fold of the quadratic model, for what every model says so far."""

    def __init__(self, sample: Sample) -> None:
        family, y, offset = sample.family, sample.y, sample.offset
        curvature = family.curvature(y, sample.own)
        slope = np.stack([family.slope(y, offset[:, f]) for f in range(offset.shape[1])], axis=1)
        self.n_folds = sample.n_folds
        self._grams, self._cross, self._squares, self._n = [], [], [], []
        for part in [slice(0, int(sample.ends[0])), *sample.parts]:
            B, weight = sample.B[part], sample.weight[part]
            self._grams.append((B * (weight * curvature[part])[:, None]).T @ B)
            drawn = slope[part].reshape(len(B), slope[0].size) * weight[:, None]
            self._cross.append((B.T @ drawn).reshape(B.shape[1], *slope.shape[1:]))
            response = np.square(slope[part]).sum(axis=2) / curvature[part, None]
            self._squares.append(weight @ response)
            self._n.append(len(B))
        self._gram = np.sum(self._grams, axis=0)

    def sums(self, fold: int) -> Sums:
        """Return the sums of the rows outside a fold, or of all for the last model."""
        if fold == self.n_folds and self.n_folds == 1:
            fold = 0  # the model of all is the one without what is held out
        parts = [f for f in range(self.n_folds + 1) if f != fold + 1]
        gram = self._gram if fold == self.n_folds else self._gram - self._grams[fold + 1]
        place = min(fold, self._cross[0].shape[1] - 1)
        return Sums(
            gram,
            np.sum([self._cross[f][:, place] for f in parts], axis=0),
            float(sum(self._squares[f][place] for f in parts)),
            float(sum(self._n[f] for f in parts)),
        )

    def gain(self, coefficients: FloatArray) -> float:
        """Return by how much less the held-out loss is, for coefficients without each fold."""
        total = 0.0
        for f in range(self.n_folds):
            b = coefficients[f]
            total += float((b * (2 * self._cross[f + 1][:, f] - self._grams[f + 1] @ b)).sum())
        return total


@dataclass(frozen=True, eq=False)
class Fit:
    """The models without each fold, and the last one, of all rows."""

    models: tuple[Learned, ...]

    @property
    def coefficients(self) -> FloatArray:
        """Those of all models: (n_folds + 1, 1 + p, k)."""
        return np.array([model.coefficients for model in self.models])

    @property
    def last(self) -> Learned:
        """The model of all rows."""
        return self.models[-1]

    def beside(self, n_columns: int, n_groups: int, variance: float) -> "Fit":
        """Return the same with further columns, of which nothing is known."""
        return Fit(tuple(_beside(model, n_columns, n_groups, variance) for model in self.models))


def _beside(model: Learned, n_columns: int, n_groups: int, variance: float) -> Learned:
    b = np.vstack([model.coefficients, np.zeros((n_columns, model.coefficients.shape[1]))])
    more = np.full(n_groups, variance * model.scales.noise)
    scales = Scales(np.concatenate([model.scales.variance, more]), model.scales.noise)
    return Learned(b, scales, model.freedom)


def fit(sample: Sample, prior: Prior, before: Fit | None = None) -> Fit:
    """Fit the model of all rows, and those without each fold.

    Parameters
    ----------
    sample : Sample
    prior : Prior
    before : Fit, optional
        Where to start from: a fit with another prior, say. Otherwise the models without a fold
        start from the scales of the one of all, loosened.
    """
    n_folds = sample.n_folds
    if before is None:
        last = _learned(sample, n_folds, prior, None)
        starts = [_loosened(sample, last, start=False)] * n_folds
    else:
        starts = [_loosened(sample, model, start=True) for model in before.models]
        last = _learned(sample, n_folds, prior, starts.pop())
    if n_folds == 1:
        return Fit((last, last))
    return Fit((*(_learned(sample, f, prior, start) for f, start in enumerate(starts)), last))


def covariance(sample: Sample, model: Learned, prior: Prior) -> FloatArray:
    """Return the covariance of the last model's errors, given its scales: (k, 1 + p, 1 + p).

    A column that dropped out is taken to be zero for sure.
    """
    rows = sample.rest(0 if sample.n_folds == 1 else sample.n_folds)
    y, weight = sample.y[rows], sample.weight[rows]
    noise, variance = model.scales.noise, model.scales.variance
    place = _active(model.scales, sample.group)
    penalty = np.append(prior.level, noise / variance[sample.group[place[1:] - 1]])
    B = sample.B[rows][:, place]
    told = sample.offset[rows, -1] + B @ model.coefficients[place]
    found = np.zeros((told.shape[1], sample.B.shape[1], sample.B.shape[1]))
    for mine, information in zip(found, sample.family.information(y, told).T, strict=True):
        gram = (B * (weight * information)[:, None]).T @ B
        mine[np.ix_(place, place)] = noise * np.linalg.pinv(gram + np.diag(penalty), hermitian=True)
    return found


def guess(sample: Sample, prior: Prior) -> FloatArray:
    """Return coefficients by the quadratic model, whose scales are those of all rows.

    They flatter; but they cost little, and rank.
    """
    sums, group = sample.quadratic.sums(sample.n_folds), sample.group
    last = _scaled(sample, sums, prior, None)
    folds = range(sample.n_folds)
    found = [solve(sample.quadratic.sums(f), group, last.scales, prior) for f in folds]
    return np.array([*found, last.coefficients])


def alone(sample: Sample, prior: Prior) -> Learned:
    """Return the model of all rows alone."""
    return _learned(sample, sample.n_folds, prior, None)


@dataclass(frozen=True, eq=False)
class _Start:
    """Where a model starts: scales, and coefficients if there are any."""

    scales: Scales
    coefficients: FloatArray | None


def _loosened(sample: Sample, model: Learned, start: bool) -> _Start:
    least = SQUARES_LOOSE if sample.family.is_quadratic else LOOSE
    scales = model.scales if start else model.scales.loosened(least)
    return _Start(scales, model.coefficients if start else None)


def _learned(sample: Sample, fold: int, prior: Prior, start: _Start | None) -> Learned:
    """Return the model without a fold."""
    if sample.family.is_quadratic:
        return _scaled(sample, sample.quadratic.sums(fold), prior, start, fold < sample.n_folds)
    return _newton(sample, fold, prior, start)


def _scaled(
    sample: Sample, sums: Sums, prior: Prior, start: _Start | None, is_fold: bool = False
) -> Learned:
    """Learn the scales of a quadratic loss."""
    if sample.family.is_quadratic:
        scales = first_scales(sums, sample.n_groups, None) if start is None else start.scales
        steps = FOLD_STEPS if is_fold else FULL_STEPS if start is None else AGAIN_STEPS
        return learn(sums, sample.group, scales, prior, steps)
    scales = Scales(np.ones(sample.n_groups), 1.0)
    return learn(sums, sample.group, scales, prior, AGAIN_STEPS, fixed_noise=True)


def _newton(sample: Sample, fold: int, prior: Prior, start: _Start | None) -> Learned:
    """Minimise a loss that is not quadratic over the rows outside a fold.

    Groups that drop out leave the columns at once. The first Gram matrix does not depend on the
    labels, unless there is somewhere to start from, and all models of the node share it.
    """
    if fold == sample.n_folds and sample.n_folds == 1:
        fold = 0
    group, family, rows = sample.group, sample.family, sample.rest(fold)
    y, weight = sample.y[rows], sample.weight[rows]
    offset = sample.offset[rows, min(fold, sample.offset.shape[1] - 1)]
    k = family.n_scores
    scales = Scales(np.ones(sample.n_groups), 1.0) if start is None else start.scales
    b = np.zeros((sample.B.shape[1], k))
    place, fresh = np.arange(len(b)), start is None or start.coefficients is None
    if not fresh:
        assert start is not None
        assert start.coefficients is not None
        b, place = start.coefficients, _active(scales, group)
    B = sample.B[rows][:, place] if len(place) < len(b) else sample.B[rows]
    told, most = offset + B @ b[place], _most_steps(sample, fold, fresh)
    for step in range(most):
        if step and len(still := _active(scales, group)) < len(place):
            place = still
            B = sample.B[rows][:, place]
        slope = weight[:, None] * family.slope(y, told)
        if step == 0 and fresh:
            gram = sample.quadratic.sums(fold).gram
        else:
            gram = (B * (weight * family.curvature(y, told))[:, None]).T @ B
        sums = Sums(gram, B.T @ slope + gram @ b[place], 0.0, float(len(y)))
        names, within = np.unique(group[place[1:] - 1], return_inverse=True)
        few, last = Scales(scales.variance[names], 1.0), step == most - 1
        steps = AGAIN_STEPS if last else SCALE_STEPS
        found = learn(sums, within, few, prior, steps, fixed_noise=True)
        scales = Scales(np.zeros_like(scales.variance), 1.0)
        scales.variance[names] = found.scales.variance
        before, b = b, np.zeros_like(b)
        b[place] = found.coefficients
        farthest = np.abs(B @ (b - before)[place]).max(initial=0.0)
        if farthest > FAR:
            b = before + (b - before) * (FAR / farthest)
        told = offset + B @ b[place]
        if farthest < CLOSE:
            break
    return Learned(b, scales, found.freedom)


def _active(scales: Scales, group: IntArray) -> IntArray:
    """Return the columns of groups that have not dropped out, and the first."""
    return np.concatenate([[0], np.flatnonzero(scales.variance[group] > 0) + 1])


def _most_steps(sample: Sample, fold: int, fresh: bool) -> int:
    if not fresh:
        return NEWTON_AGAIN_STEPS
    return NEWTON_STEPS if fold == sample.n_folds else NEWTON_FOLD_STEPS
