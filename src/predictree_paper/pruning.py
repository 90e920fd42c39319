"""The prunings of a grown classification tree: which are best at each size, and as classifiers.

A tree that says -1 or +1 has the edge Σ D(i) y(i) h(x(i)) on rows with weights D that sum to one;
its error is (1 - edge) / 2. A leaf with the signed mass s = Σ D(i) y(i) adds at most |s|, so that
the best pruning with a given number of questions follows from those of the two subtrees.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from predictree.model.tree import FloatArray, IntArray
from predictree_paper.growing import Tree


@dataclass(frozen=True)
class Hypothesis:
    """A pruned tree that answers -1 or +1.

    Attributes
    ----------
    tree : Tree
        As it was grown.
    sign : array of shape (n_nodes,)
        The answer of every leaf; leaves under one pruned node share its answer.
    n_questions : int
        Inner nodes left after pruning.
    complexity : float
        r, the bound of the Rademacher complexity of its family.
    """

    tree: Tree
    sign: IntArray
    n_questions: int
    complexity: float

    def __call__(self, X: FloatArray) -> IntArray:
        """Answer for the rows of X."""
        return np.asarray(self.sign[self.tree.apply(X)])


@dataclass(frozen=True)
class Grown:
    """A tree on weighted rows, with the signed mass of every node."""

    tree: Tree
    mass: FloatArray

    @classmethod
    def of(cls, tree: Tree, X: FloatArray, signed: FloatArray) -> "Grown":
        """Sum D(i) y(i) over the rows of every node."""
        left = tree.left
        mass: FloatArray = np.zeros(len(left))
        np.add.at(mass, tree.apply(X), signed)
        for node in tree.inner[::-1]:
            mass[node] = mass[left[node]] + mass[left[node] + 1]
        return cls(tree, mass)

    @cached_property
    def best(self) -> list[FloatArray]:
        """For every node, the greatest edge of its subtree with 0, 1, 2, … questions."""
        left = self.tree.left
        best = [np.array([abs(mass)]) for mass in self.mass]
        for node in self.tree.inner[::-1]:
            below = _best_sums(best[left[node]], best[left[node] + 1])
            best[node] = np.append(best[node], below)
        return best

    def of_size(self, n_questions: int) -> IntArray:
        """Return the leaves of the pruning with that many questions and the greatest edge."""
        leaves, open_nodes = [], [(0, n_questions)]
        while open_nodes:
            node, n = open_nodes.pop()
            if n == 0:
                leaves.append(node)
                continue
            left = int(self.tree.left[node])
            in_left = _best_share(self.best[left], self.best[left + 1], n - 1)
            open_nodes += [(left, in_left), (left + 1, n - 1 - in_left)]
        return np.array(leaves)

    def hypothesis(self, leaves: IntArray, complexity: float) -> Hypothesis:
        """Return the pruning with these leaves, each answering with the sign of its mass."""
        sign = np.where(self.mass >= 0, 1, -1)
        settled = np.isin(np.arange(len(sign)), leaves)
        for node in self.tree.inner:
            if settled[node]:
                below = [self.tree.left[node], self.tree.left[node] + 1]
                sign[below], settled[below] = sign[node], True
        return Hypothesis(self.tree, sign, len(leaves) - 1, complexity)


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
