import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from predictree.grow.finish import path_weights
from predictree.losses import Judged
from predictree.losses.simplex import simplex_absolute, simplex_least_squares, simplex_log_loss
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


@pytest.mark.parametrize("combination", ["squares", "log"])
def test_row_weights_are_repetitions(combination):
    rng = np.random.default_rng(3)
    y = rng.integers(0, 3, 20)
    scores = [rng.dirichlet(np.ones(3), size=20) for _ in range(3)]
    times = rng.integers(1, 4, 20)
    again = np.repeat(np.arange(20), times)
    weighted = path_weights(combination, Judged(y, times / 7), scores)
    repeated = path_weights(combination, Judged(y[again], None), [s[again] for s in scores])
    np.testing.assert_allclose(weighted, repeated, atol=1e-8)


def test_squares_use_every_class():
    rng = np.random.default_rng(5)
    y = rng.integers(0, 3, 40)
    scores = [rng.dirichlet(np.ones(3), size=40) for _ in range(3)]
    w = path_weights("squares", Judged(y, None), scores)

    def brier(v):
        mixed = sum(vi * s for vi, s in zip(v, scores))
        return np.square(mixed - np.eye(3)[y]).sum()

    simplex = {"type": "eq", "fun": lambda v: v.sum() - 1}
    best = minimize(brier, np.full(3, 1 / 3), bounds=[(0, 1)] * 3, constraints=simplex, tol=1e-12)
    np.testing.assert_allclose(w, best.x, atol=1e-4)


def test_a_lone_predictor_has_all_the_weight():
    assert path_weights("log", Judged(np.array([0]), None), [np.array([[1.0, 0.0]])]) == [1.0]
