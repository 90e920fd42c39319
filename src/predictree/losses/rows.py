"""Losses that are means over rows: of probabilities, of classes, of values, of rates."""

from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from predictree.errors import InvalidInputError
from predictree.losses.base import AdditiveLoss, Combination, Judged
from predictree.model.outputs import HALF, Labels, decide, probabilities, true_class_probability
from predictree.model.tree import FloatArray

LEAST_OF_MEAN = 1e-6  # of the mean label: no answer of a learner counts as less
TINY = 1e-300


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


@dataclass(frozen=True)
class _Deviance(AdditiveLoss):
    """A deviance: twice what the log likelihood lacks, for answers above zero.

    A learner may answer with less than any mean can be. That counts as ``floor``: the least label,
    or a millionth of their mean where labels may be zero.
    """

    floor: float = TINY
    task = "regression"
    least = 0.0

    def of_labels(self, y: Labels, weight: FloatArray | None) -> Self:
        """Return the same loss with a floor for some labels."""
        self._check(y)
        mean = float(np.average(y, weights=weight))
        return replace(self, floor=max(float(y.min()), LEAST_OF_MEAN * mean, TINY))

    def per_row(self, y: Labels, scores: FloatArray) -> FloatArray:
        """Return the deviance of every row."""
        found = 2.0 * self._half(y, np.maximum(scores[:, 0], self.floor))
        return np.asarray(np.where(np.isnan(scores[:, 0]), np.nan, np.maximum(found, 0.0)))

    @abstractmethod
    def _check(self, y: Labels) -> None:
        """Raise if a label is one that the distribution never gives."""

    @abstractmethod
    def _half(self, y: Labels, mean: FloatArray) -> FloatArray:
        """Return half the deviance of every row from a mean above zero."""


@dataclass(frozen=True)
class Poisson(_Deviance):
    """Mean Poisson deviance of counts and rates, as scikit-learn's ``mean_poisson_deviance``."""

    name = "poisson"

    def _check(self, y: Labels) -> None:
        if (y < 0).any():
            raise InvalidInputError(
                f"loss='poisson' is for counts and rates, and y is negative in {(y < 0).sum()} "
                "rows: give labels of zero or more, or use loss='mse'"
            )
        if not (y > 0).any():
            raise InvalidInputError(
                "loss='poisson' needs a label above zero, and y is zero in all rows that count: "
                "give rows where something happened, or use loss='mse'"
            )

    def _half(self, y: Labels, mean: FloatArray) -> FloatArray:
        known = np.where(y > 0, y, mean)  # the logarithm counts nothing where y is zero
        return np.asarray(y * (np.log(known) - np.log(mean)) - y + mean)

    def scale(self, rows: Judged) -> float:
        """Return the mean label: the deviance has its unit."""
        return _mean(rows)


@dataclass(frozen=True)
class Gamma(_Deviance):
    """Mean gamma deviance of positive amounts, as scikit-learn's ``mean_gamma_deviance``."""

    name = "gamma"

    def _check(self, y: Labels) -> None:
        if (y <= 0).any():
            raise InvalidInputError(
                f"loss='gamma' is for positive amounts, and y is zero or less in {(y <= 0).sum()} "
                "rows: leave these rows out, or use loss='poisson' (zeros may occur) or 'mse'"
            )

    def _half(self, y: Labels, mean: FloatArray) -> FloatArray:
        return np.asarray(y / mean - (np.log(y) - np.log(mean)) - 1.0)


def _mean(rows: Judged) -> float:
    return float(np.average(rows.y, weights=rows.weight))
