"""The compiled scorer: every link, every kind of column, against the same sums by hand."""

import numpy as np
import pytest
from scipy.special import expit, softmax

from predictree.model.additive import Axis
from predictree.model.frozen import LINKS, Bend, Function, Levels, Line, Pair, Trees
from predictree.model.frozen.trees import FrozenTree
from predictree.model.outputs import probabilities
from predictree.model.tree import Node, Predictor, Split, Tree
from predictree.run.scorer import add_scores

X = np.array([[0.5, 1.0], [-3.0, 0.0], [9.0, 7.0], [np.nan, np.nan], [2.0, -1.0]])
TERMS = (
    Line(0, np.array([1.0, -2.0]), 0.5, np.array([0.1, 0.2])),
    Bend(0, np.array([0.0, 1.0, 4.0]), np.array([[0, 1], [2, 0], [-1, 3.0]]), np.array([5.0, 6.0])),
    Levels(1, np.array([0.0, 1.0]), np.array([[1, 2], [3, 4.0]]), np.zeros(2), np.full(2, 9.0)),
)
LINE = [[0.1 if np.isnan(x) else x - 0.5, 0.2 if np.isnan(x) else 1 - 2 * x] for x in X[:, 0]]
BEND = [[1.0, 0.5], [0.0, 1.0], [-1.0, 3.0], [5.0, 6.0], [1.0, 1.0]]
LEVELS = [[3.0, 4.0], [1.0, 2.0], [0.0, 0.0], [9.0, 9.0], [0.0, 0.0]]
CONSTANT = np.array([0.25, -0.5])
NOBODY = Predictor("it", 0, ())


def answers(function, rows=X, n_outputs=2):
    """What a tree of one leaf answers with one function."""
    root = Node(0, None, 0, None, None, "it", 0, 0.0, None, 1, 1, 1, ())
    frozen = FrozenTree(Tree.from_nodes([root], [NOBODY], n_outputs), {0: [(1.0, function)]}, {})
    out = np.zeros((len(rows), n_outputs))
    add_scores(rows, out, *frozen.arrays.all)
    return out


def test_terms_are_added():
    expected = CONSTANT + np.sum([LINE, BEND, LEVELS], axis=0)
    np.testing.assert_allclose(answers(Function(CONSTANT, TERMS, "identity", (0, 1))), expected)
    swapped = answers(Function(CONSTANT, TERMS, "identity", (2, 0)), n_outputs=3)
    np.testing.assert_allclose(
        swapped, np.column_stack([expected[:, 1], np.zeros(5), expected[:, 0]])
    )


def test_scores_are_kept_within_their_span():
    bounded = answers(Function(CONSTANT, TERMS, "identity", (0, 1), (-1.0, 2.0)))
    assert (bounded.min(), bounded.max()) == (-1.0, 2.0)


def test_a_surface_has_lines_between_cells_and_one_cell_for_what_is_unknown():
    axes = Axis(0, np.array([0.0, 2.0])), Axis(1, np.array([0.0, 1.0]), is_category=True)
    values = np.arange(9.0).reshape(3, 3, 1)
    found = answers(Function(np.zeros(1), (Pair(axes, values),), "identity", (0,)), n_outputs=1)
    np.testing.assert_allclose(found[:, 0], [0.75 * 1 + 0.25 * 4, 0.0, 5.0, 8.0, 5.0])


SUMS = CONSTANT + np.sum([LINE, BEND, LEVELS], axis=0)


@pytest.mark.parametrize("link", [link for link in LINKS if link != "sharp"])
def test_links(link):
    one = SUMS[:, :1]
    two = {
        "softmax": softmax(SUMS, axis=1),
        "shares": probabilities(SUMS),
        "odds": expit(SUMS) / expit(SUMS).sum(axis=1, keepdims=True),
        "identity": SUMS,
        "complement": np.hstack([1 - one, one]),
        "complement shares": probabilities(np.hstack([1 - one, one])),
        "expit": np.hstack([1 - expit(one), expit(one)]),
        "logit": np.hstack([1 - expit(one), expit(one)]),
        "log": np.exp(SUMS),
    }
    both = link in ("softmax", "shares", "odds", "identity")
    terms = TERMS if both else tuple(map(first, TERMS))
    outputs = (0,) if link == "log" else (0, 1)
    function = Function(CONSTANT if both else CONSTANT[:1], terms, link, outputs)
    expected = two[link][:, : len(outputs)]
    np.testing.assert_allclose(answers(function)[:, : len(outputs)], expected, rtol=1e-13)


def first(term):
    """The first of a term's two sums."""
    if isinstance(term, Line):
        return Line(term.feature, term.slope[:1], term.centre, term.missing[:1])
    if isinstance(term, Bend):
        return Bend(term.feature, term.knots, term.values[:, :1], term.missing[:1])
    return Levels(term.feature, term.codes, term.values[:, :1], term.other[:1], term.missing[:1])


def test_trees_are_followed_to_their_leaves():
    trees = Trees(
        roots=np.array([0, 3]),
        nodes=np.array([[0, 1, 2], [-1, 0, 0], [-1, 1, 0], [1, 4, 5], [-1, 2, 0], [-1, 3, 0]]),
        bounds=np.array([0.75, 0, 0, 1.0, 0, 0]),
        ways=np.array([1, 0, 0, 2, 0, 0], dtype=np.int8),
        values=np.array([[1.0, 2.0], [3.0, 4.0], [10.0, 0.0], [20.0, 0.0]]),
    )
    twice = Function(np.zeros(2), (trees, trees), "identity", (0, 1))
    one = np.array([[11.0, 2.0], [21.0, 2.0], [23.0, 4.0], [21.0, 2.0], [23.0, 4.0]])
    np.testing.assert_array_equal(answers(twice), 2 * one)
    sharp = Function(np.zeros(2), (trees,), "sharp", (0, 1), exponent=2.5)
    np.testing.assert_allclose(answers(sharp), one**2.5 / (one**2.5).sum(axis=1, keepdims=True))


def test_log_odds_beyond_rounding():
    def at(link, value):
        return answers(Function(np.array([value]), (), link, (0, 1)), X[:1])[0]

    assert at("expit", 800.0).tolist() == [0.0, 1.0]
    assert at("expit", -800.0).tolist() == [1.0, 0.0]
    assert 0 < at("logit", 800.0)[0] < 1e-15
    assert np.isfinite(answers(Function(np.array([1e5]), (), "log", (0,)), X[:1], 1)).all()


def test_rows_go_as_the_tree_sends_them():
    splits = [Split(0, 0.5, missing_left=True), Split(1, 1.0, is_level=True)]
    nodes = [
        Node(0, None, 0, (1, 2), splits[0], "it", 0, 0.0, 0.0, 1, 1, 1, None),
        Node(1, 0, 1, None, None, "it", 0, 0.0, None, 1, 1, 1, ()),
        Node(2, 0, 1, (3, 4), splits[1], "it", 0, 0.0, 0.0, 1, 1, 1, None),
        Node(3, 2, 2, None, None, "it", 0, 0.0, None, 1, 1, 1, ()),
        Node(4, 2, 2, None, None, "it", 0, 0.0, None, 1, 1, 1, ()),
    ]
    tree = Tree.from_nodes(nodes, [NOBODY], 1)
    leaves = {i: [(2.0, Function(np.array([float(i)]), (), "identity", (0,)))] for i in (1, 3, 4)}
    out = np.zeros((len(X), 1))
    add_scores(X, out, *FrozenTree(tree, leaves, {}).arrays.all)
    np.testing.assert_array_equal(out[:, 0], 2.0 * tree.apply(X))
