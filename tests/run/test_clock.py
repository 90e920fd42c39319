"""Deadlines and progress."""

import time

import numpy as np
import pytest
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.linear_model import LinearRegression

from conftest import HELD_OUT
from predictree import ToPsClassifier, ToPsRegressor
from predictree.errors import InvalidInputError

NAP = 0.1


class Sleepy(RegressorMixin, BaseEstimator):
    """A linear regression that takes its time."""

    fits = 0

    def fit(self, X, y):
        type(self).fits += 1
        time.sleep(NAP)
        self.model_ = LinearRegression().fit(X, y)
        return self

    def predict(self, X):
        return self.model_.predict(X)


@pytest.mark.filterwarnings("ignore::predictree.errors.LearnerFailedWarning")
@pytest.mark.parametrize("settings", [{}, HELD_OUT])
@pytest.mark.parametrize("limit", [0.0, 0.3, 1.2, 4.0])
def test_no_fit_is_begun_after_the_deadline_and_the_model_is_complete(
    regimes, settings, limit, monkeypatch
):
    """By a clock that only fits move: the one on the wall is not ours alone."""
    X, y = regimes
    Sleepy.fits = 0
    monkeypatch.setattr(time, "sleep", lambda seconds: None)
    monkeypatch.setattr(time, "monotonic", lambda: Sleepy.fits * NAP)
    model = ToPsRegressor(
        [("sleepy", Sleepy())], search="exhaustive", time_limit=limit, random_state=0, **settings
    )
    model.fit(X, y)
    model.tree_.validate()
    assert np.isfinite(model.predict(X)).all()
    assert model.stopped_ == "time_limit"
    needed = 1 if settings else 5  # for any model, one learner, once a fold
    assert Sleepy.fits <= max(round(limit / NAP), needed)


@pytest.mark.filterwarnings("ignore::predictree.errors.LearnerFailedWarning")
def test_learners_that_had_no_time_are_left_out(regimes, monkeypatch):
    X, y = regimes
    Sleepy.fits = 0
    monkeypatch.setattr(time, "sleep", lambda seconds: None)
    monkeypatch.setattr(time, "monotonic", lambda: Sleepy.fits * NAP)
    learners = [(name, Sleepy()) for name in "abc"]
    model = ToPsRegressor(learners, time_limit=7 * NAP, random_state=0).fit(X, y)
    assert {w.learner for w in model.tree_[0].weights} == {"a"}
    assert [f.learner for f in model.fit_failures_] == ["b", "c"]
    assert "time_limit" in model.fit_failures_[0].reason


def test_with_time_enough_it_is_the_same_tree(regimes):
    X, y = regimes
    learners = [("linear", LinearRegression()), ("sleepy", Sleepy())]
    free, timed = (
        ToPsRegressor(learners, max_depth=1, time_limit=limit, random_state=0).fit(X, y)
        for limit in (None, 1e6)
    )
    assert (free.stopped_, timed.stopped_) == (None, None)
    assert free.tree_[0].split == timed.tree_[0].split
    np.testing.assert_allclose(free.predict(X), timed.predict(X), rtol=1e-2)


@pytest.mark.parametrize("weights", ["shrunk", "path"])
def test_without_time_a_closed_form_that_overflows_is_fitted_nevertheless(regimes, weights):
    X, y = regimes
    model = ToPsRegressor("lr", weights=weights, time_limit=0).fit(X * 1e200, y)
    assert model.stopped_ == "time_limit"
    assert np.isfinite(model.predict(X * 1e200)).all()


def test_repeats_end_in_time(regimes):
    X, y = regimes
    model = ToPsRegressor("lr", n_repeats=50, time_limit=0, random_state=0).fit(X, y)
    assert len(model.trees_) == 1
    assert model.stopped_ == "time_limit"


@pytest.mark.parametrize("limit", [-1, "soon", np.nan])
def test_limits_that_cannot_be(regimes, limit):
    with pytest.raises(InvalidInputError, match="time_limit"):
        ToPsRegressor("lr", time_limit=limit).fit(*regimes)


def test_a_calm_line_a_node(regimes, capfd):
    X, y = regimes
    model = ToPsRegressor("lr", verbose=1, random_state=0).fit(X, y)
    out, err = capfd.readouterr()
    assert out == ""
    lines = err.splitlines()
    assert len(lines) == len(model.tree_)
    assert lines[0].startswith("node root (600 rows): x0 < 0.5, mse ")
    assert "a leaf, mse" in lines[-1]
    ToPsClassifier("lr", random_state=0).fit(X, y > 0)
    assert capfd.readouterr() == ("", "")
