"""Losses: how a predictor is judged on V¹, alone and joined with another.

Scores are (n, k) arrays: k columns for k classes, one column for regression. Labels are class
codes 0..k-1 or real numbers. An *additive* loss is a mean over rows, so the two sides of a split
are minimised each alone; any other loss is *joint* and is minimised over pairs of predictors.
A loss that cannot be computed is NaN, and NaN never wins.
"""

import inspect
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import UndefinedMetricWarning

from predictree.exceptions import InvalidInputError
from predictree.tree import FloatArray

Labels = NDArray[Any]
Combination = Literal["squares", "log", "absolute"]

TIE = 1e-10  # relative difference below which two losses count as equal
HALF = 0.5


@dataclass(frozen=True, slots=True)
class Judged:
    """Validation rows of one side of a split: labels and weights."""

    y: Labels
    weight: FloatArray | None

    def join(self, other: "Judged") -> "Judged":
        """Return the rows of both sides, these first."""
        y = np.concatenate([self.y, other.y])
        if self.weight is None or other.weight is None:
            return Judged(y, None)
        return Judged(y, np.concatenate([self.weight, other.weight]))

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
    combination : {"squares", "log", "absolute"}
        What the path weights minimise: least squares, log loss or absolute error. A loss that
        is not convex in the weights uses least squares on the labels, as the paper does.
    """

    name: str
    combination: Combination = "squares"

    @abstractmethod
    def value(self, rows: Judged, scores: FloatArray) -> float:
        """Return the loss of these scores on these rows, NaN where it is undefined."""

    def pairs(
        self,
        left: Judged,
        right: Judged,
        h_left: Sequence[FloatArray],
        h_right: Sequence[FloatArray],
    ) -> FloatArray:
        """Return L(h⁻ ∨ h⁺) on both sides joined, for every pair: an array (|h⁻|, |h⁺|)."""
        union = left.join(right)
        values = [
            [self.value(union, np.concatenate([minus, plus])) for plus in h_right]
            for minus in h_left
        ]
        return np.array(values)

    def scale(self, rows: Judged) -> float:
        """Return the size of a typical value, against which rounding is measured."""
        return 1.0


class AdditiveLoss(Loss):
    """A loss that is the weighted mean of a loss per row."""

    @abstractmethod
    def per_row(self, y: Labels, scores: FloatArray) -> FloatArray:
        """Return the loss of every row."""

    def value(self, rows: Judged, scores: FloatArray) -> float:
        """Return the weighted mean over the rows."""
        return float(np.average(self.per_row(rows.y, scores), weights=rows.weight))

    def pairs(
        self,
        left: Judged,
        right: Judged,
        h_left: Sequence[FloatArray],
        h_right: Sequence[FloatArray],
    ) -> FloatArray:
        """Return the joint losses as sums of the two sides' own."""
        total = left.mass.sum() + right.mass.sum()
        minus = np.array([self._sum(left, h) for h in h_left])
        plus = np.array([self._sum(right, h) for h in h_right])
        return np.asarray((minus[:, None] + plus[None, :]) / total)

    def _sum(self, rows: Judged, scores: FloatArray) -> float:
        return float(rows.mass @ self.per_row(rows.y, scores))


class LogLoss(AdditiveLoss):
    """Minus the log of the probability given to the true class."""

    name = "log_loss"
    combination: Combination = "log"

    def per_row(self, y: Labels, scores: FloatArray) -> FloatArray:
        """Return the log loss of every row, with probabilities kept above machine epsilon."""
        return np.asarray(-np.log(true_class_probability(y, scores)))


class Brier(AdditiveLoss):
    """Squared error of the probabilities; halved for two classes, as is usual."""

    name = "brier"

    def per_row(self, y: Labels, scores: FloatArray) -> FloatArray:
        """Return the squared distance from the indicator of the true class."""
        residual = probabilities(scores)
        residual[np.arange(len(y)), y] -= 1.0
        squared: FloatArray = np.square(residual).sum(axis=1)
        return np.asarray(squared * HALF) if scores.shape[1] == 2 else squared


class Error(AdditiveLoss):
    """Share of rows whose predicted class is wrong."""

    name = "error"

    def per_row(self, y: Labels, scores: FloatArray) -> FloatArray:
        """Return 1 where the decision is wrong."""
        return np.asarray(decide(scores) != y, dtype=np.float64)


class SquaredError(AdditiveLoss):
    """Mean squared error."""

    name = "mse"

    def per_row(self, y: Labels, scores: FloatArray) -> FloatArray:
        """Return the squared residual of every row."""
        return np.asarray(np.square(scores[:, 0] - y))

    def scale(self, rows: Judged) -> float:
        """Return the variance of the labels."""
        return float(np.average(np.square(rows.y - _mean(rows)), weights=rows.weight))


class AbsoluteError(AdditiveLoss):
    """Mean absolute error: the paper's sample mean error."""

    name = "mae"
    combination: Combination = "absolute"

    def per_row(self, y: Labels, scores: FloatArray) -> FloatArray:
        """Return the absolute residual of every row."""
        return np.asarray(np.abs(scores[:, 0] - y))

    def scale(self, rows: Judged) -> float:
        """Return the mean absolute deviation of the labels."""
        return float(np.average(np.abs(rows.y - _mean(rows)), weights=rows.weight))


class AUC(Loss):
    """1 − area under the ROC curve; for several classes the mean over one-vs-rest curves.

    A class without both positive and negative rows is left out of the mean: it is so for every
    predictor of the node alike. With no such class the loss is undefined. Rows of equal score
    count one half.
    """

    name = "auc"

    def value(self, rows: Judged, scores: FloatArray) -> float:
        """Return 1 − AUC."""
        nothing = Judged(rows.y[:0], None if rows.weight is None else rows.weight[:0])
        return float(self.pairs(rows, nothing, [scores], [scores[:0]])[0, 0])

    def pairs(
        self,
        left: Judged,
        right: Judged,
        h_left: Sequence[FloatArray],
        h_right: Sequence[FloatArray],
    ) -> FloatArray:
        """Return 1 − AUC of every pair.

        Wins of a positive over a negative row within one side depend on that side's predictor
        alone; only wins across the sides are counted pair by pair.
        """
        union = left.join(right)
        n_classes = h_left[0].shape[1]
        losses = []
        for c in [1] if n_classes == 2 else range(n_classes):
            positive = union.mass[union.y == c].sum()
            negative = union.mass[union.y != c].sum()
            if positive and negative:
                wins = _wins(
                    [_Ranked.of(left, h, c) for h in h_left],
                    [_Ranked.of(right, h, c) for h in h_right],
                )
                losses.append(1.0 - wins / (positive * negative))
        if not losses:
            return np.full((len(h_left), len(h_right)), np.nan)
        return np.asarray(np.mean(losses, axis=0))


@dataclass(frozen=True, slots=True)
class _Ranked:
    """One predictor's scores for one class on one side: positives, and ranked negatives."""

    positive: FloatArray
    positive_mass: FloatArray
    negative: FloatArray
    below: FloatArray  # mass of the first i negatives

    @classmethod
    def of(cls, rows: Judged, scores: FloatArray, c: int) -> "_Ranked":
        column, mass, positive = scores[:, c], rows.mass, rows.y == c
        order = np.flatnonzero(~positive)
        order = order[np.argsort(column[order], kind="stable")]
        below = np.concatenate([[0.0], np.cumsum(mass[order])])
        return cls(column[positive], mass[positive], column[order], below)

    def wins_over(self, other: "_Ranked") -> float:
        """Mass of pairs in which a positive here outranks a negative there; ties are halves."""
        first = np.searchsorted(other.negative, self.positive, side="left")
        last = np.searchsorted(other.negative, self.positive, side="right")
        return float(self.positive_mass @ (other.below[first] + other.below[last])) * HALF


def _wins(minus: list[_Ranked], plus: list[_Ranked]) -> FloatArray:
    across = [[h.wins_over(g) + g.wins_over(h) for g in plus] for h in minus]
    within_minus = np.array([h.wins_over(h) for h in minus])
    within_plus = np.array([g.wins_over(g) for g in plus])
    return np.asarray(within_minus[:, None] + within_plus[None, :] + np.array(across))


@dataclass(frozen=True)
class CallableLoss(Loss):
    """A user's ``loss(y_true, y_score)``, taken as joint.

    It is called with the original labels and the raw scores: (n,) for regression and for the
    second of two classes, (n, k) for more. ``sample_weight`` is passed if the callable names it
    and weights were given. A ValueError or a NaN means that the loss is undefined there.
    """

    function: Callable[..., float]
    classes: Labels | None = None
    takes_weight: bool = field(init=False)

    def __post_init__(self) -> None:
        parameters = inspect.signature(self.function).parameters
        object.__setattr__(self, "takes_weight", "sample_weight" in parameters)

    @property
    def name(self) -> str:  # type: ignore[override]
        """The name of the callable."""
        return getattr(self.function, "__name__", type(self.function).__name__)

    def value(self, rows: Judged, scores: FloatArray) -> float:
        """Call the function."""
        y = rows.y if self.classes is None else self.classes[rows.y]
        column = {1: 0, 2: 1}.get(scores.shape[1])
        score = scores if column is None else scores[:, column]
        weighted = self.takes_weight and rows.weight is not None
        keywords = {"sample_weight": rows.weight} if weighted else {}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UndefinedMetricWarning)
            try:
                return float(self.function(y, score, **keywords))
            except ValueError:
                return np.nan

    def scale(self, rows: Judged) -> float:
        """Return 0: nothing is known about the size of the values."""
        return 0.0


LOSSES: dict[str, dict[str, type[Loss]]] = {
    "classification": {loss.name: loss for loss in (LogLoss, AUC, Error, Brier)},
    "regression": {loss.name: loss for loss in (SquaredError, AbsoluteError)},
}


def resolve_loss(loss: object, task: str, classes: Labels | None) -> Loss:
    """Return the `Loss` that a user's ``loss=`` names."""
    if isinstance(loss, Loss):
        return loss
    if isinstance(loss, str) and loss in LOSSES[task]:
        return LOSSES[task][loss]()
    if callable(loss):
        return CallableLoss(loss, classes)
    names = ", ".join(repr(name) for name in LOSSES[task])
    raise InvalidInputError(
        f"loss={loss!r} is not a {task} loss: use 'auto', one of {names}, or a callable "
        "loss(y_true, y_score)"
    )


def tolerance(loss: Loss, rows: Judged, value: float) -> float:
    """Return the difference below which two losses near ``value`` on these rows are equal."""
    return TIE * max(abs(value), loss.scale(rows))


def probabilities(scores: FloatArray) -> FloatArray:
    """Clip scores at zero and let every row sum to one; a row without any is uniform."""
    clipped = np.maximum(scores, 0.0)
    total = clipped.sum(axis=1, keepdims=True)
    empty = total[:, 0] <= 0
    clipped[empty], total[empty] = 1.0, scores.shape[1]
    return np.asarray(clipped / total)


def true_class_probability(y: Labels, scores: FloatArray) -> FloatArray:
    """Return the probability of each row's own class, at least machine epsilon."""
    p: FloatArray = probabilities(scores)[np.arange(len(y)), y]
    return np.asarray(np.maximum(p, np.finfo(np.float64).eps))


def decide(scores: FloatArray) -> NDArray[np.intp]:
    """Return the class of each row: the second of two from a score of ½ on, else the largest.

    Scores are rounded to nine decimals first, so that ½ means ½ whatever the order of a sum.
    """
    rounded = np.round(scores, 9)
    if scores.shape[1] == 2:
        return (rounded[:, 1] >= HALF).astype(np.intp)
    return np.asarray(rounded.argmax(axis=1))


def _mean(rows: Judged) -> float:
    return float(np.average(rows.y, weights=rows.weight))
