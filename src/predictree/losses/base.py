"""Losses: how a predictor is judged on V¹, alone and joined with another.

Scores are (n, k) arrays: k columns for k classes, one column for regression. Labels are class
codes 0..k-1 or real numbers. An *additive* loss is a mean over rows, so the two sides of a split
are minimised each alone; any other loss is *joint* and is minimised over pairs of predictors.
A loss that cannot be computed is NaN, and NaN never wins.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, Self

import numpy as np

from predictree.model.outputs import Labels, probabilities
from predictree.model.tree import BoolArray, FloatArray

Combination = Literal["squares", "log", "absolute"]

TIE = 1e-10  # relative difference below which two losses count as equal
JACKKNIFE = 10


@dataclass(frozen=True, slots=True)
class Judged:
    """Validation rows: labels and weights."""

    y: Labels
    weight: FloatArray | None

    @property
    def mass(self) -> FloatArray:
        """The weight of each row, 1 where none was given."""
        return np.ones(len(self.y)) if self.weight is None else self.weight


class Loss(ABC):
    """L(h, Z). Subclass to bring your own; a plain callable is wrapped by `CallableLoss`.

    Attributes
    ----------
    name : str
        As shown in errors and reports.
    task : {"", "classification", "regression"}
        What it can judge; the empty string is both.
    combination : {"squares", "log", "absolute"}
        What the path weights minimise: least squares, log loss or absolute error. A loss that
        is not convex in the weights uses least squares on the labels, as the paper does.
    proper : bool
        Whether it judges probabilities. Then a regressor's scores are clipped and made to sum to
        one before they are mixed; a ranking loss wants them raw.
    half_is_second : bool
        Whether a score of ½ decides for the second of two classes; see `decide`.
    least : float
        No scores have less: a node that has it already is not searched.
    floor : float
        Answers of a regression that are below are judged, and given, as this.
    in_threads : bool
        Whether it may judge in several threads at a time: it has no state, and little of it holds
        the interpreter.
    """

    name: str
    task: str = ""
    combination: Combination = "squares"
    proper: bool = False
    half_is_second: bool = False
    least: float = -np.inf
    floor: float = -np.inf
    in_threads: bool = False

    def of_labels(self, y: Labels, weight: FloatArray | None) -> Self:
        """Return the loss as it judges some labels; raise if it cannot judge them."""
        return self

    @abstractmethod
    def value(self, rows: Judged, scores: FloatArray) -> float:
        """Return the loss of these scores on these rows, NaN where it is undefined."""

    def judge(self, rows: Judged, pool: Sequence[FloatArray]) -> "Judge":
        """Return what judges the splits of a node with these rows and inherited predictors."""
        return JointJudge(self, rows, pool)

    def scale(self, rows: Judged) -> float:
        """Return the size of a typical value, against which rounding is measured."""
        return 1.0

    def error_of_gain(self, rows: Judged, before: FloatArray, after: FloatArray) -> float:
        """Return the standard error of the loss of some scores minus that of others.

        Here by the jackknife: the rows are left out a tenth at a time.
        """
        parts = np.arange(len(rows.y)) % JACKKNIFE
        gains = []
        for part in range(JACKKNIFE):
            some = parts != part
            kept = Judged(rows.y[some], None if rows.weight is None else rows.weight[some])
            gains.append(self.value(kept, before[some]) - self.value(kept, after[some]))
        return float(np.std(gains) * np.sqrt(JACKKNIFE - 1))


class AdditiveLoss(Loss):
    """A loss that is the weighted mean of a loss per row."""

    in_threads = True

    @abstractmethod
    def per_row(self, y: Labels, scores: FloatArray) -> FloatArray:
        """Return the loss of every row."""

    def value(self, rows: Judged, scores: FloatArray) -> float:
        """Return the weighted mean over the rows."""
        return float(np.average(self.per_row(rows.y, scores), weights=rows.weight))

    def error_of_gain(self, rows: Judged, before: FloatArray, after: FloatArray) -> float:
        """Return the standard error of the mean of the rows' paired differences.

        Where probabilities are judged it is at least what the earlier ones themselves imply: a
        region without any surprise so far is no proof that there are none.
        """
        gain = self.per_row(rows.y, before) - self.per_row(rows.y, after)
        error = error_of_mean(gain, rows.mass)
        if not self.proper:
            return error
        p = probabilities(before)
        labels = (np.full(len(rows.y), c) for c in range(before.shape[1]))
        gains = np.column_stack([self.per_row(c, before) - self.per_row(c, after) for c in labels])
        expected = (p * gains).sum(axis=1, keepdims=True)
        variance = (p * np.square(gains - expected)).sum(axis=1)
        share = rows.mass / rows.mass.sum()
        return max(error, float(np.sqrt(np.square(share) @ variance)))

    def judge(self, rows: Judged, pool: Sequence[FloatArray]) -> "Judge":
        """Return a judge that minimises each side alone."""
        return AdditiveJudge(self, rows, pool)


class Judge(Protocol):
    """Judges all pairs of predictors for the splits of one node."""

    def pairs(self, left: BoolArray, own: Sequence[FloatArray]) -> FloatArray:
        """Return L(h⁻ ∨ h⁺) of every pair for one split.

        Parameters
        ----------
        left : array of shape (v,)
            Which rows go left.
        own : sequence of arrays of shape (v, k)
            Scores of the learners trained on the children, each row's from its own side; NaN on
            a side where the learner has none.

        Returns
        -------
        array of shape (m, m)
            For h⁻ (rows) and h⁺ (columns) among own and pool, in this order; NaN where undefined.
        """


@dataclass(frozen=True)
class JointJudge:
    """Tries every pair."""

    loss: Loss
    rows: Judged
    pool: Sequence[FloatArray]

    def pairs(self, left: BoolArray, own: Sequence[FloatArray]) -> FloatArray:
        """Compute the loss of every pair from scratch."""
        candidates = [*own, *self.pool]
        joined = [[np.where(left[:, None], g, h) for h in candidates] for g in candidates]
        return np.array([[self._value(scores) for scores in row] for row in joined])

    def _value(self, scores: FloatArray) -> float:
        return np.nan if np.isnan(scores).any() else self.loss.value(self.rows, scores)


class AdditiveJudge:
    """Adds up the rows of each side."""

    def __init__(self, loss: AdditiveLoss, rows: Judged, pool: Sequence[FloatArray]) -> None:
        self.loss, self.y = loss, rows.y
        self.share = rows.mass / rows.mass.sum()
        self.pool = self._per_row(pool)

    def _per_row(self, candidates: Sequence[FloatArray]) -> FloatArray:
        losses = np.empty((len(candidates), len(self.y)))
        for i, scores in enumerate(candidates):
            losses[i] = self.loss.per_row(self.y, scores) * self.share
            losses[i, np.isnan(scores[:, 0])] = np.nan
        return losses

    def pairs(self, left: BoolArray, own: Sequence[FloatArray]) -> FloatArray:
        """Return the joint losses as sums of the two sides' own."""
        with np.errstate(invalid="ignore"):
            mine = self._per_row(own)
        minus, plus = (
            np.concatenate([mine[:, side].sum(axis=1), self.pool @ side.astype(float)])
            for side in (left, ~left)
        )
        return np.asarray(minus[:, None] + plus[None, :])


def error_of_mean(values: FloatArray, mass: FloatArray) -> float:
    """Return the standard error of a weighted mean."""
    share = mass / mass.sum()
    return float(np.sqrt(np.square(share * (values - share @ values)).sum()))


def tolerance(loss: Loss, rows: Judged, value: float) -> float:
    """Return the difference below which two losses near ``value`` on these rows are equal."""
    return TIE * max(abs(value), loss.scale(rows))
