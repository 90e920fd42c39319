"""Closed forms at all splits of a node equal the estimators they stand for, fitted one by one."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import Lasso, LinearRegression, LogisticRegression, Ridge
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from predictree.data.splits import candidate_splits
from predictree.learners import adapt
from predictree.learners.adapter import weight_keyword
from predictree.learners.forms import closed_form, has_closed_form
from predictree.learners.forms.design import (
    Bins,
    Cuts,
    Design,
    cell_grams,
    gram_of,
    training_sums,
)
from predictree.learners.forms.least_squares import solve_least_squares
from predictree.learners.forms.linear import LinearForm
from predictree.model.tree import Split


def scores_of(X, y, estimator, *, k, feature=0, weight=None, fold=None, proper=False):
    """Scores of V1 at all splits of a feature, by closed form and one by one.

    Rows are trained on and judged by turns; with folds every row is both.
    """
    rows = np.arange(len(X))
    train, judged = (rows, rows) if fold is not None else (rows[::2], rows[1::2])
    n_folds = 1 if fold is None else int(fold.max()) + 1
    fold = np.where(rows % 2, 0, -1) if fold is None else fold
    task = "regression" if k == 1 else "classification"
    metadata = {} if weight is None else {weight_keyword("a", estimator): weight}
    learner = adapt("a", estimator, task, k, proper=proper, metadata=metadata)
    design = Design.of(X, y, train, judged, k, fold, n_folds)
    splits = candidate_splits(feature, X[train, feature], None, 9)
    left = np.array([split.goes_left(X[judged, feature]) for split in splits])
    bins = Bins.of(splits, X[train, feature], left, design)
    scores = closed_form(learner, design).fit_splits(Cuts((bins,)))
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
@pytest.mark.parametrize("gap", [1e-3, 1e-4, 1e-5, 1e-7])
@pytest.mark.parametrize("folds", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_nearly_dependent_columns(tol, gap, folds, weighted):
    """A Gram matrix cannot tell, so that the triangular factors of the rows are asked."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    X[:, 2] = X[:, 1] + gap * rng.normal(size=200)
    y = X[:, 0] + (X[:, 2] - X[:, 1]) / gap
    fold = rng.integers(0, 3, 200) if folds else None
    weight = rng.uniform(0.2, 3, 200) if weighted else None
    scores, expected = scores_of(X, y, LinearRegression(tol=tol), k=1, fold=fold, weight=weight)
    np.testing.assert_allclose(scores, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("feature", [0, 1, 2])
def test_a_cutoff_that_matters(feature):
    """By default LinearRegression may drop columns that are tiny next to others."""
    X, y = table()
    assert_same(scores_of(X, y, LinearRegression(), k=1, feature=feature))


def logistic(**params):
    return LogisticRegression(solver="newton-cholesky", tol=1e-12, **params)


LOGISTIC = [
    logistic(),
    logistic(C=0.01),
    make_pipeline(StandardScaler(), logistic()),
    make_pipeline(StandardScaler(), logistic(C=100.0)),
]


def classes(seed=0, n=600, k=2):
    """A table with dependent columns, of sane size, whose classes depend on regions."""
    rng = np.random.default_rng(seed)
    X, _ = table(seed, n)
    X = X / np.abs(X).max(axis=0)
    margin = np.where(X[:, 1] > np.median(X[:, 1]), 3, -2) * (X[:, 0] - X[:, 3]) + X[:, 8]
    noisy = margin + rng.logistic(size=n) * 0.5
    return X, np.digitize(noisy, np.quantile(noisy, np.arange(1, k) / k))


@pytest.mark.parametrize("estimator", LOGISTIC)
@pytest.mark.parametrize("feature", [0, 1, 3, 8])
@pytest.mark.parametrize("weighted", [False, True])
def test_logistic_regression(estimator, feature, weighted):
    X, y = classes()
    weight = np.random.default_rng(1).uniform(0.2, 3, len(y)) if weighted else None
    assert_same(scores_of(X, y, estimator, k=2, feature=feature, weight=weight))


@pytest.mark.parametrize("estimator", [LOGISTIC[0], LOGISTIC[2]])
def test_logistic_regression_in_folds(estimator):
    X, y = classes(2, 800)
    fold = np.random.default_rng(3).integers(0, 4, len(y))
    assert_same(scores_of(X, y, estimator, k=2, feature=1, fold=fold))


@pytest.mark.parametrize("inner", [LOGISTIC[0], LOGISTIC[2]])
def test_logistic_regression_of_each_class_against_the_others(inner):
    X, y = classes(k=4)
    assert_same(scores_of(X, y, OneVsRestClassifier(inner), k=4, feature=1))


@pytest.mark.parametrize("estimator", [LOGISTIC[0], LOGISTIC[3]])
@pytest.mark.parametrize("seed", range(3))
def test_logistic_log_loss_agrees_where_classes_are_nearly_separable(estimator, seed):
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.normal(size=(1500, 4)), one_hot(rng, 1500, 5)])
    y = (4 * X[:, 0] * (X[:, 1] > 0.3) + 3 * X[:, 5] + 0.5 * rng.logistic(size=1500) > 2).astype(
        int
    )
    scores, expected = scores_of(X, y, estimator, k=2, feature=1)
    for mine, reference in zip(scores, expected):
        losses = [-np.log(p[np.arange(750), y[1::2]]).mean() for p in (mine, reference)]
        assert losses[0] == pytest.approx(losses[1], abs=1e-6)


def test_logistic_of_one_class_is_certain():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3))
    y = ((X[:, 0] > 0) & (rng.random(400) < 0.7)).astype(int)
    scores, expected = scores_of(X, y, LOGISTIC[2], k=2)
    np.testing.assert_allclose(scores, expected, atol=1e-6)
    lowest = X[1::2, 0] < np.quantile(X[::2, 0], 0.09)
    assert (scores[0, lowest, 1] == 0).all()


@pytest.mark.parametrize("weighted", [False, True])
def test_standardised_ridge(weighted):
    X, y = table()
    weight = np.random.default_rng(1).uniform(0.2, 3, len(y)) if weighted else None
    estimator = make_pipeline(StandardScaler(), Ridge(alpha=3.0))
    for feature in (1, 3):
        assert_same(scores_of(X, y, estimator, k=1, feature=feature, weight=weight))


@pytest.mark.parametrize("estimator", [LinearRegression(tol=1e-12), LOGISTIC[0], LOGISTIC[2]])
def test_splits_of_many_features_at_once(estimator):
    X, y = classes()
    rows = np.arange(len(X))
    train, judged = rows[::2], rows[1::2]
    learner = adapt("a", estimator, "classification", 2)
    design = Design.of(X, y, train, judged, 2, np.where(rows % 2, 0, -1), 1)
    form, bins = closed_form(learner, design), []
    for feature in range(X.shape[1]):
        if splits := candidate_splits(feature, X[train, feature], None, 9):
            left = np.array([split.goes_left(X[judged, feature]) for split in splits])
            bins.append(Bins.of(splits, X[train, feature], left, design))
    alone = np.concatenate([form.fit_splits(Cuts((one,))) for one in bins])
    np.testing.assert_allclose(form.fit_splits(Cuts(tuple(bins))), alone, atol=1e-7)


@pytest.mark.parametrize("estimator", [LinearRegression(tol=1e-12), Ridge(), LOGISTIC[2]])
def test_any_array_library_will_do(estimator):
    xp = pytest.importorskip("array_api_strict")
    X, y = classes()
    labels = y.astype(float) if isinstance(estimator, Ridge) else y
    k = 1 if isinstance(estimator, Ridge) else 2
    rows = np.arange(len(X))
    fold = rows % 3
    task = "regression" if k == 1 else "classification"
    learner = adapt("a", estimator, task, k)
    design = Design.of(X, labels, rows, rows, k, fold, 3)
    splits = candidate_splits(1, X[:, 1], None, 9)
    left = np.array([split.goes_left(X[:, 1]) for split in splits])
    cuts = Cuts((Bins.of(splits, X[:, 1], left, design),))
    moved = replace(design, train=xp.asarray(design.train), judged=xp.asarray(design.judged))
    np.testing.assert_allclose(
        closed_form(learner, moved).fit_splits(cuts),
        closed_form(learner, design).fit_splits(cuts),
        atol=1e-9,
    )


@pytest.mark.parametrize("estimator", [LinearRegression(tol=1e-12), Ridge(alpha=2.0)])
@pytest.mark.parametrize("k", [1, 2, 3])
@pytest.mark.parametrize("n_folds", [1, 3])
def test_models_from_sums_are_those_of_the_estimator(estimator, k, n_folds):
    X, y = table(4)
    labels = y if k == 1 else np.digitize(y, np.quantile(y, np.arange(1, k) / k))
    rows = np.arange(len(X))
    fold = rows % n_folds if n_folds > 1 else np.full(len(X), -1)
    learner = adapt("a", estimator, "regression" if k == 1 else "classification", k)
    design = Design.of(X, labels, rows, rows[:0], k, fold, n_folds)
    for f, model in enumerate(LinearForm.of(learner, design).models()):
        expected = learner.fit(X, labels, rows[fold != f], seed=0).scores(X)
        np.testing.assert_allclose(model.scores(X), expected, rtol=1e-6, atol=1e-6)


def test_models_from_sums_of_one_class_are_constant():
    X = np.random.default_rng(0).normal(size=(30, 2))
    rows, fold = np.arange(30), np.arange(30) % 2
    for codes, k in ((fold, 2), (np.where(fold, 2, 0), 3)):
        learner = adapt("a", LinearRegression(tol=1e-12), "classification", k)
        design = Design.of(X, codes, rows, rows[:0], k, fold, 2)
        for f, model in enumerate(LinearForm.of(learner, design).models()):
            np.testing.assert_array_equal(model.scores(X[:1])[0], np.eye(k)[codes[1 - f]])


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
        (LogisticRegression(solver="newton-cholesky"), "classification", False),
        (logistic(), "classification", True),
        (logistic(class_weight="balanced"), "classification", False),
        (logistic(C=np.inf), "classification", False),
        (logistic(fit_intercept=False), "classification", False),
        (make_pipeline(StandardScaler(), logistic()), "classification", True),
        (make_pipeline(MinMaxScaler(), logistic()), "classification", False),
        (make_pipeline(StandardScaler(with_mean=False), logistic()), "classification", False),
        (OneVsRestClassifier(logistic()), "classification", True),
        (make_pipeline(StandardScaler(), Ridge()), "regression", True),
        (make_pipeline(StandardScaler(), LinearRegression()), "regression", False),
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
    total = gram_of(design.train, root)
    sums = training_sums(cell_grams(design.train, root, bins.cells(), total), 3)
    for s, split in enumerate(splits):
        for side, mask in enumerate((split.goes_left(X[:, 2]), ~split.goes_left(X[:, 2]))):
            for f in range(3):
                mine = np.flatnonzero(mask & (fold != f))
                A = design.train[mine] * root[mine, None]
                np.testing.assert_allclose(sums[s, side, f], A.T @ A, atol=1e-9)


def test_columns_that_are_constant_on_the_node_do_not_stop_the_factorisation():
    rng = np.random.default_rng(0)
    X = np.column_stack([np.zeros(300), rng.normal(size=300), np.zeros(300), rng.normal(size=300)])
    gram = (X.T @ X)[None]
    noise = 1e-11 * np.diagonal(gram, axis1=1, axis2=2)
    _, certain, _ = solve_least_squares(gram, np.ones((1, 4, 1)), noise, np.zeros((1, 4)), 0.0)
    assert certain.all()


@pytest.mark.parametrize("alpha", [0.0, 1.0])
@pytest.mark.parametrize(("n", "d"), [(40, 120), (400, 120), (40, 30), (12, 30)])
def test_solutions_are_the_shortest_there_are(alpha, n, d):
    """With columns that depend on others, or on nothing, and with few rows."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(6, n, d)) * 10.0 ** rng.integers(-2, 3, d)
    X[:3, :, 7], X[:3, :, 9], X[:3, :, 20] = 0.0, X[:3, :, 3] - 2 * X[:3, :, 5], X[:3, :, 21]
    y = rng.normal(size=(6, n, 2))
    gram, target = np.swapaxes(X, 1, 2) @ X, np.swapaxes(X, 1, 2) @ y
    noise = 1e-11 * np.diagonal(gram, axis1=1, axis2=2) + 1e-20
    penalty = np.full((6, d), alpha)
    found, certain, dropped = solve_least_squares(gram, target, noise, penalty, 0.0)
    assert certain.all()
    for b, depends in enumerate([3, 3, 3, 0, 0, 0]):
        A, right = X[b], y[b]
        if alpha:
            A, right = np.vstack([A, np.eye(d)]), np.vstack([right, np.zeros((d, 2))])
        exact = np.linalg.lstsq(A, right, rcond=1e-10)[0]
        np.testing.assert_allclose(X[b] @ found[b], X[b] @ exact, rtol=1e-6, atol=1e-6)
        assert np.linalg.norm(found[b]) == pytest.approx(np.linalg.norm(exact), rel=1e-6)
        constant = 1 if depends else 0
        assert dropped[b].sum() == (constant if alpha else d - min(n, d - depends))


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
    bins = Bins.of(splits, X[:, 0], np.zeros((len(splits), 1), dtype=bool), design)
    assert Cuts((bins,)).training_set((1, 0, 0), design).tolist() == [0, 1]
