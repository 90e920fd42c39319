"""Model trees as lists of nodes: how a node joins them, and how rows reach the model of a leaf."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Protocol

import numpy as np

from predictree.model.tree import FloatArray, IntArray, Split


class ModelNode(Protocol):
    """A node of a model tree, in a list with parents before children."""

    @property
    def split(self) -> Split | None:
        """The split of a node with two children."""

    @property
    def children(self) -> tuple[int, ...]:
        """Their places in the list: two of a split, one of another inner node, none of a leaf."""

    @property
    def coefficients(self) -> FloatArray:
        """Intercept and slopes of the model of a leaf."""


def attach(nodes: list[Any], node: ModelNode, parent: int | None) -> None:
    """Append a node and make it the next child of its parent, a frozen dataclass."""
    if parent is not None:
        above = nodes[parent]
        nodes[parent] = replace(above, children=(*above.children, len(nodes)))
    nodes.append(node)


def answers(nodes: Sequence[ModelNode], X: FloatArray) -> FloatArray:
    """Answer for every row with the linear model of its leaf."""
    found = np.empty(len(X))
    for node, mine in leaves(nodes, X):
        found[mine] = node.coefficients[0] + X[mine] @ node.coefficients[1:]
    return found


def leaves(nodes: Sequence[ModelNode], X: FloatArray) -> Iterator[tuple[ModelNode, IntArray]]:
    """Go through the leaves with the rows that reach them."""
    waiting: list[tuple[int, Any]] = [(0, np.arange(len(X)))]
    while waiting:
        place, rows = waiting.pop()
        node = nodes[place]
        if node.split is not None:
            left = node.split.goes_left(X[rows, node.split.feature])
            waiting += zip(node.children, (rows[left], rows[~left]), strict=True)
        elif node.children:
            waiting.append((node.children[0], rows))
        else:
            yield node, rows
