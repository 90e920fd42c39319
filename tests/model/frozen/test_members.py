"""Learners as functions: each answers as its estimator does, through views, gaps and scales."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.ensemble import (
    ExtraTreesRegressor,
    GradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.impute import SimpleImputer
from sklearn.linear_model import (
    Lasso,
    LinearRegression,
    LogisticRegression,
    PoissonRegressor,
    Ridge,
)
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, PolynomialFeatures, StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from predictree.learners.additive import CurvesClassifier, CurvesRegressor
from predictree.learners.sharp_trees import SharpExtraTrees
from predictree.model.fitted import ClassModel, Constant, IndicatorModel, SeenBy, ValueModel
from predictree.model.frozen.members import _first_above, function_of
from predictree.model.frozen.trees import FrozenTree
from predictree.model.tree import Node, PathWeight, Predictor, Tree
from predictree.model.views import AsItIs, OneHot, Share, View

N = 200
rng = np.random.default_rng(0)
ROWS = np.column_stack(
    [
        rng.normal(1e3, 1, N),
        rng.integers(0, 3, N).astype(float),
        rng.integers(0, 20, N).astype(float),
        rng.normal(size=N),
    ]
)
ROWS[::5, 3] = np.nan
ROWS[::7, 1] = np.nan
VIEW = View(
    (
        AsItIs(0),
        OneHot(1, (0.0, 1.0, 2.0), True),
        Share(2, rng.random(21)),
        AsItIs(3),
    )
)
NEW = np.vstack([ROWS, [[1e3, -1.0, -1.0, 0.0], [990.0, np.nan, np.nan, np.nan]]])
Y = np.nan_to_num(ROWS[:, 3]) + ROWS[:, 0] - 1e3 + (ROWS[:, 1] == 1)
CLASS = np.digitize(Y, [-0.5, 0.8])


def imputed(last, *scalers):
    imputer = SimpleImputer(strategy="median", add_indicator=True, keep_empty_features=True)
    return make_pipeline(imputer, *scalers, last)


def lone(model, k):
    """A tree of one leaf with one predictor."""
    weights = (PathWeight(0, "it", 0, 1.0),)
    root = Node(0, None, 0, None, None, "it", 0, 1.0, None, 1, 1, 1, weights)
    return Tree.from_nodes([root], [Predictor("it", 0, (model,))], k)


def assert_alike(model, k, rows=NEW):
    tree = lone(model, k)
    frozen = FrozenTree.of(tree, rows.shape[1])
    assert not frozen.rest
    np.testing.assert_allclose(frozen.scores(rows), tree.scores(rows), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(
    "estimator",
    [
        imputed(LinearRegression()),
        imputed(Ridge(), StandardScaler()),
        imputed(Ridge(), StandardScaler(), MinMaxScaler((-1, 2))),
        imputed(Ridge(), MinMaxScaler((1, 2)), StandardScaler(with_std=False)),
        imputed(Lasso(0.1), StandardScaler(with_mean=False)),
        imputed(DummyRegressor(strategy="median"), "passthrough"),
    ],
)
def test_regressors(estimator):
    assert_alike(SeenBy(VIEW, ValueModel(estimator.fit(VIEW(ROWS), Y))), 1)


def test_the_mean_of_counts():
    estimator = imputed(PoissonRegressor(), StandardScaler()).fit(VIEW(ROWS), np.exp(Y / 2))
    assert_alike(SeenBy(VIEW, ValueModel(estimator)), 1)


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize(
    "last",
    [
        LogisticRegression(),
        LogisticRegression(solver="newton-cholesky"),
        OneVsRestClassifier(LogisticRegression()),
        DummyClassifier(),
    ],
)
def test_classifiers(last, k):
    label = np.minimum(CLASS, k - 1)
    estimator = imputed(last, StandardScaler()).fit(VIEW(ROWS), label)
    assert_alike(SeenBy(VIEW, ClassModel(estimator, np.arange(k), k)), k)


def test_classes_that_a_training_set_did_not_have():
    estimator = imputed(LogisticRegression(max_iter=1000)).fit(VIEW(ROWS), CLASS > 0)
    assert_alike(SeenBy(VIEW, ClassModel(estimator, np.array([0, 2]), 3)), 3)
    assert_alike(Constant(np.array([0.0, 1.0, 0.0])), 3)


@pytest.mark.parametrize("proper", [True, False])
@pytest.mark.parametrize("k", [2, 3])
def test_regressors_of_indicators(k, proper):
    label = np.minimum(CLASS, k - 1)
    wanted = [1] if k == 2 else range(k)
    fitted = {c: imputed(Ridge()).fit(VIEW(ROWS), label == c) for c in wanted}
    assert_alike(SeenBy(VIEW, IndicatorModel(fitted, k, proper)), k)


def test_additive_models_of_numbers_indicators_and_shares():
    value = CurvesRegressor(interactions=0, random_state=0).fit(VIEW(ROWS), Y)
    assert_alike(SeenBy(VIEW, ValueModel(value)), 1)
    classes = CurvesClassifier(interactions=0, random_state=0).fit(VIEW(ROWS), CLASS)
    assert_alike(SeenBy(VIEW, ClassModel(classes, np.arange(3), 3)), 3)


SMALL = View((AsItIs(0), OneHot(1, (0.0, 1.0, 2.0), True), OneHot(2, (3.0, 7.0), False), AsItIs(3)))
FORESTS = {"n_estimators": 5, "random_state": 0}


@pytest.mark.parametrize(
    "estimator",
    [
        DecisionTreeRegressor(random_state=0),
        RandomForestRegressor(**FORESTS, max_features=0.5),
        ExtraTreesRegressor(**FORESTS),
        imputed(ExtraTreesRegressor(**FORESTS)),
    ],
)
def test_trees_of_values(estimator):
    assert_alike(SeenBy(SMALL, ValueModel(estimator.fit(SMALL(ROWS), Y))), 1)


@pytest.mark.parametrize(
    "estimator",
    [
        DecisionTreeClassifier(min_samples_leaf=5, random_state=0),
        RandomForestClassifier(**FORESTS, min_samples_leaf=5),
        SharpExtraTrees(**FORESTS, min_samples_leaf=5),
    ],
)
def test_trees_of_classes(estimator):
    fitted = estimator.fit(SMALL(ROWS), CLASS)
    assert_alike(SeenBy(SMALL, ClassModel(fitted, np.arange(3), 3)), 3)


def test_regressors_of_indicators_that_are_forests():
    fitted = {c: RandomForestRegressor(**FORESTS).fit(SMALL(ROWS), c == CLASS) for c in range(3)}
    assert_alike(SeenBy(SMALL, IndicatorModel(fitted, 3, True)), 3)


@settings(max_examples=200)
@given(st.floats(-1e30, 1e30), st.integers(-3, 3))
def test_bounds_are_where_single_precision_turns(cut, steps):
    cut = np.float64(cut)
    (bound,) = _first_above(np.array([cut]))
    assert np.float32(bound) > cut >= np.float32(np.nextafter(bound, -np.inf))
    x = bound
    for _ in range(abs(steps)):
        x = np.nextafter(x, np.inf if steps > 0 else -np.inf)
    assert (x < bound) == (np.float32(x) <= cut)


def test_trees_by_shares_and_behind_scalers_are_not_known():
    shares = DecisionTreeRegressor().fit(VIEW(ROWS)[:, 5:6], VIEW(ROWS)[:, 5])
    assert function_of(SeenBy(View((VIEW.parts[2],)), ValueModel(shares)), 4) is None
    scaled = make_pipeline(StandardScaler(), DecisionTreeRegressor()).fit(ROWS, Y)
    assert function_of(ValueModel(scaled), 4) is None


class Mine(Ridge):
    """Not scikit-learn's."""


@pytest.mark.parametrize(
    "estimator",
    [
        GradientBoostingRegressor(n_estimators=2),
        make_pipeline(PolynomialFeatures(), Ridge()),
        make_pipeline(MinMaxScaler(clip=True), Ridge()),
        Mine(),
    ],
)
def test_others_are_not_known(estimator):
    X = np.nan_to_num(ROWS)
    assert function_of(ValueModel(estimator.fit(X, Y)), X.shape[1]) is None


def test_several_targets_and_views_of_views_are_not_known():
    two = Ridge().fit(np.nan_to_num(ROWS), np.column_stack([Y, Y]))
    assert function_of(ValueModel(two), 4) is None
    twice = SeenBy(VIEW, SeenBy(VIEW, Constant(np.ones(1))))
    assert function_of(twice, 4) is None
