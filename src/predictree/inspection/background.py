"""What is usual at the nodes of a tree: the baseline from which contributions are counted."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from predictree.learners.views import AsItIs, View
from predictree.tree import FloatArray, IntArray, Tree

CHUNK = 65_536  # rows that are looked at together


@dataclass(frozen=True)
class Background:
    """Of every node, the means of the columns that learners see as numbers.

    Attributes
    ----------
    mean : array of shape (n_nodes, width)
        Over the training rows of the node that have a value; 0 where none has.
    missing : array of shape (n_nodes, width)
        The share of the node's training rows without a value.
    view : View or None
        How those columns come from the user's; None if they are the same.
    """

    mean: FloatArray
    missing: FloatArray
    view: View | None = None

    @classmethod
    def of(cls, tree: Tree, problem: Any) -> "Background":
        """Look at the training rows of a tree, through the eyes of learners that want numbers."""
        rows = problem.root.train
        leaf = tree.apply(problem.X[rows])
        mass = np.ones(len(rows)) if problem.weight is None else problem.weight[rows]
        sums = None
        for some in _chunks(leaf):
            seen = problem.X[rows[some]]
            seen = seen if problem.view is None else problem.view(seen)
            here = _sums(seen, mass[some])
            sums = np.zeros((len(tree), *here.shape)) if sums is None else sums
            sums[leaf[some[0]]] += here
        assert sums is not None
        return cls(*_means(_added_up(tree, sums)), problem.view)

    def usual(self, node: int, place: int) -> float | None:
        """Return the mean of one of the user's columns at a node, if learners see it as it is."""
        at = 0
        for part in self.view.parts if self.view is not None else ():
            if isinstance(part, AsItIs) and part.place == place:
                return float(self.mean[node, at])
            at += part.width
        return float(self.mean[node, place]) if self.view is None else None


def _means(sums: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Divide sums of values, of the weights that have one, and of all: (nodes, 3, width)."""
    total, known, every = np.moveaxis(sums, 1, 0)
    mean = np.divide(total, known, out=np.zeros_like(total), where=known > 0)
    share = np.divide(known, every, out=np.ones_like(total), where=every > 0)
    return mean, 1.0 - share


def _chunks(leaf: IntArray) -> Iterator[IntArray]:
    """Yield rows that share a leaf, not too many at once."""
    order = np.argsort(leaf, kind="stable")
    for rows in np.split(order, np.flatnonzero(np.diff(leaf[order])) + 1):
        for start in range(0, len(rows), CHUNK):
            yield rows[start : start + CHUNK]


def _sums(seen: FloatArray, mass: FloatArray) -> FloatArray:
    known = ~np.isnan(seen)
    return np.stack(
        [
            mass @ np.where(known, seen, 0.0),
            mass @ known,
            np.full(seen.shape[1], mass.sum()),
        ]
    )


def _added_up(tree: Tree, sums: FloatArray) -> FloatArray:
    """Add what the leaves have to all nodes above them."""
    for i in range(len(tree) - 1, 0, -1):
        sums[tree.parent[i]] += sums[i]
    return sums
