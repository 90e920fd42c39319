"""The search for the best split of a node: feature, threshold, learner and training set at once."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import repeat

import numpy as np

from predictree.execution import Executor, Failure, attempt
from predictree.learners import Bins, Learner
from predictree.losses import tolerance
from predictree.problem import Problem, Region
from predictree.splits import candidate_splits
from predictree.tree import BoolArray, FloatArray, Split

ITSELF = None  # owner of a candidate that was trained on the very node it is offered to


@dataclass(frozen=True, slots=True)
class Limits:
    """When a node may not be split, whatever the gain."""

    n_thresholds: int
    max_depth: int | None
    min_samples_leaf: int
    min_samples_val: int
    min_gain: float

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
    barred: frozenset[int] = frozenset()  # learners that may not be trained on the children
    one_by_one: frozenset[int] = frozenset()  # learners whose closed form is not to be used


@dataclass(frozen=True, slots=True)
class Side:
    """One child of a proposed split."""

    region: Region
    pool: Pool
    choice: Candidate


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


def exhaustive(
    problem: Problem, site: Site, limits: Limits, executor: Executor
) -> tuple[Proposal | None, list[Failure]]:
    """Try every split with every pair of predictors; return the best one, if it is a gain.

    Every learner is trained on both sides of every split. A later split wins only by more
    than rounding, so that ties go to the lower feature and the lower threshold.
    """
    rows = problem.judged(site.region.v1)
    judge = problem.loss.judge(rows, [h.scores for h in site.pool])
    slack = tolerance(problem.loss, rows, site.loss)
    to_beat = site.loss - limits.min_gain
    best: tuple[Trial, float, int, int] | None = None
    failures: list[Failure] = []
    for trial in trials(problem, site, limits, executor, failures):
        pair = first_least(judge.pairs(trial.goes_left, trial.own), slack)
        if pair is not None and pair[0] < to_beat - slack:
            best, to_beat = (trial, *pair), pair[0]
    return (None if best is None else propose(problem, site, *best)), failures


def first_least(losses: FloatArray, slack: float) -> tuple[float, int, int] | None:
    """Return the least loss and its place, the first among equals; None if all are undefined."""
    losses = np.where(np.isfinite(losses), losses, np.inf)
    least = losses.min()
    if np.isinf(least):
        return None
    i, j = np.unravel_index(np.argmax(losses <= least + slack), losses.shape)
    return float(losses[i, j]), int(i), int(j)


def trials(
    problem: Problem, site: Site, limits: Limits, executor: Executor, failures: list[Failure]
) -> Iterator[Trial]:
    """Train all learners on both sides of all splits; yield one trial a split, in order.

    Learners with a closed form fit the splits of a feature at once, the others go through the
    executor.
    """
    region = site.region
    design, forms = problem.closed_forms(region)
    forms = {i: form for i, form in forms.items() if i not in site.barred | site.one_by_one}
    slow = [i for i in range(len(problem.learners)) if i not in forms and i not in site.barred]
    nothing = np.full((len(region.v1), problem.n_outputs), np.nan)
    by_feature = list(admissible_splits(problem, region, limits))
    train = partial(fit_both_sides, problem, region, site.path, slow)
    flat = [split for splits in by_feature for split in splits]
    outcomes = iter(executor.map(train, flat)) if slow else repeat(([], []))
    for splits in by_feature:
        feature = splits[0].feature
        judged = problem.X[region.v1, feature]
        goes_left = np.array([split.goes_left(judged) for split in splits])
        quick = {}
        if design is not None and forms:
            bins = Bins.of(splits, problem.X[region.train, feature], goes_left, design)
            quick = {i: form.fit_splits(bins) for i, form in forms.items()}
        for s, split in enumerate(splits):
            own = dict.fromkeys(range(len(problem.learners)), nothing)
            own |= {i: scores[s] for i, scores in quick.items()}
            sides = next(outcomes)
            for place, i in enumerate(slow):
                own[i] = _joined(sides[0][place], sides[1][place], goes_left[s], problem, failures)
            yield Trial(split, goes_left[s], [own[i] for i in range(len(problem.learners))])


def _joined(
    left: Outcome, right: Outcome, goes_left: BoolArray, problem: Problem, failures: list[Failure]
) -> FloatArray:
    """Join what one learner says on both sides; a failure is recorded and says nothing."""
    scores = np.full((len(goes_left), problem.n_outputs), np.nan)
    for outcome, rows in ((left, goes_left), (right, ~goes_left)):
        if isinstance(outcome, Failure):
            failures.append(outcome)
        else:
            scores[rows] = outcome
    return scores


def propose(problem: Problem, site: Site, trial: Trial, loss: float, i: int, j: int) -> Proposal:
    """Return the proposal of a trial with its i-th predictor on the left and j-th on the right."""
    regions = site.region.divide(trial.split, problem.X)
    sides = []
    for region, rows, choice in zip(
        regions, (trial.goes_left, ~trial.goes_left), (i, j), strict=True
    ):
        own = [Candidate(ITSELF, m, scores[rows]) for m, scores in enumerate(trial.own)]
        pool = own + [h.on(rows) for h in site.pool]
        known = [h for h in pool if not np.isnan(h.scores).any()]
        sides.append(Side(region, known, pool[choice]))
    return Proposal(trial.split, loss, *sides)


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
    problem: Problem, region: Region, path: int, chosen: list[int], split: Split
) -> tuple[list[Outcome], list[Outcome]]:
    """Train learners on either child; return their scores on the child's V¹, not models."""
    left, right = region.divide(split, problem.X)
    return (
        fit_here(problem, left, 2 * path, chosen),
        fit_here(problem, right, 2 * path + 1, chosen),
    )


def fit_here(problem: Problem, region: Region, path: int, chosen: list[int]) -> list[Outcome]:
    """Train learners on S of one region; return their scores on V¹, or why they have none."""
    learners = [problem.learners[i] for i in chosen]
    return [
        attempt(learner.name, partial(_scores, problem, learner, region, path))
        for learner in learners
    ]


def _scores(problem: Problem, learner: Learner, region: Region, path: int) -> FloatArray:
    return problem.held_out(problem.fit(learner, region.train, path), region.v1)
