"""Additive models as learners: a curve for each feature, and pairs where they pay.

They stand for the root of a tree of additive models wherever a learner is fitted by itself.
"""

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils import Tags, check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from predictree.data.partition import assign_folds
from predictree.data.table import Table, numbers_of, read_table
from predictree.learners.forms.additive.basis import Sizes
from predictree.learners.forms.additive.evidence import Prior
from predictree.learners.forms.additive.family import family_of
from predictree.learners.forms.additive.ground import Ground
from predictree.learners.forms.additive.root import Root
from predictree.model.additive import AdditiveFunction
from predictree.model.outputs import Labels
from predictree.model.schema import Schema
from predictree.model.tree import FloatArray

FOLDS = 5


class _Additive(BaseEstimator):  # type: ignore[misc]
    """What both have in common."""

    _task: ClassVar[str]
    function_: AdditiveFunction
    schema_: Schema

    def _fitted(self, X: Any, y: Any, sample_weight: ArrayLike | None) -> Table:
        """Read a table, fit its function and remember both."""
        table = read_table(X, y, sample_weight, self._task, None, self)
        validate_data(self, X, skip_check_array=True)
        family = family_of(self.loss, 1 if table.classes is None else len(table.classes))
        prior = Prior() if family.is_quadratic else Prior(0.5)
        seed = check_random_state(self.random_state).randint(2**31 - 1)
        classes = None if table.classes is None else table.y
        fold = assign_folds(table.X, classes, None, FOLDS, np.random.default_rng(seed))
        schema = table.schema
        ground = Ground.of(
            table.X, table.y, table.weight, fold, family, schema.fitted, schema.categories, Sizes()
        )
        self.function_ = Root.of(ground, prior).with_pairs(self.interactions).function
        self.schema_ = schema
        return table

    def _scores(self, X: Any) -> FloatArray:
        check_is_fitted(self)
        given = X if self.schema_.reads(X) else numbers_of(X, self)
        validate_data(self, X, reset=False, skip_check_array=True)
        return self.function_.scores(self.schema_.encode(given))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


class CurvesRegressor(RegressorMixin, _Additive):  # type: ignore[misc]
    """An additive model of real labels."""

    _task: ClassVar[str] = "regression"

    def __init__(
        self, *, loss: str = "mse", interactions: int = 10, random_state: Any = None
    ) -> None:
        self.loss = loss
        self.interactions = interactions
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Fit curves."""
        self._fitted(X, y, sample_weight)
        return self

    def predict(self, X: Any) -> FloatArray:
        """Return f(x)."""
        return self._scores(X)[:, 0]


class CurvesClassifier(ClassifierMixin, _Additive):  # type: ignore[misc]
    """An additive model of the log odds of classes."""

    _task: ClassVar[str] = "classification"

    def __init__(self, *, interactions: int = 10, random_state: Any = None) -> None:
        self.interactions = interactions
        self.random_state = random_state

    loss = "log_loss"

    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Fit curves."""
        classes = self._fitted(X, y, sample_weight).classes
        assert classes is not None
        self.classes_ = classes
        return self

    def predict_proba(self, X: Any) -> FloatArray:
        """Return the probability of each class."""
        return self._scores(X)

    def predict(self, X: Any) -> Labels:
        """Return the most probable class."""
        return np.asarray(self.classes_[self._scores(X).argmax(axis=1)])
