import pickle
from dataclasses import FrozenInstanceError, dataclass, replace

import numpy as np
import pytest

from predictree.errors import InvalidTreeError, PredictionError
from predictree.model.tree import Node, PathWeight, Predictor, Split, Tree


@dataclass(frozen=True)
class Always:
    value: float

    def scores(self, X):
        return np.full((len(X), 1), self.value)


@dataclass(frozen=True)
class Broken:
    def scores(self, X):
        raise ValueError("returned NaN or infinite scores")


def node(i, parent, depth, *, children=None, split=None, trained_on=None, weights=None):
    return Node(
        id=i,
        parent=parent,
        depth=depth,
        children=children,
        split=split,
        learner="a",
        trained_on=i if trained_on is None else trained_on,
        loss=1.0,
        split_loss=None if children is None else 0.5,
        n_train=3,
        n_v1=2,
        n_v2=1,
        weights=weights,
    )


def weights(*pairs):
    return tuple(PathWeight(owner, "a", owner, w) for owner, w in pairs)


@pytest.fixture
def small():
    """Root split at 0 (missing left); h_X = 1, left child reuses it, right child says 5."""
    nodes = [
        node(0, None, 0, children=(1, 2), split=Split(0, 0.0, missing_left=True)),
        node(1, 0, 1, trained_on=0, weights=weights((0, 0.5), (0, 0.5))),
        node(2, 0, 1, weights=weights((0, 0.25), (2, 0.75))),
    ]
    predictors = [Predictor("a", 0, (Always(1.0),)), Predictor("a", 2, (Always(4.0), Always(6.0)))]
    return Tree.from_nodes(nodes, predictors, n_outputs=1)


X = np.array([[-1.0], [0.0], [3.0], [np.nan]])


def test_rows_at_the_threshold_go_right_and_missing_ones_where_they_were_told(small):
    assert small.apply(X).tolist() == [1, 2, 2, 1]


def test_scores_are_the_weighted_sum_along_the_path(small):
    assert small.scores(X)[:, 0].tolist() == [1.0, 4.0, 4.0, 1.0]


def test_nodes_read_back_as_they_were_written(small):
    again = Tree.from_nodes(list(small), small.predictors, small.n_outputs)
    assert list(again) == list(small)
    assert small[2].weights == weights((0, 0.25), (2, 0.75))
    assert small[0].gain == 0.5
    assert small[1].gain is None
    assert (len(small), small.get_depth(), small.get_n_leaves()) == (3, 1, 2)
    assert small.path(2) == [0, 2]


@pytest.mark.parametrize("i", [-1, 3])
def test_an_unknown_node_is_an_index_error(small, i):
    with pytest.raises(IndexError, match="tree of 3 nodes"):
        small[i]


@pytest.mark.parametrize("copy", [lambda tree: tree, lambda tree: pickle.loads(pickle.dumps(tree))])
def test_a_tree_cannot_be_changed(small, copy):
    tree = copy(small)
    with pytest.raises(ValueError, match="read-only"):
        tree.threshold[0] = 7
    with pytest.raises(FrozenInstanceError):
        tree.threshold = np.zeros(3)


def test_a_predictor_that_gives_no_number_is_named(small):
    broken = replace(small, predictors=(Predictor("odd", 0, (Broken(),)), small.predictors[1]))
    with pytest.raises(PredictionError, match="'odd' trained on node 0: returned NaN"):
        broken.scores(X)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"parent": np.array([-1, 0, 1])}, "disagree"),
        ({"left": np.array([2, -1, -1])}, "one parent"),
        ({"depth": np.array([0, 1, 2])}, "deeper"),
        ({"threshold": np.array([np.nan, np.nan, np.nan])}, "numbers"),
        ({"predictor": np.array([0, 0, 9])}, "predictor"),
        ({"weight": np.array([0.5, 0.5, 0.5, 0.75])}, "sum to one"),
        ({"weight": np.array([0.5, 0.5, -0.25, 1.25])}, "negative"),
        ({"weight_leaf": np.array([0, 0, 2, 2])}, "leaves"),
        ({"weight_node": np.array([0, 0, 0, 9])}, "unknown node"),
        ({"weight_predictor": np.array([0, 0, 0, -1])}, "unknown predictor"),
        ({"weight_node": np.array([0, 2, 0, 2])}, "not on the path"),
        ({"feature": np.array([-2, -1, -1])}, "unknown feature"),
        ({"left": np.array([1, 1, -1])}, "a leaf has children"),
        ({"loss": np.ones(2)}, r"loss must be an array of float64 of shape \(3,\)"),
        ({"depth": np.array([0.0, 1.0, 1.0])}, "depth must be an array of int64"),
        ({"n_rows": np.full((3, 3), -1)}, "must not be negative"),
        ({"n_outputs": 0}, "an output"),
        ({"predictors": (Predictor("a", 0, ()), Predictor("a", 2, ()))}, "needs models"),
    ],
)
def test_validate_finds_contradictions(small, change, message):
    small.validate()
    with pytest.raises(InvalidTreeError, match=message):
        replace(small, **change).validate()


def test_a_chain_of_depth_5000_predicts_and_pickles():
    depth = 5000
    nodes = []
    for level in range(depth):
        inner, leaf = 2 * level, 2 * level + 1
        parent = inner - 2 if level else None
        split = Split(0, float(level))
        nodes.append(
            node(inner, parent, level, children=(leaf, inner + 2), split=split, trained_on=0)
        )
        nodes.append(node(leaf, inner, level + 1, trained_on=0, weights=weights((0, 1.0))))
    nodes.append(node(2 * depth, 2 * depth - 2, depth, weights=weights((0, 0.5), (2 * depth, 0.5))))
    predictors = [Predictor("a", 0, (Always(1.0),)), Predictor("a", 2 * depth, (Always(3.0),))]
    tree = Tree.from_nodes(nodes, predictors, n_outputs=1)
    tree.validate()
    tree = pickle.loads(pickle.dumps(tree))
    ends = np.array([[-1.0], [2500.5], [9999.0]])
    assert tree.apply(ends).tolist() == [1, 5003, 10000]
    assert tree.scores(ends)[:, 0].tolist() == [1.0, 1.0, 2.0]
    assert tree.get_depth() == depth
    assert sum(1 for _ in tree) == 2 * depth + 1


def test_validate_knows_the_features_if_it_is_told(small):
    small.validate(n_features=1)
    with pytest.raises(InvalidTreeError, match="unknown feature"):
        small.validate(n_features=0)
