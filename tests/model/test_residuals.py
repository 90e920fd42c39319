"""Errors of held-out rows, region by region."""

from math import ceil

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from predictree import ToPsRegressor
from predictree.model import Constant, Node, PathWeight, Predictor, Split, Tree
from predictree.model.residuals import ENOUGH, MOST, _owners, ranks, residuals


@pytest.fixture(scope="module")
def tree():
    """A root and two leaves."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (400, 1))
    y = np.where(X[:, 0] < 0, -5.0, 5.0) * X[:, 0]
    found = ToPsRegressor("lr", max_depth=1, random_state=0).fit(X, y).tree_
    assert len(found) == 3
    return found


def deep_tree():
    """A root, a leaf, and a node with two leaves."""
    places = [(None, (1, 2)), (0, None), (0, (3, 4)), (2, None), (2, None)]
    nodes = [
        Node(
            i, parent, 0 if parent is None else 1 + parent // 2, children,
            Split(0, float(i)) if children else None, "mean", 0, 1.0, 0.5 if children else None,
            9, 9, 9, None if children else (PathWeight(0, "mean", 0, 1.0),),
        )
        for i, (parent, children) in enumerate(places)
    ]  # fmt: skip
    return Tree.from_nodes(nodes, [Predictor("mean", 0, (Constant(np.zeros(1)),))], 1)


def told(tree, errors, leaves, weight=None):
    return residuals(tree, np.asarray(leaves), np.asarray(errors, dtype=float), None, weight)


@given(st.integers(ENOUGH, 900), st.floats(0.02, 0.98))
def test_the_bound_is_the_error_of_the_conformal_rank_or_of_the_next(tree, n, level):
    errors = np.random.default_rng(n).permutation(n).astype(float)
    found = told(tree, errors, np.ones(n, dtype=int)).above(np.array([1]), level)[0]
    rank = ceil((n + 1) * level - 1e-9)
    further = max(4, 2 * n / MOST)  # ranks between those that are kept
    assert rank - 1 <= found < rank - 1 + further if rank <= n else found == np.inf


def test_lower_and_upper_are_mirrored(tree):
    errors = np.random.default_rng(0).normal(size=500)
    one = told(tree, errors, np.ones(500, dtype=int))
    other = told(tree, -errors, np.ones(500, dtype=int))
    for level in (0.01, 0.2, 0.45):
        low = one.below(np.array([1]), level)
        assert low == pytest.approx(-other.above(np.array([1]), 1 - level))


def test_a_region_has_its_own_errors_if_it_has_enough_rows(tree):
    leaves = np.repeat([1, 2], [ENOUGH, ENOUGH])
    found = told(tree, np.where(leaves == 1, 1.0, 9.0), leaves)
    assert found.above(np.array([1, 2, 1]), 0.9).tolist() == [1.0, 9.0, 1.0]


def test_what_is_left_shares_the_rows_that_are_left():
    deep = deep_tree()
    leaves = np.flatnonzero(deep.feature == -1)
    n_rows = np.zeros(len(deep), dtype=int)
    n_rows[leaves] = [ENOUGH, 60, 60]
    assert _owners(deep, leaves, n_rows).tolist() == [
        leaves[0],
        deep.parent[leaves[2]],
        deep.parent[leaves[2]],
    ]
    n_rows[leaves] = [60, 60, ENOUGH]
    assert _owners(deep, leaves, n_rows).tolist() == [0, 0, leaves[2]]


def test_too_few_rows_for_a_level_ask_all(tree):
    leaves = np.repeat([1, 2], 150)
    found = told(tree, np.where(leaves == 1, 1.0, 9.0), leaves)
    assert found.above(np.array([1]), 0.9)[0] == 1.0
    assert found.above(np.array([1]), 0.995)[0] == 9.0
    assert found.above(np.array([1]), 0.9999)[0] == np.inf


def test_equal_weights_change_nothing(tree):
    errors = np.random.default_rng(1).normal(size=300)
    plain = told(tree, errors, np.ones(300, dtype=int))
    weighed = told(tree, errors, np.ones(300, dtype=int), np.full(300, 0.1))
    for one, other in zip(plain.errors, weighed.errors, strict=True):
        assert one == pytest.approx(other)


def test_weights_move_the_errors(tree):
    errors = np.arange(1000.0)
    heavy = told(tree, errors, np.ones(1000, dtype=int), np.where(errors < 500, 3.0, 1.0))
    assert heavy.above(np.array([1]), 0.75)[0] == pytest.approx(500, abs=10)
    assert heavy.counts[0] == 800  # rows that differ in weight tell of fewer


def test_the_spread_follows_the_answers(tree):
    rng = np.random.default_rng(2)
    answers = rng.uniform(1, 10, 3000)
    errors = answers * rng.normal(size=3000)
    found = residuals(tree, np.ones(3000, dtype=int), errors, answers, None)
    assert found.at(np.array([9.0]))[0] / found.at(np.array([3.0]))[0] == pytest.approx(3, rel=0.15)
    assert len(found.errors[0]) == MOST


def test_answers_without_error_have_no_width(tree):
    found = residuals(tree, np.ones(200, dtype=int), np.zeros(200), np.arange(200.0), None)
    assert found.above(np.array([1]), 0.9)[0] == 0


@given(st.integers(1, 5000))
def test_ranks_reach_from_the_first_to_the_last(n):
    found = ranks(n)
    assert len(found) <= MOST
    assert n < 100 or len(found) <= n // 2
    assert found[0] == 1
    assert n == 1 or found[-1] == n
    assert np.diff(found).max(initial=0) <= max(4, 2 * n / MOST)
