"""The search for the best split of a node: feature, threshold, learner and training set at once."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from itertools import groupby, repeat

import numpy as np
from scipy.stats import norm

from predictree.execution import Executor, Failure, attempt
from predictree.learners import Bins, ClosedForm, Cuts, Learner
from predictree.losses import tolerance
from predictree.mixing import Mixer, Mixture
from predictree.problem import Problem, Region
from predictree.splits import candidate_splits
from predictree.tree import BoolArray, FloatArray, Split

ITSELF = None  # owner of a candidate that was trained on the very node it is offered to
BATCH = 1 << 22  # numbers that the quick learners may have in hand at a time

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
class Candidate:
    """A predictor that a node may take, by its held-out scores on V¹ of that node.

    ``owner`` is the id of the node it was trained on, `ITSELF` while that node has none.
    """

    owner: int | None
    learner: int
    scores: FloatArray

    @property
    def key(self) -> tuple[int | None, int]:
        """What tells one predictor from another."""
        return self.owner, self.learner

    def on(self, rows: BoolArray) -> "Candidate":
        """Return the same predictor, offered to a child that has these rows of V¹."""
        return Candidate(self.owner, self.learner, self.scores[rows])


# The candidates of a node: own learners first, then the parent's, up to the root's; within a
# training set in the order of the portfolio. This is the order in which ties are broken.
Pool = list[Candidate]


@dataclass(frozen=True, slots=True)
class Site:
    """A node to be split, as the search sees it."""

    region: Region
    path: int
    pool: Pool
    loss: float
    scores: FloatArray  # held-out scores of what the node predicts with
    mixture: Mixture | None = None  # of the node, if its predictors are combined
    barred: frozenset[int] = frozenset()  # learners that may not be trained on the children
    one_by_one: frozenset[int] = frozenset()  # learners whose closed form is not to be used


@dataclass(frozen=True, slots=True)
class Side:
    """One child of a proposed split: what it predicts with, one predictor or a mixture."""

    region: Region
    pool: Pool
    choice: Candidate
    mixture: Mixture | None = None


@dataclass(frozen=True, slots=True)
class Proposal:
    """A split that lowers the loss on V¹(C), with the predictors of both children."""

    split: Split
    loss: float
    left: Side
    right: Side


Outcome = FloatArray | Failure


@dataclass(frozen=True, slots=True)
class Trial:
    """One split to be judged: where V¹ goes, and what the learners trained on its sides say.

    ``own`` has one array (v, k) a learner, each row answered by its own side's model, NaN on a side
    where the learner failed.
    """

    split: Split
    goes_left: BoolArray
    own: list[FloatArray]


@dataclass(frozen=True, slots=True)
class Outlook:
    """What a split would come to.

    ``bound`` is the loss with what may be chance added; ``pair`` are the places of the two
    predictors among own and inherited ones, or ``mixtures`` the combinations of both sides.
    """

    loss: float
    bound: float
    pair: tuple[int, int] | None
    mixtures: tuple[Mixture, Mixture] | None = None


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
        self.judge = problem.loss.judge(self.rows, [h.scores for h in site.pool])
        self.slack = tolerance(problem.loss, self.rows, site.loss)
        self.to_beat = site.loss - limits.min_gain
        self.caution = caution(limits.min_gain_se, sum(map(len, self.splits)))
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
            outlook = self.outlook(trial)
            if outlook is not None and outlook.loss < to_beat - self.slack:
                if self.caution:
                    outlook = replace(outlook, bound=outlook.loss + self._margin(trial, outlook))
                if outlook.bound < to_beat - self.slack:
                    best, to_beat = (trial, outlook), outlook.bound
        proposal = None if best is None else self.propose(*best)
        fits = FitCount(self.made, self._fits_of(sum(map(len, self.splits))))
        return Finding(proposal, self.failures, fits)

    def outlook(self, trial: Trial) -> "Outlook | None":
        """Return what a split would come to; None if its loss is undefined."""
        if self.mixer is None:
            pair = first_least(self.judge.pairs(trial.goes_left, trial.own), self.slack)
            return None if pair is None else Outlook(pair[0], pair[0], pair[1:])
        mixtures = self._mixtures(trial)
        loss = self.problem.loss.value(self.rows, self._joined_mixtures(trial, mixtures))
        return Outlook(loss, loss, None, mixtures) if np.isfinite(loss) else None

    def _margin(self, trial: Trial, outlook: "Outlook") -> float:
        """Return how much of a gain may be chance, given how many splits were looked at."""
        if outlook.mixtures is not None:
            after = self._joined_mixtures(trial, outlook.mixtures)
        else:
            assert outlook.pair is not None
            candidates = [*trial.own, *(h.scores for h in self.site.pool)]
            left, right = (candidates[i] for i in outlook.pair)
            after = np.where(trial.goes_left[:, None], left, right)
        error = self.problem.loss.error_of_gain(self.rows, self.site.scores, after)
        return self.caution * error if np.isfinite(error) else np.inf

    def _mixtures(self, trial: Trial) -> tuple[Mixture, Mixture]:
        """Combine all that is known on either side."""
        left, right = (self._mixture(trial, rows) for rows in (trial.goes_left, ~trial.goes_left))
        return left, right

    def _mixture(self, trial: Trial, rows: BoolArray) -> Mixture:
        assert self.mixer is not None
        pool = _pool_of(trial, rows, self.site.pool)
        return self.mixer.mix(
            self.region.v1[rows],
            [h.key for h in pool],
            np.stack([h.scores for h in pool], axis=-1),
            self.site.mixture,
        )

    def _joined_mixtures(self, trial: Trial, mixtures: tuple[Mixture, Mixture]) -> FloatArray:
        scores = np.empty((len(trial.goes_left), self.problem.n_outputs))
        scores[trial.goes_left], scores[~trial.goes_left] = (m.scores for m in mixtures)
        return scores

    def ranks(self, trial: Trial) -> tuple[float, float]:
        """Return what the best predictors have, and the best of those trained on the children."""
        if self.mixer is not None:
            outlook = self.outlook(trial)
            loss = np.inf if outlook is None else outlook.loss
            return loss, loss
        losses = self.judge.pairs(trial.goes_left, trial.own)
        losses = np.where(np.isfinite(losses), losses, np.inf)
        m = len(self.problem.learners)
        return float(losses.min()), float(losses[:m, :m].min())

    def propose(self, trial: Trial, outlook: "Outlook") -> Proposal:
        """Return the proposal of a trial."""
        regions = self.region.divide(trial.split, self.problem.X)
        sides = []
        for place, rows in enumerate((trial.goes_left, ~trial.goes_left)):
            pool = _pool_of(trial, rows, self.site.pool)
            if outlook.mixtures is not None:
                mixture = outlook.mixtures[place]
                choice = max(pool, key=lambda h: mixture.weights[h.key])
                sides.append(Side(regions[place], pool, choice, mixture))
            else:
                assert outlook.pair is not None
                place_of_choice = outlook.pair[place]
                m = len(trial.own)
                choice = (
                    Candidate(ITSELF, place_of_choice, trial.own[place_of_choice][rows])
                    if place_of_choice < m
                    else self.site.pool[place_of_choice - m].on(rows)
                )
                sides.append(Side(regions[place], pool, choice))
        return Proposal(trial.split, outlook.loss, sides[0], sides[1])

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
        nothing = np.full((len(self.region.v1), self.problem.n_outputs), np.nan)
        for together in self._batches(by_feature):
            goes_left, quick = self._quick_scores(together, forms)
            for s, split in enumerate(split for splits in together for split in splits):
                own = [nothing] * len(self.problem.learners)
                for i, scores in quick.items():
                    own[i] = scores[s]
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
        quick = {i: form.fit_splits(cuts)[place] for i, form in forms.items()}
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
        best, best_own = search.ranks(trial)
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


def first_least(losses: FloatArray, slack: float) -> tuple[float, int, int] | None:
    """Return the least loss and its place, the first among equals; None if all are undefined."""
    losses = np.where(np.isfinite(losses), losses, np.inf)
    least = losses.min()
    if np.isinf(least):
        return None
    i, j = np.unravel_index(np.argmax(losses <= least + slack), losses.shape)
    return float(losses[i, j]), int(i), int(j)


def _pool_of(trial: Trial, rows: BoolArray, inherited: Pool) -> Pool:
    """Return the candidates of a child that has these rows of V¹."""
    own = [Candidate(ITSELF, m, scores[rows]) for m, scores in enumerate(trial.own)]
    pool = own + [h.on(rows) for h in inherited]
    return [h for h in pool if not np.isnan(h.scores).any()]


def caution(min_gain_se: float, n_splits: int) -> float:
    """Return the standard errors by which the best of many splits must gain.

    As unlikely to be reached by chance by any of them as ``min_gain_se`` is by a single one.
    """
    if min_gain_se == 0 or n_splits == 0:
        return 0.0
    return float(norm.isf(norm.sf(min_gain_se) / n_splits))


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
