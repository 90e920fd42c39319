"""The search for the best split of a node: feature, threshold, learner and training set at once."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np

from predictree.execution import Executor, Failure, attempt
from predictree.learners import Learner
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

    def admits(self, left: Region, right: Region) -> bool:
        """Whether both sides have the rows to train and to judge."""
        return all(
            len(side.train) >= self.min_samples_leaf and len(side.v1) >= self.min_samples_val
            for side in (left, right)
        )


@dataclass(frozen=True, slots=True)
class Candidate:
    """A predictor that a node may take, by its held-out scores on V¹ of that node.

    ``owner`` is the id of the node it was trained on, `ITSELF` while that node has none.
    """

    owner: int | None
    learner: int
    scores: FloatArray

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


def exhaustive(
    problem: Problem, site: Site, limits: Limits, executor: Executor
) -> tuple[Proposal | None, list[Failure]]:
    """Try every split with every pair of predictors; return the best one, if it is a gain.

    Every learner is trained on both sides of every split. A later split wins only by more
    than rounding, so that ties go to the lower feature and the lower threshold.
    """
    slack = tolerance(problem.loss, problem.judged(site.region.v1), site.loss)
    to_beat = site.loss - limits.min_gain
    best: Proposal | None = None
    failures: list[Failure] = []
    splits = list(admissible_splits(problem, site.region, limits))
    train = partial(fit_both_sides, problem, site.region, site.path)
    for split, outcomes in zip(splits, executor.map(train, splits), strict=True):
        failures += [o for side in outcomes for o in side if isinstance(o, Failure)]
        proposal = best_pair(problem, site, split, outcomes, slack)
        if proposal is not None and proposal.loss < to_beat - slack:
            best, to_beat = proposal, proposal.loss
    return best, failures


def admissible_splits(problem: Problem, region: Region, limits: Limits) -> Iterator[Split]:
    """Yield the candidate splits whose sides both have enough rows."""
    weight = None if problem.weight is None else problem.weight[region.train]
    for split in candidate_splits(problem.X[region.train], weight, limits.n_thresholds):
        if limits.admits(*region.divide(split, problem.X)):
            yield split


def fit_both_sides(
    problem: Problem, region: Region, path: int, split: Split
) -> tuple[list[Outcome], list[Outcome]]:
    """Train every learner on either child; return their scores on the child's V¹, not models."""
    left, right = region.divide(split, problem.X)
    return fit_here(problem, left, 2 * path), fit_here(problem, right, 2 * path + 1)


def fit_here(problem: Problem, region: Region, path: int) -> list[Outcome]:
    """Train every learner on S of one region; return its scores on V¹, or why it has none."""
    return [
        attempt(learner.name, partial(_scores, problem, learner, region, path))
        for learner in problem.learners
    ]


def _scores(problem: Problem, learner: Learner, region: Region, path: int) -> FloatArray:
    return problem.held_out(problem.fit(learner, region.train, path), region.v1)


def own_candidates(outcomes: list[Outcome]) -> Pool:
    """Return the candidates among the outcomes of training on a node itself."""
    return [
        Candidate(ITSELF, i, outcome)
        for i, outcome in enumerate(outcomes)
        if not isinstance(outcome, Failure)
    ]


def best_pair(
    problem: Problem,
    site: Site,
    split: Split,
    outcomes: tuple[list[Outcome], list[Outcome]],
    slack: float,
) -> Proposal | None:
    """Choose h⁻ and h⁺ for one split: the pair with the least joint loss on V¹(C)."""
    goes_left = split.goes_left(problem.X[site.region.v1])
    left = own_candidates(outcomes[0]) + [h.on(goes_left) for h in site.pool]
    right = own_candidates(outcomes[1]) + [h.on(~goes_left) for h in site.pool]
    regions = site.region.divide(split, problem.X)
    losses = problem.loss.pairs(
        problem.judged(regions[0].v1),
        problem.judged(regions[1].v1),
        [h.scores for h in left],
        [h.scores for h in right],
    )
    least = np.nanmin(losses, initial=np.inf)
    if np.isinf(least):
        return None
    first = np.flatnonzero(losses.ravel() <= least + slack)[0]
    i, j = np.unravel_index(first, losses.shape)
    return Proposal(
        split,
        float(losses[i, j]),
        Side(regions[0], left, left[i]),
        Side(regions[1], right, right[j]),
    )
