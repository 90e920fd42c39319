"""From least squares on indicators to probabilities, by what rows held out say."""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize
from scipy.special import logsumexp, softmax

from predictree.model.outputs import Labels
from predictree.model.tree import FloatArray

EDGE = 0.02  # what a score is taken to be at least, and below one
SURE = 1e-4  # the least probability
HOLD = 1e-3  # of the parameters, to what they are before any row is seen


@dataclass(frozen=True, eq=False)
class Calibration:
    """How the scores of classes become log odds.

    Attributes
    ----------
    shift : array of shape (k,)
        a, of every class.
    slope, curve : float
        b and c.
    """

    shift: FloatArray
    slope: float
    curve: float

    @classmethod
    def of(cls, scores: FloatArray, y: Labels, weight: FloatArray) -> "Calibration":
        """Find the parameters with the least log loss on rows held out; y are codes."""
        n, k = scores.shape
        start = np.append(np.zeros(k), [0.0, 1.0])
        if n == 0:
            return cls._read(start)
        logs, share = _logs(scores), weight / weight.sum()
        target = np.zeros((n, k))
        target[np.arange(n), y] = 1.0

        def loss(theta: FloatArray) -> tuple[float, FloatArray]:
            z = theta[:k] + theta[k] * scores + theta[k + 1] * logs
            pull = share[:, None] * (softmax(z, axis=1) - target)
            slope = [*pull.sum(axis=0), (pull * scores).sum(), (pull * logs).sum()]
            told = share @ (logsumexp(z, axis=1) - z[np.arange(n), y])
            away = theta - start
            return told + HOLD * away @ away, np.array(slope) + 2 * HOLD * away

        return cls._read(minimize(loss, start, jac=True, method="L-BFGS-B").x)

    @classmethod
    def _read(cls, theta: FloatArray) -> "Calibration":
        return cls(theta[:-2], float(theta[-2]), float(theta[-1]))

    def __call__(self, scores: FloatArray) -> FloatArray:
        """Return probabilities, none of them nil."""
        z = self.shift + self.slope * scores + self.curve * _logs(scores)
        p = np.maximum(softmax(z, axis=1), SURE)
        return np.asarray(p / p.sum(axis=1, keepdims=True))


def _logs(scores: FloatArray) -> FloatArray:
    return np.log(np.clip(scores, EDGE, 1 - EDGE))
