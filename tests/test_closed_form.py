"""Closed forms at all splits of a node equal the estimators they stand for, fitted one by one."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import Lasso, LinearRegression, LogisticRegression, Ridge

from predictree.learners import Bins, Design, adapt, closed_form, has_closed_form
from predictree.learners.closed_form import cell_grams, gram_of, training_sums
from predictree.splits import candidate_splits
from predictree.tree import Split


def scores_of(X, y, estimator, *, k, feature=0, weight=None, fold=None, proper=False):
    """Scores of V1 at all splits of a feature, by closed form and one by one.

    Rows are trained on and judged by turns; with folds every row is both.
    """
    rows = np.arange(len(X))
    train, judged = (rows, rows) if fold is not None else (rows[::2], rows[1::2])
    n_folds = 1 if fold is None else int(fold.max()) + 1
    fold = np.where(rows % 2, 0, -1) if fold is None else fold
    task = "regression" if k == 1 else "classification"
    metadata = {} if weight is None else {"sample_weight": weight}
    learner = adapt("a", estimator, task, k, proper=proper, metadata=metadata)
    design = Design.of(X, y, train, judged, k, fold, n_folds)
    splits = candidate_splits(feature, X[train, feature], None, 9)
    left = np.array([split.goes_left(X[judged, feature]) for split in splits])
    bins = Bins.of(splits, X[train, feature], left, design)
    scores = closed_form(learner, design).fit_splits(bins)
    expected = np.full_like(scores, np.nan)
    for s, split in enumerate(splits):
        for side in (True, False):
            for f in range(n_folds):
                mine = (split.goes_left(X[train, feature]) == side) & (fold[train] != f)
                answered = (left[s] == side) & (fold[judged] == f)
                if answered.any() and mine.any():
                    model = learner.fit(X, y, train[mine], seed=0)
                    expected[s, answered] = model.scores(X[judged[answered]])
    return scores, expected


def one_hot(rng, n, levels):
    return np.eye(levels)[rng.integers(0, levels, n)]


def table(seed=0, n=300):
    """Real columns of very different size, two full one-hot groups, a copy and a constant."""
    rng = np.random.default_rng(seed)
    real = rng.normal(size=(n, 3)) * [1e-3, 1, 1e4] + [0, 5, -1e5]
    X = np.column_stack([real, one_hot(rng, n, 4), one_hot(rng, n, 3), real[:, 1], np.full(n, 7.0)])
    y = real[:, 1] + X[:, 3] - 2 * X[:, 8] + rng.normal(size=n)
    return X, y


def assert_same(result):
    scores, expected = result
    assert np.isfinite(expected).all()
    scale = np.abs(expected).max()
    np.testing.assert_allclose(scores, expected, rtol=1e-6, atol=1e-6 * scale)


@pytest.mark.parametrize("estimator", [LinearRegression(tol=1e-12), Ridge(), Ridge(alpha=100.0)])
@pytest.mark.parametrize("feature", [0, 1, 2, 3, 8])
@pytest.mark.parametrize("weighted", [False, True])
def test_regression_with_dependent_columns(estimator, feature, weighted):
    X, y = table()
    weight = np.random.default_rng(1).uniform(0.2, 3, len(y)) if weighted else None
    assert_same(scores_of(X, y, estimator, k=1, feature=feature, weight=weight))


@pytest.mark.parametrize("estimator", [LinearRegression(tol=1e-12), Ridge()])
@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("proper", [False, True])
def test_class_indicators(estimator, k, proper):
    X, y = table()
    codes = np.digitize(y, np.quantile(y, np.arange(1, k) / k))
    assert_same(scores_of(X, codes, estimator, k=k, feature=1, proper=proper))


@pytest.mark.parametrize("k", [1, 2])
def test_folds_are_an_axis(k):
    X, y = table(2, 400)
    fold = np.random.default_rng(3).integers(0, 4, len(y))
    labels = y if k == 1 else (y > np.median(y)).astype(int)
    assert_same(scores_of(X, labels, LinearRegression(tol=1e-12), k=k, feature=1, fold=fold))


def test_a_level_that_training_did_not_have_is_predicted_by_minimum_norm():
    """The coefficients are not unique, and here the choice shows."""
    rng = np.random.default_rng(5)
    levels = rng.integers(0, 4, 120)
    levels[::2] %= 3  # level 3 is in V1 only
    X = np.column_stack([rng.normal(size=120), np.eye(4)[levels], 10 * np.eye(4)[levels]])
    y = X[:, 0] + levels + 0.1 * rng.normal(size=120)
    assert_same(scores_of(X, y, LinearRegression(tol=1e-12), k=1))


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(4, 40), st.integers(1, 12))
def test_fewer_rows_than_columns(seed, n, d):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(2 * n, d))
    y = rng.normal(size=2 * n)
    scores, expected = scores_of(X, y, LinearRegression(tol=1e-12), k=1)
    scale = np.abs(expected).max(initial=1.0)
    np.testing.assert_allclose(scores, expected, rtol=1e-6, atol=1e-6 * scale)


def test_one_class_on_a_side_is_a_constant_without_rounding():
    """AUC would rank rounding errors."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 5))
    y = ((X[:, 0] > 0.5) & (X[:, 1] > 0)).astype(int)
    scores, _ = scores_of(X, y, LinearRegression(tol=1e-12), k=2)
    first_decile = X[1::2, 0] < np.sort(X[::2, 0])[9]
    assert len(np.unique(scores[0, first_decile, 1])) == 1


@pytest.mark.parametrize("tol", [1e-6, 1e-12])
@pytest.mark.parametrize("gap", [1e-3, 1e-4, 1e-5])
def test_nearly_dependent_columns(tol, gap):
    """A Gram matrix cannot tell, so that the rows themselves are asked."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    X[:, 2] = X[:, 1] + gap * rng.normal(size=200)
    y = X[:, 0] + (X[:, 2] - X[:, 1]) / gap
    scores, expected = scores_of(X, y, LinearRegression(tol=tol), k=1)
    np.testing.assert_allclose(scores, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("feature", [0, 1, 2])
def test_a_cutoff_that_matters(feature):
    """By default LinearRegression may drop columns that are tiny next to others."""
    X, y = table()
    assert_same(scores_of(X, y, LinearRegression(), k=1, feature=feature))


@pytest.mark.parametrize(
    ("estimator", "task", "has"),
    [
        (LinearRegression(tol=1e-12), "regression", True),
        (LinearRegression(tol=1e-12), "classification", True),
        (Ridge(alpha=2), "regression", True),
        (LinearRegression(positive=True), "regression", False),
        (LinearRegression(fit_intercept=False), "regression", False),
        (Ridge(alpha=[1, 2]), "regression", False),
        (Ridge(alpha=0), "regression", False),
        (Ridge(alpha="much"), "regression", False),
        (Ridge(solver="sag"), "regression", False),
        (LinearRegression(tol="small"), "regression", False),
        (Lasso(), "regression", False),
        (LogisticRegression(), "classification", False),
    ],
)
def test_who_has_a_closed_form(estimator, task, has):
    assert has_closed_form(adapt("a", estimator, task, 1 if task == "regression" else 2)) is has


def test_grams_of_cells_add_up():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(500, 4)), rng.normal(size=500)
    fold = rng.integers(0, 3, 500)
    rows = np.arange(500)
    design = Design.of(X, y, rows, rows, 1, fold, 3)
    splits = candidate_splits(2, X[:, 2], None, 4)
    bins = Bins.of(splits, X[:, 2], np.zeros((4, 500), dtype=bool), design)
    root = rng.uniform(0.5, 2, 500)
    total = gram_of(design.train, root, rows)
    sums = training_sums(cell_grams(design.train, root, bins, total), 3)
    for s, split in enumerate(splits):
        for side, mask in enumerate((split.goes_left(X[:, 2]), ~split.goes_left(X[:, 2]))):
            for f in range(3):
                mine = np.flatnonzero(mask & (fold != f))
                A = design.train[mine] * root[mine, None]
                np.testing.assert_allclose(sums[s, side, f], A.T @ A, atol=1e-9)


def test_columns_that_are_constant_on_the_node_do_not_stop_the_factorisation():
    rng = np.random.default_rng(0)
    X = np.column_stack([np.zeros(300), rng.normal(size=300), np.zeros(300), rng.normal(size=300)])
    from predictree.kernels import solve_least_squares

    gram = (X.T @ X)[None]
    noise = 1e-11 * np.diagonal(gram, axis1=1, axis2=2)
    _, certain, _ = solve_least_squares(gram, np.ones((1, 4, 1)), noise, 0.0, 0.0)
    assert certain.all()


def test_a_column_that_sentinels_dwarf_is_not_taken_for_constant():
    """Once a split has removed the sentinel, the rest of the column matters."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 2))
    y = np.where(X[:, 1] > 0, 3, -3) * X[:, 0]
    X[:40, 0], y[:40] = 1e9, 0
    assert_same(scores_of(X, y, LinearRegression(tol=1e-12), k=1, feature=0))


def test_columns_that_differ_by_little_of_their_size_are_not_taken_for_equal():
    rng = np.random.default_rng(0)
    start, duration = 1.7e9 + 3e7 * rng.random(400), rng.gamma(2, 5, size=400)
    X = np.column_stack([start, start + duration, rng.normal(size=400)])
    scores, expected = scores_of(X, duration, LinearRegression(tol=1e-12), k=1, feature=2)
    np.testing.assert_allclose(scores, expected, atol=1e-3)


def test_many_thresholds():
    rng = np.random.default_rng(0)
    X = np.sort(rng.normal(size=(70_000, 1)), axis=0)
    rows = np.arange(len(X))
    design = Design.of(X, X[:, 0], rows, rows[:1], 1, np.full(len(X), -1), 1)
    splits = [Split(0, t) for t in X[1:, 0]]
    bins = Bins.of(splits, X[:, 0], np.zeros((1, 1), dtype=bool), design)
    assert bins.side(1, right=False).tolist() == [0, 1]
