"""A node while the tree grows, and the nouns of one step: trial, find, choice, decision."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Protocol, Self

import numpy as np

from predictree.grow.rows import Rows
from predictree.losses import Judge, tolerance
from predictree.model.tree import BoolArray, Fitted, FloatArray, IntArray, Split
from predictree.run.journal import Arrays

Key = tuple[int, int]  # the path of the node that a predictor was trained on, and its learner


@dataclass(frozen=True, slots=True, eq=False)
class Candidate:
    """A predictor that a node may take, by its held-out scores on V¹ of that node.

    Attributes
    ----------
    owner : int
        The path of the node it was trained on.
    learner : int
    train : array
        The rows of S of that node.
    scores : array of shape (v, k)
    """

    owner: int
    learner: int
    train: IntArray
    scores: FloatArray

    @property
    def key(self) -> Key:
        """What tells one predictor from another."""
        return self.owner, self.learner

    @property
    def lead(self) -> Key:
        """Itself: a node may answer with a single predictor."""
        return self.key

    @property
    def weights(self) -> Mapping[Key, float]:
        """All weight is its own."""
        return {self.key: 1.0}

    def on(self, rows: BoolArray) -> "Candidate":
        """Return the same predictor, offered to a node that has these rows of V¹."""
        return replace(self, scores=self.scores[rows])

    def without(self, p: int, kept: BoolArray) -> "Candidate":
        """Return the same predictor, judged on fewer rows."""
        return self.on(kept)

    def arrays(self) -> Arrays:
        """Return nothing: its scores are kept with the candidates of its node."""
        return {}


# The candidates of a node: own learners first, then the parent's, up to the root's; within a
# training set in the order of the portfolio. This is the order in which ties are broken.
Pool = list[Candidate]


class Answer(Protocol):
    """What a node predicts with: one predictor, or a mixture of several."""

    @property
    def scores(self) -> FloatArray:
        """Held-out scores of the node's rows of V¹."""

    @property
    def weights(self) -> Mapping[Key, float]:
        """The weight of every predictor, by the rows of all parts."""

    @property
    def lead(self) -> Key:
        """h_C: the predictor that a record of the node names."""

    def without(self, p: int, kept: BoolArray) -> "Answer":
        """Return what it would be without one part of the rows, on those that are kept."""

    def arrays(self) -> Arrays:
        """Return the numbers that a checkpoint keeps of it."""


@dataclass(frozen=True, eq=False)
class Leaf:
    """A node C that may be split.

    Attributes
    ----------
    path : int
        In bits: a 1 for the root, then 0 for left and 1 for right.
    rows : Rows
    pool : list of Candidate
        What it may predict with.
    answer : Answer
        What it does predict with.
    loss : float
        L(h_C, V¹(C)).
    barred : set of int
        Learners that may not be trained on the children.
    one_by_one : set of int
        Learners whose closed form is not to be used.
    """

    path: int
    rows: Rows
    pool: Pool
    answer: Answer
    loss: float
    barred: frozenset[int] = frozenset()
    one_by_one: frozenset[int] = frozenset()

    @property
    def depth(self) -> int:
        """How many splits lead to it."""
        return self.path.bit_length() - 1

    @property
    def name(self) -> str:
        """The way to it: "root", or "LR" for left and then right."""
        return "".join("LR"[self.path >> up & 1] for up in reversed(range(self.depth))) or "root"

    @cached_property
    def judge(self) -> Judge:
        """What judges all pairs of predictors at its splits."""
        return self.rows.problem.loss.judge(self.rows.judged, [h.scores for h in self.pool])

    @cached_property
    def slack(self) -> float:
        """A difference of losses that is only rounding."""
        return tolerance(self.rows.problem.loss, self.rows.judged, self.loss)

    @property
    def is_looked_at_again(self) -> bool:
        """Whether what is lost in its search was lost before."""
        return bool(self.barred)

    def barring(self, lost: "Lost") -> "Leaf":
        """Return the same leaf without a predictor that could not be kept.

        If that came from a closed form, the learner itself is tried first.
        """
        h = lost.candidate
        if lost.by_form:
            return replace(self, one_by_one=self.one_by_one | {h.learner})
        if h.owner >> 1 == self.path:
            return replace(self, barred=self.barred | {h.learner})
        return replace(self, pool=[other for other in self.pool if other.key != h.key])

    def without(self, p: int) -> "Leaf":
        """Return the leaf as it would be without one part of its rows."""
        kept, rows = self.rows.part != p, self.rows.without(p)
        answer = self.answer.without(p, kept)
        loss = rows.problem.loss.value(rows.judged, answer.scores)
        pool = [h.on(kept) for h in self.pool]
        return replace(self, rows=rows, pool=pool, answer=answer, loss=loss)

    def sampled(self, share: float) -> "Leaf":
        """Return the leaf with a share of the rows that train and of those that judge."""
        rows, kept = self.rows.sampled(share)
        return replace(self, rows=rows, pool=[h.on(kept) for h in self.pool])

    def closed(self) -> "Leaf":
        """Return the leaf without its candidates: every child has its own."""
        return replace(self, pool=[])


@dataclass(frozen=True, slots=True, eq=False)
class Trial:
    """One split to be judged: where V¹ goes, and what the learners trained on its sides say.

    ``own`` has one array (v, k) a learner, each row answered by its own side's model, NaN on a side
    where the learner failed or was not asked. ``models`` has what was kept of them, by learner and
    side, ``pairs`` the joint loss of every pair of predictors if they were judged already.
    """

    split: Split
    goes_left: BoolArray
    own: list[FloatArray]
    asked_all: bool = False
    models: dict[tuple[int, int], tuple[Fitted, ...]] = field(default_factory=dict)
    pairs: FloatArray | None = None

    @property
    def sides(self) -> tuple[BoolArray, BoolArray]:
        """Which rows of V¹ are on either side."""
        return self.goes_left, ~self.goes_left

    def models_of(self, h: Candidate, path: int) -> tuple[Fitted, ...] | None:
        """Return the models of a side's candidate, if it was trained there and they were kept."""
        return self.models.get((h.learner, path & 1)) if h.owner == path else None

    def children(self, leaf: Leaf) -> tuple["Side", "Side"]:
        """Return the two sides with their rows and candidates."""
        left, right = (
            self._side(leaf, right, rows) for right, rows in enumerate(leaf.rows.divide(self.split))
        )
        return left, right

    def _side(self, leaf: Leaf, right: int, rows: Rows) -> "Side":
        path, mine = 2 * leaf.path + right, self.sides[right]
        own = [Candidate(path, m, rows.train, scores[mine]) for m, scores in enumerate(self.own)]
        pool = own + [h.on(mine) for h in leaf.pool]
        return Side(path, rows, [h for h in pool if not np.isnan(h.scores).any()])


@dataclass(frozen=True, slots=True, eq=False)
class Side:
    """One side of a split, before it is known what it answers with."""

    path: int
    rows: Rows
    pool: Pool

    def leaf(self, answer: Answer) -> Leaf:
        """Return the leaf that it becomes."""
        loss = self.rows.problem.loss.value(self.rows.judged, answer.scores)
        return Leaf(self.path, self.rows, self.pool, answer, loss)


@dataclass(frozen=True, slots=True, eq=False)
class Found:
    """A split that lowers the loss on V¹(C): what it comes to, and what its sides would take.

    The latter is not told before the split is settled where predictors are combined.
    """

    trial: Trial
    loss: float
    scores: FloatArray
    answers: tuple[Answer, Answer] | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Choice:
    """A split that was decided, its joint loss, and the leaves that it makes."""

    split: Split
    loss: float
    children: tuple[Leaf, Leaf]

    @classmethod
    def of(cls, leaf: Leaf, found: Found) -> Self:
        """Make the children of a find whose answers are told."""
        assert found.answers is not None
        sides = found.trial.children(leaf)
        left, right = (side.leaf(answer) for side, answer in zip(sides, found.answers, strict=True))
        return cls(found.trial.split, found.loss, (left, right))


@dataclass(frozen=True, slots=True, eq=False)
class Decision:
    """What became of a leaf: a split, or none."""

    leaf: Leaf
    choice: Choice | None


class Lost(Exception):  # noqa: N818 - no error: the search goes on without it
    """Raised where a predictor that was chosen cannot be kept; ``by_form`` if a form made it."""

    def __init__(self, candidate: Candidate, by_form: bool) -> None:
        self.candidate, self.by_form = candidate, by_form


def joined(goes_left: BoolArray, left: FloatArray, right: FloatArray) -> FloatArray:
    """Put the scores of both sides in the order of the rows."""
    scores = np.empty((len(goes_left), left.shape[1]))
    scores[goes_left], scores[~goes_left] = left, right
    return scores
