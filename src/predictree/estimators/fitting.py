"""One fit between its two ends: what it is to do, and what it has grown."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from typing import Any

from predictree.data.partition import Partition
from predictree.data.table import Table
from predictree.grow.methods import Recipe
from predictree.grow.problem import Problem, Seeds
from predictree.learners import Learner
from predictree.learners.adapter import take_rows
from predictree.learners.views import numeric_view
from predictree.losses import Loss
from predictree.losses.judging import Evidence
from predictree.model.account import FitCount, FitFailure
from predictree.model.imputation import Imputation
from predictree.model.tree import FloatArray, IntArray, Tree
from predictree.run.checkpoint import Begun, Checkpoint
from predictree.run.clock import FOREVER, Clock

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
    recipe: Recipe
    n_trees: int
    entropy: int
    start: float
    clock: Clock
    checkpoint: Checkpoint | None

    def on_the_folds_of(self, other: "Task") -> "Task":
        """Return the same with the rows, folds, seeds and deadline of another."""
        return replace(
            self, split_up=other.split_up, drawn=other.drawn, n_trees=other.n_trees,
            entropy=other.entropy, clock=other.clock,
        )  # fmt: skip

    def begun(self) -> AbstractContextManager[Begun | None]:
        """Hold the checkpoint of the fit, if it has one."""
        return self.checkpoint.begun(self.entropy) if self.checkpoint else nullcontext()

    def is_over(self, last: Grown) -> bool:
        """Whether no further tree is to be grown."""
        return self.clock.is_late or last.stopped is not None

    def problem(self, tree: int, pools: bool) -> Problem:
        """Return the problem of one tree."""
        seeds = Seeds(self.entropy, tree)
        repeat, imputation = divmod(tree, len(self.drawn))
        parts = self.split_up[repeat](seeds)
        parts = parts.pooled() if pools else parts
        X = self.drawn[imputation][1]
        return problem_of_tree(self.table, X, parts, self.learners, self.loss, seeds, self.clock)

    def on(self, rows: IntArray, parts: Partition, recipe: Recipe) -> "Task":
        """Return the same of a tree on some of the rows of these parts, without hurry."""
        table, filled = self.table, self.drawn[0]
        few, n = parts.on(rows), len(table.X)
        return replace(
            self,
            table=replace(
                table,
                X=table.X[rows],
                y=table.y[rows],
                weight=None if table.weight is None else table.weight[rows],
            ),
            drawn=[(filled[0], filled[1][rows])],
            learners=tuple(
                replace(learner, metadata=take_rows(learner.metadata, rows, n))
                for learner in self.learners
            ),
            split_up=[lambda seeds: few],
            recipe=recipe,
            clock=FOREVER,
        )


def problem_of_tree(
    table: Table,
    X: FloatArray,
    parts: Partition,
    learners: tuple[Learner, ...],
    loss: Loss,
    seeds: Seeds,
    clock: Clock = FOREVER,
) -> Problem:
    """Return the problem of one tree, on rows whose gaps may have been filled."""
    return Problem(
        X, table.y, table.weight, parts, learners, loss, seeds, table.schema.splittable,
        table.schema.categories, table.schema.fitted, numeric_view(table.schema, X), clock,
    )  # fmt: skip
