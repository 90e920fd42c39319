"""What a drawn tree says: a box a node with its lines of text, and a rule on every edge."""

import heapq
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from predictree.errors import shown
from predictree.model.schema import Column
from predictree.model.tree import NONE, Node, PathWeight, Tree
from predictree.model.words import rules

NAME, RULE = 22, 52  # characters that are shown of a name, and of a rule
ARROWS = 4  # beyond so many they are counted
DIGITS = 3  # of gains and weights


@dataclass(frozen=True)
class Box:
    """One box of the figure.

    Attributes
    ----------
    id : int
        Of the node; that of a stub comes after all nodes.
    rule : str
        What leads to it, written on the edge; empty at the root and above a stub.
    head : tuple of str
        The lines that name predictors.
    facts : tuple of str
        Short statements, one a line or joined.
    learner : str or None
        Whose colour it has; None for a stub.
    is_leaf : bool
    is_lit : bool
        Whether it is on the path of the row that is shown.
    children : tuple of int
        The boxes below it.
    """

    id: int
    rule: str
    head: tuple[str, ...]
    facts: tuple[str, ...] = ()
    learner: str | None = None
    is_leaf: bool = False
    is_lit: bool = False
    children: tuple[int, ...] = ()


@dataclass(frozen=True)
class Lit:
    """The path that is to stand out: its nodes, and their weights at its leaf."""

    weights: Mapping[int, float] = field(default_factory=dict)

    @classmethod
    def of(cls, tree: Tree, leaf: int) -> "Lit":
        """Return the path to a leaf."""
        weights = dict.fromkeys(tree.path(leaf), 0.0)
        for record in tree[leaf].weights or ():
            weights[record.node] += record.weight
        return cls(weights)


@dataclass(frozen=True)
class Content:
    """What the boxes of one tree say.

    Attributes
    ----------
    tree : Tree
    columns : sequence of Column or None
        For the rules.
    gains : mapping of int to float
        Δt of the leaves; those that are not known are left out.
    lit : Lit
    """

    tree: Tree
    columns: Sequence[Column] | None
    gains: Mapping[int, float] = field(default_factory=dict)
    lit: Lit = field(default_factory=Lit)

    def boxes(self, max_nodes: int, max_depth: int | None) -> dict[int, Box]:
        """Return the boxes of the nodes that are shown, with stubs for what is not, by id."""
        opened = _opened(self.tree, self.lit.weights.keys(), max_nodes, max_depth)
        below = _n_below(self.tree)
        found: dict[int, Box] = {}
        pending = [(0, "")]
        while pending:
            i, rule = pending.pop()
            node = self.tree[i]
            box = replace(self._box(node), rule=rule)
            if node.children is not None and i in opened:
                pending += zip(node.children, self._rules(node), strict=True)
                box = replace(box, children=node.children)
            elif node.children is not None:
                stub = len(self.tree) + i
                found[stub] = Box(stub, "", (f"… {below[i]:,} more nodes",))
                box = replace(box, children=(stub,))
            found[i] = box
        return found

    def _rules(self, node: Node) -> list[str]:
        assert node.split is not None
        return [shortened(rule, RULE) for rule in rules(node.split, self._brief, decimals=2)]

    @cached_property
    def _brief(self) -> list[Column] | None:
        """The columns with short names and levels."""
        return None if self.columns is None else [_shortened(column) for column in self.columns]

    def _box(self, node: Node) -> Box:
        facts = [f"n = {node.n_train:,}", *self._gain(node)]
        weight = self.lit.weights.get(node.id)
        if weight is not None:
            facts.append(f"w = {weight:.2f}")
        return Box(
            id=node.id,
            rule="",
            head=self._head(node),
            facts=tuple(facts),
            learner=self._leading(node),
            is_leaf=node.is_leaf,
            is_lit=weight is not None,
        )

    def _gain(self, node: Node) -> list[str]:
        sign = "Δt" if node.is_leaf else "Δv"
        gain = self.gains.get(node.id) if node.is_leaf else node.gain
        known = gain is not None and np.isfinite(gain)
        return [f"{sign} = {gain:.{DIGITS}g}"] if known else []

    def _head(self, node: Node) -> tuple[str, ...]:
        """Return the node's own predictor, or at a leaf of a mixture the one or two largest."""
        if not self._is_mixture(node):
            return (self._named(node.learner, node.trained_on, node.depth),)
        weights = _largest_first(node)
        shown = [
            f"{self._named(record.learner, record.trained_on, node.depth)} {record.weight:.2f}"
            for record in weights[:2]
        ]
        n_others = sum(record.weight > 0 for record in weights[2:])
        if n_others:
            shown[-1] += f"  +{n_others}"
        return tuple(shown)

    def _leading(self, node: Node) -> str:
        """Return the learner that is named first."""
        return _largest_first(node)[0].learner if self._is_mixture(node) else node.learner

    def _is_mixture(self, node: Node) -> bool:
        """Whether a leaf has other weights than the paper's, of one predictor a node."""
        nodes = [self.tree[i] for i in self.tree.path(node.id)]
        own = [(node.id, node.learner, node.trained_on) for node in nodes]
        return node.is_leaf and own != [_key(record) for record in node.weights or ()]

    def _named(self, learner: str, trained_on: int, depth: int) -> str:
        levels = depth - int(self.tree.depth[trained_on])
        return shortened(learner) + ("↑" * levels if levels <= ARROWS else f"↑{levels}")


def _largest_first(leaf: Node) -> list[PathWeight]:
    return sorted(leaf.weights or (), key=lambda record: -record.weight)


def _key(record: PathWeight) -> tuple[int, str, int]:
    return record.node, record.learner, record.trained_on


def _opened(tree: Tree, lit: AbstractSet[int], max_nodes: int, max_depth: int | None) -> set[int]:
    """Return the inner nodes whose children are shown: the lit path, then those of most rows."""
    limit = np.inf if max_depth is None else max_depth
    opened: set[int] = set()
    heap = [(0 not in lit, 0, 0)]
    n_shown = 1
    while heap:
        dark, _, i = heapq.heappop(heap)
        is_inner = tree.feature[i] != NONE
        if not is_inner or tree.depth[i] >= limit or (dark and n_shown + 2 > max_nodes):
            continue
        opened.add(i)
        n_shown += 2
        for child in (int(tree.left[i]), int(tree.right[i])):
            heapq.heappush(heap, (child not in lit, -int(tree.n_rows[child, 0]), child))
    return opened


def _n_below(tree: Tree) -> list[int]:
    """Return how many nodes are below each."""
    below = [0] * len(tree)
    for i in range(len(tree) - 1, 0, -1):
        below[int(tree.parent[i])] += 1 + below[i]
    return below


def _shortened(column: Column) -> Column:
    levels = tuple(shortened(str(level)) for level in column.levels)
    return replace(column, name=shortened(str(column.name)), levels=levels)


def shortened(text: str, length: int = NAME) -> str:
    """Return a text in one line of at most so many characters, its middle left out if need be.

    What would not be seen is written out.
    """
    line = shown(text)
    if len(line) <= length:
        return line
    tail = (length - 1) // 3
    return f"{line[: length - 1 - tail]}…{line[len(line) - tail :]}"
