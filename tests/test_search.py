"""Exhaustive search and racing."""

import pickle
from functools import partial

import numpy as np
import pytest
from predictree.grow.search_ import nested
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from conftest import HELD_OUT
from predictree import ToPsClassifier, ToPsRegressor
from predictree.data.partition import Partition
from predictree.grow import search_ as search
from predictree.grow.problem import Problem, Seeds
from predictree.learners import adapt
from predictree.learners.forms.logistic import LogisticForm
from predictree.losses import LogLoss, SquaredError
from predictree.model.tree import Split

TREES = [
    ("small", DecisionTreeRegressor(max_depth=2)),
    ("large", DecisionTreeRegressor(max_depth=5)),
]


def splits_of(model):
    return [(node.split, node.learner, node.trained_on) for node in model.tree_]


def test_auto_races_only_where_a_learner_has_no_closed_form(regimes):
    X, y = regimes
    assert ToPsRegressor("lr", random_state=0, **HELD_OUT).fit(X, y).fits_.made == 0
    fits = ToPsRegressor(TREES, random_state=0, **HELD_OUT).fit(X, y).fits_
    assert 0 < fits.made < fits.exhaustive


def test_racing_with_room_for_all_splits_is_exhaustive(regimes, monkeypatch):
    X, y = regimes
    learners = [("linear", LinearRegression(tol=1e-12)), *TREES]
    whole = ToPsRegressor(
        learners, search="exhaustive", max_depth=3, random_state=0, **HELD_OUT
    ).fit(X, y)
    monkeypatch.setattr(search, "RACES", ((0, ((1.0, 10**6),)),))
    raced = ToPsRegressor(learners, search="racing", max_depth=3, random_state=0, **HELD_OUT).fit(
        X, y
    )
    assert splits_of(raced) == splits_of(whole)
    assert raced.fits_ == whole.fits_


@pytest.mark.parametrize("length", [3, 10**6])
def test_logistic_regression_waits_for_the_shortlist(regimes, monkeypatch, length):
    X, y = regimes
    learners = [
        ("logistic", LogisticRegression(solver="newton-cholesky", tol=1e-8)),
        ("linear", LinearRegression(tol=1e-12)),
        ("tree", DecisionTreeClassifier(max_depth=2)),
    ]
    fit = partial(ToPsClassifier, learners, max_depth=2, random_state=0, **HELD_OUT)
    whole = fit(search="exhaustive").fit(X, y > 0)
    monkeypatch.setattr(search, "RACES", ((0, ((1.0, length),)),))
    asked = []
    form = LogisticForm.fit_splits
    monkeypatch.setattr(
        LogisticForm,
        "fit_splits",
        lambda self, cuts: asked.append(len(cuts.places)) or form(self, cuts),
    )
    raced = fit(search="racing").fit(X, y > 0)
    if length == 3:
        assert 0 < max(asked) <= 3
    else:
        assert splits_of(raced) == splits_of(whole)


def test_racing_of_quick_learners_is_exhaustive(regimes):
    X, y = regimes
    models = [
        ToPsRegressor("lr", search=s, random_state=0, **HELD_OUT).fit(X, y) for s in search.SEARCHES
    ]
    assert splits_of(models[0]) == splits_of(models[1])


def test_fits_are_counted(regimes):
    X, y = regimes
    model = ToPsRegressor(TREES, search="racing", max_depth=1, random_state=0, **HELD_OUT).fit(X, y)
    n_splits = 16  # one of the binary feature, and those of the others with enough rows of V¹
    assert model.fits_.exhaustive == 2 * len(TREES) * n_splits
    assert model.fits_.made == 2 * len(TREES) * 2  # without a quick learner two splits are tried
    linear = [*TREES, ("linear", LinearRegression())]
    model = ToPsRegressor(linear, search="racing", max_depth=1, random_state=0, **HELD_OUT)
    assert model.fit(X, y).fits_.made == 2 * len(TREES)


def test_a_perfect_node_is_not_searched():
    """With a loss that has a least value; of a callable nobody knows."""
    X = np.random.default_rng(0).normal(size=(200, 3))
    y = X[:, 0] > 0
    stump = [("stump", DecisionTreeClassifier(max_depth=1, random_state=0))]

    def wrong(y_true, y_score):
        return np.mean(y_true != (y_score > 0.5))

    known, unknown = (
        ToPsClassifier(stump, loss=loss, search="exhaustive", random_state=0, **HELD_OUT).fit(X, y)
        for loss in ("error", wrong)
    )
    assert known.tree_[0].loss == unknown.tree_[0].loss == 0
    assert known.fits_.exhaustive == 0 < unknown.fits_.exhaustive


def test_a_growing_share_of_the_rows(regimes, monkeypatch, spy):
    X, y = regimes
    monkeypatch.setattr(search, "RACES", ((0, ((1 / 9, 6), (1.0, 1))),))
    model = ToPsRegressor(
        [("spy", spy)], search="racing", max_depth=1, random_state=0, **HELD_OUT
    ).fit(X, y)
    n = int((model.partition_ == 0).sum())
    sizes = np.array([len(rows) for rows, _, _ in type(spy).seen[1:]])
    pairs = sizes[: len(sizes) // 2 * 2].reshape(-1, 2).sum(axis=1)  # both sides of a split
    expected = [n / 9] * 12 + [n] * 2  # twice as many where linear regression stands in
    np.testing.assert_allclose(pairs[:14], expected, atol=2)
    assert model.fits_.made == 28


@pytest.mark.parametrize("missing", [False, True])
def test_without_a_quick_learner_linear_regression_ranks_the_splits(missing, monkeypatch):
    """The first learner tells nothing of where to split; the slope in feature 0 turns at x₂ = 0."""
    monkeypatch.setattr(search, "RACES", ((0, ((1.0, 1),)),))
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 6))
    y = np.where(X[:, 2] > 0, 2, -2) * X[:, 0] + 0.1 * rng.normal(size=3000)
    if missing:
        X[rng.random(X.shape) < 0.1] = np.nan
    learner = HistGradientBoostingRegressor(max_iter=5, max_leaf_nodes=4)
    model = ToPsRegressor([("boosting", learner)], max_depth=1, random_state=0, **HELD_OUT).fit(
        X, y
    )
    assert model.tree_[0].split.feature == 2
    assert abs(model.tree_[0].split.threshold) < 0.3


def test_the_same_tree_whatever_the_jobs(regimes):
    X, y = regimes
    models = [
        ToPsRegressor(
            TREES, search="racing", max_depth=2, n_jobs=n, random_state=0, **HELD_OUT
        ).fit(X, y)
        for n in (1, 2)
    ]
    assert splits_of(models[0]) == splits_of(models[1])
    np.testing.assert_array_equal(models[0].predict(X), models[1].predict(X))


def test_racing_classifies(regimes):
    X, y = regimes
    learners = [("tree", DecisionTreeClassifier(max_depth=3))]
    for k, loss in ((2, "auc"), (4, "log_loss")):
        codes = np.digitize(y, np.quantile(y, np.arange(1, k) / k))
        model = ToPsClassifier(
            learners, loss=loss, search="racing", random_state=0, **HELD_OUT
        ).fit(X, codes)
        assert model.tree_[0].split_loss < model.tree_[0].loss


def test_samples_are_nested_and_keep_the_classes():
    rng = np.random.default_rng(0)
    y = (rng.random(5000) < 0.01).astype(int)
    X = rng.normal(size=(5000, 2))
    learner = adapt("a", DecisionTreeClassifier(), "classification", 2)
    parts = Partition.from_codes(np.arange(5000, dtype=np.int8) % 3)
    problem = Problem(X, y, None, parts, (learner,), LogLoss(), Seeds(0))
    rows = np.arange(0, 5000, 2)
    few, more = (problem.sample(rows, share) for share in (1 / 9, 1 / 3))
    assert set(few) < set(more) < set(rows)
    for some, share in ((few, 1 / 9), (more, 1 / 3)):
        assert y[some].sum() == np.ceil(share * y[rows].sum())


def test_what_is_computed_once_does_not_travel_with_tasks():
    X = np.random.default_rng(0).normal(size=(30, 2))
    learner = adapt("a", DecisionTreeRegressor(), "regression", 1)
    parts = Partition.from_codes(np.arange(30, dtype=np.int8) % 3)
    problem = Problem(X, X[:, 0], None, parts, (learner,), SquaredError(), Seeds(0), view=np.square)
    assert problem.seen is problem.seen
    travelled = pickle.loads(pickle.dumps(problem))
    assert "seen" not in vars(travelled)
    np.testing.assert_array_equal(travelled.seen, problem.seen)


def test_missing_to_the_left_and_to_the_right_are_two_families():
    splits = [Split(0, t, left, True) for t in (1.0, 2.0) for left in (False, True)]
    assert nested(splits) == [[0, 2], [1, 3]]
    plain = [Split(0, 1.0, True), Split(0, 2.0, False)]  # no row of S is missing: one family
    assert nested(plain) == [[0, 1]]
