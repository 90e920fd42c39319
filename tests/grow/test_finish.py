"""From a grown tree to one that predicts: the weights of its paths, its models."""

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.linear_model import LinearRegression

from growing import fits_of, grown, in_folds
from predictree.grow.finish import frozen_tree, path_weights
from predictree.grow.methods import Recipe, paper
from predictree.grow.rows import Limits
from predictree.losses import Judged


def test_with_folds_a_predictor_is_the_mean_of_its_models(regimes):
    X, y = regimes
    fits = fits_of(X, y, in_folds(len(X), 2), [LinearRegression()])
    growth = grown(paper(fits, Recipe(Limits(3, 0, 5, 5, 0.0))), fits)
    tree = frozen_tree(growth, growth.finish.weights(growth))
    halves = [LinearRegression().fit(X[f::2], y[f::2]).predict(X) for f in (1, 0)]
    np.testing.assert_allclose(tree.scores(X)[:, 0], np.mean(halves, axis=0))


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
