"""Algorithm 1 on problems made by hand, below the estimators."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

from growing import fits_of, grown, held_out, in_folds
from predictree.grow.finish import frozen_tree
from predictree.grow.methods import Recipe, paper
from predictree.grow.problem import ROOT_PATH
from predictree.grow.rows import Limits

LIMITS = Limits(n_thresholds=3, max_depth=2, min_samples_leaf=5, min_samples_val=5, min_gain=0.0)


def grown_by_the_paper(X, y, partition, **limits):
    fits = fits_of(X, y, partition, [LinearRegression()])
    return grown(paper(fits, Recipe(replace(LIMITS, **limits))), fits)


@pytest.mark.parametrize("partition", [held_out(600), in_folds(600, 2)])
def test_the_true_split_is_found(regimes, partition):
    growth = grown_by_the_paper(*regimes, partition, max_depth=1)
    tree = frozen_tree(growth, growth.finish.weights(growth))
    tree.validate()
    assert tree[0].split.feature == 0
    assert tree[0].split_loss < 0.2 < tree[0].loss


def test_min_gain_must_be_exceeded(regimes):
    free = grown_by_the_paper(*regimes, held_out(600), max_depth=1).nodes[ROOT_PATH]
    gain = free.leaf.loss - free.split_loss
    for min_gain, n_nodes in ((0.9 * gain, 3), (1.1 * gain, 1)):
        growth = grown_by_the_paper(*regimes, held_out(600), min_gain=min_gain, max_depth=1)
        assert len(growth.nodes) == n_nodes


def test_a_perfect_fit_is_not_split():
    """Losses of rounding errors differ, but no split is a gain."""
    X = np.random.default_rng(0).normal(size=(200, 3))
    growth = grown_by_the_paper(X, X @ [1e3, -2e3, 5e3], held_out(200))
    assert len(growth.nodes) == 1


def test_what_has_grown_is_a_tree_even_if_nobody_asks_for_more(regimes):
    growth = grown_by_the_paper(*regimes, held_out(600), max_depth=0)
    tree = frozen_tree(growth, growth.finish.weights(growth))
    assert (len(tree), tree[0].is_leaf) == (1, True)
