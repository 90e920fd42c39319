"""Least losses over the simplex."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from predictree.losses.simplex import (
    shrunk_log_loss,
    simplex_absolute,
    simplex_least_squares,
    simplex_log_loss,
    simplex_quadratic,
)
from reference.simplex import square_weights

seeds = st.integers(0, 2**32 - 1)


def sample(seed, n_rows=30, n=4):
    rng = np.random.default_rng(seed)
    y = rng.normal(size=n_rows)
    return rng, y, y[:, None] * rng.uniform(0, 1, n) + rng.normal(size=(n_rows, n))


def assert_on_simplex(w):
    assert (w >= 0).all()
    assert w.sum() == pytest.approx(1)


@given(seeds, st.integers(1, 30), st.integers(2, 5))
def test_least_squares_equals_brute_force(seed, n_rows, n):
    """Also with fewer rows than predictors, where the most even weights are meant."""
    _, y, h = sample(seed, n_rows, n)
    w = simplex_least_squares(h - y[:, None])
    assert_on_simplex(w)
    np.testing.assert_allclose(w, square_weights(y, h[:, None, :]), atol=1e-5)


def test_the_same_predictor_twice_shares_its_weight():
    _, y, h = sample(0, 30, 3)
    R = h - y[:, None]
    w = simplex_least_squares(R[:, [0, 1, 1, 2]])
    once = simplex_least_squares(R)
    assert w[1] == pytest.approx(w[2])
    np.testing.assert_allclose([w[0], w[1] + w[2], w[3]], once, atol=1e-6)


def test_perfect_predictors_share_evenly():
    assert simplex_least_squares(np.zeros((5, 4))).tolist() == [0.25] * 4


def test_one_perfect_predictor_takes_all():
    R = np.array([[1.0, 0.0], [-1.0, 0.0]])
    assert simplex_least_squares(R).tolist() == [0.0, 1.0]


@given(seeds, st.integers(2, 60), st.integers(2, 6))
def test_log_loss_is_optimal(seed, n_rows, n):
    """No direction to a corner goes down: by convexity nothing else does."""
    rng = np.random.default_rng(seed)
    p = rng.beta(0.5, 0.5, size=(n_rows, n)).clip(1e-9)
    mass = rng.dirichlet(np.ones(n_rows))
    w = simplex_log_loss(p, mass)
    assert_on_simplex(w)
    assert (p.T @ (mass / (p @ w))).max() - 1 < 1e-9


def test_log_loss_with_impossible_events_stays_finite():
    """A predictor that gave the truth no chance at all can still help elsewhere."""
    eps = np.finfo(float).eps
    p = np.array([[eps, 0.5], [1.0, 0.5], [1.0, 0.5], [1.0, eps]])
    w = simplex_log_loss(p, np.full(4, 0.25))
    assert (p.T @ (0.25 / (p @ w))).max() - 1 < 1e-9


@pytest.mark.parametrize("seed", [832, 2597])
def test_log_loss_does_not_get_stuck_at_the_border(seed):
    """Two cases in which a full step left a row without any probability."""
    rng = np.random.default_rng(seed)
    n_rows, n = int(rng.integers(2, 200)), int(rng.integers(2, 12))
    p = rng.beta(*rng.choice([0.05, 0.5, 1, 3], 2), size=(n_rows, n)).clip(2.3e-16, 1)
    if rng.random() < 0.3:
        p[:, -1] = p[:, 0]
    mass = rng.dirichlet(np.ones(n_rows) * rng.choice([0.2, 1, 5])).clip(1e-12)
    mass /= mass.sum()
    w = simplex_log_loss(p, mass)
    assert (p.T @ (mass / (p @ w))).max() - 1 < 1e-9


@settings(max_examples=30)
@given(seeds, st.integers(3, 40), st.integers(2, 4))
def test_absolute_error_is_optimal(seed, n_rows, n):
    rng, y, h = sample(seed, n_rows, n)
    mass = rng.uniform(0.1, 2, n_rows)
    w = simplex_absolute(h, y, mass)
    assert_on_simplex(w)

    def loss(v):
        return mass @ np.abs(h @ v - y)

    others = rng.dirichlet(np.ones(n), size=300)
    assert loss(w) <= min(loss(v) for v in others) + 1e-9
    near = [0.999 * w + 0.001 * v for v in others]  # convex: a local minimum is the minimum
    assert loss(w) <= min(loss(v) for v in near) + 1e-9


def simplex_points(rng, n, count=2000):
    return np.vstack([rng.dirichlet(np.full(n, a), count) for a in (0.2, 1.0)])


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 6))
def test_no_point_of_the_simplex_has_a_lower_quadratic(seed, n):
    rng = np.random.default_rng(seed)
    A, c = rng.normal(size=(n + 2, n)), rng.normal(size=n)
    H = A.T @ A + 0.01 * np.eye(n)
    w = simplex_quadratic(H, c)
    assert w.min() >= 0
    assert w.sum() == pytest.approx(1)
    others = simplex_points(rng, n)
    values = 0.5 * np.einsum("ij,jk,ik->i", others, H, others) - others @ c
    assert 0.5 * w @ H @ w - c @ w <= values.min() + 1e-9


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 6), st.sampled_from([1e-9, 0.01, 1.0, 100.0]))
def test_no_point_of_the_simplex_has_a_lower_shrunk_log_loss(seed, n, strength):
    rng = np.random.default_rng(seed)
    p = rng.beta(0.5, 0.5, size=(50, n)).clip(1e-9)
    mass, toward = rng.dirichlet(np.ones(50)), rng.dirichlet(np.full(n, 0.5))

    def value(w):
        return -mass @ np.log(p @ w) + strength * ((w - toward) ** 2).sum()

    w = shrunk_log_loss(p, mass, toward, strength)
    assert value(w) <= min(map(value, simplex_points(rng, n, 300))) + 1e-8


@pytest.mark.parametrize("seed", [0, 1, 2, 261])  # a first step of the last ends on an edge
def test_shrunk_log_loss_ends_where_no_weight_can_gain_by_more(seed):
    """By convexity w is best if the slope is nowhere below what it is, on average, along w."""
    rng = np.random.default_rng(seed)
    n, k = rng.integers(5, 40), rng.integers(2, 6)
    p = rng.random((n, k)) ** rng.integers(1, 8) + 1e-9
    mass, toward, strength = np.full(n, 1 / n), np.full(k, 1 / k), 1e-9
    w = shrunk_log_loss(p, mass, toward, strength)
    slope = 2 * strength * (w - toward) - p.T @ (mass / (p @ w))
    assert slope @ w - slope.min() < 1e-8


def test_strength_moves_the_weights_from_free_to_bound():
    rng = np.random.default_rng(0)
    p = rng.uniform(0.2, 0.9, size=(200, 3))
    p[:, 0] = 0.9
    mass, toward = np.full(200, 1 / 200), np.array([0.0, 0.5, 0.5])
    found = [shrunk_log_loss(p, mass, toward, s) for s in (1e-9, 0.1, 1.0, 1e4)]
    assert found[0][0] == pytest.approx(1, abs=1e-6)
    np.testing.assert_allclose(found[-1], toward, atol=1e-3)
    distances = [np.abs(w - toward).sum() for w in found]
    assert distances == sorted(distances, reverse=True)
