"""Mixtures by squares from sums."""

import numpy as np

from predictree.grow.combine.squares import mixtures_by_squares, on_simplex, products_of_sides
from predictree.losses.simplex import simplex_quadratic


def test_many_minima_over_the_simplex_are_those_found_one_by_one():
    rng = np.random.default_rng(0)
    A = rng.normal(size=(50, 8, 4))
    gram, pull = A.transpose(0, 2, 1) @ A + 1e-3 * np.eye(4), rng.normal(size=(50, 4))
    found = on_simplex(gram, pull, np.full((50, 4), 0.25))
    exact = [simplex_quadratic(H, c) for H, c in zip(gram, pull, strict=True)]
    np.testing.assert_allclose(found, exact, atol=1e-6)


def test_weights_of_a_fold_are_found_without_it():
    rng = np.random.default_rng(0)
    n, fold = 60, np.arange(60) % 3
    errors, mass = rng.normal(size=(n, 1, 3)), rng.random(n)
    left, toward, hold = rng.random(n) < 0.4, rng.dirichlet(np.ones(3), 3), np.array([1.0, 5, 20])
    sums = products_of_sides(errors, mass, left, fold, 3)
    found = mixtures_by_squares(*sums, toward, hold)
    for side, mine in enumerate((left, ~left)):
        for f in range(3):
            some = mine & (fold != f)
            share = np.sqrt(mass[some] / mass[some].sum())[:, None]
            gram = (errors[some, 0] * share).T @ (errors[some, 0] * share)
            ridge = 2 * hold[f] / some.sum()
            exact = simplex_quadratic(gram + ridge * np.eye(3), ridge * toward[f])
            np.testing.assert_allclose(found[side, f], exact, atol=1e-6)


def test_a_side_in_one_fold_alone_keeps_its_parents_weights():
    fold, left = np.repeat([0, 1], 6), np.arange(12) < 6
    toward = np.array([[1.0, 0.0], [0.0, 1.0]])
    errors = np.random.default_rng(0).normal(size=(12, 1, 2))
    sums = products_of_sides(errors, np.ones(12), left, fold, 2)
    found = mixtures_by_squares(*sums, toward, np.ones(2))
    np.testing.assert_allclose(found[0, 0], toward[0])
    np.testing.assert_allclose(found.sum(axis=2), 1.0)
