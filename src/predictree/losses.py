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
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import UndefinedMetricWarning

from predictree.exceptions import InvalidInputError
from predictree.tree import BoolArray, FloatArray, IntArray

Labels = NDArray[Any]
Combination = Literal["squares", "log", "absolute"]

TIE = 1e-10  # relative difference below which two losses count as equal
HALF = 0.5
ROUNDING = 1e-12  # a probability below this is none
JACKKNIFE = 10
SIDES: tuple[Literal["left", "right"], ...] = ("left", "right")


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
    least : float
        No scores have less: a node that has it already is not searched.
    """

    name: str
    task: str = ""
    combination: Combination = "squares"
    proper: bool = False
    least: float = -np.inf

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


class LogLoss(AdditiveLoss):
    """Minus the log of the probability given to the true class."""

    name = "log_loss"
    task = "classification"
    least = 0.0
    combination: Combination = "log"
    proper = True

    def per_row(self, y: Labels, scores: FloatArray) -> FloatArray:
        """Return the log loss of every row, with probabilities kept above machine epsilon."""
        return np.asarray(-np.log(true_class_probability(y, scores)))


class Brier(AdditiveLoss):
    """Squared error of the probabilities; halved for two classes, as is usual."""

    name = "brier"
    task = "classification"
    least = 0.0
    proper = True

    def per_row(self, y: Labels, scores: FloatArray) -> FloatArray:
        """Return the squared distance from the indicator of the true class."""
        residual = probabilities(scores)
        residual[np.arange(len(y)), y] -= 1.0
        squared: FloatArray = np.square(residual).sum(axis=1)
        return np.asarray(squared * HALF) if scores.shape[1] == 2 else squared


@dataclass(frozen=True)
class Error(AdditiveLoss):
    """Share of rows whose predicted class is wrong.

    ``half_is_second`` is passed on to `decide`.
    """

    half_is_second: bool = False
    name = "error"
    task = "classification"
    least = 0.0

    def per_row(self, y: Labels, scores: FloatArray) -> FloatArray:
        """Return 1 where the decision is wrong."""
        return np.asarray(decide(scores, self.half_is_second) != y, dtype=np.float64)


class SquaredError(AdditiveLoss):
    """Mean squared error."""

    name = "mse"
    task = "regression"
    least = 0.0

    def per_row(self, y: Labels, scores: FloatArray) -> FloatArray:
        """Return the squared residual of every row."""
        return np.asarray(np.square(scores[:, 0] - y))

    def scale(self, rows: Judged) -> float:
        """Return the variance of the labels."""
        return float(np.average(np.square(rows.y - _mean(rows)), weights=rows.weight))


class AbsoluteError(AdditiveLoss):
    """Mean absolute error: the paper's sample mean error."""

    name = "mae"
    task = "regression"
    least = 0.0
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
    count one half; scores are equal if they differ by less than 1e-10 of their size or 1e-13, so
    that rounding ranks nothing.
    """

    name = "auc"
    task = "classification"
    least = 0.0

    def value(self, rows: Judged, scores: FloatArray) -> float:
        """Return 1 − AUC."""
        everywhere = np.ones(len(rows.y), dtype=bool)
        return float(RankingJudge(rows, [scores]).pairs(everywhere, [])[0, 0])

    def judge(self, rows: Judged, pool: Sequence[FloatArray]) -> "Judge":
        """Return a judge that merges ranked lists."""
        return RankingJudge(rows, pool)

    def error_of_gain(self, rows: Judged, before: FloatArray, after: FloatArray) -> float:
        """Return the standard error of the paired difference, as DeLong et al. have it.

        To first order 1 − AUC is a mean over rows: a positive's part is the share of negatives
        that outrank it, a negative's the share of positives that it outranks.
        """
        curves = [1] if before.shape[1] == 2 else range(before.shape[1])
        shares = [
            _placements(rows, before, c) - _placements(rows, after, c)
            for c in curves
            if 0 < (rows.y == c).sum() < len(rows.y)
        ]
        return error_of_mean(np.mean(shares, axis=0), rows.mass) if shares else np.nan


@dataclass(frozen=True)
class CallableLoss(Loss):
    """A user's ``loss(y_true, y_score)``, taken as joint.

    It is called with the original labels and the raw scores: (n,) for regression and for the
    second of two classes, (n, k) for more. ``sample_weight`` is passed if the callable names it
    and weights were given. A ValueError or a value that is not finite means that the loss is
    undefined there; ``errors`` collects the texts of the former.
    """

    function: Callable[..., float]
    classes: Labels | None = None
    takes_weight: bool = field(init=False)
    errors: list[str] = field(init=False, default_factory=list)

    def __post_init__(self) -> None:
        try:
            takes_weight = "sample_weight" in inspect.signature(self.function).parameters
        except ValueError:  # some builtins do not tell
            takes_weight = False
        object.__setattr__(self, "takes_weight", takes_weight)

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
                value = float(self.function(y, score, **keywords))
            except ValueError as error:
                self.errors.append(str(error))
                return np.nan
        return value if np.isfinite(value) else np.nan

    def scale(self, rows: Judged) -> float:
        """Return 0: nothing is known about the size of the values."""
        return 0.0


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


class RankingJudge:
    """Ranks every predictor once and merges the ranked lists of the two sides."""

    def __init__(self, rows: Judged, pool: Sequence[FloatArray]) -> None:
        self.mass, self.n_pool = rows.mass / rows.mass.max(initial=0.0), len(pool)
        n_classes = pool[0].shape[1]
        curves = [1] if n_classes == 2 else range(n_classes)
        self.curves = [
            (c, rows.y == c, self._mass_of_pairs(rows.y == c))
            for c in curves
            if 0 < (rows.y == c).sum() < len(rows.y)
        ]
        self.pool = {c: self._ranked(pool, c) for c, _, _ in self.curves}

    def _mass_of_pairs(self, positive: BoolArray) -> float:
        return float(self.mass[positive].sum() * self.mass[~positive].sum())

    @staticmethod
    def _ranked(candidates: Sequence[FloatArray], c: int) -> tuple[FloatArray, IntArray]:
        scores = np.array([h[:, c] for h in candidates])
        return scores, np.argsort(scores, axis=1)

    def pairs(self, left: BoolArray, own: Sequence[FloatArray]) -> FloatArray:
        """Return 1 − AUC of every pair, the mean over the curves."""
        if not self.curves:
            return np.full((len(own) + self.n_pool,) * 2, np.nan)
        total = sum(self._curve(*curve, left, own) for curve in self.curves)
        return np.asarray(total / len(self.curves))

    def _curve(
        self,
        c: int,
        positive: BoolArray,
        mass_of_pairs: float,
        left: BoolArray,
        own: Sequence[FloatArray],
    ) -> FloatArray:
        from predictree.kernels import wins_of_pairs

        scores, order = self.pool[c]
        if own:
            mine = self._ranked(own, c)
            scores, order = np.concatenate([mine[0], scores]), np.concatenate([mine[1], order])
        wins = wins_of_pairs(scores, order, left, positive, self.mass)
        return np.asarray(1.0 - wins / mass_of_pairs)


def _placements(rows: Judged, scores: FloatArray, c: int) -> FloatArray:
    """Return what every row adds to 1 − AUC of one class, so that the mean is 1 − AUC."""
    mass, positive, score = rows.mass, rows.y == c, scores[:, c]
    lost = np.empty(len(score))
    for mine, others, sign in ((positive, ~positive, 1.0), (~positive, positive, -1.0)):
        order = np.argsort(sign * score[others])
        ranked = sign * score[others][order]
        below = np.concatenate([[0.0], np.cumsum(mass[others][order])])
        ahead = [below[np.searchsorted(ranked, sign * score[mine], side)] for side in SIDES]
        lost[mine] = 1.0 - 0.5 * (ahead[0] + ahead[1]) / below[-1]
    loss = np.average(lost[positive], weights=mass[positive])
    share = np.where(positive, mass[positive].sum(), mass[~positive].sum()) / mass.sum()
    return np.asarray(loss + (lost - loss) / share)


def error_of_mean(values: FloatArray, mass: FloatArray) -> float:
    """Return the standard error of a weighted mean."""
    share = mass / mass.sum()
    return float(np.sqrt(np.square(share * (values - share @ values)).sum()))


LOSSES: dict[str, dict[str, type[Loss]]] = {
    "classification": {loss.name: loss for loss in (LogLoss, AUC, Error, Brier)},
    "regression": {loss.name: loss for loss in (SquaredError, AbsoluteError)},
}


def resolve_loss(
    loss: object, task: str, classes: Labels | None, half_is_second: bool = False
) -> Loss:
    """Return the `Loss` that a user's ``loss=`` names."""
    if isinstance(loss, str) and loss == Error.name and task == Error.task:
        return Error(half_is_second)
    if isinstance(loss, str) and loss in LOSSES[task]:
        return LOSSES[task][loss]()
    if isinstance(loss, Loss) and loss.task in ("", task):
        return loss
    if callable(loss) and not isinstance(loss, type | Loss):
        return CallableLoss(loss, classes)
    names = ", ".join(repr(name) for name in LOSSES[task])
    raise InvalidInputError(
        f"loss={loss!r} is not a {task} loss: use 'auto', one of {names}, or a callable "
        "loss(y_true, y_score)"
    )


def targets(y: Labels, n_outputs: int) -> FloatArray:
    """Return the labels as one column, or the indicators of the classes."""
    if n_outputs == 1:
        return np.asarray(y, dtype=float)[:, None]
    return np.asarray(np.eye(n_outputs)[y])


def tolerance(loss: Loss, rows: Judged, value: float) -> float:
    """Return the difference below which two losses near ``value`` on these rows are equal."""
    return TIE * max(abs(value), loss.scale(rows))


def probabilities(scores: FloatArray) -> FloatArray:
    """Clip scores at zero and let every row sum to one; a row without any is uniform.

    What is only rounding is zero, or log loss would tell one rounding from another.
    """
    clipped = np.where(scores <= ROUNDING, 0.0, scores)
    total = clipped.sum(axis=1, keepdims=True)
    empty = total[:, 0] <= 0
    clipped[empty], total[empty] = 1.0, scores.shape[1]
    return np.asarray(clipped / total)


def true_class_probability(y: Labels, scores: FloatArray) -> FloatArray:
    """Return the probability of each row's own class, at least machine epsilon."""
    p: FloatArray = probabilities(scores)[np.arange(len(y)), y]
    return np.asarray(np.maximum(p, np.finfo(np.float64).eps))


def decide(scores: FloatArray, half_is_second: bool = False) -> NDArray[np.intp]:
    """Return the class of each row: that of the largest score, the first among equals.

    With ``half_is_second`` two classes are told apart as by a regression cut at ½: a score of ½
    is the second class. Scores are rounded to nine decimals first, so that equal means equal
    whatever the order of a sum.
    """
    rounded = np.round(scores, 9)
    if half_is_second and scores.shape[1] == 2:
        return (rounded[:, 1] >= HALF).astype(np.intp)
    return np.asarray(rounded.argmax(axis=1))


def _mean(rows: Judged) -> float:
    return float(np.average(rows.y, weights=rows.weight))
