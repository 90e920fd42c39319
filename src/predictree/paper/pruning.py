"""The prunings of a grown classification tree: which are best at each size, and as classifiers.

A tree that says -1 or +1 has the edge Σ D(i) y(i) h(x(i)) on rows with weights D that sum to one;
its error is (1 - edge) / 2. A leaf with the signed mass s = Σ D(i) y(i) adds at most |s|, so that
the best pruning with a given number of questions follows from those of the two subtrees.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from sklearn.tree import DecisionTreeClassifier

from predictree.tree import FloatArray, IntArray

LEAF = -1  # the child of a leaf, in scikit-learn's arrays


@dataclass(frozen=True)
class Hypothesis:
    """A pruned tree that answers -1 or +1.

    Attributes
    ----------
    tree : DecisionTreeClassifier
        As it was grown.
    sign : array of shape (n_nodes,)
        The answer of every leaf; leaves under one pruned node share its answer.
    n_questions : int
        Inner nodes left after pruning.
    complexity : float
        r, the bound of the Rademacher complexity of its family.
    """

    tree: DecisionTreeClassifier
    sign: IntArray
    n_questions: int
    complexity: float

    def __call__(self, X: FloatArray) -> IntArray:
        """Answer for the rows of X."""
        return np.asarray(self.sign[self.tree.apply(X)])


@dataclass(frozen=True)
class Grown:
    """A tree on weighted rows, with the signed mass of every node."""

    tree: DecisionTreeClassifier
    mass: FloatArray

    @classmethod
    def of(cls, tree: DecisionTreeClassifier, X: FloatArray, signed: FloatArray) -> "Grown":
        """Sum D(i) y(i) over the rows of every node."""
        nodes = tree.tree_
        mass: FloatArray = np.zeros(nodes.node_count)
        np.add.at(mass, tree.apply(X), signed)
        for node in _parents_last(nodes.children_left):
            mass[node] = mass[nodes.children_left[node]] + mass[nodes.children_right[node]]
        return cls(tree, mass)

    @cached_property
    def best(self) -> list[FloatArray]:
        """For every node, the greatest edge of its subtree with 0, 1, 2, … questions."""
        nodes = self.tree.tree_
        best = [np.array([abs(mass)]) for mass in self.mass]
        for node in _parents_last(nodes.children_left):
            below = _best_sums(best[nodes.children_left[node]], best[nodes.children_right[node]])
            best[node] = np.append(best[node], below)
        return best

    def of_size(self, n_questions: int) -> IntArray:
        """Return the leaves of the pruning with that many questions and the greatest edge."""
        nodes, leaves, open_nodes = self.tree.tree_, [], [(0, n_questions)]
        while open_nodes:
            node, n = open_nodes.pop()
            if n == 0:
                leaves.append(node)
                continue
            left, right = int(nodes.children_left[node]), int(nodes.children_right[node])
            in_left = _best_share(self.best[left], self.best[right], n - 1)
            open_nodes += [(left, in_left), (right, n - 1 - in_left)]
        return np.array(leaves)

    def of_depth(self, depth: int) -> IntArray:
        """Return the leaves of the tree cut off at a depth."""
        nodes, leaves = self.tree.tree_, np.array([0])
        for _ in range(depth):
            inner = nodes.children_left[leaves] != LEAF
            grown = leaves[inner]
            below = [nodes.children_left[grown], nodes.children_right[grown]]
            leaves = np.concatenate([leaves[~inner], *below])
        return leaves

    def hypothesis(self, leaves: IntArray, complexity: float) -> Hypothesis:
        """Return the pruning with these leaves, each answering with the sign of its mass."""
        nodes = self.tree.tree_
        sign = np.where(self.mass >= 0, 1, -1)
        settled = np.zeros(nodes.node_count, dtype=bool)
        settled[leaves] = True
        for node in reversed(_parents_last(nodes.children_left)):
            if settled[node]:
                below = [nodes.children_left[node], nodes.children_right[node]]
                sign[below], settled[below] = sign[node], True
        return Hypothesis(self.tree, sign, len(leaves) - 1, complexity)


def _parents_last(children_left: IntArray) -> list[int]:
    """Return the inner nodes, children before parents; scikit-learn numbers parents first."""
    return [int(node) for node in np.flatnonzero(children_left != LEAF)[::-1]]


def _best_sums(left: FloatArray, right: FloatArray) -> FloatArray:
    """Return for every n the greatest ``left[i] + right[n - i]``."""
    best = np.full(len(left) + len(right) - 1, -np.inf)
    for i, edge in enumerate(left):
        part = best[i : i + len(right)]
        np.maximum(part, edge + right, out=part)
    return best


def _best_share(left: FloatArray, right: FloatArray, n: int) -> int:
    """Return the i with the greatest ``left[i] + right[n - i]``."""
    i = np.arange(max(0, n - len(right) + 1), min(n, len(left) - 1) + 1)
    return int(i[np.argmax(left[i] + right[n - i])])
