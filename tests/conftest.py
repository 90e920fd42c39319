"""Learners that behave in telling ways, for all tests.

Properties are tested on the same examples in every run; HYPOTHESIS_PROFILE=default draws new ones.
"""

import os
from copy import copy
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.linear_model import LinearRegression

settings.register_profile("repeatable", derandomize=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "repeatable"))


class Spy(RegressorMixin, BaseEstimator):
    """A linear regression that remembers the rows it was fitted on, for all its clones."""

    seen: list = []  # noqa: RUF012 -- shared on purpose

    def fit(self, X, y, sample_weight=None):
        type(self).seen.append((X.copy(), np.array(y), sample_weight))
        self.model_ = LinearRegression().fit(X, y, sample_weight)
        return self

    def predict(self, X):
        return self.model_.predict(X)


class Raises(ClassifierMixin, BaseEstimator):
    """Raises in fit: always, or on training sets of fewer rows than ``below``."""

    def __init__(self, below=None):
        self.below = below

    def fit(self, X, y):
        if self.below is None or len(X) < self.below:
            raise RuntimeError("no luck today")
        self.classes_ = np.unique(y)
        self.share_ = np.bincount(y) / len(y)
        return self

    def predict_proba(self, X):
        return np.tile(self.share_, (len(X), 1))

    def predict(self, X):
        return self.classes_[self.predict_proba(X).argmax(axis=1)]


@pytest.fixture
def spy():
    Spy.seen = []
    return Spy()


@pytest.fixture
def regimes():
    """Two regions that need opposite slopes; a tree of linear models is right."""
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(0, 2, 600).astype(float), rng.normal(size=(600, 2))])
    slope = np.where(X[:, 0] == 1, 2.0, -2.0)
    return X, slope * X[:, 1] + 0.3 * rng.normal(size=600)


FILES = Path(__file__).with_name("files")
"""Models that earlier versions saved."""

HELD_OUT = {
    "validation": (0.75, 0.15, 0.10),
    "weights": "path",
    "min_gain_se": 0.0,
}
"""The paper's parts and weights, for tests of what happens to them."""


def remade(estimator, **changes):
    """Return the estimator around a model with other fields, or others in its account."""
    other, model = copy(estimator), estimator.model_
    told = {name: changes.pop(name) for name in list(changes) if hasattr(model.account, name)}
    other.model_ = replace(model, account=replace(model.account, **told), **changes)
    return other
