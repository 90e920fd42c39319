"""The frozen tree of predictors: arrays that route rows and weigh predictions (Algorithm 3).

A tree that grows is linked and mutable (``grower``); a tree that predicts is this. It needs
NumPy only, and no walk here is recursive, so depth is bounded by memory alone.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from predictree.errors import InvalidTreeError, PredictionError

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]

KINDS: dict[str, type[np.generic]] = {
    **dict.fromkeys(["threshold", "loss", "split_loss", "weight"], np.float64),
    **dict.fromkeys(["missing_left", "had_missing", "is_level"], np.bool_),
}
"""Of the entries of a tree's arrays; all others have np.int64."""
NONE = -1  # parent of the root, children and feature of a leaf


class Fitted(Protocol):
    """A fitted learner: anything that turns rows into scores."""

    def scores(self, X: FloatArray) -> FloatArray:
        """Return the (n, k) scores of the rows of X."""


@dataclass(frozen=True, slots=True)
class Split:
    """A cut of a node C: ``x[feature] < threshold`` goes to C⁻, the rest to C⁺.

    With ``is_level`` the feature is a category and C⁻ has the rows of one level, whose code is the
    threshold. An infinite threshold parts the known from the missing. A missing value goes to C⁻
    if ``missing_left``; ``had_missing`` tells whether S(C) had any, so that the side was chosen and
    is not just that of most rows.
    """

    feature: int
    threshold: float
    missing_left: bool = False
    had_missing: bool = False
    is_level: bool = False

    def goes_left(self, column: FloatArray) -> BoolArray:
        """Tell for each value of the feature whether it belongs to C⁻."""
        left: BoolArray = column == self.threshold if self.is_level else column < self.threshold
        return left | np.isnan(column) if self.missing_left else left


@dataclass(frozen=True, slots=True)
class Predictor:
    """h = A(C*): one learner trained on one node.

    ``models`` holds one fitted model per fold of the training rows (a single one when the
    validation rows are held out); the prediction is their mean.
    """

    learner: str
    trained_on: int
    models: tuple[Fitted, ...]

    def scores(self, X: FloatArray) -> FloatArray:
        """Return the (n, k) scores of the rows of X."""
        try:
            return np.asarray(np.mean([model.scores(X) for model in self.models], axis=0))
        except (Exception, SystemExit) as error:
            raise PredictionError(
                f"learner {self.learner!r} trained on node {self.trained_on}: {error}"
            ) from error


@dataclass(frozen=True, slots=True)
class PathWeight:
    """w*(Π, C): the weight that one node's predictor has on the path to one leaf."""

    node: int
    learner: str
    trained_on: int
    weight: float


@dataclass(frozen=True, slots=True)
class Node:
    """One node C of the tree, as a record to read.

    Attributes
    ----------
    id, parent, depth : int
        ``parent`` is None at the root, whose id is 0.
    children : (int, int) or None
        Ids of C⁻ and C⁺; None at a leaf.
    split : Split or None
        The cut that makes the children; None at a leaf.
    learner, trained_on : str, int
        h_C is this learner trained on that node (C itself or an ancestor).
    loss : float
        L(h_C, V¹(C)); of the node's combination where predictors are combined. NaN where the loss
        is undefined, such as AUC on one class.
    split_loss : float or None
        Joint loss of the children's predictors on V¹(C); None at a leaf.
    n_train, n_v1, n_v2 : int
        Rows of S(C), V¹(C) and V²(C).
    weights : tuple of PathWeight or None
        At a leaf, the weights along its path, from the root down; else None.
    """

    id: int
    parent: int | None
    depth: int
    children: tuple[int, int] | None
    split: Split | None
    learner: str
    trained_on: int
    loss: float
    split_loss: float | None
    n_train: int
    n_v1: int
    n_v2: int
    weights: tuple[PathWeight, ...] | None

    @property
    def is_leaf(self) -> bool:
        """Whether the node has no children."""
        return self.children is None

    @property
    def gain(self) -> float | None:
        """Δv: how much the split lowers the loss on V¹(C); None at a leaf."""
        return None if self.split_loss is None else self.loss - self.split_loss


@dataclass(frozen=True, eq=False)
class Tree:
    """A tree of predictors with the weights of its paths; immutable.

    ``len(tree)``, iteration and ``tree[id]`` give `Node` records, parents before children.
    Predictors are stored once each, however many nodes use them.
    """

    predictors: tuple[Predictor, ...]
    n_outputs: int
    parent: IntArray
    depth: IntArray
    left: IntArray
    right: IntArray
    feature: IntArray
    threshold: FloatArray
    missing_left: BoolArray
    had_missing: BoolArray
    is_level: BoolArray
    predictor: IntArray
    loss: FloatArray
    split_loss: FloatArray
    n_rows: IntArray  # (nodes, 3): rows of S, V1, V2
    weight_leaf: IntArray  # the weights, sorted by leaf: one entry a predictor on its path
    weight_node: IntArray
    weight_predictor: IntArray
    weight: FloatArray

    def __post_init__(self) -> None:
        self._lock()

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._lock()

    def _lock(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, np.ndarray):
                value.flags.writeable = False

    @classmethod
    def from_nodes(
        cls, nodes: Sequence[Node], predictors: Sequence[Predictor], n_outputs: int
    ) -> Self:
        """Build the arrays from node records listed by id."""
        place = {(p.trained_on, p.learner): i for i, p in enumerate(predictors)}
        splits = [node.split or Split(NONE, np.nan) for node in nodes]
        children = [node.children or (NONE, NONE) for node in nodes]
        entries = [(node.id, record) for node in nodes for record in node.weights or ()]
        return cls(
            predictors=tuple(predictors),
            n_outputs=n_outputs,
            parent=_ints([NONE if node.parent is None else node.parent for node in nodes]),
            depth=_ints([node.depth for node in nodes]),
            left=_ints([left for left, _ in children]),
            right=_ints([right for _, right in children]),
            feature=_ints([split.feature for split in splits]),
            threshold=_floats([split.threshold for split in splits]),
            missing_left=np.array([split.missing_left for split in splits], dtype=bool),
            had_missing=np.array([split.had_missing for split in splits], dtype=bool),
            is_level=np.array([split.is_level for split in splits], dtype=bool),
            predictor=_ints([place[node.trained_on, node.learner] for node in nodes]),
            loss=_floats([node.loss for node in nodes]),
            split_loss=_floats(
                [np.nan if node.split_loss is None else node.split_loss for node in nodes]
            ),
            n_rows=_ints([(node.n_train, node.n_v1, node.n_v2) for node in nodes]),
            weight_leaf=_ints([leaf for leaf, _ in entries]),
            weight_node=_ints([record.node for _, record in entries]),
            weight_predictor=_ints([place[r.trained_on, r.learner] for _, r in entries]),
            weight=_floats([record.weight for _, record in entries]),
        )

    def __len__(self) -> int:
        return len(self.parent)

    def __iter__(self) -> Iterator[Node]:
        return (self[i] for i in range(len(self)))

    def __getitem__(self, node_id: int) -> Node:
        if not 0 <= node_id < len(self):
            raise IndexError(f"node {node_id} is not in a tree of {len(self)} nodes")
        i = int(node_id)
        leaf = self.feature[i] == NONE
        predictor = self.predictors[self.predictor[i]]
        n_train, n_v1, n_v2 = (int(n) for n in self.n_rows[i])
        return Node(
            id=i,
            parent=None if i == 0 else int(self.parent[i]),
            depth=int(self.depth[i]),
            children=None if leaf else (int(self.left[i]), int(self.right[i])),
            split=None if leaf else self._split(i),
            learner=predictor.learner,
            trained_on=predictor.trained_on,
            loss=float(self.loss[i]),
            split_loss=None if leaf else float(self.split_loss[i]),
            n_train=n_train,
            n_v1=n_v1,
            n_v2=n_v2,
            weights=self._path_weights(i) if leaf else None,
        )

    def _split(self, i: int) -> Split:
        return Split(
            int(self.feature[i]),
            float(self.threshold[i]),
            bool(self.missing_left[i]),
            bool(self.had_missing[i]),
            bool(self.is_level[i]),
        )

    def _path_weights(self, leaf: int) -> tuple[PathWeight, ...]:
        records = []
        first, last = np.searchsorted(self.weight_leaf, [leaf, leaf + 1])
        for entry in range(first, last):
            predictor = self.predictors[self.weight_predictor[entry]]
            records.append(
                PathWeight(
                    node=int(self.weight_node[entry]),
                    learner=predictor.learner,
                    trained_on=predictor.trained_on,
                    weight=float(self.weight[entry]),
                )
            )
        return tuple(records)

    def path(self, node_id: int) -> list[int]:
        """Return Π: the ids of the nodes from the root down to this one."""
        path = [int(node_id)]
        while self.parent[path[-1]] != NONE:
            path.append(int(self.parent[path[-1]]))
        return path[::-1]

    def get_depth(self) -> int:
        """Return the depth of the deepest leaf; a lone root has 0."""
        return int(self.depth.max())

    def get_n_leaves(self) -> int:
        """Return how many leaves the tree has."""
        return int(np.count_nonzero(self.feature == NONE))

    def apply(self, X: FloatArray) -> IntArray:
        """Return C̄(x): the id of the leaf that each row of X falls in."""
        node = np.zeros(len(X), dtype=np.int64)
        moving = np.arange(len(X))
        while moving.size:
            moving = moving[self.feature[node[moving]] != NONE]
            at = node[moving]
            value = X[moving, self.feature[at]]
            threshold = self.threshold[at]
            left = np.where(self.is_level[at], value == threshold, value < threshold)
            left = np.where(np.isnan(value), self.missing_left[at], left)
            node[moving] = np.where(left, self.left[at], self.right[at])
        return node

    def scores(self, X: FloatArray) -> FloatArray:
        """Return H(x) = Σ w*(Π(x), C) h_C(x), an (n, k) array (Algorithm 3).

        Each predictor is evaluated once, on the rows whose path gives it weight.
        """
        leaf = self.apply(X)
        total = np.zeros((len(X), self.n_outputs))
        for i, predictor in enumerate(self.predictors):
            weight = self.weight_by_leaf(i)[leaf]
            rows = np.flatnonzero(weight)
            if rows.size == len(X) > 0:
                total += weight[:, None] * predictor.scores(X)
            elif rows.size:
                total[rows] += weight[rows, None] * predictor.scores(X[rows])
        return total

    def weight_by_leaf(self, predictor: int) -> FloatArray:
        """Return the weight of one predictor at every leaf; nodes that share it add up."""
        mine = self.weight_predictor == predictor
        total = np.bincount(self.weight_leaf[mine], self.weight[mine], minlength=len(self))
        return total.astype(np.float64)  # counts are whole numbers when nothing is weighed

    def validate(self, n_features: int | None = None) -> None:
        """Raise `InvalidTreeError` if the arrays contradict each other.

        With ``n_features`` a split by any other feature is an error, too.
        """
        self._validate_arrays()
        self._validate_shape()
        self._validate_splits(n_features)
        self._validate_weights()

    def _validate_arrays(self) -> None:
        """Check types and lengths, so that the other checks can rely on them."""
        for field in fields(self):
            value = getattr(self, field.name)
            if field.name in ("predictors", "n_outputs"):
                continue
            entries = self.weight if field.name.startswith("weight") else self.parent
            shape = (len(entries), 3) if field.name == "n_rows" else (len(entries),)
            kind = KINDS.get(field.name, np.int64)
            sound = isinstance(value, np.ndarray) and value.shape == shape and value.dtype == kind
            _require(sound, f"{field.name} must be an array of {kind.__name__} of shape {shape}")
        _require(type(self.n_outputs) is int and self.n_outputs > 0, "there must be an output")
        _require(
            isinstance(self.predictors, tuple)
            and all(isinstance(predictor, Predictor) for predictor in self.predictors),
            "predictors must be a tuple of Predictor",
        )

    def _validate_shape(self) -> None:
        """Check that nodes, parents and children make one tree."""
        ids, inner = np.arange(len(self)), np.flatnonzero(self.feature != NONE)
        children = np.concatenate([self.left[inner], self.right[inner]])
        owners = np.concatenate([inner, inner])
        leaves = np.flatnonzero(self.feature == NONE)
        _require(len(self) > 0 and self.parent[0] == NONE, "node 0 must be the root")
        _require(np.array_equal(np.sort(children), ids[1:]), "every node but 0 needs one parent")
        _require(np.array_equal(self.parent[children], owners), "parents and children disagree")
        _require(bool((self.parent[1:] < ids[1:]).all()), "parents must come before children")
        ends = (self.left[leaves] == NONE) & (self.right[leaves] == NONE)
        _require(bool(ends.all()), "a leaf has children")
        _require(self.depth[0] == 0, "the root has depth 0")
        _require(
            np.array_equal(self.depth[1:], self.depth[self.parent[1:]] + 1),
            "a node must be one deeper than its parent",
        )
        _require(bool((self.n_rows >= 0).all()), "a number of rows must not be negative")

    def _validate_splits(self, n_features: int | None) -> None:
        """Check features and thresholds."""
        inner = np.flatnonzero(self.feature != NONE)
        known = np.iinfo(np.int64).max if n_features is None else n_features
        _require(_within(self.feature[inner], known), "a split is by an unknown feature")
        _require(bool((self.threshold[inner] > -np.inf).all()), "thresholds must be numbers")

    def _validate_weights(self) -> None:
        """Check that every leaf has weights on the simplex, for predictors of its own path."""
        leaves = np.flatnonzero(self.feature == NONE)
        table = len(self.predictors)
        trained_on = [predictor.trained_on for predictor in self.predictors]
        _require(all(type(node) is int for node in trained_on), "trained_on must be a node")
        _require(_within(_ints(trained_on), len(self)), "a predictor was trained on no node")
        _require(_within(self.predictor, table), "a node names a predictor that is not there")
        _require(_within(self.weight_predictor, table), "a weight names an unknown predictor")
        _require(_within(self.weight_node, len(self)), "a weight names an unknown node")
        _require(bool((np.diff(self.weight_leaf) >= 0).all()), "weights must be sorted by leaf")
        _require(bool((self.weight >= 0).all()), "weights must not be negative")
        _require(bool(np.isin(self.weight_leaf, leaves).all()), "only leaves carry weights")
        sums = np.bincount(self.weight_leaf, self.weight, minlength=len(self))[leaves]
        _require(np.allclose(sums, 1.0), "the weights of every path must sum to one")
        _require(
            all(self.predictors[i].models for i in self.weight_predictor[self.weight > 0]),
            "a predictor with weight needs models",
        )
        _require(
            self._on_path(self.weight_node)
            and self._on_path(_ints(trained_on)[self.weight_predictor]),
            "a weight is for a node that is not on the path of its leaf",
        )

    def _on_path(self, nodes: IntArray) -> bool:
        """Whether these nodes, one a weight, are on the paths to the leaves of the weights."""
        at = self.weight_leaf.copy()
        for _ in range(self.get_depth()):
            deeper = self.depth[at] > self.depth[nodes]
            at = np.where(deeper, self.parent[at], at)
        return np.array_equal(at, nodes)


def _require(condition: bool, message: str) -> None:
    if not condition:
        raise InvalidTreeError(message)


def _within(index: IntArray, size: int) -> bool:
    return bool(((index >= 0) & (index < size)).all())


def _ints(values: Sequence[Any]) -> IntArray:
    return np.array(values, dtype=np.int64)


def _floats(values: Sequence[float]) -> FloatArray:
    return np.array(values, dtype=np.float64)
