"""Compiled trees out of a file, looked at before they run.

scikit-learn's forests and boostings follow the numbers of their nodes without asking whether these
lie within their arrays. A file that was tampered with could so read what is not the model's, or end
the process. Here every such number is checked.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.ensemble._hist_gradient_boosting.predictor import TreePredictor
from sklearn.tree._tree import Tree

from predictree.errors import DamagedModelError

LEAF = -1  # child of a leaf in scikit-learn's trees
BITSET = 8  # words of 32 bits that hold a set of categories
STATE, BUFFER = 624, 4  # words of a Mersenne twister's state, and of Philox' buffer


def check_compiled(root: Any) -> None:
    """Raise `DamagedModelError` if a compiled tree anywhere in an object would leave its arrays."""
    found: list[Any] = []
    checked: set[int] = set()
    for thing in reachable(root):
        if isinstance(thing, Tree | TreePredictor):
            found.append(thing)
        elif isinstance(thing, np.random.RandomState):
            _require(_keeps_within(thing.get_state(legacy=False)), "random state")
        elif isinstance(thing, np.random.Generator):
            _require(_keeps_within(thing.bit_generator.state), "random generator")
        elif hasattr(thing, "__dict__"):
            checked |= {id(tree) for tree in _check_owner(vars(thing))}
    _require(all(id(tree) in checked for tree in found), "tree outside of an estimator")


def _keeps_within(state: Any) -> bool:
    """Whether a random generator is at a word of its own."""
    place, place_in_buffer = state["state"].get("pos", 0), state.get("buffer_pos", 0)
    return bool(0 <= place <= STATE and 0 <= place_in_buffer <= BUFFER)


def reachable(root: Any) -> Iterator[Any]:
    """Yield an object and all that it holds, each once."""
    seen: dict[int, Any] = {}
    pending = [root]
    while pending:
        thing = pending.pop()
        if id(thing) in seen or isinstance(thing, str | bytes | int | float | None):
            continue
        seen[id(thing)] = thing
        yield thing
        pending.extend(_parts(thing))


def _parts(thing: Any) -> list[Any]:
    parts = list(vars(thing).values()) if hasattr(thing, "__dict__") else []
    if isinstance(thing, dict):
        parts += [*thing.keys(), *thing.values()]
    elif isinstance(thing, list | tuple | set | frozenset):
        parts += thing
    elif isinstance(thing, np.ndarray) and thing.dtype == object:
        parts += thing.ravel().tolist()
    elif hasattr(thing, "func") and hasattr(thing, "keywords"):  # a partial
        parts += [thing.func, thing.args, thing.keywords]
    return parts


def _check_owner(state: dict[str, Any]) -> list[Any]:
    """Check the trees that an estimator with these attributes holds, and return them."""
    trees: list[Any] = []
    if isinstance(state.get("tree_"), Tree):
        check_tree(state["tree_"], state.get("n_features_in_"))
        trees.append(state["tree_"])
    if "_predictors" in state:
        trees += _check_boosting(state)
    if "estimators_" in state and "estimators_features_" not in state:
        _check_members(state)
    return trees


def check_tree(tree: Tree, n_features: Any) -> None:
    """Check one tree of a forest."""
    _require(0 < tree.node_count <= tree.capacity, "tree of a wrong size")
    _require(_is_count(n_features) and tree.n_features == n_features, "tree of other features")
    inner = tree.children_left != LEAF
    _require(np.array_equal(inner, tree.children_right != LEAF), "node with one child")
    for children in (tree.children_left, tree.children_right):
        _require(_come_later(children, inner), "tree with a child out of place")
    _require(_below(tree.feature[inner], tree.n_features), "split by an unknown feature")


def _check_boosting(state: dict[str, Any]) -> list[Any]:
    """Check the trees of a histogram boosting."""
    n_features, mapper = state.get("n_features_in_"), state.get("_bin_mapper")
    _require(_is_count(n_features) and not state.get("_in_fit", False), "unfinished boosting")
    _require(_width_behind(state.get("_preprocessor"), n_features) == n_features, "preprocessor")
    categorical = np.asarray(getattr(mapper, "is_categorical_", None))
    _require(categorical.shape == (n_features,), "categories of other features")
    trees = [tree for iteration in state["_predictors"] for tree in iteration]
    for tree in trees:
        _require(isinstance(tree, TreePredictor), "boosting without trees")
        check_predictor(tree, categorical.astype(bool))
    return trees


def check_predictor(tree: TreePredictor, categorical: Any) -> None:
    """Check one tree of a histogram boosting, given which features are categories."""
    nodes, sets = tree.nodes, tree.raw_left_cat_bitsets
    _require(nodes.ndim == 1 and len(nodes) > 0, "tree without nodes")
    inner = nodes["is_leaf"] == 0
    for side in ("left", "right"):
        _require(_come_later(nodes[side].astype(np.int64), inner), "child out of place")
    _require(_below(nodes["feature_idx"][inner], len(categorical)), "unknown feature")
    by_set = nodes[inner & (nodes["is_categorical"] != 0)]
    _require(bool(categorical[by_set["feature_idx"]].all()), "split by levels of a number")
    _require(sets.ndim == 2 and sets.shape[1] == BITSET, "sets of categories")
    _require(_below(by_set["bitset_idx"].astype(np.int64), len(sets)), "unknown set of levels")


def _width_behind(preprocessor: Any, n_features: Any) -> Any:
    """Return how many columns a boosting's own preprocessor makes of so many."""
    if preprocessor is None:
        return n_features
    _require(getattr(preprocessor, "n_features_in_", None) == n_features, "preprocessor")
    return preprocessor.transform(np.zeros((1, n_features))).shape[1]


def _check_members(state: dict[str, Any]) -> None:
    """Check that the trees of an ensemble see as many features as the ensemble."""
    for member in np.ravel(np.asarray(state["estimators_"], dtype=object)):
        own = getattr(member, "__dict__", {})
        if isinstance(own.get("tree_"), Tree):
            alike = own.get("n_features_in_") == state.get("n_features_in_")
            _require(alike, "ensemble of other features")


def _come_later(children: Any, inner: Any) -> bool:
    """Whether the children of inner nodes come after them and within the array: no way back."""
    place = np.flatnonzero(inner)
    own = children[inner]
    return bool(((own > place) & (own < len(children))).all())


def _below(index: Any, size: int) -> bool:
    return bool(((index >= 0) & (index < size)).all())


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and value > 0


def _require(condition: Any, what: str) -> None:
    if not condition:
        raise DamagedModelError(f"the file holds a damaged estimator: {what}")
