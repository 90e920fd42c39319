"""A tree as far as it has grown."""

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

from growing import fits_of, grown, held_out
from predictree.grow.growth import lineage
from predictree.grow.leaf import Decision
from predictree.grow.methods import Recipe, paper
from predictree.grow.rows import Limits

LIMITS = Limits(n_thresholds=3, max_depth=2, min_samples_leaf=5, min_samples_val=5, min_gain=0.0)


@pytest.fixture(scope="module")
def growth():
    X = np.random.default_rng(0).random((400, 1))
    fits = fits_of(X, np.floor(4 * X[:, 0]), held_out(400), [LinearRegression()])
    return grown(paper(fits, Recipe(LIMITS)), fits)


def test_paths_are_numbered_level_by_level(growth):
    assert list(growth.id_of.values()) == list(range(len(growth.nodes)))
    assert list(growth.id_of)[:3] == [1, 2, 3]
    assert len(growth.nodes) == 7


def test_a_path_knows_its_ancestors(growth):
    assert lineage(0b1101) == [1, 0b11, 0b110, 0b1101]
    assert [leaf.path for leaf in growth.ancestry(0b110)] == [1, 0b11, 0b110]
    assert [leaf.path for leaf in growth.leaves_below(3)] == [6, 7]


def test_without_a_split_what_is_below_is_gone(growth):
    less = growth.without({2})
    assert sorted(less.nodes) == [1, 2, 3, 6, 7]
    assert [leaf.path for leaf in less.leaves] == [2, 6, 7]
    assert less.nodes[2].split is None
    assert len(growth.nodes) == 7


def test_nothing_is_open_once_all_is_decided(growth):
    assert growth.frontier == []
    assert growth.next is None


def test_a_decided_leaf_holds_no_candidates(growth):
    assert all(one.leaf.pool == [] for one in growth.nodes.values())


def test_a_leaf_may_be_decided_once(growth):
    with pytest.raises(ValueError, match="not in list"):
        growth.take(Decision(growth.nodes[1].leaf, None))
