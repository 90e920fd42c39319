"""Extra trees that sharpen the shares of their votes."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.metrics import log_loss

from predictree.learners.sharp_trees import (
    HIGHEST,
    SharpExtraTrees,
    best_exponent,
    every_third,
)


def certain(n, seed):
    """Rows of six classes that are told without error, by borders that are not along an axis."""
    X = np.random.default_rng(seed).normal(size=(n, 4))
    return X, (np.digitize(X[:, 0] + X[:, 1], [-1, 0, 1]) + 4 * (X[:, 2] > X[:, 3])) % 6


def pair():
    return SharpExtraTrees(30, random_state=0), ExtraTreesClassifier(30, random_state=0)


def test_certain_labels_are_sharpened_and_that_is_a_gain():
    (X, y), (X_new, y_new) = certain(600, 0), certain(600, 1)
    sharp, plain = (model.fit(X, y) for model in pair())
    assert 1.2 < sharp.exponent_ < HIGHEST
    p = [0.99 * model.predict_proba(X_new) + 0.01 / 6 for model in (sharp, plain)]
    assert log_loss(y_new, p[0]) < 0.95 * log_loss(y_new, p[1])
    assert (sharp.predict(X_new) == plain.predict(X_new)).all()


def test_noise_is_left_as_it_is():
    X, y = make_classification(400, flip_y=0.6, random_state=0)
    sharp, plain = (model.fit(X, y) for model in pair())
    assert sharp.exponent_ == 1.0
    np.testing.assert_allclose(sharp.predict_proba(X), plain.predict_proba(X))


def test_the_exponent_has_the_least_log_loss():
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.ones(3), size=500)
    true = p**2 / (p**2).sum(axis=1, keepdims=True)
    y = np.array([rng.choice(3, p=row) for row in true])
    given, weight = p[np.arange(500), y], rng.uniform(size=500)

    def loss(t):
        raised = p**t / (p**t).sum(axis=1, keepdims=True)
        return -weight @ np.log(raised[np.arange(500), y])

    found = best_exponent(p, given, weight)
    grid = np.linspace(1, HIGHEST, 401)
    assert found == pytest.approx(grid[np.argmin([loss(t) for t in grid])], abs=0.01)
    assert found == pytest.approx(2, abs=0.4)


def test_rows_without_a_vote_for_their_class_have_no_say():
    p = np.array([[0.8, 0.2], [0.7, 0.3], [0.9, 0.1], [1.0, 0.0]])
    given = np.array([0.8, 0.7, 0.1, 0.0])
    assert best_exponent(p, given, np.ones(4)) == best_exponent(p[:3], given[:3], np.ones(3))
    assert best_exponent(p[3:], given[3:], np.ones(1)) == 1.0


def test_a_third_of_every_class_is_held_out():
    y = np.repeat([0, 1, 2], [300, 30, 3])
    held = every_third(y, 0)
    assert [held[y == c].sum() for c in range(3)] == [100, 10, 1]
    assert (every_third(y, 1) != held).any()


@pytest.mark.parametrize("counts", [(1, 1), (2, 1), (5, 1, 1, 1)])
def test_few_rows_and_rare_classes_are_no_trouble(counts):
    y = np.repeat(np.arange(len(counts)), counts)
    X = np.random.default_rng(0).normal(size=(len(y), 2))
    p = SharpExtraTrees(3, random_state=0).fit(X, y).predict_proba(X)
    np.testing.assert_allclose(p.sum(axis=1), 1)


def test_weights_bear_on_the_exponent():
    X, y = certain(300, 0)
    light = SharpExtraTrees(10, random_state=0).fit(X, y, np.where(y < 3, 1e-9, 1.0))
    assert light.exponent_ != SharpExtraTrees(10, random_state=0).fit(X, y).exponent_
    assert clone(light).get_params() == light.get_params()
