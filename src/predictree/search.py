"""The search for the best split of a node: feature, threshold, learner and training set at once."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import groupby, repeat

import numpy as np

from predictree.appraisal import (
    Appraiser,
    OfMixtures,
    OfPairs,
    Outlook,
    Side,
    Site,
    Trial,
    pool_of,
)
from predictree.execution import Executor, Failure, attempt
from predictree.learners import Bins, ClosedForm, Cuts, Learner
from predictree.losses import Judged, Loss, tolerance
from predictree.mixing import Mixer
from predictree.problem import Problem, Region
from predictree.splits import candidate_splits
from predictree.tree import BoolArray, FloatArray, IntArray, Split

BATCH = 1 << 21  # numbers that the quick learners may have in hand at a time

# Racing: shares of the rows for the slow learners before they get all, the rows below which a share
# is not worth the fit, and the lengths of the shortlists for as many rounds as are left.
SHARES = (1 / 9,)
LEAST_ROWS = 500
SHORTLISTS = {2: (16, 4), 1: (8,)}
PARTS = 5  # of the rows that judge, where they are not of several folds


@dataclass(frozen=True, slots=True)
class Limits:
    """When a node may not be split, whatever the gain."""

    n_thresholds: int
    max_depth: int | None
    min_samples_leaf: int
    min_samples_val: int
    min_gain: float
    min_gain_se: float = 0.0

    def admits(self, train_left: BoolArray, v1_left: BoolArray) -> bool:
        """Whether both sides of a split have the rows to train and to judge."""
        n_train, n_v1 = int(train_left.sum()), int(v1_left.sum())
        return (
            min(n_train, len(train_left) - n_train) >= self.min_samples_leaf
            and min(n_v1, len(v1_left) - n_v1) >= self.min_samples_val
        )


@dataclass(frozen=True, slots=True)
class Proposal:
    """A split that lowers the loss on V¹(C), with the predictors of both children."""

    split: Split
    loss: float
    left: Side
    right: Side


Outcome = FloatArray | Failure


@dataclass(frozen=True, slots=True)
class FitCount:
    """Fits of learners one by one: those made, and those that an exhaustive search would make."""

    made: int = 0
    exhaustive: int = 0

    def __add__(self, other: "FitCount") -> "FitCount":
        return FitCount(self.made + other.made, self.exhaustive + other.exhaustive)


@dataclass(frozen=True, slots=True)
class Finding:
    """What the search of one node came to."""

    proposal: Proposal | None
    failures: list[Failure]
    fits: FitCount


Judgement = tuple[Trial, Outlook]


class Rehearsal:
    """The choice of a split made again without each part of the rows, and judged on that part.

    The best of hundreds of splits looks better than it is on the rows that chose it. Here no row
    has a say in the choice that it judges, so that the gain is what the choosing is worth, and its
    standard error that of one comparison.
    """

    def __init__(self, loss: Loss, rows: Judged, part: IntArray, before: FloatArray) -> None:
        self.loss, self.rows, self.part, self.before = loss, rows, part, before
        self.after = before.copy()
        self.least = np.full(int(part.max()) + 1, np.inf)
        self.choices: list[Split | None] = [None] * len(self.least)

    def note(self, split: Split, scores: FloatArray, where: BoolArray | None = None) -> None:
        """Take note of a split; where it is the best without a part, it is chosen there."""
        losses = self.loss.without_parts(self.rows, scores, self.part)
        better = losses < self.least if where is None else where
        for p in np.flatnonzero(better):
            mine = self.part == p
            self.least[p], self.choices[p] = losses[p], split
            self.after[mine] = scores[mine]

    def chose(self, split: Split) -> BoolArray:
        """For every part, whether this split was chosen without it."""
        return np.array([choice == split for choice in self.choices])

    def gain(self) -> tuple[float, float]:
        """Return by how much the choices lower the loss, and the standard error of that."""
        values = [self.loss.value(self.rows, scores) for scores in (self.before, self.after)]
        return values[0] - values[1], self.loss.error_of_gain(self.rows, self.before, self.after)


class Search:
    """The search of one node: its splits, what judges them, and the learners by their cost.

    Learners with a closed form are quick: they fit the splits of a feature at once. The others are
    slow: each of their fits goes through the executor.
    """

    def __init__(
        self,
        problem: Problem,
        site: Site,
        limits: Limits,
        executor: Executor,
        mixer: Mixer | None = None,
    ) -> None:
        self.problem, self.site, self.executor, self.mixer = problem, site, executor, mixer
        self.region = site.region
        allowed = [i for i in range(len(problem.learners)) if i not in site.barred]
        by_sums = [i for i in allowed if i not in site.one_by_one]
        self.design, self.forms = problem.closed_forms(site.region, by_sums)
        self.slow = [i for i in allowed if i not in self.forms]
        self.splits = list(admissible_splits(problem, site.region, limits))
        self.rows = problem.judged(site.region.v1)
        self.appraiser: Appraiser = (
            OfPairs(problem, site, self.rows)
            if mixer is None
            else OfMixtures(problem, site, self.rows, mixer)
        )
        self.slack = tolerance(problem.loss, self.rows, site.loss)
        self.to_beat = site.loss - limits.min_gain
        self.min_gain_se = limits.min_gain_se
        self.failures: list[Failure] = []
        self.made = 0

    def finding(self, trials: Iterable[Trial]) -> Finding:
        """Return the best of some trials, if it is a gain, and more than chance."""
        best, rehearsal = self.survey(trials)
        return self.conclude(best if self.convincing(rehearsal) else None)

    def survey(self, trials: Iterable[Trial]) -> "tuple[Judgement | None, Rehearsal | None]":
        """Return the best of some trials, if it is a gain, and the rehearsal of that choice.

        A later one wins only by more than rounding, so that ties go to the lower feature and the
        lower threshold.
        """
        best, to_beat, rehearsal = None, self.to_beat, self.rehearsal()
        for trial in trials:
            outlook = self.appraiser.outlook(trial)
            if outlook is None:
                continue
            if rehearsal is not None:
                rehearsal.note(trial.split, outlook.scores)
            if outlook.loss < to_beat - self.slack:
                best, to_beat = (trial, outlook), outlook.loss
        return best, rehearsal

    def rehearsal(self) -> "Rehearsal | None":
        """Return a new rehearsal, if a gain must be more than chance."""
        if self.min_gain_se == 0:
            return None
        part = self.problem.partition.weighing[self.region.v1]
        if part.min() == part.max():
            part = np.arange(len(part)) % PARTS
        return Rehearsal(self.problem.loss, self.rows, part, self.site.scores)

    def convincing(self, rehearsal: "Rehearsal | None") -> bool:
        """Whether a rehearsed gain is more than chance."""
        if rehearsal is None:
            return True
        gain, error = rehearsal.gain()
        return bool(gain > self.min_gain_se * error)

    def conclude(self, *judgements: "Judgement | None") -> Finding:
        """Propose the better of some judgements on one split, if there is any."""
        settled = [
            (trial, self.appraiser.settled(trial, outlook))
            for trial, outlook in filter(None, judgements)
        ]
        proposal = self._propose(*min(settled, key=lambda s: s[1].loss)) if settled else None
        fits = FitCount(self.made, self._fits_of(sum(map(len, self.splits))))
        return Finding(proposal, self.failures, fits)

    def _propose(self, trial: Trial, outlook: Outlook) -> Proposal:
        regions = self.region.divide(trial.split, self.problem.X)
        left, right = (
            outlook.side(place, regions[place], pool_of(trial, rows, self.site.pool))
            for place, rows in enumerate((trial.goes_left, ~trial.goes_left))
        )
        return Proposal(trial.split, outlook.loss, left, right)

    def _fits_of(self, n_splits: int) -> int:
        return 2 * n_splits * len(self.slow) * self.problem.partition.n_folds

    def trials(self, by_feature: list[list[Split]], share: float = 1.0) -> Iterator[Trial]:
        """Train all learners on both sides of splits, slow ones on a share of the rows."""
        flat = [split for splits in by_feature for split in splits]
        region = self.region.shared(self.executor) if self.slow else self.region
        train = partial(fit_both_sides, self.problem, region, self.site.path, self.slow, share)
        outcomes = iter(self.executor.map(train, flat)) if self.slow else repeat(([], []))
        self.made += self._fits_of(len(flat))
        for trial, sides in zip(self.quick_trials(by_feature, self.forms), outcomes, strict=False):
            for place, i in enumerate(self.slow):
                trial.own[i] = self._joined(sides[0][place], sides[1][place], trial.goes_left)
            yield trial

    def ranking_trials(self) -> Iterator[Trial]:
        """Return what is to be had for little at all splits.

        If no learner is quick, linear regression stands in for the first one.
        """
        if self.forms:
            return self.quick_trials(self.splits, self.forms)
        self.design, stand_in = self.problem.stand_in(self.region)
        return self.quick_trials(self.splits, stand_in)

    def quick_trials(
        self, by_feature: list[list[Split]], forms: Mapping[int, ClosedForm]
    ) -> Iterator[Trial]:
        """Train quick learners on both sides of splits; the others say nothing."""
        for together in self._batches(by_feature):
            yield from self._trials_of(together, forms)  # which forgets its scores at the end

    def _trials_of(
        self, together: list[list[Split]], forms: Mapping[int, ClosedForm]
    ) -> Iterator[Trial]:
        nothing = np.full((len(self.region.v1), self.problem.n_outputs), np.nan)
        goes_left, quick = self._quick_scores(together, forms)
        for s, split in enumerate(split for splits in together for split in splits):
            own = [nothing] * len(self.problem.learners)
            for i, scores in quick.items():
                own[i] = scores[s].copy()  # a view would keep the scores of all splits
            yield Trial(split, goes_left[s], own)

    def _quick_scores(
        self, together: list[list[Split]], forms: Mapping[int, ClosedForm]
    ) -> tuple[BoolArray, dict[int, FloatArray]]:
        """Return for every split which rows of V¹ go left, and their scores by learner."""
        sides, bins, order, start = [], [], [], 0
        for splits in together:
            train, v1 = (
                self.problem.X[rows, splits[0].feature]
                for rows in (self.region.train, self.region.v1)
            )
            left = np.array([split.goes_left(v1) for split in splits])
            sides.append(left)
            if self.design is not None:
                for family in nested(splits):
                    mine = [splits[i] for i in family]
                    bins.append(Bins.of(mine, train, left[family], self.design))
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
        d, n_folds = self.problem.X.shape[1], self.problem.partition.n_folds
        of_rows = len(self.region.train) / 8 + len(self.region.v1) * (2 + self.problem.n_outputs)
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

    def _joined(self, left: Outcome, right: Outcome, goes_left: BoolArray) -> FloatArray:
        """Join what one learner says on both sides; a failure is recorded and says nothing."""
        scores = np.full((len(goes_left), self.problem.n_outputs), np.nan)
        for outcome, rows in ((left, goes_left), (right, ~goes_left)):
            if isinstance(outcome, Failure):
                self.failures.append(outcome)
            else:
                scores[rows] = outcome
        return scores


def exhaustive(search: Search) -> Finding:
    """Try every split with every pair of predictors, every learner trained on both sides."""
    return search.finding(search.trials(search.splits))


def racing(search: Search) -> Finding:
    """Try every split with the quick learners, and the slow ones on a shrinking shortlist.

    The slow learners are trained on a growing share of the rows; only what was trained on all of
    them can win.
    """
    if not search.slow:
        return exhaustive(search)
    if not isinstance(search.appraiser, OfPairs):
        return racing_of_mixtures(search)
    shares = [share for share in SHARES if share * len(search.region.train) >= LEAST_ROWS] + [1.0]
    trials = search.ranking_trials()
    for share, length in zip(shares, SHORTLISTS[len(shares)], strict=True):
        trials = search.trials(best_of(search.appraiser, trials, length), share)
    return search.finding(trials)


def racing_of_mixtures(search: Search) -> Finding:
    """Choose the split by mixtures of what is there and quick, then train the slow learners on it.

    If that choice alone does not convince but shows a gain, it is rehearsed with slow learners.
    """
    best, rehearsal = search.survey(search.ranking_trials())
    if best is None or (rehearsal is not None and not rehearsal.gain()[0] > 0):
        return search.conclude()
    split = best[0].split
    if search.forms and search.convincing(rehearsal):
        return search.conclude(best, search.survey(search.trials([[split]]))[0])
    choices = [split] if rehearsal is None else [split, *filter(None, rehearsal.choices)]
    again, full = search.rehearsal(), None
    for trial in search.trials(by_feature(choices)):
        outlook = search.appraiser.outlook(trial)
        if outlook is None:
            continue
        if trial.split == split:
            full = (trial, outlook)
        if again is not None and rehearsal is not None:
            again.note(trial.split, outlook.scores, rehearsal.chose(trial.split))
    convinced = full is not None and search.convincing(again)
    return search.conclude(full) if convinced else search.conclude()


SEARCHES: dict[str, Callable[[Search], Finding]] = {"exhaustive": exhaustive, "racing": racing}


def best_of(appraiser: OfPairs, trials: Iterable[Trial], size: int) -> list[list[Split]]:
    """Return the most promising splits, by feature and in order.

    The first is that of the best pair of predictors so far. The others follow by the best pair
    trained on the children: what is trained on ancestors is as good as it will get.
    """
    splits, joint, own = [], [], []
    for trial in trials:
        best, best_own = appraiser.ranks(trial)
        splits.append(trial.split)
        joint.append(best)
        own.append(best_own)
    ranked = [*np.argsort(joint, kind="stable")[:1], *np.argsort(own, kind="stable")]
    return by_feature(splits[i] for i in list(dict.fromkeys(ranked))[:size])


def by_feature(splits: Iterable[Split]) -> list[list[Split]]:
    """Group splits by feature, in order, each once."""
    ordered = sorted(set(splits), key=lambda s: (s.feature, s.threshold, s.missing_left))
    return [list(group) for _, group in groupby(ordered, key=lambda split: split.feature)]


def nested(splits: list[Split]) -> list[list[int]]:
    """Group the splits of a feature so that in a group each left side holds the one before."""
    sides = [split.missing_left and split.had_missing for split in splits]
    groups = [[i for i, side in enumerate(sides) if side == left] for left in (False, True)]
    return [group for group in groups if group]


def admissible_splits(problem: Problem, region: Region, limits: Limits) -> Iterator[list[Split]]:
    """Yield for each feature the candidate splits whose sides both have enough rows."""
    weight = None if problem.weight is None else problem.weight[region.train]
    for feature in range(problem.X.shape[1]):
        train, v1 = problem.X[region.train, feature], problem.X[region.v1, feature]
        splits = [
            split
            for split in candidate_splits(feature, train, weight, limits.n_thresholds)
            if limits.admits(split.goes_left(train), split.goes_left(v1))
        ]
        if splits:
            yield splits


def fit_both_sides(
    problem: Problem, region: Region, path: int, chosen: list[int], share: float, split: Split
) -> tuple[list[Outcome], list[Outcome]]:
    """Train learners on a share of either child; return scores on the child's V¹, not models."""
    left, right = region.divide(split, problem.X)
    return (
        fit_here(problem, left, 2 * path, chosen, share),
        fit_here(problem, right, 2 * path + 1, chosen, share),
    )


def fit_here(
    problem: Problem, region: Region, path: int, chosen: list[int], share: float
) -> list[Outcome]:
    """Train learners on S of one region; return their scores on V¹, or why they have none."""
    train = region.train if share == 1 else problem.sample(region.train, share)

    def scores(learner: Learner) -> FloatArray:
        return problem.held_out(problem.fit(learner, train, path, by_sums=False), region.v1)

    learners = [problem.learners[i] for i in chosen]
    return [attempt(learner.name, partial(scores, learner)) for learner in learners]
