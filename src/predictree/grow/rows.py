"""A node's rows: who trains, who judges, who weighs, and the splits that they admit."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from predictree.data.splits import candidate_splits
from predictree.grow.problem import Problem
from predictree.losses import Judged
from predictree.model.tree import BoolArray, IntArray, Split
from predictree.run.tasks import Executor

if TYPE_CHECKING:
    from predictree.grow.leaf import Leaf

PARTS = 5  # of the rows that judge, where they are not of several folds


@dataclass(frozen=True, slots=True)
class Limits:
    """When a node may not be split, whatever the gain."""

    n_thresholds: int
    max_depth: int | None
    min_samples_leaf: int
    min_samples_val: int
    min_gain: float

    def closes(self, leaf: "Leaf") -> bool:
        """Whether a leaf is final: as deep as may be, without loss, or with one that is none."""
        at_limit = self.max_depth is not None and leaf.depth >= self.max_depth
        perfect = leaf.loss <= leaf.rows.problem.loss.least + self.min_gain
        return at_limit or perfect or not np.isfinite(leaf.loss)

    def admits(self, train_left: BoolArray, v1_left: BoolArray) -> bool:
        """Whether both sides of a split have the rows to train and to judge."""
        n_train, n_v1 = int(np.count_nonzero(train_left)), int(np.count_nonzero(v1_left))
        return (
            min(n_train, len(train_left) - n_train) >= self.min_samples_leaf
            and min(n_v1, len(v1_left) - n_v1) >= self.min_samples_val
        )


@dataclass(frozen=True, eq=False)
class Rows:
    """Z(C) for Z = S, V¹, V²: the rows of a node, as indices into X.

    ``apart`` tells of which rows these are what is left without a part.
    """

    problem: Problem
    train: IntArray
    v1: IntArray
    v2: IntArray
    apart: tuple["Rows", int] | None = None

    @classmethod
    def of(cls, problem: Problem) -> Self:
        """Return the rows of the whole feature space."""
        return cls(problem, problem.partition.train, problem.partition.v1, problem.partition.v2)

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what is computed once: it would travel with every task."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @property
    def parts(self) -> tuple[IntArray, IntArray, IntArray]:
        """S, V¹ and V² of the node."""
        return self.train, self.v1, self.v2

    @cached_property
    def all(self) -> IntArray:
        """All rows of the node, in ascending order."""
        return self.train if self.train is self.v1 else np.union1d(self.train, self.v1)

    @cached_property
    def judged(self) -> Judged:
        """Labels and weights of V¹."""
        return self.problem.judged(self.v1)

    @staticmethod
    def batch(frontier: Sequence["Leaf"]) -> list["Leaf"]:
        """Return what is looked at next, of some leaves: the one with the most loss to lose."""
        lossy = [np.nan_to_num(leaf.loss) * len(leaf.rows.v1) for leaf in frontier]
        return [frontier[int(np.argmax(lossy))]]

    def shared(self, executor: Executor) -> "Rows":
        """Return the same rows, at hand for the executor's processes."""
        parts = {id(part): part for part in self.parts}  # those that are one are written once
        shared = {i: executor.share(part) for i, part in parts.items()}
        train, v1, v2 = (shared[id(part)] for part in self.parts)
        return Rows(self.problem, train, v1, v2)

    def divide(self, split: Split) -> tuple["Rows", "Rows"]:
        """Return the rows of C⁻ and C⁺; parts that are one are divided once."""
        sides = {}
        for part in self.parts:
            if id(part) not in sides:
                goes_left = split.goes_left(self.problem.X[part, split.feature])
                sides[id(part)] = part[goes_left], part[~goes_left]
        left, right = zip(*(sides[id(part)] for part in self.parts), strict=True)
        return Rows(self.problem, *left), Rows(self.problem, *right)

    def goes_left(self, split: Split) -> BoolArray:
        """Return which rows of V¹ a split sends to C⁻."""
        return split.goes_left(self.problem.X[self.v1, split.feature])

    def splits(self, limits: Limits) -> Iterator[list[Split]]:
        """Yield for each feature the candidate splits whose sides both have enough rows."""
        for feature in self.problem.splittable:
            if splits := self.of_feature(feature, limits):
                yield splits

    def of_feature(self, feature: int, limits: Limits) -> list[Split]:
        """Return the candidate splits by a feature whose sides both have enough rows."""
        problem = self.problem
        weight = None if problem.weight is None else problem.weight[self.train]
        train, v1 = problem.X[self.train, feature], problem.X[self.v1, feature]
        is_category = feature in problem.categories
        return [
            split
            for split in candidate_splits(feature, train, weight, limits.n_thresholds, is_category)
            if limits.admits(split.goes_left(train), split.goes_left(v1))
        ]

    def between(self, split: Split, low: float, high: float, limits: Limits) -> list[Split]:
        """Return cuts like one of numbers, by thresholds between two others."""
        problem, feature = self.problem, split.feature
        train, v1 = problem.X[self.train, feature], problem.X[self.v1, feature]
        inside = (train >= low) & (train < high)
        weight = None if problem.weight is None else problem.weight[self.train][inside]
        cuts = candidate_splits(feature, train[inside], weight, limits.n_thresholds, False)
        splits = [replace(split, threshold=cut.threshold) for cut in cuts]
        return [s for s in splits if limits.admits(s.goes_left(train), s.goes_left(v1))]

    @cached_property
    def part(self) -> IntArray:
        """The part of every row of V¹, by which a choice is rehearsed: its fold if there are."""
        part = self.problem.partition.weighing[self.v1]
        return np.arange(len(part)) % PARTS if part.min() == part.max() else part

    def sampled(self, share: float) -> tuple["Rows", BoolArray]:
        """Return a share of the rows, and which of V¹ are among them; parts that are one stay so.

        Rows of V² judge nothing here: there are none.
        """
        train, v1 = self.problem.sample(self.train, share), self.problem.sample(self.v1, share)
        v1 = train if self.v1 is self.train else v1
        return Rows(self.problem, train, v1, self.v2[:0]), np.isin(self.v1, v1)

    def without(self, p: int) -> "Rows":
        """Return the rows without those of one part."""
        left_out = np.zeros(len(self.problem.X), dtype=bool)
        left_out[self.v1[self.part == p]] = True
        kept = {id(rows): rows[~left_out[rows]] for rows in self.parts}
        train, v1, v2 = (kept[id(rows)] for rows in self.parts)
        rest = Rows(self.problem, train, v1, v2)
        weighing = self.problem.partition.weighing
        n_before, n_left = (len(np.unique(weighing[some])) for some in (self.v1, rest.v1))
        if n_left > 1 or n_before == 1:
            return replace(rest, apart=(self, p))
        weighing = weighing.copy()  # weights need two parts to be found and judged
        weighing[rest.v1] = np.arange(len(rest.v1)) % 2
        partition = replace(self.problem.partition, weighing=weighing)
        return replace(rest, problem=replace(self.problem, partition=partition))
