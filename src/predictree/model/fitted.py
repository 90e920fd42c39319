"""Fitted learners: what turns rows into scores, around an estimator of any library.

The estimator brings its own library; nothing but NumPy is needed here.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from predictree.model.outputs import probabilities
from predictree.model.tree import Fitted, FloatArray, IntArray
from predictree.model.views import View


@dataclass(frozen=True, slots=True)
class Constant:
    """The predictor of a training set with one class."""

    row: FloatArray

    def scores(self, X: FloatArray) -> FloatArray:
        """Return the same scores for every row."""
        return np.tile(self.row, (len(X), 1))


@dataclass(frozen=True, slots=True)
class ClassModel:
    """A fitted classifier; ``present`` are the codes of the classes it has seen."""

    estimator: Any
    present: IntArray
    n_outputs: int

    def scores(self, X: FloatArray) -> FloatArray:
        """Return probabilities, zero for classes the training set did not have."""
        seen = reals(class_scores(self.estimator, X.copy()))
        expected = (len(X), len(self.present))
        if seen.shape != expected:
            raise ValueError(
                f"returned scores of shape (n, {seen.shape[-1]}), expected (n, {expected[1]})"
            )
        scores = np.zeros((len(X), self.n_outputs))
        scores[:, self.present] = seen
        return finite(scores)


@dataclass(frozen=True, slots=True)
class IndicatorModel:
    """Fitted regressors by class code."""

    estimators: Mapping[int, Any]
    n_outputs: int
    proper: bool

    def scores(self, X: FloatArray) -> FloatArray:
        """Return one column a class, zero for classes the training set did not have."""
        scores = np.zeros((len(X), self.n_outputs))
        for c, estimator in self.estimators.items():
            scores[:, c] = predicted_values(estimator, X)
        if self.n_outputs == 2:
            scores[:, 0] = 1.0 - scores[:, 1]
        return probabilities(scores) if self.proper else scores


@dataclass(frozen=True, slots=True)
class ValueModel:
    """A fitted regressor."""

    estimator: Any

    def scores(self, X: FloatArray) -> FloatArray:
        """Return the predictions as one column."""
        return predicted_values(self.estimator, X)[:, None]


@dataclass(frozen=True, slots=True)
class SeenBy:
    """A model, and how it sees the columns."""

    view: View
    model: Fitted

    def scores(self, X: FloatArray) -> FloatArray:
        """Return the (n, k) scores of the rows of X."""
        return self.model.scores(self.view(X))


def class_scores(estimator: Any, X: FloatArray) -> Any:
    """Return the probabilities of a classifier, or the nearest thing it has.

    Without ``predict_proba`` the decision function is squashed, which keeps its ranking;
    without either the predicted class gets all.
    """
    if hasattr(estimator, "predict_proba"):
        return estimator.predict_proba(X)
    if hasattr(estimator, "decision_function"):
        from scipy.special import expit, softmax  # noqa: PLC0415 -- NumPy alone without a margin

        margin = estimator.decision_function(X)
        if margin.ndim == 1:
            positive = expit(margin)
            return np.column_stack([1.0 - positive, positive])
        return softmax(margin, axis=1)
    return (estimator.predict(X)[:, None] == estimator.classes_).astype(float)


def predicted_values(estimator: Any, X: FloatArray) -> FloatArray:
    """Return the predictions of a regressor, one finite number a row."""
    values = reals(estimator.predict(X.copy()))  # what it does to its rows is its own affair
    if values.shape not in {(len(X),), (len(X), 1)}:
        shape = ", ".join(["n" if n == len(X) else str(n) for n in values.shape])
        raise ValueError(f"returned predictions of shape ({shape}), expected (n,)")
    return finite(values.reshape(len(X)))


def reals(answer: Any) -> FloatArray:
    """Return what a learner answers as floats; raise if it has complex numbers."""
    if np.iscomplexobj(answer):
        raise ValueError("returned complex numbers")
    return np.asarray(answer, dtype=float)


def finite(scores: FloatArray) -> FloatArray:
    """Return the scores, or raise if any is NaN or infinite."""
    if not np.isfinite(scores).all():
        raise ValueError("returned NaN or infinite scores")
    return scores
