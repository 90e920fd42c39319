"""The search for the best split of a node: feature, threshold, learner and training set at once."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import groupby
from typing import Literal

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
from predictree.learners import Bins, ClosedForm, Cuts, Design
from predictree.losses import tolerance
from predictree.mixing import Mixer, squared_error
from predictree.problem import Problem, Region
from predictree.splits import candidate_splits
from predictree.tree import BoolArray, FloatArray, Model, Split

BATCH = 1 << 21  # numbers that the quick learners may have in hand at a time

# Racing: from so many rows on, the rounds of a race, each with the share of the rows that the slow
# learners get and the length of the shortlist. Fewer rows tell fewer splits apart, and a share of
# them is not worth the fit. What ranks first is a gain by the learner that ranked it; a stand-in
# only guesses, and has lists twice as long. benchmarks/shortlists.py measures what is lost.
RACES = (
    (4500, ((1 / 9, 8), (1.0, 1))),
    (1000, ((1.0, 2),)),
    (0, ((1.0, 1),)),
)
# Splits of a race of mixtures that are tried with more than what ranks them: with closed forms that
# take steps or, where there are none, with the first of the slow learners.
FINALISTS, SLOW_FINALISTS = 8, 2

# What the predictors of a node may be trained on: any node of its path, only the root, or only the
# node itself. The paper's discussion asks what the choice is worth.
TrainingSets = Literal["path", "root", "node"]


@dataclass(frozen=True, slots=True)
class Limits:
    """When a node may not be split, whatever the gain, and what its children may be trained on."""

    n_thresholds: int
    max_depth: int | None
    min_samples_leaf: int
    min_samples_val: int
    min_gain: float
    min_gain_se: tuple[float, float] = (0.0, 0.0)  # of the root, and of nodes below it
    training_sets: TrainingSets = "path"

    def errors_to_gain(self, path: int) -> float:
        """Return by how many standard errors the split of a node must gain."""
        return self.min_gain_se[path > 1]

    def admits(self, train_left: BoolArray, v1_left: BoolArray) -> bool:
        """Whether both sides of a split have the rows to train and to judge."""
        n_train, n_v1 = int(np.count_nonzero(train_left)), int(np.count_nonzero(v1_left))
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


@dataclass(frozen=True, slots=True)
class Answer:
    """What a learner says about V¹ of one side, and its models if they are to be kept."""

    scores: FloatArray
    models: tuple[Model, ...] | None


@dataclass(frozen=True, slots=True)
class FitCount:
    """Fits of learners one by one: those made, and those that an exhaustive search would make."""

    made: int = 0
    exhaustive: int = 0

    def __add__(self, other: "FitCount") -> "FitCount":
        return FitCount(self.made + other.made, self.exhaustive + other.exhaustive)


Judgement = tuple[Trial, Outlook]
Chooser = Callable[["Search"], Judgement | None]


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
        keeps: bool = True,
    ) -> None:
        self.problem, self.site, self.executor, self.mixer = problem, site, executor, mixer
        self.keeps = keeps  # whether the models of finalists are of use
        self.region, self.limits = site.region, limits
        self.splits = list(admissible_splits(problem, site.region, limits))
        self.rows = problem.judged(site.region.v1)
        self.appraiser: Appraiser = (
            OfPairs(problem, site, self.rows)
            if mixer is None
            else OfMixtures(problem, site, self.rows, mixer)
        )
        self.slack = tolerance(problem.loss, self.rows, site.loss)
        self.to_beat = site.loss - limits.min_gain
        self.failures: list[Failure] = []
        self.made = 0
        self.rehearsals = FitCount()  # of the same search without parts of the rows

    @cached_property
    def closed(self) -> tuple[Design | None, dict[int, ClosedForm]]:
        """The closed forms of the learners that have one, and their design."""
        by_sums = [i for i in self.allowed if i not in self.site.one_by_one]
        return self.problem.closed_forms(self.region, by_sums)

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
        fitted = {h.learner for h in self.site.pool}
        return [i for i in self.slow if i in fitted][:1]

    @property
    def races_freely(self) -> bool:
        """Whether a race chooses its split without any fit of a slow learner."""
        return not self.slow or (self.mixer is not None and bool(self.closed[1]))

    @property
    def allowed(self) -> list[int]:
        """The learners that may be trained on the children."""
        return [i for i in range(len(self.problem.learners)) if i not in self.site.barred]

    def best(self, trials: Iterable[Trial]) -> Judgement | None:
        """Return the best of some trials, if it is a gain.

        A later one wins only by more than rounding, so that ties go to the lower feature and the
        lower threshold. What no loss can be less than ends the search, unless fits are under way.
        """
        best, to_beat = None, self.to_beat
        for trial in self._in_time(trials):
            outlook = self.appraiser.outlook(trial, to_beat - self.slack)
            if outlook is not None:
                best, to_beat = (trial, outlook), outlook.loss
                if to_beat <= self.problem.loss.least and not self.slow:
                    break
        return best

    def finalists(self, trials: Iterable[Trial], size: int) -> list[list[Split]]:
        """Return the splits of the most promising trials, by feature and in order.

        They are, by turns, those of the best mixtures and those that help most the learner that
        ranks them: it may be too weak for the mixture to want it where another learner would gain.
        """
        splits, mixed, alone = [], [], []
        for trial in self._in_time(trials):
            outlook = self.appraiser.outlook(trial, np.inf)
            splits.append(trial.split)
            mixed.append(np.inf if outlook is None else outlook.loss)
            told = [scores for scores in trial.own if not np.isnan(scores).any()]
            alone.append(min((squared_error(self.rows, h) for h in told), default=np.inf))
        orders = (np.argsort(losses, kind="stable").tolist() for losses in (mixed, alone))
        by_turns = [place for places in zip(*orders, strict=True) for place in places]
        return by_feature(splits[i] for i in list(dict.fromkeys(by_turns))[:size])

    def _in_time(self, trials: Iterable[Trial]) -> Iterator[Trial]:
        """Yield trials as long as there is time."""
        for trial in trials:
            self.executor.check()
            yield trial

    def proposal(self, *judgements: Judgement | None, loosens: bool = True) -> Proposal:
        """Settle on the better of some judgements on one split."""
        settled = [
            (trial, self.appraiser.settled(trial, outlook, loosens))
            for trial, outlook in filter(None, judgements)
        ]
        return self._propose(*min(settled, key=lambda judgement: judgement[1].loss))

    @property
    def fits(self) -> FitCount:
        """The fits of slow learners so far, and those of an exhaustive search."""
        here = FitCount(self.made, self._fits_of(sum(map(len, self.splits)), self.slow))
        return here + self.rehearsals

    def _propose(self, trial: Trial, outlook: Outlook) -> Proposal:
        regions = self.region.divide(trial.split, self.problem.X)
        left, right = (
            outlook.side(place, regions[place], pool_of(trial, rows, self.site.pool), trial)
            for place, rows in enumerate((trial.goes_left, ~trial.goes_left))
        )
        return Proposal(trial.split, outlook.loss, left, right)

    def _fits_of(self, n_splits: int, slow: list[int]) -> int:
        return 2 * n_splits * len(slow) * self.problem.partition.n_folds

    def trials(
        self,
        by_feature: list[list[Split]],
        share: float = 1.0,
        keeps: bool = False,
        scouts: list[int] | None = None,
    ) -> Iterator[Trial]:
        """Train all learners on both sides of splits, slow ones on a share of the rows.

        Where splits are few, their models may be kept: one of them will be wanted. With ``scouts``
        the other slow learners are not asked.
        """
        slow = self.slow if scouts is None else scouts
        flat = [split for splits in by_feature for split in splits]
        region = self.region.shared(self.executor) if self.slow else self.region
        train = partial(fit_side, self.problem, region, self.site.path, share, keeps)
        tasks = [(split, i, right) for split in flat for i in slow for right in (False, True)]
        outcomes = self.executor.map(
            train,
            tasks,
            who=lambda task: self.problem.learners[task[1]].name,
            lost=lambda failure: failure,
            fits=self.problem.partition.n_folds,
        )
        self.made += self._fits_of(len(flat), slow)
        asks_all = share == 1 and slow == self.slow
        for trial in self.quick_trials(by_feature, *self.closed, asks_all):
            for i in slow:
                self._join(trial, i, [next(outcomes), next(outcomes)])
            yield trial

    def ranking_trials(self) -> Iterator[Trial]:
        """Return what is to be had for little at all splits.

        Quick learners that take steps wait for the shortlist. If there are no others, linear
        regression stands in for the first learner.
        """
        if self.solved:
            return self.quick_trials(self.splits, self.closed[0], self.solved)
        return self.quick_trials(self.splits, *self.problem.stand_in(self.region))

    def quick_trials(
        self,
        by_feature: list[list[Split]],
        design: Design | None,
        forms: Mapping[int, ClosedForm],
        asks_all: bool = False,
    ) -> Iterator[Trial]:
        """Train quick learners on both sides of splits; the others say nothing here."""
        for together in self._batches(by_feature):  # each forgets its scores at the end
            yield from self._trials_of(together, design, forms, asks_all)

    def _trials_of(
        self,
        together: list[list[Split]],
        design: Design | None,
        forms: Mapping[int, ClosedForm],
        asks_all: bool,
    ) -> Iterator[Trial]:
        nothing = np.full((len(self.region.v1), self.problem.n_outputs), np.nan)
        goes_left, quick = self._quick_scores(together, design, forms)
        for s, split in enumerate(split for splits in together for split in splits):
            own = [nothing] * len(self.problem.learners)
            for i, scores in quick.items():
                own[i] = scores[s].copy()  # a view would keep the scores of all splits
            yield Trial(split, goes_left[s], own, asks_all)

    def _quick_scores(
        self, together: list[list[Split]], design: Design | None, forms: Mapping[int, ClosedForm]
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

    def _join(self, trial: Trial, i: int, sides: list[Answer | Failure]) -> None:
        """Join what a learner says on both sides; a failure is recorded and says nothing."""
        trial.own[i] = np.full((len(trial.goes_left), self.problem.n_outputs), np.nan)
        for right, (side, rows) in enumerate(
            zip(sides, (trial.goes_left, ~trial.goes_left), strict=True)
        ):
            if isinstance(side, Failure):
                self.failures.append(side)
                continue
            trial.own[i][rows] = side.scores
            if side.models is not None:
                trial.models[i, right] = side.models


def exhaustive(search: Search) -> Judgement | None:
    """Try every split with every pair of predictors, every learner trained on both sides."""
    return search.best(search.trials(search.splits))


def racing(search: Search) -> Judgement | None:
    """Try every split with the quick learners, and the slow ones on a shrinking shortlist.

    The slow learners are trained on a growing share of the rows; only what was trained on all of
    them can win.
    """
    if not search.slow:
        return exhaustive(search)
    if not isinstance(search.appraiser, OfPairs):
        return racing_of_mixtures(search)
    trials = search.ranking_trials()
    for share, length in rounds(len(search.region.train), guesses=not search.solved):
        shortlist = best_of(search.appraiser, trials, length, search.problem.loss.least)
        trials = search.trials(shortlist, share, keeps=share == 1 and search.keeps)
    return search.best(trials)


def rounds(n_rows: float, guesses: bool) -> list[tuple[float, int]]:
    """Return the rounds of a race on so many rows: the share of them, and how many splits."""
    race = next(race for least, race in RACES if n_rows >= least)
    return [(share, 2 * length if guesses else length) for share, length in race]


def racing_of_mixtures(search: Search) -> Judgement | None:
    """Choose the split by mixtures of the node's predictors and the quick learners.

    Of these, the ones that take steps see the finalists alone. The slow learners join once the
    split is decided. Only if there are no quick ones, the first of them has to be trained before.
    """
    quick, ranked = search.closed[1], search.ranking_trials()
    if quick and len(quick) == len(search.solved):
        return search.best(ranked)
    if quick:
        few = search.finalists(ranked, FINALISTS)
        return search.best(search.quick_trials(few, *search.closed))
    few = search.finalists(ranked, SLOW_FINALISTS)
    return search.best(search.trials(few, scouts=search.scouts))


SEARCHES: dict[str, Chooser] = {"exhaustive": exhaustive, "racing": racing}


def best_of(
    appraiser: OfPairs, trials: Iterable[Trial], size: int, least: float
) -> list[list[Split]]:
    """Return the most promising splits, by feature and in order."""
    return by_feature(most_promising(appraiser, trials, least)[:size])


def most_promising(appraiser: OfPairs, trials: Iterable[Trial], least: float) -> list[Split]:
    """Return splits, best guess first.

    The first is that of the best pair of predictors so far; if its loss is the least there is, it
    is the only one. The others follow by the best pair trained on the children: what is trained on
    ancestors is as good as it will get.
    """
    splits, joint, own = [], [], []
    for trial in trials:
        best, best_own = appraiser.ranks(trial)
        if best <= least:
            return [trial.split]
        splits.append(trial.split)
        joint.append(best)
        own.append(best_own)
    ranked = [*np.argsort(joint, kind="stable")[:1], *np.argsort(own, kind="stable")]
    return [splits[i] for i in dict.fromkeys(ranked)]


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


def admissible_splits(problem: Problem, region: Region, limits: Limits) -> Iterator[list[Split]]:
    """Yield for each feature the candidate splits whose sides both have enough rows."""
    weight = None if problem.weight is None else problem.weight[region.train]
    for feature in problem.splittable:
        train, v1 = problem.X[region.train, feature], problem.X[region.v1, feature]
        splits = [
            split
            for split in candidate_splits(
                feature, train, weight, limits.n_thresholds, feature in problem.categories
            )
            if limits.admits(split.goes_left(train), split.goes_left(v1))
        ]
        if splits:
            yield splits


def fit_side(
    problem: Problem,
    region: Region,
    path: int,
    share: float,
    keeps: bool,
    task: tuple[Split, int, bool],
) -> Answer | Failure:
    """Train a learner on a share of one child; return what it says, or why it says nothing."""
    split, i, right = task
    child = region.divide(split, problem.X)[right]
    train = child.train if share == 1 else problem.sample(child.train, share)
    learner = problem.learners[i]

    def answer() -> Answer:
        models = problem.fit(learner, train, 2 * path + right, by_sums=False)
        return Answer(problem.held_out(models, child.v1), models if keeps else None)

    return attempt(learner.name, answer)
