"""The search for the best split of a node: feature, threshold, learner and training set at once."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import groupby, repeat

import numpy as np
from scipy.stats import norm
from scipy.stats import t as student

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
from predictree.losses import tolerance
from predictree.mixing import Mixer
from predictree.problem import Problem, Region
from predictree.splits import candidate_splits
from predictree.tree import BoolArray, FloatArray, Split

BATCH = 1 << 21  # numbers that the quick learners may have in hand at a time

# Racing: shares of the rows for the slow learners before they get all, the rows below which a share
# is not worth the fit, and the lengths of the shortlists for as many rounds as are left.
SHARES = (1 / 9,)
LEAST_ROWS = 500
SHORTLISTS = {2: (16, 4), 1: (8,)}
MIXED_SHORTLISTS = {2: (8, 2), 1: (3,)}  # where predictors are combined: local ones matter less


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
        """Return the best of some trials, if it is a gain.

        A later one wins only by more than rounding, so that ties go to the lower feature and the
        lower threshold.
        """
        best: tuple[Trial, Outlook] | None = None
        to_beat = self.to_beat
        for trial in trials:
            outlook = self.appraiser.outlook(trial)
            if outlook is not None and outlook.loss < to_beat - self.slack:
                bound = outlook.loss + self._margin(trial, outlook)
                if bound < to_beat - self.slack:
                    best, to_beat = (trial, outlook), bound
        proposal = None if best is None else self._propose(*best)
        fits = FitCount(self.made, self._fits_of(sum(map(len, self.splits))))
        return Finding(proposal, self.failures, fits)

    def _margin(self, trial: Trial, outlook: Outlook) -> float:
        """Return how much of a gain may be chance, given how many splits were looked at."""
        if self.min_gain_se == 0:
            return 0.0
        error = self.problem.loss.error_of_gain(self.rows, self.site.scores, outlook.scores)
        n_left = int(trial.goes_left.sum())
        smaller = min(n_left, len(trial.goes_left) - n_left)
        errors = caution(self.min_gain_se, sum(map(len, self.splits)), smaller)
        return errors * error if np.isfinite(error) else np.inf

    def _propose(self, trial: Trial, outlook: Outlook) -> Proposal:
        outlook = self.appraiser.settled(trial, outlook)
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
    shares = [share for share in SHARES if share * len(search.region.train) >= LEAST_ROWS] + [1.0]
    trials = search.ranking_trials()
    shortlists = SHORTLISTS if search.mixer is None else MIXED_SHORTLISTS
    for share, length in zip(shares, shortlists[len(shares)], strict=True):
        trials = search.trials(best_of(search, trials, length), share)
    return search.finding(trials)


SEARCHES: dict[str, Callable[[Search], Finding]] = {"exhaustive": exhaustive, "racing": racing}


def best_of(search: Search, trials: Iterable[Trial], size: int) -> list[list[Split]]:
    """Return the most promising splits, by feature and in order.

    The first is that of the best pair of predictors so far. The others follow by the best pair
    trained on the children: what is trained on ancestors is as good as it will get.
    """
    splits, joint, own = [], [], []
    for trial in trials:
        best, best_own = search.appraiser.ranks(trial)
        if search.mixer is not None and not best < search.site.loss:
            continue  # to weigh anew what there is does not help: local models will hardly
        splits.append(trial.split)
        joint.append(best)
        own.append(best_own)
    ranked = [*np.argsort(joint, kind="stable")[:1], *np.argsort(own, kind="stable")]
    chosen = [splits[i] for i in sorted(list(dict.fromkeys(ranked))[:size])]
    return [list(group) for _, group in groupby(chosen, key=lambda split: split.feature)]


def nested(splits: list[Split]) -> list[list[int]]:
    """Group the splits of a feature so that in a group each left side holds the one before."""
    sides = [split.missing_left and split.had_missing for split in splits]
    groups = [[i for i, side in enumerate(sides) if side == left] for left in (False, True)]
    return [group for group in groups if group]


def caution(min_gain_se: float, n_splits: int, n_rows: int) -> float:
    """Return the standard errors by which the best of many splits must gain.

    As unlikely to be reached by chance by any of them as ``min_gain_se`` is by a single one. The
    error itself is only as well known as the smaller side's rows allow: Student's distribution.
    """
    return float(student.isf(norm.sf(min_gain_se) / n_splits, max(1, n_rows - 1)))


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
