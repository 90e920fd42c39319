"""Memory as a budget: sizes in words, and the learners that fit into a limit."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import LinearRegression

from conftest import Spy
from predictree import ToPsRegressor
from predictree.errors import InvalidInputError, LearnerFailedWarning, NoPredictorError
from predictree.learners import adapt
from predictree.run.measuring import memory_of, nested_samples
from predictree.run.memory import MemoryLimit, bytes_of, in_words

MB = 10**6


class Hungry(RegressorMixin, BaseEstimator):
    """A mean that needs so many bytes a row to be taken."""

    def __init__(self, per_row=10_000):
        self.per_row = per_row

    def fit(self, X, y):
        np.zeros(self.per_row * len(X), dtype=np.uint8)
        self.mean_ = float(np.mean(y))
        return self

    def predict(self, X):
        return np.full(len(X), self.mean_)


@pytest.mark.parametrize(
    ("size", "expected"),
    [
        (1e6, 1e6), (5, 5.0), ("4GB", 4e9), ("4 gb", 4e9), ("1.5G", 1.5e9), ("512MiB", 2.0**29),
        ("300kB", 3e5), ("2TB", 2e12), ("1000", 1000.0), (np.int64(7), 7.0), (" 20 B ", 20.0),
    ],
)  # fmt: skip
def test_sizes_are_read(size, expected):
    assert bytes_of(size) == expected


@pytest.mark.parametrize(
    "size", ["", "4XB", "GB", "-1GB", "4GB5", "1e9GB", "i", 0, -5, np.nan, np.inf, True, [1]]
)
def test_sizes_that_cannot_be(size, regimes):
    with pytest.raises(InvalidInputError, match="memory_limit"):
        bytes_of(size)
    with pytest.raises(InvalidInputError, match="memory_limit"):
        ToPsRegressor("lr", memory_limit=size).fit(*regimes)


@pytest.mark.parametrize(
    ("n_bytes", "words"),
    [(7, "7 bytes"), (1500, "1.5 kB"), (3.14e9, "3.1 GB"), (9.96e8, "996 MB"), (9.999e8, "1.0 GB")],
)
def test_sizes_in_words(n_bytes, words):
    assert in_words(n_bytes) == words


def test_memory_is_extrapolated():
    X = np.zeros((4000, 2))
    y = np.arange(4000.0)
    learner = adapt("hungry", Hungry(10_000), "regression", 1)
    peak, _ = memory_of(learner, X, y, nested_samples(y, False, (100, 300)))
    assert peak.at(4000) == pytest.approx(4000 * 10_000, rel=0.02)
    limit = MemoryLimit(100 * MB, X.nbytes, 2)
    kept, lost = limit.sieve([learner], X, y, 4000)
    assert (kept, lost) == ((learner,), [])
    with pytest.raises(NoPredictorError, match="hungry needs about 40 MB for one fit"):
        MemoryLimit(60 * MB, X.nbytes, 2).sieve([learner], X, y, 4000)


def test_learners_without_room_are_left_out_and_recorded(regimes):
    X, y = regimes
    learners = [("line", LinearRegression()), ("hungry", Hungry(20_000))]
    model = ToPsRegressor(learners, max_depth=0, memory_limit="5MB", random_state=0)
    with pytest.warns(LearnerFailedWarning, match="hungry 1× .needs about"):
        model.fit(X, y)
    [failure] = model.fit_failures_
    assert (failure.node, failure.learner, failure.count) == (0, "hungry", 1)
    assert failure.reason == (
        "needs about 9.6 MB for one fit, memory_limit leaves 5.0 MB for it"
    )  # 480 rows of a training fold
    plan = model.plan(X, y)
    assert [one.name for one in plan.learners] == ["line"]
    assert plan.assumptions[-1] == f"hungry is left out: it {failure.reason}"
    model.set_params(memory_limit="20MB").fit(X, y)
    assert model.fit_failures_ == []


def test_a_limit_that_leaves_nobody(regimes):
    model = ToPsRegressor([("hungry", Hungry())], memory_limit=1 * MB)
    with pytest.raises(NoPredictorError, match=r"into memory_limit=1\.0 MB: hungry"):
        model.fit(*regimes)
    assert not hasattr(model, "tree_")


def test_nothing_is_tried_without_a_limit(regimes, spy):
    ToPsRegressor([("spy", spy)], max_depth=0, random_state=0).fit(*regimes)
    assert len(Spy.seen) == 5


def test_a_limit_with_room_changes_nothing(regimes):
    X, y = regimes
    learners = [("line", LinearRegression()), ("forest", RandomForestRegressor(5))]
    free, limited = (
        ToPsRegressor(learners, max_depth=1, memory_limit=limit, random_state=0).fit(X, y)
        for limit in (None, "8GB")
    )
    np.testing.assert_array_equal(free.predict(X), limited.predict(X))
