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

from predictree.data.partition import ALWAYS, Partition
from predictree.learners import Learner, adapt
from predictree.learners.forms import (
    closed_form,
    fit_by_sums,
    has_closed_form,
    models_by_sums,
)
from predictree.learners.forms.design import ClosedForm, Design
from predictree.losses import Judged, Loss
from predictree.model.outputs import LARGEST, Labels
from predictree.model.tree import Fitted, FloatArray, IntArray
from predictree.model.views import View
from predictree.run.clock import FOREVER, Clock
from predictree.run.guard import limited_fit
from predictree.run.tasks import Executor

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
    fitted : tuple of int or None
        The columns that learners may see; None is all.
    view : View or None
        What learners with a closed form see of the columns; None is the columns as they are.
    clock : Clock
        After its deadline no fit is begun.
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
    fitted: tuple[int, ...] | None = None
    view: View | None = None
    clock: Clock = FOREVER

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

    @property
    def for_learners(self) -> tuple[int, ...]:
        """The columns that learners may see."""
        return tuple(range(self.X.shape[1])) if self.fitted is None else self.fitted

    @cached_property
    def seen(self) -> FloatArray:
        """What learners with a closed form see."""
        return self.X if self.view is None else self.view(self.X)

    @property
    def n_outputs(self) -> int:
        """Columns of the scores."""
        return self.learners[0].n_outputs

    def closed_forms(
        self, train: IntArray, judged: IntArray, chosen: Iterable[int]
    ) -> tuple[Design | None, dict[int, ClosedForm]]:
        """Return the closed forms among chosen learners on a node, by place, and their design."""
        quick = [i for i in chosen if has_closed_form(self.learners[i])]
        design = self._design(train, judged) if quick else None
        if design is None:
            return None, {}
        return design, {i: closed_form(self.learners[i], design) for i in quick}

    def _design(self, train: IntArray, judged: IntArray) -> Design | None:
        """Return the rows as the closed forms want them; None if their squares overflow."""
        fold, n_folds = self.partition.fold, self.partition.n_folds
        design = Design.of(self.seen, self.y, train, judged, self.n_outputs, fold, n_folds)
        return design if np.isfinite(design.scale).all() else None

    def stand_in(
        self, train: IntArray, judged: IntArray
    ) -> tuple[Design | None, dict[int, ClosedForm]]:
        """Return the closed form of plain linear regression, in the place of the first learner."""
        task = "regression" if self.n_outputs == 1 else "classification"
        weight = {} if self.weight is None else {"sample_weight": self.weight}
        learner = adapt(
            "linear", Ridge(), task, self.n_outputs, proper=self.loss.proper, metadata=weight
        )
        design = self._design(train, judged)
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

    def fit(self, learner: Learner, train: IntArray, path: int) -> tuple[Fitted, ...]:
        """Return the models of A(E), one a fold, each trained without its fold's rows."""
        folds = range(self.partition.n_folds)
        return tuple(self.fit_fold(learner, train, path, f) for f in folds)

    def fit_by_sums(self, learner: Learner, train: IntArray) -> tuple[Fitted, ...] | None:
        """Return the same models by the learner's closed form; None if it gives none here."""
        design = self._design(train, train[:0]) if fit_by_sums(learner) else None
        return None if design is None else models_by_sums(learner, design)

    def fit_whole(self, learner: Learner, train: IntArray) -> Fitted | None:
        """Return the model of all of some rows by sums; None if the learner's form gives none."""
        if not fit_by_sums(learner):
            return None
        fold = np.full(len(self.X), ALWAYS)
        design = Design.of(self.seen, self.y, train, train[:0], self.n_outputs, fold, 1)
        return models_by_sums(learner, design)[0] if np.isfinite(design.scale).all() else None

    def fit_fold(self, learner: Learner, train: IntArray, path: int, f: int) -> Fitted:
        """Return the model of one fold, by the learner's own fit."""
        self.clock.check()
        seed = self.seeds.derive(path, learner.name, f)
        with limited_fit():
            return learner.fit(self.X, self.y, train[self.partition.fold[train] != f], seed)

    def held_out(self, models: tuple[Fitted, ...], rows: IntArray) -> FloatArray:
        """Return the scores of validation rows, each from the model that never saw its fold."""
        fold = self.partition.fold[rows]
        scores = np.empty((len(rows), self.n_outputs))
        for f, model in enumerate(models):
            held = fold == f
            if held.any():
                scores[held] = model.scores(self.X[rows[held]])
        if np.abs(scores).max(initial=0.0) > LARGEST:
            raise ValueError(
                f"returned scores beyond {LARGEST:g}, too large to be judged by squares"
            )
        return scores
