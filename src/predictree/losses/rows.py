"""Losses that are means over rows: of probabilities, of classes, of values."""

from dataclasses import dataclass

import numpy as np

from predictree.losses.base import AdditiveLoss, Combination, Judged
from predictree.model.outputs import HALF, Labels, decide, probabilities, true_class_probability
from predictree.model.tree import FloatArray


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


def _mean(rows: Judged) -> float:
    return float(np.average(rows.y, weights=rows.weight))
