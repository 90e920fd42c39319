"""Families of labels: the loss of a score, its slope and curvature, and the link to a prediction.

Scores are on the scale of the link, (n, k): log odds, logarithms, or the value itself. The
curvature of several classes is one number a row that is at least that of every direction, so that
one Gram matrix serves all classes.
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy.special import expit

from predictree.model.outputs import Labels
from predictree.model.tree import FloatArray

TINY = 1e-4  # curvature of a row whose label is certain
TINY_MEAN = 1e-3  # of the mean label: no row counts as one of less
MOST = 50.0  # of the logarithm of a mean: no step is lost in infinity


@dataclass(frozen=True, slots=True, eq=False)
class Sized:
    """Labels in a unit of their own, and what a score in it stands for.

    Attributes
    ----------
    y : array of shape (n,)
    unit, shift : float
        A score stands for ``unit * score + shift``.
    span : (float, float)
        Answers are kept within.
    """

    y: Labels
    unit: float = 1.0
    shift: float = 0.0
    span: tuple[float, float] = (-np.inf, np.inf)


class Family(Protocol):
    """What a kind of label asks of an additive model.

    ``knows_noise`` tells whether the size of the noise follows from the mean.
    """

    name: str
    link: str
    is_quadratic: bool
    knows_noise: bool
    n_scores: int

    def sized(self, y: Labels, weight: FloatArray) -> "Sized":
        """Return labels in a unit of their own."""

    def start(self, y: Labels, weight: FloatArray) -> FloatArray:
        """Return the best constant scores, (k,)."""

    def loss(self, y: Labels, f: FloatArray) -> FloatArray:
        """Return the loss of every row."""

    def slope(self, y: Labels, f: FloatArray) -> FloatArray:
        """Return minus the derivative of the loss, (n, k)."""

    def curvature(self, y: Labels, f: FloatArray) -> FloatArray:
        """Return the curvature of every row, (n,)."""

    def information(self, y: Labels, f: FloatArray) -> FloatArray:
        """Return the curvature of every row along each score, (n, k)."""


class OneScore:
    """A family whose labels have one score."""

    n_scores = 1

    def information(self, y: Labels, f: FloatArray) -> FloatArray:
        """Return the curvature as the only score's."""
        return np.asarray(self.curvature(y, f)[:, None])

    def curvature(self, y: Labels, f: FloatArray) -> FloatArray:
        """Return the curvature of every row."""
        raise NotImplementedError


class Squares(OneScore):
    """Squared error."""

    name, link, is_quadratic, knows_noise = "squares", "identity", True, False

    def sized(self, y: Labels, weight: FloatArray) -> Sized:
        """Return labels in units of their standard deviation."""
        low, high = float(y.min()), float(y.max())
        size = max(abs(low), abs(high)) or 1.0  # squares of what is large would overflow
        scaled = y / size
        mean = np.average(scaled, weights=weight)
        spread = size * float(np.sqrt(np.average(np.square(scaled - mean), weights=weight)))
        unit = spread if spread > 0 else 1.0
        return Sized(y / unit, unit, span=(low, high))

    def start(self, y: Labels, weight: FloatArray) -> FloatArray:
        """Return the mean."""
        return np.array([np.average(y, weights=weight)])

    def loss(self, y: Labels, f: FloatArray) -> FloatArray:
        """Return squared residuals."""
        return np.asarray(np.square(y - f[:, 0]))

    def slope(self, y: Labels, f: FloatArray) -> FloatArray:
        """Return residuals."""
        return np.asarray(y[:, None] - f)

    def curvature(self, y: Labels, f: FloatArray) -> FloatArray:
        """Return ones."""
        return np.ones(len(y))


class TwoClasses(OneScore):
    """Log loss of two classes; a score is the log odds of the second."""

    name, link, is_quadratic, knows_noise = "two classes", "logit", False, True

    def sized(self, y: Labels, weight: FloatArray) -> Sized:
        """Return codes as they are."""
        return Sized(y)

    def start(self, y: Labels, weight: FloatArray) -> FloatArray:
        """Return the log odds; an absent class counts as half a row."""
        few = _half_a_row(weight)
        p = np.clip(np.average(y, weights=weight), few, 1 - few)
        return np.array([np.log(p / (1 - p))])

    def loss(self, y: Labels, f: FloatArray) -> FloatArray:
        """Return minus the log of the probability of the true class."""
        return np.asarray(np.logaddexp(0.0, f[:, 0]) - y * f[:, 0])

    def slope(self, y: Labels, f: FloatArray) -> FloatArray:
        """Return the label minus the probability."""
        return np.asarray(y[:, None] - expit(f))

    def curvature(self, y: Labels, f: FloatArray) -> FloatArray:
        """Return p (1 − p)."""
        p = expit(f[:, 0])
        return np.asarray(np.maximum(p * (1 - p), TINY))


class Classes:
    """Log loss of several classes, a score each."""

    name, link, is_quadratic, knows_noise = "classes", "softmax", False, True

    def __init__(self, n_scores: int) -> None:
        self.n_scores = n_scores

    def sized(self, y: Labels, weight: FloatArray) -> Sized:
        """Return codes as they are."""
        return Sized(y)

    def start(self, y: Labels, weight: FloatArray) -> FloatArray:
        """Return the logarithms of the shares, centred; an absent class counts as half a row."""
        share = np.bincount(y, weight, self.n_scores) / weight.sum()
        share = np.log(np.maximum(share, _half_a_row(weight)))
        return np.asarray(share - share.mean())

    def loss(self, y: Labels, f: FloatArray) -> FloatArray:
        """Return minus the log of the probability of the true class."""
        top = f.max(axis=1)
        rest = np.log(np.exp(f - top[:, None]).sum(axis=1))
        return np.asarray(rest + top - f[np.arange(len(y)), y])

    def slope(self, y: Labels, f: FloatArray) -> FloatArray:
        """Return indicators minus probabilities."""
        slope = -_softmax(f)
        slope[np.arange(len(y)), y] += 1
        return slope

    def curvature(self, y: Labels, f: FloatArray) -> FloatArray:
        """Return a bound on the curvature in every direction: twice the largest p (1 − p)."""
        return np.asarray(2 * self.information(y, f).max(axis=1))

    def information(self, y: Labels, f: FloatArray) -> FloatArray:
        """Return p (1 − p) of every class."""
        p = _softmax(f)
        return np.asarray(np.maximum(p * (1 - p), TINY))


class Means(OneScore):
    """A family whose score is the logarithm of the mean; how much labels vary is learned."""

    link, is_quadratic, knows_noise = "log", False, False

    def sized(self, y: Labels, weight: FloatArray) -> Sized:
        """Return labels in units of their mean."""
        low, high = float(y.min()), float(y.max())
        mean = high * float(np.average(y / high, weights=weight))
        return Sized(y / mean, shift=float(np.log(mean)), span=(low, high))

    def start(self, y: Labels, weight: FloatArray) -> FloatArray:
        """Return the logarithm of the mean, which is never zero."""
        return np.array([np.log(max(np.average(y, weights=weight), TINY_MEAN))])


class Counts(Means):
    """Poisson deviance of counts and rates."""

    name = "poisson"

    def loss(self, y: Labels, f: FloatArray) -> FloatArray:
        """Return half the deviance, up to what depends on the label alone."""
        return np.asarray(_exp(f[:, 0]) - y * f[:, 0])

    def slope(self, y: Labels, f: FloatArray) -> FloatArray:
        """Return the label minus the mean."""
        return np.asarray(y[:, None] - _exp(f))

    def curvature(self, y: Labels, f: FloatArray) -> FloatArray:
        """Return the mean."""
        return np.maximum(_exp(f[:, 0]), TINY_MEAN)


class Amounts(Means):
    """Gamma deviance of positive amounts."""

    name = "gamma"

    def loss(self, y: Labels, f: FloatArray) -> FloatArray:
        """Return half the deviance, up to what depends on the label alone."""
        return np.asarray(y * _exp(-f[:, 0]) + f[:, 0])

    def slope(self, y: Labels, f: FloatArray) -> FloatArray:
        """Return the label in units of the mean, minus one."""
        return np.asarray(y[:, None] * _exp(-f) - 1)

    def curvature(self, y: Labels, f: FloatArray) -> FloatArray:
        """Return one, its expectation."""
        return np.ones(len(y))


def _softmax(f: FloatArray) -> FloatArray:
    e = np.exp(f - f.max(axis=1, keepdims=True))
    return np.asarray(e / e.sum(axis=1, keepdims=True))


def _half_a_row(weight: FloatArray) -> float:
    return 0.5 / max(float(weight.sum()), 1.0)


def _exp(f: FloatArray) -> FloatArray:
    return np.asarray(np.exp(np.clip(f, -MOST, MOST)))


FAMILIES: dict[str, Family] = {"poisson": Counts(), "gamma": Amounts()}
"""Families by the name of the loss that asks for them."""


def family_of(loss_name: str, n_outputs: int) -> Family:
    """Return the family of labels with so many scores, judged by a loss."""
    if n_outputs > 2:
        return Classes(n_outputs)
    return TwoClasses() if n_outputs == 2 else FAMILIES.get(loss_name, Squares())
