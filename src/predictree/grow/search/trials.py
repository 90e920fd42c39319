"""Trials: what the learners say about the splits of a leaf.

Learners with a closed form are quick: they fit the splits of a feature at once. The others are
slow: each of their fits is a task.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import groupby
from typing import cast

import numpy as np

from predictree.data.tallies import Binned
from predictree.grow.fits import Fits
from predictree.grow.leaf import Candidate, Leaf, Trial
from predictree.grow.rows import Limits, Rows
from predictree.learners.forms.design import Bins, ClosedForm, Cuts, Design
from predictree.learners.forms.quadratic import Grouped, Stepping
from predictree.model.account import FitCount
from predictree.model.tree import BoolArray, Fitted, FloatArray, IntArray, Split
from predictree.run.guard import Failure, attempt

BATCH = 1 << 21  # numbers that the quick learners may have in hand at a time


@dataclass(frozen=True, slots=True)
class Said:
    """What a learner says about V¹ of one side, and its models if they are to be kept."""

    scores: FloatArray
    models: tuple[Fitted, ...] | None


class Trials:
    """The splits of one leaf, and the learners by their cost."""

    def __init__(self, leaf: Leaf, limits: Limits, fits: Fits) -> None:
        self.leaf, self.fits = leaf, fits
        self.rows, self.problem = leaf.rows, leaf.rows.problem
        self.limits = limits

    @cached_property
    def splits(self) -> list[list[Split]]:
        """The candidate splits by feature."""
        of_feature = partial(self.rows.of_feature, limits=self.limits)
        every = self.fits.executor.spread(of_feature, self.problem.splittable)
        return [splits for splits in every if splits]

    @cached_property
    def closed(self) -> tuple[Design | None, dict[int, ClosedForm]]:
        """The closed forms of the learners that have one, and their design."""
        by_sums = [i for i in self.allowed if i not in self.leaf.one_by_one]
        return self.problem.closed_forms(self.rows.train, self.rows.v1, by_sums)

    @cached_property
    def slow(self) -> list[int]:
        """The learners that are fitted one by one."""
        return [i for i in self.allowed if i not in self.closed[1]]

    @property
    def solved(self) -> dict[int, ClosedForm]:
        """The closed forms that take no steps."""
        return {i: form for i, form in self.closed[1].items() if not form.takes_steps}

    @property
    def scouts(self) -> list[int]:
        """The first slow learner that could be fitted above, in a list."""
        fitted = {h.learner for h in self.leaf.pool}
        return [i for i in self.slow if i in fitted][:1]

    @property
    def allowed(self) -> list[int]:
        """The learners that may be trained on the children."""
        return [i for i in range(len(self.problem.learners)) if i not in self.leaf.barred]

    def count(self) -> None:
        """Count the fits that an exhaustive search makes here."""
        n_splits = sum(map(len, self.splits))
        self.fits.ledger.count(FitCount(0, self._fits_of(n_splits, self.slow)))

    def of_all(
        self,
        by_feature: list[list[Split]],
        share: float = 1.0,
        keeps: bool = False,
        scouts: Sequence[int] | None = None,
    ) -> Iterator[Trial]:
        """Train all learners on both sides of splits, slow ones on a share of the rows.

        Where splits are few, their models may be kept: one of them will be wanted. With ``scouts``
        the other slow learners are not asked.
        """
        slow = self.slow if scouts is None else scouts
        flat = [split for splits in by_feature for split in splits]
        rows = self.rows.shared(self.fits.executor) if self.slow else self.rows
        train = partial(fit_side, rows, self.leaf.path, share, keeps)
        tasks = [(split, i, right) for split in flat for i in slow for right in (False, True)]
        outcomes = self.fits.executor.map(
            train,
            tasks,
            who=lambda task: self.problem.learners[task[1]].name,
            lost=lambda failure: failure,
            fits=self.problem.partition.n_folds,
        )
        self.fits.ledger.count(FitCount(self._fits_of(len(flat), slow), 0))
        asks_all = share == 1 and slow == self.slow
        for trial in self.of_quick(by_feature, *self.closed, asks_all):
            for i in slow:
                self._join(trial, i, [next(outcomes), next(outcomes)])
            yield trial
        self.fits.executor.unshare(rows.parts if rows is not self.rows else ())

    def gains(self) -> list[FloatArray]:
        """Return what all splits gain by the quadratic model of each learner that takes steps."""
        rows = self.rows.all
        stepping = [i for i, form in self.closed[1].items() if form.takes_steps]
        if not stepping or not self.splits:
            return []
        forms = self.closed[1]
        if rows is not self.rows.train:
            forms = self.problem.closed_forms(rows, rows[:0], stepping)[1]
        grouped, spread = self._grouped(rows), self.fits.executor.spread
        return [cast(Stepping, forms[i]).gains(grouped, spread) for i in stepping if i in forms]

    def _grouped(self, rows: IntArray) -> Grouped:
        """Return the rows fold after fold, and the bins of the features."""
        n_folds, fold = self.problem.partition.n_folds, self.problem.partition.fold[rows]
        group = np.where(fold < 0, n_folds, fold)
        order = np.argsort(group, kind="stable")
        X = self.problem.X[rows[order]]
        features = [Binned.of(splits, X[:, splits[0].feature]) for splits in self.splits]
        ends = np.cumsum(np.bincount(group, minlength=n_folds + 1)).tolist()
        return Grouped(order, ends, features)

    def ranking(self) -> Iterator[Trial]:
        """Return what is to be had for little at all splits.

        Quick learners that take steps wait for the shortlist. If there are no others, linear
        regression stands in for the first learner.
        """
        if self.solved:
            return self.of_quick(self.splits, self.closed[0], self.solved)
        return self.of_quick(self.splits, *self.problem.stand_in(self.rows.train, self.rows.v1))

    def in_time(self, trials: Iterable[Trial]) -> Iterator[Trial]:
        """Yield trials as long as there is time."""
        for trial in trials:
            self.fits.executor.clock.check()
            yield trial

    def _lose(self, failure: Failure) -> None:
        """Note a failure; a leaf that is looked at again loses the same as before."""
        if not self.leaf.is_looked_at_again:
            self.fits.ledger.note(self.leaf.path, [failure])

    def _fits_of(self, n_splits: int, slow: Sequence[int]) -> int:
        return 2 * n_splits * len(slow) * self.problem.partition.n_folds

    def of_quick(
        self,
        by_feature: list[list[Split]],
        design: Design | None,
        forms: Mapping[int, ClosedForm],
        asks_all: bool = False,
    ) -> Iterator[Trial]:
        """Train quick learners on both sides of splits; the others say nothing here."""
        batches = self._batches(by_feature)  # each forgets its scores at the end
        tell = partial(self._trials_of, design=design, forms=forms, asks_all=asks_all)
        spread = map if self.slow else self.fits.executor.spread
        for trials in spread(tell, batches):
            yield from trials

    def _trials_of(
        self,
        together: list[list[Split]],
        design: Design | None,
        forms: Mapping[int, ClosedForm],
        asks_all: bool,
    ) -> list[Trial]:
        """Train quick learners on both sides of some splits, and judge pairs if that is all."""
        nothing = np.full((len(self.rows.v1), self.problem.n_outputs), np.nan)
        goes_left, quick = self._quick_scores(together, design, forms)
        trials = []
        for s, split in enumerate(split for splits in together for split in splits):
            own = [nothing] * len(self.problem.learners)
            for i, scores in quick.items():
                own[i] = scores[s].copy()  # a view would keep the scores of all splits
            pairs = self.leaf.judge.pairs(goes_left[s], own) if self._judges else None
            trials.append(Trial(split, goes_left[s], own, asks_all, pairs=pairs))
        return trials

    @property
    def _judges(self) -> bool:
        """Whether pairs of predictors are judged where they are trained: no slow one will join."""
        alone = isinstance(self.leaf.answer, Candidate) and not self.slow
        return alone and self.problem.loss.in_threads

    def _quick_scores(
        self, together: list[list[Split]], design: Design | None, forms: Mapping[int, ClosedForm]
    ) -> tuple[BoolArray, dict[int, FloatArray]]:
        """Return for every split which rows of V¹ go left, and their scores by learner."""
        sides, bins, order, start = [], [], [], 0
        for splits in together:
            train, v1 = (
                self.problem.X[rows, splits[0].feature] for rows in (self.rows.train, self.rows.v1)
            )
            left = np.array([split.goes_left(v1) for split in splits])
            sides.append(left)
            if design is not None:
                for family in nested(splits):
                    mine = [splits[i] for i in family]
                    bins.append(Bins.of(mine, train, left[family], design))
                    order += [start + i for i in family]
            start += len(splits)
        cuts, place = Cuts(tuple(bins)), np.argsort(order)
        in_order = bool((place[:-1] < place[1:]).all())  # then a copy is to be spared
        quick = {i: form.fit_splits(cuts) for i, form in forms.items()}
        if not in_order:
            quick = {i: scores[place] for i, scores in quick.items()}
        return np.concatenate(sides), quick

    def _batches(self, by_feature: list[list[Split]]) -> Iterator[list[list[Split]]]:
        """Group the features so that the numbers of a group stay few."""
        d, n_folds = self.problem.seen.shape[1], self.problem.partition.n_folds
        of_rows = len(self.rows.train) / 8 + len(self.rows.v1) * (2 + self.problem.n_outputs)
        of_split = of_rows + 4 * n_folds * (d + 2) ** 2
        together: list[list[Split]] = []
        for splits in by_feature:
            n_splits = len(splits) + sum(map(len, together))
            if together and n_splits * of_split > BATCH:
                yield together
                together = []
            together.append(splits)
        if together:
            yield together

    def _join(self, trial: Trial, i: int, sides: list[Said | Failure]) -> None:
        """Join what a learner says on both sides; a failure is recorded and says nothing."""
        trial.own[i] = np.full((len(trial.goes_left), self.problem.n_outputs), np.nan)
        for right, (side, rows) in enumerate(zip(sides, trial.sides, strict=True)):
            if isinstance(side, Failure):
                self._lose(side)
                continue
            trial.own[i][rows] = side.scores
            if side.models is not None:
                trial.models[i, right] = side.models


def by_feature(splits: Iterable[Split]) -> list[list[Split]]:
    """Group splits by feature, in order, each once."""
    ordered = sorted(
        set(splits), key=lambda s: (s.feature, s.is_level, s.threshold, s.missing_left)
    )
    return [list(group) for _, group in groupby(ordered, key=lambda split: split.feature)]


def nested(splits: list[Split]) -> list[list[int]]:
    """Group the splits of a feature so that in a group each left side holds the one before."""
    sides = [split.missing_left and split.had_missing for split in splits]
    levels = [[i] for i, split in enumerate(splits) if split.is_level]
    cuts = [i for i, split in enumerate(splits) if not split.is_level]
    groups = [[i for i in cuts if sides[i] == left] for left in (False, True)]
    return levels + [group for group in groups if group]


def fit_side(
    rows: Rows, path: int, share: float, keeps: bool, task: tuple[Split, int, bool]
) -> Said | Failure:
    """Train a learner on a share of one child; return what it says, or why it says nothing."""
    split, i, right = task
    problem, child = rows.problem, rows.divide(split)[right]
    train = child.train if share == 1 else problem.sample(child.train, share)
    learner = problem.learners[i]

    def answer() -> Said:
        models = problem.fit(learner, train, 2 * path + right)
        return Said(problem.held_out(models, child.v1), models if keeps else None)

    return attempt(learner.name, answer)
