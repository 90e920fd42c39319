"""One learning problem: data, partition, portfolio and loss, with the two things all ask of it.

Those are fitting a predictor on a region, and the scores of rows that its models never saw.
"""

import zlib
from collections.abc import Iterable
from dataclasses import dataclass, fields, replace
from functools import cached_property
from math import ceil
from typing import Any

import numpy as np
from sklearn.linear_model import Ridge

from predictree.execution import Executor, check_deadline, limited_fit
from predictree.learners import (
    ClosedForm,
    Design,
    Learner,
    adapt,
    closed_form,
    fit_by_sums,
    has_closed_form,
)
from predictree.learners.linear import LinearForm
from predictree.learners.views import View
from predictree.losses import Judged, Labels, Loss
from predictree.partition import Partition
from predictree.tree import FloatArray, IntArray, Model, Split

ROOT_PATH = 1  # the path of a node in bits: a 1 for the root, then 0 for left and 1 for right


@dataclass(frozen=True, slots=True)
class Seeds:
    """Seeds that depend on what is fitted, never on when or by whom."""

    entropy: int
    repeat: int = 0

    def derive(self, path: int, learner: str, fold: int) -> int:
        """Return the seed of one fit: of a learner, on the node at this path, in one fold."""
        key = [self.entropy, self.repeat, zlib.crc32(learner.encode()), fold, path]
        return int(np.random.SeedSequence(key).generate_state(1)[0] >> 1)

    def generator(self) -> np.random.Generator:
        """Return the generator that draws the partition."""
        return np.random.default_rng([self.entropy, self.repeat])


@dataclass(frozen=True, slots=True)
class Region:
    """Z(C) for Z = S, V¹, V²: the rows of a node, as indices into X."""

    train: IntArray
    v1: IntArray
    v2: IntArray

    @property
    def parts(self) -> tuple[IntArray, IntArray, IntArray]:
        """S, V¹ and V² of the node."""
        return self.train, self.v1, self.v2

    def shared(self, executor: Executor) -> "Region":
        """Return the same rows, at hand for the executor's processes."""
        return Region(*(executor.share(part) for part in self.parts))

    def divide(self, split: Split, X: FloatArray) -> tuple["Region", "Region"]:
        """Return the regions of C⁻ and C⁺."""
        left = [split.goes_left(X[part, split.feature]) for part in self.parts]
        return (
            Region(*(part[mask] for part, mask in zip(self.parts, left, strict=True))),
            Region(*(part[~mask] for part, mask in zip(self.parts, left, strict=True))),
        )


@dataclass(frozen=True)
class Problem:
    """What a tree is grown from.

    Attributes
    ----------
    X : array of shape (n, d)
    y : array of shape (n,)
        Class codes, or real labels.
    weight : array of shape (n,) or None
        Weights of the rows in losses; the learners have theirs in their metadata.
    partition : Partition
    learners : tuple of Learner
    loss : Loss
    seeds : Seeds
    columns : tuple of int or None
        Those that the tree may split by; None is all.
    categories : set of int
        The columns that hold codes of levels.
    view : View or None
        What learners with a closed form see of the columns; None is the columns as they are.
    deadline : float or None
        Moment after which no fit is begun.
    """

    X: FloatArray
    y: Labels
    weight: FloatArray | None
    partition: Partition
    learners: tuple[Learner, ...]
    loss: Loss
    seeds: Seeds
    columns: tuple[int, ...] | None = None
    categories: frozenset[int] = frozenset()
    view: View | None = None
    deadline: float | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what is computed once: it would travel with every task."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def shared(self, executor: Executor) -> "Problem":
        """Return the same problem, with its arrays at hand for the executor's processes."""
        learners = [
            replace(
                learner,
                metadata={
                    key: executor.share(value) if isinstance(value, np.ndarray) else value
                    for key, value in learner.metadata.items()
                },
            )
            for learner in self.learners
        ]
        return replace(
            self,
            X=executor.share(self.X),
            y=executor.share(self.y),
            weight=None if self.weight is None else executor.share(self.weight),
            partition=replace(
                self.partition,
                fold=executor.share(self.partition.fold),
                weighing=executor.share(self.partition.weighing),
            ),
            learners=tuple(learners),
        )

    @property
    def splittable(self) -> Iterable[int]:
        """The columns that the tree may split by."""
        return range(self.X.shape[1]) if self.columns is None else self.columns

    @cached_property
    def seen(self) -> FloatArray:
        """What learners with a closed form see."""
        return self.X if self.view is None else self.view(self.X)

    @property
    def n_outputs(self) -> int:
        """Columns of the scores."""
        return self.learners[0].n_outputs

    @property
    def root(self) -> Region:
        """The region of the whole feature space."""
        return Region(self.partition.train, self.partition.v1, self.partition.v2)

    def closed_forms(
        self, region: Region, chosen: Iterable[int]
    ) -> tuple[Design | None, dict[int, ClosedForm]]:
        """Return the closed forms among chosen learners on a region, by place, and their design."""
        quick = [i for i in chosen if has_closed_form(self.learners[i])]
        design = self._design(region.train, region.v1) if quick else None
        if design is None:
            return None, {}
        return design, {i: closed_form(self.learners[i], design) for i in quick}

    def _design(self, train: IntArray, judged: IntArray) -> Design | None:
        """Return the rows as the closed forms want them; None if their squares overflow."""
        fold, n_folds = self.partition.fold, self.partition.n_folds
        design = Design.of(self.seen, self.y, train, judged, self.n_outputs, fold, n_folds)
        return design if np.isfinite(design.scale).all() else None

    def stand_in(self, region: Region) -> tuple[Design | None, dict[int, ClosedForm]]:
        """Return the closed form of plain linear regression, in the place of the first learner."""
        task = "regression" if self.n_outputs == 1 else "classification"
        weight = {} if self.weight is None else {"sample_weight": self.weight}
        learner = adapt(
            "linear", Ridge(), task, self.n_outputs, proper=self.loss.proper, metadata=weight
        )
        design = self._design(region.train, region.v1)
        return design, {} if design is None else {0: closed_form(learner, design)}

    def sample(self, rows: IntArray, share: float) -> IntArray:
        """Return a share of the rows, of each class; a larger share contains a smaller one."""
        drawn = rows[np.argsort(self._lots[rows])]
        if self.n_outputs == 1:
            return np.sort(drawn[: ceil(share * len(drawn))])
        by_class = [drawn[self.y[drawn] == c] for c in range(self.n_outputs)]
        return np.sort(np.concatenate([some[: ceil(share * len(some))] for some in by_class]))

    @cached_property
    def _lots(self) -> IntArray:
        """The order in which rows come to be sampled."""
        return self.seeds.generator().permutation(len(self.X))

    def judged(self, rows: IntArray) -> Judged:
        """Return labels and weights of validation rows."""
        return Judged(self.y[rows], None if self.weight is None else self.weight[rows])

    def fit(
        self, learner: Learner, train: IntArray, path: int, by_sums: bool = True
    ) -> tuple[Model, ...]:
        """Return the models of A(E), one a fold, each trained without its fold's rows.

        They come from the learner's closed form, if it has one for models and it may be used.
        """
        if by_sums and fit_by_sums(learner):
            design = self._design(train, train[:0])
            if design is not None:
                return tuple(map(learner.seeing, LinearForm.of(learner, design).models()))
        folds = range(self.partition.n_folds)
        return tuple(self.fit_fold(learner, train, path, f) for f in folds)

    def fit_fold(self, learner: Learner, train: IntArray, path: int, f: int) -> Model:
        """Return the model of one fold, by the learner's own fit."""
        check_deadline(self.deadline)
        seed = self.seeds.derive(path, learner.name, f)
        with limited_fit():
            return learner.fit(self.X, self.y, train[self.partition.fold[train] != f], seed)

    def held_out(self, models: tuple[Model, ...], rows: IntArray) -> FloatArray:
        """Return the scores of validation rows, each from the model that never saw its fold."""
        fold = self.partition.fold[rows]
        scores = np.empty((len(rows), self.n_outputs))
        for f, model in enumerate(models):
            held = fold == f
            if held.any():
                scores[held] = model.scores(self.X[rows[held]])
        return scores
