"""Mixtures of both sides of a split, compiled."""

import numpy as np
import pytest

from predictree.grow.combine.kernels import mixtures_of_sides, squares_of_sides
from predictree.grow.combine.squares import mixtures_by_squares, products_of_sides
from predictree.losses.simplex import shrunk_log_loss


def test_a_side_in_one_fold_alone_keeps_its_parents_weights():
    """Without that fold it has no row to find weights on."""
    rng = np.random.default_rng(0)
    fold, left = np.repeat([0, 1], 6), np.arange(12) < 6
    start, toward = np.array([0.5, 0.5]), np.array([[1.0, 0.0], [0.0, 1.0]])
    basis = rng.uniform(0.5, 1.5, size=(12, 2))
    holds = np.ones(2)
    weights = mixtures_of_sides(basis, np.ones(12), left, fold, start, toward, holds)
    np.testing.assert_allclose(weights[0, 0], toward[0])
    assert weights.sum(axis=2) == pytest.approx(1.0)


def test_a_sketch_survives_rows_to_which_the_better_predictor_gives_nothing():
    """The quadratic model of a logarithm does not see them coming."""
    p = np.full((100, 2), 0.5)
    p[:, 1] = 0.99
    p[:3, 1] = 1e-9
    start = np.array([1.0, 0.0])
    basis = p / (p @ start)[:, None]
    fold, everywhere = np.arange(100) % 2, np.ones(100, dtype=bool)
    toward, holds = np.tile(start, (2, 1)), np.full(2, 1e-6)
    found = mixtures_of_sides(basis, np.ones(100), everywhere, fold, start, toward, holds)
    for f in range(2):
        mine = p[fold != f]
        exact = shrunk_log_loss(mine, np.full(50, 1 / 50), start, 1e-6 / 50)
        losses = [-np.log(mine @ w).mean() for w in (start, exact, found[0, f])]
        assert losses[1] <= losses[2] < losses[1] + 0.02 < losses[0]


@pytest.mark.parametrize("k", [1, 3])
def test_mixtures_by_squares_are_those_of_many_sides_at_once(k):
    rng = np.random.default_rng(k)
    errors, mass = rng.normal(size=(300, k, 4)), rng.uniform(0.5, 2, 300)
    left, fold = rng.random(300) < 0.4, rng.integers(0, 5, 300)
    left[fold == 4] = False
    toward, holds = rng.dirichlet(np.ones(4), 5), np.full(5, 3.0)
    found = squares_of_sides(errors, mass, left, fold, toward, holds)
    sums = products_of_sides(errors, mass, left, fold, 5)
    assert found == pytest.approx(mixtures_by_squares(*sums, toward, holds), abs=1e-6)


def test_squares_of_a_side_in_one_fold_alone_keep_its_parents_weights():
    rng = np.random.default_rng(0)
    fold, left = np.repeat([0, 1], 6), np.arange(12) < 6
    toward = np.array([[1.0, 0.0], [0.0, 1.0]])
    errors = rng.normal(size=(12, 1, 2))
    found = squares_of_sides(errors, np.ones(12), left, fold, toward, np.ones(2))
    np.testing.assert_allclose(found[0, 0], toward[0])
