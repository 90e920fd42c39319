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
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags
from sklearn.utils.validation import has_fit_parameter

from predictree.errors import InvalidInputError, SampleWeightError
from predictree.model.fitted import ClassModel, Constant, IndicatorModel, SeenBy, ValueModel
from predictree.model.outputs import Labels
from predictree.model.tree import Fitted, FloatArray, IntArray


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

    def fit(self, X: FloatArray, y: Labels, rows: IntArray, seed: int) -> Fitted:
        """Return A(E), trained on the given rows."""
        keywords = take_rows(self.metadata, rows, len(X))
        seen = X[rows] if self.view is None else self.view(X[rows])
        if self.allows_nan:
            seen[:, np.isnan(seen).all(axis=0)] = 0.0  # some choke on a column without any value
        return self.seeing(self._fit(seen, y[rows], keywords, seed))

    def seeing(self, model: Fitted) -> Fitted:
        """Return a model that sees the columns as the learner does."""
        return model if self.view is None else SeenBy(self.view, model)

    @abstractmethod
    def _fit(self, X: FloatArray, y: Labels, keywords: dict[str, Any], seed: int) -> Fitted: ...

    def _fitted(self, X: FloatArray, y: Labels, keywords: dict[str, Any], seed: int) -> Any:
        return seeded(clone(self.estimator), seed).fit(X, y, **keywords)

    @property
    def allows_nan(self) -> bool:
        """Whether the estimator takes missing values as they are."""
        return takes_missing_values(self.estimator)


class ClassProbability(Learner):
    """A classifier: the scores are its class probabilities."""

    def _fit(self, X: FloatArray, y: Labels, keywords: dict[str, Any], seed: int) -> Fitted:
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

    def _fit(self, X: FloatArray, y: Labels, keywords: dict[str, Any], seed: int) -> Fitted:
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

    def _fit(self, X: FloatArray, y: Labels, keywords: dict[str, Any], seed: int) -> Fitted:
        return ValueModel(self._fitted(X, y, keywords, seed))


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
