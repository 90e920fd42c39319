"""What a split is worth, and what its children would predict with.

Two ways to predict: with one predictor a node, as in the paper, or with a mixture of all that were
trained on the path. Each has an appraiser that weighs what the learners say about a split.
"""

from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from predictree.losses import Judged, tolerance
from predictree.mixing import Mixer, Mixture
from predictree.problem import Problem, Region
from predictree.tree import BoolArray, FloatArray, IntArray, Model, Split

ITSELF = None  # owner of a candidate that was trained on the very node it is offered to


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
    inherits: bool = True  # whether the children may take what was trained above them


@dataclass(frozen=True, slots=True)
class Side:
    """One child of a proposed split: what it predicts with, one predictor or a mixture.

    ``models`` are those of a choice that was trained on the child itself, if they are at hand.
    """

    region: Region
    pool: Pool
    choice: Candidate
    mixture: Mixture | None = None
    models: tuple[Model, ...] | None = None

    @property
    def scores(self) -> FloatArray:
        """Held-out scores of what it predicts with."""
        return self.choice.scores if self.mixture is None else self.mixture.scores


@dataclass(frozen=True, slots=True)
class Trial:
    """One split to be judged: where V¹ goes, and what the learners trained on its sides say.

    ``own`` has one array (v, k) a learner, each row answered by its own side's model, NaN on a side
    where the learner failed or was not asked. ``models`` has what was kept of them, by learner and
    side.
    """

    split: Split
    goes_left: BoolArray
    own: list[FloatArray]
    asked_all: bool = False
    models: dict[tuple[int, int], tuple[Model, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Outlook:
    """What a split would come to: its loss, the scores of all rows, what each side takes.

    The last is not told before the split is settled where predictors are combined.
    """

    loss: float
    scores: FloatArray
    choices: tuple[Candidate, Candidate] | None = None
    mixtures: tuple[Mixture, Mixture] | None = None

    def side(self, right: int, region: Region, pool: Pool, trial: Trial) -> Side:
        """Return one child."""
        assert self.choices is not None
        choice = self.choices[right]
        mixture = None if self.mixtures is None else self.mixtures[right]
        models = trial.models.get((choice.learner, right)) if choice.owner is ITSELF else None
        return Side(region, pool, choice, mixture, models)


class Appraiser(Protocol):
    """Weighs what is known about the splits of one node."""

    def outlook(self, trial: Trial, to_beat: float) -> Outlook | None:
        """Return what a split would come to; None if its loss is not below one, or undefined."""

    def settled(self, trial: Trial, outlook: Outlook, loosens: bool) -> Outlook:
        """Return what becomes of a split once it is decided."""


class OfPairs:
    """One predictor a side: the best pair."""

    def __init__(self, problem: Problem, site: Site, rows: Judged) -> None:
        self.pool, self.inherits = site.pool, site.inherits
        self.judge = problem.loss.judge(rows, [h.scores for h in site.pool])
        self.slack = tolerance(problem.loss, rows, site.loss)

    def outlook(self, trial: Trial, to_beat: float) -> Outlook | None:
        """Return the least loss of all pairs of predictors, the first among equals."""
        losses = self._losses(trial)
        least = losses.min()
        if not least < to_beat:
            return None
        i, j = np.unravel_index(np.argmax(losses <= least + self.slack), losses.shape)
        if not losses[i, j] < to_beat:
            return None
        left = self._candidate(trial, int(i), trial.goes_left)
        right = self._candidate(trial, int(j), ~trial.goes_left)
        scores = joined(trial.goes_left, left.scores, right.scores)
        return Outlook(float(losses[i, j]), scores, (left, right))

    def settled(self, trial: Trial, outlook: Outlook, loosens: bool) -> Outlook:
        """Return the same: a pair is a pair."""
        return outlook

    def ranks(self, trial: Trial) -> tuple[float, float]:
        """Return the least loss of all pairs, and of those trained on the children."""
        losses = self._losses(trial)
        m = len(trial.own)
        return float(losses.min()), float(losses[:m, :m].min())

    def _losses(self, trial: Trial) -> FloatArray:
        losses = self.judge.pairs(trial.goes_left, trial.own)
        if not self.inherits:
            m = len(trial.own)
            losses[m:], losses[:, m:] = np.inf, np.inf
        return np.where(np.isfinite(losses), losses, np.inf)

    def _candidate(self, trial: Trial, place: int, rows: BoolArray) -> Candidate:
        m = len(trial.own)
        if place < m:
            return Candidate(ITSELF, place, trial.own[place][rows])
        return self.pool[place - m].on(rows)


class OfMixtures:
    """On each side a mixture of all predictors, held to the node's."""

    def __init__(self, problem: Problem, site: Site, rows: Judged, mixer: Mixer) -> None:
        assert site.mixture is not None
        self.problem, self.site, self.rows, self.mixer = problem, site, rows, mixer
        self.parent = site.mixture
        self.inherited = [(h.key, h.scores, mixer.basis(rows, h.scores)) for h in site.pool]

    def outlook(self, trial: Trial, to_beat: float) -> Outlook | None:
        """Sketch the mixtures of either side."""
        own = [
            ((ITSELF, m), scores, self.mixer.basis(self.rows, scores))
            for m, scores in enumerate(trial.own)
            if not np.isnan(scores).any()
        ]
        keys, scores, basis = zip(*own, *self.inherited, strict=True)
        v1 = self.site.region.v1
        mixed = self.mixer.sketch(
            np.stack(basis, axis=-1), np.stack(scores, axis=-1), v1, trial.goes_left, keys,
            self.parent,
        )  # fmt: skip
        loss = self.problem.loss.value(self.rows, mixed)
        return Outlook(loss, mixed) if loss < to_beat else None

    def settled(self, trial: Trial, outlook: Outlook, loosens: bool) -> Outlook:
        """Mix exactly, and loosen the node's hold where that is a clear gain, if it may."""
        mixtures, choices = [], []
        for rows in (trial.goes_left, ~trial.goes_left):
            pool = pool_of(trial, rows, self.site.pool)
            mixture = self._mixture(pool, self.site.region.v1[rows], loosens)
            mixtures.append(mixture)
            choices.append(max(pool, key=lambda h: mixture.weights[h.key]))
        scores = joined(trial.goes_left, *(mixture.scores for mixture in mixtures))
        loss = self.problem.loss.value(self.rows, scores)
        return Outlook(loss, scores, (choices[0], choices[1]), (mixtures[0], mixtures[1]))

    def _mixture(self, pool: Pool, rows: IntArray, loosens: bool) -> Mixture:
        keys, scores = [h.key for h in pool], np.stack([h.scores for h in pool], axis=-1)
        mixture = self.mixer.mix(rows, keys, scores, self.parent)
        if not loosens:
            return mixture
        return self.mixer.loosen(mixture, rows, keys, scores, self.parent)


def joined(goes_left: BoolArray, left: FloatArray, right: FloatArray) -> FloatArray:
    """Put the scores of both sides in the order of the rows."""
    scores = np.empty((len(goes_left), left.shape[1]))
    scores[goes_left], scores[~goes_left] = left, right
    return scores


def pool_of(trial: Trial, rows: BoolArray, inherited: Pool) -> Pool:
    """Return the candidates of a child that has these rows of V¹."""
    own = [Candidate(ITSELF, m, scores[rows]) for m, scores in enumerate(trial.own)]
    pool = own + [h.on(rows) for h in inherited]
    return [h for h in pool if not np.isnan(h.scores).any()]
