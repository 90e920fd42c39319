import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from sklearn.linear_model import LinearRegression
from sklearn.utils.estimator_checks import parametrize_with_checks

from predictree.errors import InvalidInputError
from predictree_paper.potts import (
    ResidualModelTreeRegressor,
    Rows,
    best_split,
    chow_test,
)

seeds = st.integers(0, 10_000)


@parametrize_with_checks([ResidualModelTreeRegressor()])
def test_checks(estimator, check):
    check(estimator)


def two_regimes(seed, n=300):
    """Slopes change where feature 1 is 0.2."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, size=(n, 3))
    y = np.where(X[:, 1] < 0.2, X[:, 0] + X[:, 2], 1 - 2 * X[:, 0])
    return X, y + 0.2 * rng.normal(size=n)


def one_regime(seed, n=200):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    return X, X @ [1.0, -2.0, 0.5] + rng.normal(size=n)


def rss_of(X, y):
    return ((y - LinearRegression().fit(X, y).predict(X)) ** 2).sum()


def naive_p_value(X, y, left):
    n, d = len(y), 1 + X.shape[1]
    together, apart = rss_of(X, y), rss_of(X[left], y[left]) + rss_of(X[~left], y[~left])
    statistic = ((together - apart) / d) / (apart / (n - 2 * d))
    return stats.f.sf(statistic, d, n - 2 * d)


@settings(max_examples=30, deadline=None)
@given(seeds)
def test_the_split_has_the_least_p_value_of_all(seed):
    X, y = one_regime(seed, n=60)
    tested = best_split(Rows.of(X, y), 4, 8)
    p_values = {}
    for feature in range(3):
        for threshold in np.sort(X[:, feature])[[11, 23, 35, 47]]:  # the 20 %, …, 80 % quantiles
            p_values[feature, threshold] = naive_p_value(X, y, X[:, feature] < threshold)
    feature, threshold = min(p_values, key=p_values.get)
    assert tested.n_tests == len(p_values)
    assert (tested.split.feature, tested.split.threshold) == (feature, threshold)
    assert tested.p_value == pytest.approx(p_values[feature, threshold], rel=1e-5)


@settings(max_examples=30, deadline=None)
@given(seeds)
def test_dependent_columns_are_not_parameters(seed):
    X, y = one_regime(seed, n=50)
    odd = np.column_stack([X[:, 0] * 1e4 - 7, X, np.full(50, 3.3), X[:, 1] - X[:, 2]])
    left = X[:, 0] < 0.3
    plain, more = Rows.of(X, y), Rows.of(odd, y)
    assert more.one_fit.rank == plain.one_fit.rank == 4
    p_values = [chow_test(rows.one_fit, rows.two_fits(left), 50) for rows in (plain, more)]
    np.testing.assert_allclose(p_values[0], p_values[1], rtol=1e-4)
    assert p_values[0] == pytest.approx(naive_p_value(X, y, left), rel=1e-6)


def test_a_feature_that_is_constant_on_a_side_costs_a_parameter_less():
    X, y = one_regime(0, n=80)
    X[:, 2] = np.where(X[:, 1] < 0, 0.0, X[:, 2])
    two = Rows.of(X, y).two_fits(X[:, 1] < 0)
    assert two.rank == 7
    sides = [rss_of(X[side], y[side]) for side in (X[:, 1] < 0, X[:, 1] >= 0)]
    assert two.rss * y.var() == pytest.approx(sum(sides))


@pytest.mark.parametrize("seed", range(3))
def test_the_true_break_is_found(seed):
    X, y = two_regimes(seed)
    model = ResidualModelTreeRegressor(n_thresholds=19).fit(X, y)
    root = model.nodes_[0]
    assert root.split.feature == 1
    assert root.split.threshold == pytest.approx(0.2, abs=0.1)  # a step of its quantiles
    assert root.p_value < 1e-6
    left = model.nodes_[root.children[0]]
    np.testing.assert_allclose(left.coefficients, [0, 1, 0, 1], atol=0.2)
    assert model.score(*two_regimes(99)) > LinearRegression().fit(X, y).score(*two_regimes(99))


def test_one_linear_function_is_left_whole():
    whole = [
        len(ResidualModelTreeRegressor().fit(*one_regime(seed)).nodes_) == 1 for seed in range(100)
    ]
    assert sum(whole) >= 95


def test_p_values_of_a_node_count_its_tests():
    X, y = one_regime(3)
    tested = best_split(Rows.of(X, y), 9, 8)
    root = ResidualModelTreeRegressor().fit(X, y).nodes_[0]
    assert root.p_value == pytest.approx(min(1, tested.p_value * 27))


@pytest.mark.parametrize(
    "parameters",
    [{"alpha": 0.0}, {"delta": 0.9}, {"max_depth": 0}, {"min_samples_leaf": 151}],
    ids=lambda parameters: next(iter(parameters)),
)
def test_each_rule_ends_growth(parameters):
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(300, 2))
    y = np.abs(X[:, 0]) + 0.1 * rng.normal(size=300)
    assert len(ResidualModelTreeRegressor().fit(X, y).nodes_) > 1
    assert len(ResidualModelTreeRegressor(**parameters).fit(X, y).nodes_) == 1


def test_delta_is_in_units_of_the_target():
    X, y = two_regimes(0)
    one = LinearRegression().fit(X, y)
    left = X[:, 1] < ResidualModelTreeRegressor(max_depth=1).fit(X, y).nodes_[0].split.threshold
    apart = rss_of(X[left], y[left]) + rss_of(X[~left], y[~left])
    spread = np.sqrt(((y - one.predict(X)) ** 2).sum() / 296), np.sqrt(apart / 292)
    fall = (spread[0] - spread[1]) / y.std()
    sizes = [
        len(ResidualModelTreeRegressor(max_depth=1, delta=fall * factor).fit(X, y).nodes_)
        for factor in (0.999, 1.001)
    ]
    assert sizes == [3, 1]


def test_a_leaf_is_least_squares():
    X, y = one_regime(0)
    model = ResidualModelTreeRegressor(max_depth=0).fit(1e3 * X + 1e5, y)
    expected = LinearRegression().fit(X, y).predict(X)
    np.testing.assert_allclose(model.predict(1e3 * X + 1e5), expected, rtol=1e-6)


def test_a_function_without_noise_is_met():
    X = np.random.default_rng(0).uniform(-1, 1, size=(400, 2))
    X[:, 0] = X[:, 0] > 0.3
    y = np.where(X[:, 0] == 1, X[:, 1], 2 - X[:, 1])
    model = ResidualModelTreeRegressor().fit(X, y)
    assert len(model.nodes_) == 3
    np.testing.assert_allclose(model.predict(X), y, atol=1e-8)


def test_a_constant_target_is_a_constant():
    X, _ = one_regime(0)
    model = ResidualModelTreeRegressor().fit(X, np.full(len(X), 0.1))
    np.testing.assert_allclose(model.predict(X), 0.1)
    assert len(model.nodes_) == 1


def test_weights_are_not_taken():
    with pytest.raises(TypeError, match="sample_weight"):
        ResidualModelTreeRegressor().fit(*one_regime(0), sample_weight=np.ones(200))


def test_bad_parameters_are_named():
    with pytest.raises(InvalidInputError, match="alpha=5 is above 1"):
        ResidualModelTreeRegressor(alpha=5).fit(*one_regime(0))
