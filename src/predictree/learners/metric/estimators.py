"""MetricKernelRegressor and MetricKernelClassifier, as scikit-learn has estimators."""

from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from predictree.data.table import check_labels, check_weights, encode_classes
from predictree.learners.metric.calibration import Calibration
from predictree.learners.metric.machine import Machine, Setting, solved, solved_by
from predictree.learners.metric.scaling import Scaling
from predictree.learners.metric.search import Choice, searched
from predictree.model.outputs import Labels
from predictree.model.tree import FloatArray

TINY = 1e-12


class _MetricKernel(BaseEstimator):  # type: ignore[misc]
    """What both have in common."""

    scaling_: Scaling
    machine_: Machine

    def __init__(
        self, *, n_exact: int = 5000, n_centres: int = 2000, random_state: Any = None
    ) -> None:
        self.n_exact = n_exact
        self.n_centres = n_centres
        self.random_state = random_state

    def _learn(self, X: FloatArray, Y: FloatArray, weight: FloatArray) -> Choice:
        """Choose a setting and fit the machine of all rows."""
        rng = check_random_state(self.random_state)
        choice = searched(X, Y, weight, rng)
        Z, setting = choice.scaling(X), choice.setting
        if len(X) > self.n_exact:
            centres = Z[rng.permutation(len(X))[: self.n_centres]]
            self.machine_ = solved_by(centres, setting, Z, Y, weight)
        else:
            self.machine_ = solved(self._stepped(choice, Z, Y, weight), Z, Y, weight)
        self.scaling_ = choice.scaling
        return choice

    def _stepped(self, choice: Choice, Z: FloatArray, Y: FloatArray, weight: FloatArray) -> Setting:
        """Return the setting whose last step of the metric is made on all rows."""
        if choice.before is None:
            return choice.setting
        return solved(replace(choice.setting, metric=choice.before), Z, Y, weight).followed()

    def _scores(self, X: Any) -> FloatArray:
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, dtype=np.float64)
        return self.machine_.scores(self.scaling_(X))

    @property
    def metric_(self) -> FloatArray:
        """What every column weighs in the distance, its normal scores included; the mean is one."""
        check_is_fitted(self)
        metric, d = self.machine_.setting.metric, self.n_features_in_
        found = metric[:d].copy()
        np.add.at(found, list(self.scaling_.knots), metric[d:])
        return np.asarray(found / found.mean())

    def _rows(self, X: Any, y: Any, sample_weight: ArrayLike | None, **check: Any) -> Any:
        """Return X, y and weights whose mean is one, of the rows that have any."""
        X, y = validate_data(self, X, y, dtype=np.float64, **check)
        weight = check_weights(sample_weight, len(X))
        if weight is None:
            return X, y, np.ones(len(X))
        kept = weight > 0
        return X[kept], y[kept], weight[kept] / weight[kept].mean()


class MetricKernelRegressor(RegressorMixin, _MetricKernel):  # type: ignore[misc]
    """A kernel machine that learns which columns matter.

    The answer for a row is a sum over training rows, each by how near it is; near is what the
    machine learns. It starts with all columns alike, and weighs each by how steep its answers are
    along it, three times; reach, form and ridge of the kernel are those that say most of rows held
    out. Columns are clipped half of their span beyond their 1 % and 99 % quantiles, and answers lie
    within the range of the training labels, so that no row leads far away.

    Parameters
    ----------
    n_exact : int, default=5000
        Up to so many rows every training row has a coefficient of its own.
    n_centres : int, default=2000
        Of more rows so many have, drawn at random, and time grows in proportion to the rows.
    random_state : int, RandomState or None, default=None
        Draws the rows that settings are tried on.

    Attributes
    ----------
    metric_ : array of shape (n_features_in_,)
        What every column weighs; the mean is one.
    machine_ : Machine
    scaling_ : Scaling
    range_ : (float, float)
        Of the training labels.

    Examples
    --------
    >>> import numpy as np
    >>> from predictree.learners.metric import MetricKernelRegressor
    >>> X = np.random.default_rng(0).uniform(-3, 3, size=(300, 4))
    >>> model = MetricKernelRegressor(random_state=0).fit(X, np.sin(X[:, 0]))
    >>> model.metric_.argmax(), bool(model.metric_[1:].max() < 0.1)
    (np.int64(0), True)
    """

    range_: tuple[float, float]

    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Learn the metric and fit the machine."""
        X, y, weight = self._rows(X, y, sample_weight, y_numeric=True)
        y = y.astype(np.float64)
        self.range_ = (float(y.min()), float(y.max()))
        self.mean_ = float(np.average(y, weights=weight))
        self.size_ = max(float(np.abs(y - self.mean_).max()), TINY)
        self._learn(X, ((y - self.mean_) / self.size_)[:, None], weight)
        return self

    def predict(self, X: Any) -> FloatArray:
        """Return the answers."""
        return np.clip(self._scores(X)[:, 0] * self.size_ + self.mean_, *self.range_)


class MetricKernelClassifier(ClassifierMixin, _MetricKernel):  # type: ignore[misc]
    """A kernel machine that learns which columns matter, for classes.

    Least squares on an indicator of every class; what rows held out say of its scores makes them
    probabilities. Otherwise as `MetricKernelRegressor`.

    Parameters
    ----------
    n_exact, n_centres, random_state
        As in `MetricKernelRegressor`.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    metric_, machine_, scaling_
        As in `MetricKernelRegressor`.
    calibration_ : Calibration
    """

    calibration_: Calibration

    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Learn the metric, fit the machine, and calibrate it."""
        X, y, weight = self._rows(X, y, sample_weight)
        self.classes_, codes = encode_classes(check_labels(y, X))
        Y = np.eye(len(self.classes_))[codes]
        self.share_ = np.average(Y, axis=0, weights=weight)
        choice = self._learn(X, Y - self.share_, weight)
        held = choice.held_rows
        self.calibration_ = Calibration.of(choice.held + self.share_, codes[held], weight[held])
        return self

    def predict_proba(self, X: Any) -> FloatArray:
        """Return the probability of each class."""
        scores = self._scores(X)
        return self.calibration_(scores + self.share_)

    def predict(self, X: Any) -> Labels:
        """Return the most probable class."""
        place = self.predict_proba(X).argmax(axis=1)
        return np.asarray(self.classes_[place])
