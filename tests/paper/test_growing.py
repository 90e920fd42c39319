from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.tree import DecisionTreeClassifier

from predictree.model.tree import NONE
from predictree_paper.growing import SortedRows, Tree


def grow(X, signed, max_depth, **how):
    rows = SortedRows.of(np.asarray(X, dtype=float))
    return rows.grow(np.asarray(signed, float), max_depth, **how)


def walk(tree, X, node=0, depth=0, rows=None):
    """Go through the nodes in scikit-learn's order, with their rows and depths."""
    rows = np.arange(len(X)) if rows is None else rows
    yield node, depth, rows
    left = tree.left[node]
    if left != NONE:
        goes_left = X[rows, tree.feature[node]] <= tree.threshold[node]
        yield from walk(tree, X, left, depth + 1, rows[goes_left])
        yield from walk(tree, X, left + 1, depth + 1, rows[~goes_left])


def assert_is_scikit_learns(X, y, weight, max_depth):
    """Node by node; X is of single precision, as scikit-learn has it."""
    tree = grow(X, weight * y, max_depth)
    theirs = DecisionTreeClassifier(max_depth=max_depth, random_state=0)
    nodes = theirs.fit(X, y, sample_weight=weight).tree_
    found = list(walk(tree, X))
    assert len(found) == len(tree.left) == nodes.node_count
    order = [node for node, _, _ in found]
    np.testing.assert_array_equal(tree.left[order] == NONE, nodes.children_left == NONE)
    inner = nodes.children_left != NONE
    np.testing.assert_array_equal(tree.feature[order][inner], nodes.feature[inner])
    np.testing.assert_array_equal(tree.threshold[order][inner], nodes.threshold[inner])
    for place, (_, _, rows) in enumerate(found):
        shares = [weight[rows][y[rows] == c].sum() / weight[rows].sum() for c in (-1, 1)]
        np.testing.assert_allclose(nodes.value[place, 0], shares, atol=1e-12)
    np.testing.assert_array_equal(np.array(order)[theirs.apply(X)], tree.apply(X))
    assert tree.depth == theirs.get_depth()


@pytest.mark.parametrize("max_depth", [1, 2, 3, 5])
@pytest.mark.parametrize("spread", [0, 1, 3], ids="weights_spread_{}".format)
def test_without_ties_the_tree_is_scikit_learns(max_depth, spread):
    rng = np.random.default_rng([max_depth, spread])
    X = rng.normal(size=(2000, 4)).astype(np.float32).astype(float)
    y = np.where(X[:, 0] * X[:, 1] + X[:, 2] + rng.normal(size=2000) > 0, 1, -1)
    assert_is_scikit_learns(X, y, np.exp(spread * rng.normal(size=2000)), max_depth)


def test_a_deep_tree_on_one_feature_is_scikit_learns():
    """Down to pure leaves; more features would be tied wherever they part the rows alike.

    Whole numbers have exact sums: with rounding scikit-learn splits some nodes that are pure.
    """
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 1)).astype(np.float32).astype(float)
    assert_is_scikit_learns(X, rng.choice([-1, 1], 150), rng.integers(1, 10**6, 150), 100)


def gini(signed):
    """Weight times impurity, from the weights of both classes."""
    first, second = -signed[signed < 0].sum(), signed[signed > 0].sum()
    return 2 * first * second / (first + second)


def all_cuts(X, signed):
    """Every question that parts rows, with the Gini index it leaves, lowest feature first."""
    for feature, column in enumerate(X.T):
        values = np.unique(column)
        for low, high in pairwise(values):
            left = column <= low
            yield gini(signed[left]) + gini(signed[~left]), feature, (low + high) / 2


few_values = st.integers(1, 12).flatmap(
    lambda n: st.tuples(
        arrays(float, (n, 3), elements=st.sampled_from([0.0, 1.0, 2.0, 5.0])),
        arrays(float, n, elements=st.integers(-3, 3).map(float)),
    )
)


@settings(deadline=None, max_examples=200)
@given(few_values, st.integers(1, 4))
def test_every_question_is_the_best_by_brute_force(rows, max_depth):
    """With ties, repeated rows, constant features and rows without weight."""
    X, signed = rows
    X, signed = np.column_stack([np.ones(len(X)), X]), signed / 7
    taking_part = signed != 0
    tree = grow(X, signed, max_depth)
    X, signed = X[taking_part], signed[taking_part]
    for node, depth, rows in walk(tree, X):
        cuts = list(all_cuts(X[rows], signed[rows]))
        both = (signed[rows] > 0).any() and (signed[rows] < 0).any()
        if not both or not cuts or depth == max_depth:
            assert tree.left[node] == NONE
            continue
        least = min(impurity for impurity, _, _ in cuts)
        first = next(cut for cut in cuts if cut[0] < least + 1e-9)
        assert (tree.feature[node], tree.threshold[node]) == first[1:]


@settings(deadline=None, max_examples=100)
@given(few_values)
def test_by_error_a_question_is_the_best_by_brute_force(rows):
    X, signed = rows[0], rows[1] / 7
    tree = grow(X, signed, 1, by_error=True)
    X, signed = X[signed != 0], signed[signed != 0]
    cuts = [
        (np.abs(signed[X[:, j] <= t].sum()) + np.abs(signed[X[:, j] > t].sum()), j, t)
        for _, j, t in all_cuts(X, signed)
    ]
    if not cuts or abs(signed.sum()) == pytest.approx(np.abs(signed).sum()):
        assert tree.left[0] == NONE
        return
    most = max(edge for edge, _, _ in cuts)
    assert (tree.feature[0], tree.threshold[0]) == next(c for c in cuts if c[0] > most - 1e-9)[1:]


def test_a_question_that_gains_nothing_may_help_the_next():
    X = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    y = np.array([1, -1, -1, 1])
    tree = grow(X, y / 4, 2)
    assert tree.feature.tolist() == [0, 1, 1, NONE, NONE, NONE, NONE]
    assert sorted(tree.apply(X)) == [3, 4, 5, 6]


@pytest.mark.parametrize(
    ("X", "signed"),
    [(np.ones((4, 2)), [1, -1, 1, -1]), (np.eye(4), [1, 2, 3, 4]), ([[0], [1]], [-1, 0])],
    ids=["alike", "one class", "without weight"],
)
def test_where_nothing_can_be_told_apart_there_is_one_leaf(X, signed):
    tree = grow(X, signed, 3)
    assert tree.feature.tolist() == [NONE]
    assert tree.depth == 0
    assert not tree.apply(np.asarray(X)).any()


@pytest.mark.parametrize(
    ("low", "high"),
    [(1.0, np.nextafter(1.0, 2)), (np.nextafter(1.0, 0), 1.0), (-1e308, 1e308), (-5e-324, 0.0)],
)
def test_neighbouring_and_distant_doubles_are_told_apart(low, high):
    X = np.array([[low], [high]])
    assert grow(X, [0.5, -0.5], 1).apply(X).tolist() == [1, 2]


def test_rounding_does_not_break_ties():
    """The second feature is the first turned round: the same cuts, with sums from the other end."""
    rng = np.random.default_rng(0)
    for _ in range(20):
        x, signed = rng.normal(size=200), rng.normal(size=200)
        tree = grow(np.column_stack([x, -x]), signed, 6)
        assert not tree.feature[tree.inner].any()


def test_mass_that_rounding_hides_is_no_contrast():
    X = np.column_stack([np.arange(6.0), [0, 0, 1, 1, 1, 1]])
    tree = grow(X, [0.1, 0.2, -0.1, -0.3, 1e-18, -1e-19], 1)
    assert (tree.feature[0], tree.threshold[0]) == (0, 1.5)


def test_rows_reach_their_leaves():
    tree = Tree.of(np.array([1, 0, NONE, NONE, NONE]), np.array([0.5, 2.0, *[np.nan] * 3]))
    assert tree.left.tolist() == [1, 3, NONE, NONE, NONE]
    assert tree.inner.tolist() == [0, 1]
    assert tree.depth == 2
    X = np.array([[2.0, 0.5], [3.0, 0.0], [0.0, 0.6]])
    assert tree.apply(X).tolist() == [3, 4, 2]
    assert tree.apply(X[:0]).tolist() == []
