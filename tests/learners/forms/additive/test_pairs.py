"""Pairs: which ones act together, and their columns."""

import numpy as np

from predictree.learners.forms.additive.pairs import pair_of, ranked

from .samples import ground_of

RNG = np.random.default_rng(0)
X = RNG.uniform(-1, 1, (600, 4))
FOLD = np.arange(600) % 5
ONES = np.ones(600)


def test_the_pair_that_acts_together_comes_first():
    response = (X[:, 1] * X[:, 3])[:, None] + 0.1 * RNG.normal(size=(600, 1))
    found = ranked(X, response, ONES, ONES, FOLD, [0, 1, 2, 3])
    assert found[0][1:] == (1, 3)
    assert len(found) == 6
    assert [one[0] for one in found] == sorted((one[0] for one in found), reverse=True)


def test_noise_gains_nothing_out_of_fold():
    found = ranked(X, RNG.normal(size=(600, 1)), ONES, ONES, FOLD, [0, 1])
    assert found[0][0] < 10  # of a sum of squares of 600


def test_missing_values_are_cells_of_their_own():
    gappy = X.copy()
    gappy[:100, 0] = np.nan
    response = np.where(np.isnan(gappy[:, 0]), np.sign(X[:, 1]), 0.0)[:, None]
    (gain, *pair), *_ = ranked(gappy, response, ONES, ONES, FOLD, [0, 1, 2])
    assert pair == [0, 1]
    assert gain > 50


def test_several_scores_add_up():
    one = (X[:, 0] * X[:, 1])[:, None]
    single, double = (
        ranked(X, r, ONES, ONES, FOLD, [0, 1])[0][0] for r in (one, np.hstack([one, -one]))
    )
    np.testing.assert_allclose(double, 2 * single)


def test_products_have_mean_zero_and_one_size_together():
    weight = RNG.integers(1, 3, 600).astype(float)
    ground = ground_of(X, X[:, 0], weight=weight)
    pair = pair_of(ground.basis, ground.B, 0, 2, weight)
    columns = pair.rows(ground.B)
    assert columns.shape == (600, pair.width)
    np.testing.assert_allclose(np.average(columns, axis=0, weights=weight), 0, atol=1e-12)
    np.testing.assert_allclose(np.average(np.square(columns), axis=0, weights=weight).sum(), 1)


def test_a_surface_is_the_columns_times_coefficients():
    levels = np.column_stack([X[:, 0], RNG.integers(0, 3, 600)])
    ground = ground_of(levels, X[:, 0], categories=[1])
    pair = pair_of(ground.basis, ground.B, 0, 1, ONES)
    b = RNG.normal(size=(pair.width, 2))
    covariance = np.stack([np.eye(pair.width), 4 * np.eye(pair.width)])
    surface = pair.surface(ground.basis, b, covariance, 3.0)
    (first, second) = surface.axes
    places = first.place(levels[:, 0]), second.place(levels[:, 1])
    at_knots = places[0][2] == 0  # between knots a surface is made of lines, products are not
    here = surface.values[places[0][0], places[1][0]]
    np.testing.assert_allclose(here[at_knots], 3 * (pair.rows(ground.B) @ b)[at_knots])
    np.testing.assert_allclose(surface.variance[..., 1], 4 * surface.variance[..., 0])
    squares = 9 * np.square(pair.rows(ground.B)).sum(axis=1)[at_knots]
    np.testing.assert_allclose(surface.variance[places[0][0], places[1][0], 0][at_knots], squares)
    assert at_knots.any()
