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
    gram_of,
    inverse,
    learn,
    solve,
)
from predictree.learners.forms.additive.family import Family
from predictree.learners.forms.additive.newton import Around, active_columns, minimise
from predictree.model.outputs import Labels
from predictree.model.tree import BoolArray, FloatArray, IntArray

FULL_STEPS, FOLD_STEPS, AGAIN_STEPS = 30, 8, 12  # of learning scales
CROWDED = 15  # rows a group below which scales tell something of single rows
NEWTON_STEPS, NEWTON_FOLD_STEPS, NEWTON_AGAIN_STEPS = 30, 10, 4
LOOSE = 0.1  # of the noise: the least variance where scales of several classes are learned again
SQUARES_LOOSE = 0.02  # the same for squared loss


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
    allowed : array of shape (n_folds + 1, groups) or None
        Which groups each model may use; None is all of them.
    """

    B: FloatArray
    y: Labels
    weight: FloatArray
    offset: FloatArray
    ends: IntArray
    family: Family
    group: IntArray
    allowed: BoolArray | None = None

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

    def outside(self, fold: int) -> list[slice]:
        """Return the rows outside a fold as ranges; all rows for the last model."""
        if fold == self.n_folds:
            return [slice(0, len(self.y))]
        part = self.parts[fold]
        return [slice(0, part.start), slice(part.stop, len(self.y))]

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
        self.around = Around(sample, sample.own, np.arange(sample.B.shape[1]))
        slope = np.stack([family.slope(y, offset[:, f]) for f in range(offset.shape[1])], axis=1)
        self.n_folds = sample.n_folds
        self._cross, self._squares, self._n = [], [], []
        for part in [slice(0, int(sample.ends[0])), *sample.parts]:
            B, weight = sample.B[part], sample.weight[part]
            drawn = slope[part].reshape(len(B), slope[0].size) * weight[:, None]
            self._cross.append((B.T @ drawn).reshape(B.shape[1], *slope.shape[1:]))
            response = np.square(slope[part]).sum(axis=2) / curvature[part, None]
            self._squares.append(weight @ response)
            self._n.append(weight.sum())

    def sums(self, fold: int) -> Sums:
        """Return the sums of the rows outside a fold, or of all for the last model."""
        if fold == self.n_folds and self.n_folds == 1:
            fold = 0  # the model of all is the one without what is held out
        parts = [f for f in range(self.n_folds + 1) if f != fold + 1]
        place = min(fold, self._cross[0].shape[1] - 1)
        return Sums(
            self.around.gram(fold),
            np.sum([self._cross[f][:, place] for f in parts], axis=0),
            float(sum(self._squares[f][place] for f in parts)),
            float(sum(self._n[f] for f in parts)),
        )

    def gain(self, coefficients: FloatArray) -> float:
        """Return by how much less the held-out loss is, for coefficients without each fold."""
        total = 0.0
        for f in range(self.n_folds):
            b = coefficients[f]
            total += float(
                (b * (2 * self._cross[f + 1][:, f] - self.around.grams[f + 1] @ b)).sum()
            )
        return total


@dataclass(frozen=True, eq=False)
class Fit:
    """The models without each fold, and the last one, of all rows.

    ``around`` has the Gram matrices that they were found by, where those of a start do not serve.
    """

    models: tuple[Learned, ...]
    around: Around | None = None

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

    def without(self, columns: BoolArray, group: IntArray) -> "Fit":
        """Return the same where some columns, whole groups of them, are zero and stay so."""
        return Fit(tuple(_without(model, columns, group) for model in self.models))


def _beside(model: Learned, n_columns: int, n_groups: int, variance: float) -> Learned:
    b = np.vstack([model.coefficients, np.zeros((n_columns, model.coefficients.shape[1]))])
    more = np.full(n_groups, variance * model.scales.noise)
    scales = Scales(np.concatenate([model.scales.variance, more]), model.scales.noise)
    return Learned(b, scales, model.freedom)


def _without(model: Learned, columns: BoolArray, group: IntArray) -> Learned:
    b, variance = model.coefficients.copy(), model.scales.variance.copy()
    b[1:][columns] = 0.0
    variance[group[columns]] = 0.0
    return replace(model, coefficients=b, scales=Scales(variance, model.scales.noise))


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
    by = _by_sums if sample.family.is_quadratic else _by_newton
    return by(sample, prior, before)


def _by_sums(sample: Sample, prior: Prior, before: Fit | None) -> Fit:
    """Fit a quadratic loss: its sums are all there is to know."""
    group, sums_of, n_folds = sample.group, sample.quadratic.sums, sample.n_folds
    if before is None:
        last = learn(sums_of(n_folds), group, _first(sample, n_folds), prior, FULL_STEPS)
        starts = _starts(sample, last.scales.loosened(SQUARES_LOOSE))
    else:
        last = learn(sums_of(n_folds), group, before.last.scales, prior, AGAIN_STEPS)
        starts = [model.scales for model in before.models[:n_folds]]
    if n_folds == 1:
        return Fit((last, last))
    most = 2 * FOLD_STEPS if before is None and _is_crowded(sample) else FOLD_STEPS
    folds = (learn(sums_of(f), group, s, prior, most) for f, s in enumerate(starts))
    return Fit((*folds, last))


def _is_crowded(sample: Sample) -> bool:
    return bool(sample.allowed is not None or sample.weight.sum() < CROWDED * sample.n_groups)


def _starts(sample: Sample, scales: Scales) -> list[Scales]:
    """Return what the models without each fold start from: the scales of the last one.

    Those of many groups and few rows remember the rows of the fold, and learning would not leave
    them: then each starts from nothing.
    """
    if _is_crowded(sample):
        return [_first(sample, f) for f in range(sample.n_folds)]
    return [scales] * sample.n_folds


def _by_newton(sample: Sample, prior: Prior, before: Fit | None) -> Fit:
    """Fit any other loss: the models without a fold start from where the one of all has come to."""
    n_folds, p = sample.n_folds, sample.B.shape[1]
    if before is None:
        start = Learned(np.zeros((p, sample.family.n_scores)), _first(sample, n_folds), 0.0)
        last = minimise(sample, n_folds, prior, start, sample.quadratic.around, NEWTON_STEPS)
        scales = _starts(sample, last.scales.loosened(LOOSE))
        starts = [replace(last, scales=its) for its in scales]
        around, most = None, NEWTON_FOLD_STEPS
    else:
        around, most = before.around or _around(sample, before), NEWTON_AGAIN_STEPS
        last = minimise(sample, n_folds, prior, before.last, around, most)
        starts = list(before.models[:n_folds])
    if n_folds == 1:
        return Fit((last, last), around)
    around = around or _around(sample, Fit((*starts, last)))
    folds = (minimise(sample, f, prior, s, around, most) for f, s in enumerate(starts))
    return Fit((*folds, last), around)


def _around(sample: Sample, fit: Fit) -> Around:
    """Look at the loss around the scores of the last model, along all columns in use."""
    used = [active_columns(model.scales, sample.group) for model in fit.models]
    told = sample.offset[:, -1] + sample.B @ fit.last.coefficients
    return Around(sample, told, np.unique(np.concatenate(used)))


def _first(sample: Sample, fold: int) -> Scales:
    """Return the scales that learning without a fold, or from all rows, starts from."""
    if sample.family.knows_noise:
        found = Scales(np.ones(sample.n_groups), 1.0)
    else:
        found = first_scales(sample.quadratic.sums(fold), sample.n_groups, None)
    allowed = True if sample.allowed is None else sample.allowed[fold]
    return Scales(np.where(allowed, found.variance, 0.0), found.noise)


def covariance(sample: Sample, model: Learned, prior: Prior) -> FloatArray:
    """Return the covariance of the last model's errors, given its scales: (k, 1 + p, 1 + p).

    A column that dropped out is taken to be zero for sure.
    """
    fold = 0 if sample.n_folds == 1 else sample.n_folds
    noise, variance = model.scales.noise, model.scales.variance
    place = active_columns(model.scales, sample.group)
    penalty = np.append(prior.level, noise / variance[sample.group[place[1:] - 1]])
    found = np.zeros((sample.family.n_scores, sample.B.shape[1], sample.B.shape[1]))
    for mine, gram in zip(found, _informed(sample, model, fold, place), strict=True):
        mine[np.ix_(place, place)] = noise * inverse(gram, penalty)
    return found


def _informed(sample: Sample, model: Learned, fold: int, place: IntArray) -> list[FloatArray]:
    """Return the Gram matrix of some columns along each score, of the rows outside a fold."""
    if sample.family.is_quadratic:
        return [sample.quadratic.around.gram(fold, place)]
    B = sample.B[:, place]
    told = sample.offset[:, -1] + B @ model.coefficients[place]
    weight = sample.weight[:, None] * sample.family.information(sample.y, told)
    return [
        np.sum([gram_of(B[rows], w[rows]) for rows in sample.outside(fold)], axis=0)
        for w in weight.T
    ]


def guess(sample: Sample, prior: Prior) -> FloatArray:
    """Return coefficients by the quadratic model, whose scales are those of all rows.

    They flatter; but they cost little, and rank.
    """
    sums, group, known = sample.quadratic.sums, sample.group, sample.family.knows_noise
    last = learn(
        sums(sample.n_folds), group, _first(sample, sample.n_folds), prior,
        AGAIN_STEPS if known else FULL_STEPS, fixed_noise=known,
    )  # fmt: skip
    found = [solve(sums(f), group, last.scales, prior) for f in range(sample.n_folds)]
    return np.array([*found, last.coefficients])
