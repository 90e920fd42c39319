"""The directions in which a region may differ."""

import numpy as np

from predictree.learners.forms.additive import directions as module
from predictree.learners.forms.additive.directions import directions

RNG = np.random.default_rng(0)
X = RNG.normal(size=(200, 2))
WEIGHT = RNG.random(200)


def of(curves, categories=(), X=X):
    return directions(X, WEIGHT, curves, frozenset(categories))


def test_all_but_the_first_have_mean_zero_and_size_one():
    found = of([(0, np.square(X[:, :1])), (1, X[:, 1:])])
    assert (found[:, 0] == 1).all()
    np.testing.assert_allclose(np.average(found[:, 1:], axis=0, weights=WEIGHT), 0, atol=1e-12)
    size = np.average(np.square(found[:, 1:]), axis=0, weights=WEIGHT)
    np.testing.assert_allclose(size, 1)


def test_a_straight_curve_is_a_line_and_a_bent_one_has_its_bend_beside():
    assert of([(0, 2 * X[:, :1])]).shape[1] == 2
    assert of([(0, np.square(X[:, :1]))]).shape[1] == 3


def test_a_level_curve_leaves_the_line():
    assert of([(0, np.zeros((200, 1)))]).shape[1] == 2


def test_of_a_category_there_is_what_its_levels_add():
    levels = np.where(X[:, :1] > 0, 1.0, -1.0)
    found = of([(0, levels)], categories=[0])
    assert found.shape[1] == 2
    assert len(np.unique(found[:, 1].round(9))) == 2


def test_of_several_scores_the_direction_in_which_they_vary_most():
    effects = np.square(X[:, :1]) * np.array([3.0, -3.0, 0.0])
    np.testing.assert_allclose(
        np.abs(of([(0, effects)])), np.abs(of([(0, np.square(X[:, :1]))])), atol=1e-9
    )


def test_a_constant_or_missing_column_says_nothing():
    constant = np.column_stack([np.ones(200), np.full(200, np.nan)])
    assert of([(0, np.zeros((200, 1))), (1, np.zeros((200, 1)))], X=constant).shape[1] == 1


def test_gaps_count_as_the_mean():
    gappy = X.copy()
    gappy[:20, 0] = np.nan
    found = of([(0, np.zeros((200, 1)))], X=gappy)
    assert len(np.unique(found[:20, 1])) == 1


def test_the_strongest_are_kept(monkeypatch):
    monkeypatch.setattr(module, "MOST", 2)
    found = of([(0, X[:, :1]), (1, 5 * X[:, 1:])])
    assert found.shape[1] == 2
    assert abs(np.corrcoef(found[:, 1], X[:, 1])[0, 1]) > 0.9
