"""Columns on one scale, within bounds."""

import numpy as np
import pytest

from predictree.learners.metric.scaling import WIDEST, Scaling


@pytest.fixture
def X():
    rng = np.random.default_rng(0)
    return np.column_stack([rng.normal(5, 2, 500), rng.uniform(size=500) < 0.01, np.full(500, 3.0)])


def test_columns_have_mean_zero_and_size_one(X):
    Z = Scaling.of(X, False)(X)
    assert Z[:, 0].mean() == pytest.approx(0, abs=1e-12)
    assert Z[:, 0].std() == pytest.approx(1)


def test_a_rare_flag_is_not_blown_up(X):
    Z = Scaling.of(X, False)(X)
    assert np.ptp(Z[:, 1]) == pytest.approx(1 / 0.15)


def test_a_constant_column_is_zero(X):
    assert not Scaling.of(X, True)(X)[:, 2].any()


def test_impossible_values_are_kept_half_a_span_away(X):
    scaling = Scaling.of(X, False)
    low, high = np.quantile(X[:, 0], [0.01, 0.99])
    far, edge = X[:1].copy(), X[:1].copy()
    far[0, 0], edge[0, 0] = 1e30, high + 0.5 * (high - low)
    assert scaling(far) == pytest.approx(scaling(edge))


@pytest.mark.parametrize("size", [1e300, 1e-300])
def test_the_unit_does_not_matter(X, size):
    assert Scaling.of(X * size, True)(X * size) == pytest.approx(Scaling.of(X, True)(X))


def test_normal_scores_are_there_for_columns_of_many_values_alone(X):
    scaling = Scaling.of(X, True)
    assert scaling(X).shape[1] == 4 or list(scaling.knots) == [0]
    skewed = np.exp(3 * X[:, :1])
    Z = Scaling.of(skewed, True)(skewed)
    assert abs(np.mean(Z[:, 1] ** 3)) < 0.1 < abs(np.mean(Z[:, 0] ** 3))
    assert np.abs(Z).max() <= WIDEST
