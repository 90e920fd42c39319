"""One learning problem: data, partition, portfolio and loss, with the two things all ask of it.

Those are fitting a predictor on a region, and the scores of rows that its models never saw.
"""

import zlib
from dataclasses import dataclass

import numpy as np

from predictree.learners import ClosedForm, Design, Learner, closed_form, has_closed_form
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

    def divide(self, split: Split, X: FloatArray) -> tuple["Region", "Region"]:
        """Return the regions of C⁻ and C⁺."""
        parts = (self.train, self.v1, self.v2)
        left = [split.goes_left(X[part, split.feature]) for part in parts]
        return (
            Region(*(part[mask] for part, mask in zip(parts, left, strict=True))),
            Region(*(part[~mask] for part, mask in zip(parts, left, strict=True))),
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
    """

    X: FloatArray
    y: Labels
    weight: FloatArray | None
    partition: Partition
    learners: tuple[Learner, ...]
    loss: Loss
    seeds: Seeds

    @property
    def n_outputs(self) -> int:
        """Columns of the scores."""
        return self.learners[0].n_outputs

    @property
    def root(self) -> Region:
        """The region of the whole feature space."""
        return Region(self.partition.train, self.partition.v1, self.partition.v2)

    def closed_forms(self, region: Region) -> tuple[Design | None, dict[int, ClosedForm]]:
        """Return the closed forms among the learners on this region, by place, and their design."""
        if not any(has_closed_form(learner) for learner in self.learners):
            return None, {}
        design = Design.of(
            self.X,
            self.y,
            region.train,
            region.v1,
            self.n_outputs,
            self.partition.fold,
            self.partition.n_folds,
        )
        if not np.isfinite(design.scale).all():  # squares overflow
            return None, {}
        forms = {i: closed_form(learner, design) for i, learner in enumerate(self.learners)}
        return design, {i: form for i, form in forms.items() if form is not None}

    def judged(self, rows: IntArray) -> Judged:
        """Return labels and weights of validation rows."""
        return Judged(self.y[rows], None if self.weight is None else self.weight[rows])

    def fit(self, learner: Learner, train: IntArray, path: int) -> tuple[Model, ...]:
        """Return the models of A(E), one a fold, each trained without its fold's rows."""
        fold = self.partition.fold[train]
        return tuple(
            learner.fit(self.X, self.y, train[fold != f], self.seeds.derive(path, learner.name, f))
            for f in range(self.partition.n_folds)
        )

    def held_out(self, models: tuple[Model, ...], rows: IntArray) -> FloatArray:
        """Return the scores of validation rows, each from the model that never saw its fold."""
        fold = self.partition.fold[rows]
        scores = np.empty((len(rows), self.n_outputs))
        for f, model in enumerate(models):
            held = fold == f
            if held.any():
                scores[held] = model.scores(self.X[rows[held]])
        return scores
