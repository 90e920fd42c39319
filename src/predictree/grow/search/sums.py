"""Search by sums: what every split of a node would gain out of fold, from Gram matrices of cells.

Both sides of a split take a small ridge correction along a few directions. A cell is a bin of a
feature and a fold; sums over cells give every side its correction without each fold, and its exact
gain in squares on that fold.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from predictree.grow.combine.correction import Bed, sum_of
from predictree.grow.fits import Fits
from predictree.grow.leaf import Leaf, Trial
from predictree.grow.problem import Problem
from predictree.grow.rows import Limits, Rows
from predictree.learners.forms.additive.directions import directions
from predictree.model.tree import BoolArray, FloatArray, IntArray, Split

PENALTIES = (60.0, 10.0, 300.0)  # of every direction but the constant, in rows
OF_CONSTANT = 2.0
REFINED = 6  # features whose best split is judged with all penalties
FINALISTS = 3  # features whose best split is fitted in full
CLOSER = 2  # times that thresholds around the best one are looked at
LASTING = 0.3  # share of a gain that has to be left where the split is chosen without each fold


class Ranks(Protocol):
    """A combination that can tell the best of a few splits."""

    def ranked(self, leaf: Leaf, trials: Iterable[Trial]) -> list[Trial]:
        """Return trials, the best first."""


@dataclass(frozen=True, eq=False)
class Sums:
    """Rank all splits by sums, a few in full, and yield the best."""

    limits: Limits
    fits: Fits
    combine: Ranks
    bed: Bed

    def __call__(self, leaf: Leaf) -> Iterator[Trial]:
        """Yield the split that may be chosen."""
        clock = self.fits.executor.clock
        clock.check()
        trials = [_trial(leaf, split) for split in self.finalists(leaf)]
        clock.check()
        return iter(self.combine.ranked(leaf, trials)[:1])

    def finalists(self, leaf: Leaf) -> list[Split]:
        """Return the best split of each of the best features."""
        work = Working.of(leaf, self.bed)
        X = leaf.rows.problem.X[work.rows]
        hidden = self._hidden(leaf.rows.problem)
        every = [
            Cells.of(work, splits, X[:, splits[0].feature])
            for splits in leaf.rows.splits(self.limits)
            if splits[0].feature not in hidden
        ]
        by_fold = [cells.gains(PENALTIES[0]) for cells in every]
        if not every or not lasts(np.concatenate(by_fold)):
            return []
        order = sorted(range(len(every)), key=lambda i: -by_fold[i].sum(axis=1).max())
        refined = [every[i].best() for i in order[:REFINED]]
        refined.sort(key=lambda one: -one[0])
        return [
            self._closer(work, leaf.rows, gain, split)
            for gain, split in refined[:FINALISTS]
            if gain > 0
        ]

    def _hidden(self, problem: Problem) -> frozenset[int]:
        """Return the columns that no split may have: barred, or too many to be looked at."""
        root = self.bed.root
        if root.ground.allowed.all():
            return root.barred
        used = {one.axis.feature for one in root.ground.basis.features}
        return root.barred | (frozenset(problem.for_learners) - used)

    def _closer(self, work: "Working", rows: Rows, gain: float, split: Split) -> Split:
        """Return the best split by thresholds around that of the best one so far."""
        if split.is_level or not np.isfinite(split.threshold):
            return split
        column = rows.problem.X[work.rows, split.feature]
        splits = rows.of_feature(split.feature, self.limits)
        for _ in range(CLOSER):
            cuts = [s.threshold for s in splits]
            low = max((cut for cut in cuts if cut < split.threshold), default=-np.inf)
            high = min((cut for cut in cuts if split.threshold < cut < np.inf), default=np.inf)
            if not (splits := rows.between(split, low, high, self.limits)):
                break
            found, candidate = Cells.of(work, splits, column).best()
            if found > gain:
                gain, split = found, candidate
        return split


@dataclass(frozen=True, eq=False)
class Working:
    """The quadratic model of the loss on the rows of a node.

    Attributes
    ----------
    rows : array of shape (n,)
    S : array of shape (n, m)
        The directions.
    weight : array of shape (n,)
    response : array of shape (n, n_folds, k)
        What is left to say after the model without each fold.
    fold : array of shape (n,)
        Rows that no fold holds come last, as a fold of their own.
    n_folds : int
    """

    rows: IntArray
    S: FloatArray
    weight: FloatArray
    response: FloatArray
    fold: IntArray
    n_folds: int

    @classmethod
    def of(cls, leaf: Leaf, bed: Bed) -> "Working":
        """Look at the rows of a leaf along the directions in which its sides may differ."""
        ground, rows, answer = bed.small, leaf.rows.all, sum_of(leaf)
        told, y, n_folds = answer.told, ground.y[rows], ground.n_folds
        fold = np.where(ground.fold[rows] < 0, n_folds, ground.fold[rows])
        own = told[np.arange(len(rows)), fold]
        curvature = ground.family.curvature(y, own)
        slopes = [ground.family.slope(y, told[:, f]) for f in range(n_folds)]
        response = np.stack(slopes, axis=1) / curvature[:, None, None]
        weight = ground.weight[rows] * curvature
        curves = [(feature, effect[rows]) for feature, effect in bed.effects]
        S = directions(ground.X[rows], weight, curves, leaf.rows.problem.categories)
        return cls(rows, S, weight, response, fold, n_folds)


@dataclass(frozen=True, eq=False)
class Cells:
    """Sums by the bins of one feature and by fold, and which bins each split sends left.

    Attributes
    ----------
    splits : list of Split
    left : array of shape (splits, bins)
    gram : array of shape (bins, groups, m, m)
    cross : array of shape (bins, groups, m, folds, k)
    """

    splits: list[Split]
    left: BoolArray
    gram: FloatArray
    cross: FloatArray

    @classmethod
    def of(cls, work: Working, splits: list[Split], column: FloatArray) -> "Cells":
        """Sum over the rows of every bin of a feature."""
        bin_of, left = binned(splits, column)
        n_groups, (n_folds, k) = work.n_folds + 1, work.response.shape[1:]
        m, n_cells = work.S.shape[1], left.shape[1] * n_groups
        code = bin_of * n_groups + work.fold
        order = np.argsort(code, kind="stable")
        ends = np.searchsorted(code[order], np.arange(n_cells + 1))
        S, response = work.S[order], work.response[order].reshape(len(order), -1)
        heavy = S * work.weight[order, None]
        gram, cross = np.zeros((n_cells, m, m)), np.zeros((n_cells, m, n_folds * k))
        for cell in np.flatnonzero(np.diff(ends)):
            mine = slice(ends[cell], ends[cell + 1])
            gram[cell] = heavy[mine].T @ S[mine]
            cross[cell] = heavy[mine].T @ response[mine]
        return cls(
            splits, left,
            gram.reshape(-1, n_groups, m, m), cross.reshape(-1, n_groups, m, n_folds, k),
        )  # fmt: skip

    def best(self) -> tuple[float, Split]:
        """Return the split that gains most by any of some penalties."""
        gains = np.max([self.gains(penalty).sum(axis=1) for penalty in PENALTIES], axis=0)
        return float(gains.max()), self.splits[int(gains.argmax())]

    def gains(self, penalty: float) -> FloatArray:
        """Return what each split gains on every fold by corrections of both sides: (s, folds)."""
        ridge = np.full(self.gram.shape[-1], penalty)
        ridge[0] = OF_CONSTANT
        gram, cross = (np.tensordot(self.left, s, axes=1) for s in (self.gram, self.cross))
        right = self.gram.sum(axis=0) - gram, self.cross.sum(axis=0) - cross
        return gains(gram, cross, ridge) + gains(*right, ridge)


def gains(gram: FloatArray, cross: FloatArray, ridge: FloatArray) -> FloatArray:
    """Return what ridge corrections gain on every fold, found without it: (s, folds).

    Parameters
    ----------
    gram : array of shape (s, groups, m, m)
        Of each of some sets of rows, by fold; a group beyond the folds is always fitted.
    cross : array of shape (s, groups, m, folds, k)
    ridge : array of shape (m,)
    """
    n_folds, place = cross.shape[3], np.arange(gram.shape[-1])
    fold = np.arange(n_folds)
    A = gram.sum(axis=1, keepdims=True) - gram[:, :n_folds]
    A[..., place, place] += ridge
    held = cross[:, fold, :, fold].transpose(1, 0, 2, 3)  # each fold's, with its own offset
    rest = cross.sum(axis=1).transpose(0, 2, 1, 3) - held
    b = np.linalg.solve(A, rest)
    return np.asarray((b * (2 * held - gram[:, :n_folds] @ b)).sum(axis=(2, 3)))


def lasts(gains: FloatArray) -> bool:
    """Whether choosing the best split is worth something: (s, folds).

    The best of many gains flatters. So the choice is made again without each fold, and what it
    gains on that fold is what counts.
    """
    total = gains.sum(axis=1, keepdims=True)
    fold = np.arange(gains.shape[1])
    if len(fold) == 1:
        return bool(total.max() > 0)
    rehearsed = gains[(total - gains).argmax(axis=0), fold].sum()
    return bool(rehearsed > LASTING * max(total.max(), 0.0))


def binned(splits: list[Split], column: FloatArray) -> tuple[IntArray, BoolArray]:
    """Return the bin of every value, and which bins each split sends left.

    Values that no split tells apart share a bin.
    """
    missing = np.isnan(column)
    if any(split.is_level for split in splits):
        levels = np.unique([split.threshold for split in splits if split.is_level])
        place = np.minimum(np.searchsorted(levels, column), len(levels) - 1)
        bin_of = np.where(levels[place] == column, place, len(levels))
        example = np.append(levels, -1.0)
    else:
        cuts = np.unique([s.threshold for s in splits if np.isfinite(s.threshold)])
        bin_of = np.searchsorted(cuts, column, side="right")
        example = np.concatenate([[-np.inf], cuts])
    n_known = len(example)
    bin_of = np.where(missing, n_known, bin_of)
    values = np.append(example, np.nan)
    return bin_of, np.array([split.goes_left(values) for split in splits])


def _trial(leaf: Leaf, split: Split) -> Trial:
    return Trial(split, leaf.rows.goes_left(split), [])
