"""Logistic regression at its minimum, whatever the solver that its estimator names.

Solvers stop short of the minimum, each in its own way. Where splits are compared, what is compared
is the minimum itself; Newton's method is there in a few steps, and quicker than any of them.
"""

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, fields
from numbers import Real
from typing import Any

import numpy as np
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import Pipeline
from sklearn.utils import check_array

from predictree.learners.adapter import ClassProbability, Learner, indicator_row, weight_keyword
from predictree.learners.forms.design import standardised
from predictree.learners.sized_logistic import LOGISTIC
from predictree.model.fitted import ClassModel, Constant
from predictree.model.outputs import Labels
from predictree.model.tree import Fitted, FloatArray, IntArray

EPS = float(np.finfo(float).eps)
WIDE = 250  # coefficients of more than two classes together; a step costs their square a row


@dataclass(frozen=True, slots=True)
class Penalty:
    """Half the sum of squares of the coefficients, times a number.

    Attributes
    ----------
    ridge : float
    scaled : bool
        Whether the coefficients are those of standardised features.
    converges : bool
        Whether the estimator's own solver is as good as at the minimum.
    """

    ridge: float
    scaled: bool
    converges: bool

    def on(self, scale: FloatArray) -> FloatArray:
        """Return the ridge of an intercept and of features that were divided by their scale."""
        ridge = np.full(len(scale), self.ridge)
        return np.append(0.0, ridge if self.scaled else ridge / scale**2)


def penalty_of(estimator: Any) -> Penalty | None:
    """Return what a logistic regression adds to its log loss; None for any other estimator.

    One of the solvers penalises the intercept, too: it is another one.
    """
    if type(estimator) is OneVsRestClassifier:
        estimator = estimator.estimator
    estimator, scaled = standardised(estimator)
    if type(estimator) not in LOGISTIC or estimator.solver == "liblinear":
        return None
    plain = (
        estimator.fit_intercept
        and estimator.class_weight is None
        and estimator.penalty in ("l2", "deprecated", None)
        and not estimator.l1_ratio
        and not estimator.warm_start
    )
    numbers = [estimator.C, estimator.tol, estimator.max_iter]
    if not plain or not all(isinstance(number, Real) for number in numbers) or estimator.C <= 0:
        return None
    ridge = 1.0 / estimator.C if estimator.penalty else 0.0
    exact = estimator.solver == "newton-cholesky" and ridge > 0 and estimator.max_iter >= 50
    return Penalty(ridge, scaled, exact and 0 < estimator.tol <= 1e-6)


class AtMinimum(ClassProbability):
    """A logistic regression that is fitted by Newton's method, to the minimum."""

    def _fit(self, X: FloatArray, y: Labels, keywords: dict[str, Any], seed: int) -> Fitted:
        present, codes = np.unique(y, return_inverse=True)
        if len(present) == 1:
            return Constant(indicator_row(present[0], self.n_outputs))
        weight = np.ones(len(y))
        for given in keywords.values():
            weight = np.asarray(given, dtype=float)
        return ClassModel(fitted(self.estimator, X, codes, weight), present, self.n_outputs)


def at_minimum(learner: Learner) -> Learner:
    """Return a learner that goes to the minimum, if it is a logistic regression of few columns."""
    plain = type(learner) is ClassProbability and type(learner.estimator) is not OneVsRestClassifier
    if not plain or penalty_of(learner.estimator) is None:
        return learner
    if not learner.metadata.keys() <= {weight_keyword(learner.name, learner.estimator)}:
        return learner
    return AtMinimum(**{field.name: getattr(learner, field.name) for field in fields(learner)})


def is_narrow(n_classes: int, width: int) -> bool:
    """Whether a logistic regression on so many columns goes to its minimum in little time."""
    return n_classes == 2 or n_classes * (1 + width) <= WIDE


def fitted(estimator: Any, X: FloatArray, codes: IntArray, weight: FloatArray) -> Any:
    """Return an estimator as if it had been fitted, to the minimum."""
    penalty = penalty_of(estimator)
    assert penalty is not None
    X = check_array(X)
    center, variance = X.mean(axis=0), X.var(axis=0)
    scale = np.sqrt(np.where(variance > len(X) * EPS**2 * center**2, variance, 1.0))
    beta = coefficients_at_minimum((X - center) / scale, codes, weight, penalty.on(scale))
    level, slopes = beta[:, 0], beta[:, 1:]
    if len(beta) > 1:
        level = level - level.mean()  # of several classes only differences are told
    if penalty.scaled:
        (first, scaler), (last, logistic) = estimator.steps
        scaler = _with(scaler, mean_=center, var_=scale**2, scale_=scale, n_samples_seen_=len(X))
        scaler = _with(scaler, n_features_in_=X.shape[1])
        return Pipeline([(first, scaler), (last, _take(logistic, level, slopes))])
    slopes = slopes / scale
    return _take(estimator, level - slopes @ center, slopes)


def coefficients_at_minimum(
    features: FloatArray, codes: IntArray, weight: FloatArray, ridge: FloatArray
) -> FloatArray:
    """Return an intercept and slopes for the second of two classes, or for each of more."""
    n, n_classes = len(features), int(codes.max()) + 1
    rows = np.column_stack([np.ones(n), features])
    beta = np.zeros((1, 1 if n_classes == 2 else n_classes, rows.shape[1]))
    minimise(rows, codes, weight, [np.arange(n)], ridge[None], beta)
    return np.asarray(beta[0])


def minimise(
    rows: FloatArray,
    codes: IntArray | FloatArray,
    weight: FloatArray,
    sets: Sequence[IntArray],
    ridge: FloatArray,
    beta: FloatArray,
) -> None:
    """Go to the minimum on each of some sets of rows, in place of the coefficients.

    See `minima`, which is compiled: here what it is given has the kinds that it was compiled for.
    """
    from predictree.learners.forms.newton import minima  # noqa: PLC0415 -- compiled when used

    if sets:
        minima(
            np.ascontiguousarray(rows, dtype=float),
            codes.astype(np.int64),
            np.ascontiguousarray(weight, dtype=float),
            np.concatenate(sets).astype(np.int64),
            np.cumsum([len(some) for some in sets]),
            np.ascontiguousarray(ridge),
            beta,
        )


def _take(estimator: Any, level: FloatArray, slopes: FloatArray) -> Any:
    """Return a logistic regression with the attributes that its fit would give it."""
    classes = np.arange(2 if len(slopes) == 1 else len(slopes))
    steps = np.ones(1, dtype=np.int32)
    fitted = _with(estimator, coef_=slopes, intercept_=level, classes_=classes, n_iter_=steps)
    return _with(fitted, n_features_in_=slopes.shape[1])


def _with(estimator: Any, **attributes: Any) -> Any:
    """Return a copy of an estimator with more attributes."""
    found = copy(estimator)
    for name, value in attributes.items():
        setattr(found, name, value)
    return found
