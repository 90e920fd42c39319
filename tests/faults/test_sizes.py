"""Numbers of any size, columns of any kind, learners of any manners: answers or clear errors."""

import datetime as dt
import sys
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from predictree import ToPsClassifier, ToPsRegressor
from predictree.errors import InvalidInputError, LearnerFailedWarning, NoPredictorError

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")
N = 150
rng = np.random.default_rng(0)
A, B = rng.normal(size=(2, N))
Y = A + (B > 0)
UP = (Y > 0.5).astype(int)
LEARNERS = ["additive", "lr", "tree"]


def regressor(learners):
    own = [("tree", DecisionTreeRegressor(max_depth=3))] if learners == "tree" else learners
    return ToPsRegressor(own, max_depth=1, random_state=0)


def classifier(learners):
    own = [("tree", DecisionTreeClassifier(max_depth=3))] if learners == "tree" else learners
    return ToPsClassifier(own, max_depth=1, random_state=0)


def beside(column):
    return np.column_stack([A, column])


def frame(column):
    return pd.DataFrame({"age": A, "odd": column})


def error_of(model, X, y):
    """The mean error of a regression, in mean errors of the median."""
    answer, size = model.fit(X, y).predict(X), np.abs(y).max()
    assert np.isfinite(answer).all()
    usual = np.abs(y / size - np.median(y / size)).mean()
    return np.abs(answer / size - y / size).mean() / usual


COLUMNS = {
    "near 1e308": np.where(B > 0, 1.7e308, -1.7e308),
    "subnormal": B * 1e-310,
    "mixed": np.sign(B) * 10.0 ** rng.uniform(-300, 300, N),
    "ends of int64": np.where(B > 0, 2**63 - 1, -(2**63)),
    "all missing": np.full(N, np.nan),
    "one value": np.full(N, 1.7e308),
}


@pytest.mark.parametrize("learners", LEARNERS)
@pytest.mark.parametrize("name", COLUMNS)
def test_columns_of_any_size_are_of_use_or_do_no_harm(learners, name):
    """With the other column alone the mean error is 0.55; a tree of scikit-learn has 32 bits."""
    X = beside(COLUMNS[name])
    for model, y in ((regressor(learners), Y), (classifier(learners), UP)):
        try:
            model.fit(X, y)
        except NoPredictorError:
            assert learners == "tree"
            continue
        answer = model.predict(X)
        if model._task == "classification":
            assert (answer != y).mean() < 0.25
        elif not (learners == "lr" and name == "mixed"):  # a line has no hold on such a lever
            assert np.abs(answer - y).mean() / np.abs(y - np.median(y)).mean() < 0.75


@pytest.mark.parametrize("learners", LEARNERS)
@pytest.mark.parametrize("size", [1e-65, 1e-30, 1.0, 1e30, 1e65])
def test_labels_of_any_size_that_can_be_squared_and_judged(learners, size):
    """Trees of scikit-learn do not split where the squared error is below 1e-16."""
    size = max(size, 1e-5) if learners == "tree" else size
    expected = error_of(regressor(learners), beside(B), Y)
    assert error_of(regressor(learners), beside(B), Y * size) == pytest.approx(expected, rel=0.2)


@pytest.mark.parametrize("learners", LEARNERS)
@pytest.mark.parametrize("size", [1e-310, 1e-80, 1e80, 1.7e308 / np.abs(Y).max()])
def test_other_labels_are_refused_by_name(learners, size):
    with pytest.raises(InvalidInputError, match=r"y has values of a size of .* another unit"):
        regressor(learners).fit(beside(B), Y * size)


@pytest.mark.parametrize("learners", LEARNERS)
@pytest.mark.parametrize("size", [1e-310, 1e-80, 1e80, 1.7e308])
def test_of_weights_it_counts_how_they_compare(learners, size):
    for make, y in ((regressor, Y), (classifier, UP)):
        plain = make(learners).fit(beside(B), y, sample_weight=np.ones(N))
        told = make(learners).fit(beside(B), y, sample_weight=np.full(N, size))
        assert np.array_equal(plain.predict(beside(B)), told.predict(beside(B)))


ODD = {
    "lists": [[1, 2]] * N,
    "dicts": [{"a": 1}] * N,
    "sets": [{1}] * N,
    "series": [pd.Series([1])] * N,
    "tuples": [(1, 2)] * N,
    "periods": pd.period_range("2020", periods=N, freq="M"),
    "decimals": [Decimal(str(value)) for value in B.round(3)],
    "intervals": pd.cut(B, 3),
    "bytes": [b"a", b"b"] * (N // 2),
    "times": [dt.time(1, 2)] * N,
    "complex": B + 1j,
    "ints of 400 digits": pd.Series([10**400] * N, dtype=object),
    "text and numbers": pd.Series(["a", 1] * (N // 2), dtype=object),
    "inf": np.where(B > 1, np.inf, B),
    "-inf": np.where(B > 1, -np.inf, B),
}


@pytest.mark.parametrize("learners", LEARNERS)
@pytest.mark.parametrize("name", ODD)
def test_columns_that_cannot_be_read_are_named(learners, name):
    for model, y in ((regressor(learners), Y), (classifier(learners), UP)):
        with pytest.raises(InvalidInputError, match="odd"):
            model.fit(frame(ODD[name]), y)


@pytest.mark.parametrize("learners", LEARNERS)
def test_durations_days_and_truths_are_numbers(learners):
    for column in (
        pd.to_timedelta(B, unit="D"),
        B > 0,
        pd.Series(B > 0).astype("boolean"),
        pd.Series([dt.date(9999, 1, 1) if b > 0 else dt.date(1, 1, 1) for b in B]),
    ):
        assert error_of(regressor(learners), frame(column), Y) < 0.3


@pytest.mark.parametrize("learners", LEARNERS)
@pytest.mark.parametrize(
    "y",
    [
        ["a"] * N, [[1, 2]] * N, [[1], [1, 2]] * (N // 2), [None] * N, [{}] * N, [10**400] * N,
        pd.Series(pd.period_range("2020", periods=N, freq="M")), Y + 1j, np.full(N, np.nan),
        np.full(N, np.inf),
    ],
    ids=["text", "pairs", "ragged", "none", "dicts", "ints", "periods", "complex", "nan", "inf"],
)  # fmt: skip
def test_labels_that_cannot_be_read_are_refused(learners, y):
    with pytest.raises(
        InvalidInputError, match=r"^y (cannot be read as numbers|holds text|is missing)"
    ):
        regressor(learners).fit(beside(B), y)


class Rude(BaseEstimator):
    """Does as it is told: ends the program, changes its rows, or answers with something odd."""

    def __init__(self, how=None, when="fit"):
        self.how = how
        self.when = when

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        self._act("fit", X, y)
        return self

    def _act(self, when, X, y=None):
        if self.when == when and self.how == "exit":
            sys.exit(3)
        if self.when == when and self.how == "change":
            X[:] = 0
            if y is not None:
                y[:] = y[0]


class RudeRegressor(RegressorMixin, Rude):
    def predict(self, X):
        self._act("predict", X)
        zeros = np.zeros(len(X))
        odd = {"complex": zeros + 1j, "huge": zeros + 1.7e308, "nothing": None}
        return odd.get(self.how, zeros)


class RudeClassifier(ClassifierMixin, Rude):
    def predict_proba(self, X):
        self._act("predict", X)
        half = np.full((len(X), len(self.classes_)), 0.5)
        odd = {"complex": half + 1j, "huge": half * 3e308, "nothing": None, "zero": half * 0}
        return odd.get(self.how, half)


MANNERS = [
    ("exit", "fit"), ("exit", "predict"), ("change", "fit"), ("change", "predict"),
    ("complex", "fit"), ("huge", "fit"), ("nothing", "fit"), ("zero", "fit"),
]  # fmt: skip


@pytest.mark.filterwarnings("ignore::predictree.errors.LearnerFailedWarning")
@pytest.mark.parametrize("kind", [RudeRegressor, RudeClassifier])
@pytest.mark.parametrize(
    ("how", "when", "n_jobs"), [(*one, None) for one in MANNERS] + [("exit", "fit", 2)]
)
def test_a_rude_learner_costs_its_candidates_and_changes_nobody_s_rows(kind, how, when, n_jobs):
    classes = kind is RudeClassifier
    estimator = ToPsClassifier if classes else ToPsRegressor
    good = ("good", LogisticRegression() if classes else LinearRegression())
    X, y = beside(B), UP.copy() if classes else Y.copy()
    how_to = {"max_depth": 1, "random_state": 0, "validation": (0.6, 0.2, 0.2), "weights": "path"}
    alone = estimator([good], **how_to).fit(X, y).predict(X)
    model = estimator([good, ("rude", kind(how, when))], n_jobs=n_jobs, **how_to).fit(X, y)
    np.testing.assert_array_equal(X, beside(B))
    np.testing.assert_array_equal(y, UP if classes else Y)
    if how != "zero":
        np.testing.assert_allclose(model.predict(X), alone)
    by_itself = estimator([("rude", kind(how, when))], **how_to)
    try:
        answers = by_itself.fit(X, y).predict(X)
    except NoPredictorError:
        assert how in ("exit", "complex", "huge", "nothing")
    else:
        assert how in ("change", "zero")
        assert len(answers) == N
    np.testing.assert_array_equal(X, beside(B))


def test_lost_learners_are_told_of():
    learners = [("good", LinearRegression()), ("rude", RudeRegressor("exit"))]
    with pytest.warns(LearnerFailedWarning, match=r"rude .*SystemExit"):
        ToPsRegressor(learners, max_depth=0, random_state=0).fit(beside(B), Y)
