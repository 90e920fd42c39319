"""Newton's method for losses that are not quadratic; scales are learned within every step.

What a step costs is its Gram matrix. So one pass over the rows makes those of the models without
each fold together, and a model keeps the matrix that it has as long as its scores are not far from
where it was made: the slope is exact in every step, and with it the place where steps end.
"""

from typing import TYPE_CHECKING

import numpy as np

from predictree.learners.forms.additive.evidence import (
    Learned,
    Prior,
    Scales,
    Sums,
    gram_of,
    learn,
)
from predictree.model.tree import FloatArray, IntArray

if TYPE_CHECKING:
    from predictree.learners.forms.additive.correction import Sample

SCALE_STEPS, LAST_SCALE_STEPS = 8, 12  # of learning scales, in a step and in the last one
FAR = 6.0  # no score moves farther in one step
CLOSE = 0.02  # a step that moves no score farther is the last
STALE = 0.5  # a Gram matrix serves scores that are no farther from where it was made
HALVINGS = 5  # of a step that goes too far
LONGEST = 8.0  # steps at once, where the matrix of a step is a bound


class Around:
    """Gram matrices of some columns around some scores, of the rows outside each fold."""

    def __init__(self, sample: "Sample", scores: FloatArray, place: IntArray) -> None:
        self.scores, self.place = scores, place
        weight = sample.weight * sample.family.curvature(sample.y, scores)
        B = sample.B if len(place) == sample.B.shape[1] else sample.B[:, place]
        parts = [slice(0, int(sample.ends[0])), *sample.parts]
        self.grams = [gram_of(B[part], weight[part]) for part in parts]
        self.total = np.sum(self.grams, axis=0)

    def gram(self, fold: int, place: IntArray | None = None) -> FloatArray:
        """Return the matrix of the rows outside a fold, or of all, for some of the columns."""
        whole = self.total if fold == len(self.grams) - 1 else self.total - self.grams[fold + 1]
        if place is None or len(place) == len(self.place):
            return np.asarray(whole)
        mine = np.searchsorted(self.place, place)
        return np.asarray(whole[np.ix_(mine, mine)])


def minimise(
    sample: "Sample", fold: int, prior: Prior, start: Learned, around: Around, most: int
) -> Learned:
    """Minimise the loss of the rows outside a fold, from somewhere, in so many steps at most."""
    if fold == sample.n_folds and sample.n_folds == 1:
        fold = 0  # the model of all is the one without what is held out
    descent = _Descent(sample, fold, prior, start, around)
    for step in range(most):
        if descent.step(LAST_SCALE_STEPS if step == most - 1 else SCALE_STEPS) < CLOSE:
            break
    return Learned(descent.b, descent.scales, descent.freedom)


class _Descent:
    """Where the descent of one model is: its coefficients, scales and scores."""

    def __init__(
        self, sample: "Sample", fold: int, prior: Prior, start: Learned, around: Around
    ) -> None:
        self.sample, self.fold, self.prior = sample, fold, prior
        self.scales, self.b, self.freedom = start.scales, start.coefficients, start.freedom
        self.family, self.y, self.weight = sample.family, sample.y, sample.weight.copy()
        if fold < sample.n_folds:
            self.weight[sample.parts[fold]] = 0.0
        self.rows = sample.outside(fold)
        self.n = float(self.weight.sum())
        self.offset = sample.offset[:, min(fold, sample.offset.shape[1] - 1)]
        self.place = active_columns(self.scales, sample.group)
        self.B = sample.B[:, self.place] if len(self.place) < len(self.b) else sample.B
        self.told = self.offset + self.B @ self.b[self.place]
        self.gram, self.at = around.gram(fold, self.place), around.scores

    def step(self, steps: int) -> float:
        """Take a step; return how far it moves the scores."""
        self._leave_columns()
        if self._farthest(self.told - self.at) > STALE:
            self._look_again()
        found, group = self._solved(steps)
        variance = np.zeros_like(self.scales.variance)
        variance[group] = found.scales.variance
        self.scales, self.freedom = Scales(variance, found.scales.noise), found.freedom
        move = found.coefficients - self.b[self.place]
        change = self.B @ move
        farthest = self._farthest(change)
        share = self._share(move, change, farthest)
        self.b = np.zeros_like(self.b)
        self.b[self.place] = found.coefficients - (1 - share) * move
        self.told = self.told + share * change
        return share * farthest

    def _solved(self, steps: int) -> tuple[Learned, IntArray]:
        """Learn the scales of the quadratic model; return its groups, too."""
        slope, b = self.family.slope(self.y, self.told), self.b[self.place]
        drawn = self.B.T @ (self.weight[:, None] * slope)
        ahead = self.gram @ b
        squares = 0.0
        if not self.family.knows_noise:
            curvature = self.family.curvature(self.y, self.told)
            squares = float(self.weight @ (np.square(slope).sum(axis=1) / curvature))
            squares += float((b * (ahead + 2 * drawn)).sum())
        sums = Sums(self.gram, drawn + ahead, squares, self.n, *self._known())
        names, group = np.unique(self.sample.group[self.place[1:] - 1], return_inverse=True)
        few = Scales(self.scales.variance[names], self.scales.noise)
        known = self.family.knows_noise
        return learn(sums, group, few, self.prior, steps, fixed_noise=known), names

    def _known(self) -> tuple[float, int]:
        """Return the share of the Gram matrix that is information, and the scores that are free."""
        if self.family.n_scores == 1:
            return 1.0, 1
        free = self.family.n_scores - 1
        bound = self.weight @ self.family.curvature(self.y, self.at)
        told = self.weight @ self.family.information(self.y, self.at).sum(axis=1)
        return float(told / bound) / free, free

    def _share(self, move: FloatArray, change: FloatArray, farthest: float) -> float:
        """Return the share of a step that is taken.

        That is less than all where it goes too far, and more where its matrix is a bound.
        """
        share = min(1.0, FAR / farthest) if farthest > 0 else 1.0
        several = self.family.n_scores > 1
        if farthest <= (CLOSE if several else STALE):
            return share
        variance = self.scales.variance[self.sample.group[self.place[1:] - 1]]
        ridge = np.divide(
            self.scales.noise, variance, out=np.zeros(len(variance)), where=variance > 0
        )
        ridge = np.append(self.prior.level, ridge)[:, None]
        start = self.b[self.place]

        def height(share: float) -> float:
            b = start + share * move
            loss = self.weight @ self.family.loss(self.y, self.told + share * change)
            return float(loss + 0.5 * (ridge * np.square(b)).sum())

        here, there = height(0.0), height(share)
        for _ in range(HALVINGS):
            if there <= here:
                break
            share /= 2
            there = height(share)
        while several and share < LONGEST and 2 * share * farthest <= FAR:
            if (beyond := height(2 * share)) >= there:
                break
            share, there = 2 * share, beyond
        return share

    def _leave_columns(self) -> None:
        """Leave the columns of groups that dropped out."""
        still = active_columns(self.scales, self.sample.group)
        if len(still) < len(self.place):
            mine = np.searchsorted(self.place, still)
            self.place, self.B = still, self.B[:, mine]
            self.gram = self.gram[np.ix_(mine, mine)]

    def _look_again(self) -> None:
        """Make the Gram matrix around the scores as they are now."""
        weight = self.weight * self.family.curvature(self.y, self.told)
        self.gram = np.sum([gram_of(self.B[rows], weight[rows]) for rows in self.rows], axis=0)
        self.at = self.told

    def _farthest(self, change: FloatArray) -> float:
        return max(float(np.abs(change[rows]).max(initial=0.0)) for rows in self.rows)


def active_columns(scales: Scales, group: IntArray) -> IntArray:
    """Return the columns of groups that have not dropped out, and the first."""
    return np.concatenate([[0], np.flatnonzero(scales.variance[group] > 0) + 1])
