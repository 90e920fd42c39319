"""Any scikit-learn estimator as a learner A: fit on rows, answer with (n, k) scores.

Three ways to serve, one class each: a classifier gives class probabilities, a regressor in a
classification is fitted on class indicators, a regressor in a regression gives values. A training
set of one class needs no learner: it gives a constant.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.special import expit, softmax
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags
from sklearn.utils.validation import has_fit_parameter

from predictree.exceptions import InvalidInputError, SampleWeightError
from predictree.losses import Labels, probabilities
from predictree.tree import FloatArray, IntArray, Model


@dataclass(frozen=True)
class Learner(ABC):
    """A ∈ 𝒜: a named, unfitted estimator, and how it answers with scores.

    Attributes
    ----------
    name : str
    estimator : scikit-learn estimator
    n_outputs : int
        Columns of the scores.
    classes : array or None
        What the class codes stand for; None in a regression.
    proper : bool
        Whether scores must be probabilities, because the loss is one of probabilities.
    metadata : mapping of str to object
        Keywords for the estimator's ``fit``, sample weights among them; arrays with one entry
        per row of X are cut to the training rows.
    view : View or None
        What it sees of the columns; None is the columns as they are.
    """

    name: str
    estimator: Any
    n_outputs: int
    classes: Labels | None = None
    proper: bool = False
    metadata: Mapping[str, Any] = field(default_factory=dict)
    view: Any = None

    def fit(self, X: FloatArray, y: Labels, rows: IntArray, seed: int) -> Model:
        """Return A(E), trained on the given rows."""
        keywords = take_rows(self.metadata, rows, len(X))
        seen = X[rows] if self.view is None else self.view(X[rows])
        if self.allows_nan:
            seen[:, np.isnan(seen).all(axis=0)] = 0.0  # some choke on a column without any value
        return self.seeing(self._fit(seen, y[rows], keywords, seed))

    def seeing(self, model: Model) -> Model:
        """Return a model that sees the columns as the learner does."""
        return model if self.view is None else SeenBy(self.view, model)

    @abstractmethod
    def _fit(self, X: FloatArray, y: Labels, keywords: dict[str, Any], seed: int) -> Model: ...

    def _fitted(self, X: FloatArray, y: Labels, keywords: dict[str, Any], seed: int) -> Any:
        return seeded(clone(self.estimator), seed).fit(X, y, **keywords)

    @property
    def allows_nan(self) -> bool:
        """Whether the estimator takes missing values as they are."""
        return takes_missing_values(self.estimator)


@dataclass(frozen=True, slots=True)
class SeenBy:
    """A model, and how it sees the columns."""

    view: Any
    model: Model

    def scores(self, X: FloatArray) -> FloatArray:
        """Return the (n, k) scores of the rows of X."""
        return self.model.scores(self.view(X))


class ClassProbability(Learner):
    """A classifier: the scores are its class probabilities."""

    def _fit(self, X: FloatArray, y: Labels, keywords: dict[str, Any], seed: int) -> Model:
        present, labels = np.unique(y, return_inverse=True)
        if len(present) == 1:
            return Constant(indicator_row(present[0], self.n_outputs))
        if self.classes is not None and names_classes(self.estimator):
            labels = self.classes[y]
        return ClassModel(self._fitted(X, labels, keywords, seed), present, self.n_outputs)


class ClassIndicator(Learner):
    """A regressor in a classification: fitted on the 0/1 indicator of each class.

    With two classes one indicator tells all, and the other column is its complement.
    """

    def _fit(self, X: FloatArray, y: Labels, keywords: dict[str, Any], seed: int) -> Model:
        present = np.unique(y)
        if len(present) == 1:
            return Constant(indicator_row(present[0], self.n_outputs))
        targets = [1] if self.n_outputs == 2 else present.tolist()
        # An estimator may overwrite its rows, as LinearRegression(copy_X=False) does.
        rows = [X] if len(targets) == 1 else (X.copy() for _ in targets)
        fitted = {
            c: self._fitted(mine, (y == c).astype(float), keywords, seed)
            for c, mine in zip(targets, rows, strict=True)
        }
        return IndicatorModel(fitted, self.n_outputs, self.proper)


class Value(Learner):
    """A regressor in a regression: the score is the prediction."""

    def _fit(self, X: FloatArray, y: Labels, keywords: dict[str, Any], seed: int) -> Model:
        return ValueModel(self._fitted(X, y, keywords, seed))


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
        seen = np.asarray(class_scores(self.estimator, X), dtype=float)
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


def adapt(name: str, estimator: Any, task: str, n_outputs: int, **more: Any) -> Learner:
    """Return the learner that serves this estimator in this task; ``more`` are its attributes."""
    kinds: dict[str, list[tuple[Any, type[Learner]]]] = {
        "classification": [(is_classifier, ClassProbability), (is_regressor, ClassIndicator)],
        "regression": [(is_regressor, Value)],
    }
    for serves, kind in kinds[task]:
        if serves(estimator):
            return kind(name, estimator, n_outputs, **more)
    wanted = "a classifier or a regressor" if task == "classification" else "a regressor"
    raise InvalidInputError(
        f"learner {name!r} ({type(estimator).__name__}) cannot serve in a {task}: give {wanted}"
    )


def weight_keyword(name: str, estimator: Any) -> str:
    """Return the keyword under which this estimator's ``fit`` takes sample weights."""
    if has_fit_parameter(estimator, "sample_weight"):
        return "sample_weight"
    if isinstance(estimator, Pipeline):
        step, last = estimator.steps[-1]
        return f"{step}__{weight_keyword(name, last)}"
    raise SampleWeightError(
        f"learner {name!r} ({type(estimator).__name__}) does not take sample_weight: drop the "
        "weights or the learner"
    )


def takes_missing_values(estimator: Any) -> bool:
    """Whether the estimator takes NaN; a Pipeline does if its steps do, up to an imputer."""
    if not isinstance(estimator, Pipeline):
        return bool(get_tags(estimator).input_tags.allow_nan)
    for _, step in estimator.steps:
        if step is None or step == "passthrough":
            continue
        if not takes_missing_values(step):
            return False
        if "Imputer" in type(step).__name__:
            return True
    return True


def names_classes(estimator: Any) -> bool:
    """Whether a parameter of the estimator names classes, so that it must see the true labels.

    Others are given codes from 0 on, which some libraries insist on.
    """
    params = estimator.get_params(deep=True)
    return any(key.endswith("class_weight") and isinstance(v, dict) for key, v in params.items())


def seeded(estimator: Any, seed: int) -> Any:
    """Set every random state that the user left at None."""
    free = {
        key: seed
        for key, value in estimator.get_params(deep=True).items()
        if value is None and (key == "random_state" or key.endswith("__random_state"))
    }
    return estimator.set_params(**free) if free else estimator


def class_scores(estimator: Any, X: FloatArray) -> Any:
    """Return the probabilities of a classifier, or the nearest thing it has.

    Without ``predict_proba`` the decision function is squashed, which keeps its ranking;
    without either the predicted class gets all.
    """
    if hasattr(estimator, "predict_proba"):
        return estimator.predict_proba(X)
    if hasattr(estimator, "decision_function"):
        margin = estimator.decision_function(X)
        if margin.ndim == 1:
            positive = expit(margin)
            return np.column_stack([1.0 - positive, positive])
        return softmax(margin, axis=1)
    return (estimator.predict(X)[:, None] == estimator.classes_).astype(float)


def predicted_values(estimator: Any, X: FloatArray) -> FloatArray:
    """Return the predictions of a regressor, one finite number a row."""
    values = np.asarray(estimator.predict(X), dtype=float)
    if values.shape not in {(len(X),), (len(X), 1)}:
        shape = ", ".join(["n" if n == len(X) else str(n) for n in values.shape])
        raise ValueError(f"returned predictions of shape ({shape}), expected (n,)")
    return finite(values.reshape(len(X)))


def finite(scores: FloatArray) -> FloatArray:
    """Return the scores, or raise if any is NaN or infinite."""
    if not np.isfinite(scores).all():
        raise ValueError("returned NaN or infinite scores")
    return scores


def indicator_row(c: int, n_outputs: int) -> FloatArray:
    """Return the scores of a row that is certainly of class c."""
    row = np.zeros(n_outputs)
    row[c] = 1.0
    return row


def take_rows(metadata: Mapping[str, Any], rows: IntArray, n_rows: int) -> dict[str, Any]:
    """Cut the arrays of fit keywords that have one entry a row; leave anything else alone."""
    return {
        key: np.asarray(value)[rows] if np.ndim(value) > 0 and len(value) == n_rows else value
        for key, value in metadata.items()
    }
