"""One fit between its two ends: what it is to do, and what it has grown."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from predictree.checkpoint import Checkpoint
from predictree.encoding import Table
from predictree.grower import FitFailure
from predictree.imputation import Imputation
from predictree.learners import Learner
from predictree.learners.views import numeric_view
from predictree.losses import Loss
from predictree.partition import Partition
from predictree.problem import Problem, Seeds
from predictree.search import FitCount, Limits
from predictree.tree import FloatArray, Tree
from predictree.verdict import Evidence

Imputations = list[tuple[Imputation | None, FloatArray]]


@dataclass(frozen=True, slots=True)
class Grown:
    """One tree, what judges it, and how it grew."""

    tree: Tree
    problem: Problem
    evidence: Evidence
    failures: list[FitFailure]
    fits: FitCount
    stopped: str | None


@dataclass(frozen=True, slots=True)
class Task:
    """What a fit is to do: everything read and checked."""

    table: Table
    columns: dict[str, Any]
    drawn: Imputations
    loss: Loss
    learners: tuple[Learner, ...]
    refused: list[FitFailure]
    split_up: list[Callable[[Seeds], Partition]]  # one a repeat
    limits: Limits
    n_trees: int
    entropy: int
    start: float
    time_limit: float | None
    checkpoint: Checkpoint | None

    @property
    def deadline(self) -> float | None:
        """Moment after which no fit is begun."""
        return None if self.time_limit is None else self.start + self.time_limit

    def is_over(self, last: Grown) -> bool:
        """Whether no further tree is to be grown."""
        late = self.deadline is not None and time.monotonic() >= self.deadline
        return late or last.stopped is not None

    def problem(self, tree: int, mixes: bool) -> Problem:
        """Return the problem of one tree."""
        seeds = Seeds(self.entropy, tree)
        repeat, imputation = divmod(tree, len(self.drawn))
        parts = self.split_up[repeat](seeds)
        parts = parts.pooled() if mixes else parts
        X = self.drawn[imputation][1]
        return problem_of_tree(self.table, X, parts, self.learners, self.loss, seeds, self.deadline)


def problem_of_tree(
    table: Table,
    X: FloatArray,
    parts: Partition,
    learners: tuple[Learner, ...],
    loss: Loss,
    seeds: Seeds,
    deadline: float | None,
) -> Problem:
    """Return the problem of one tree, on rows whose gaps may have been filled."""
    return Problem(
        X, table.y, table.weight, parts, learners, loss, seeds, table.schema.splittable,
        table.schema.categories, numeric_view(table.schema, X), deadline,
    )  # fmt: skip
