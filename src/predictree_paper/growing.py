"""Trees for two classes on rows that stay while their weights change: what boosting grows.

Each feature is sorted once. A tree then grows level by level, and a level takes one walk through
the sorted rows of each feature, whatever the number of its nodes.

The trees are those of scikit-learn's ``DecisionTreeClassifier``: a question is x ≤ t, with t midway
between two neighbouring values in the node; the best has the least Gini index, or, on the last
level and if asked for, the least error; a node with rows of both classes is split even if that
gains nothing, for what its children may gain; rows without weight do not take part. Settled here:
values are compared as doubles. Questions that differ by rounding alone are ties, and the lowest
feature wins, then the lowest threshold, so that growing needs no random numbers.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from predictree.model.tree import NONE, BoolArray, FloatArray, IntArray

PURE = float(np.finfo(float).eps)  # the second class has no more than half this share of the weight


@dataclass(frozen=True)
class Tree:
    """Questions in the order of their levels; the right child of a node follows the left one.

    Attributes
    ----------
    feature : array of shape (n_nodes,)
        What a node asks about; NONE at a leaf.
    threshold : array of shape (n_nodes,)
        Up to it rows go left; NaN at a leaf.
    left : array of shape (n_nodes,)
        The left child; NONE at a leaf.
    """

    feature: IntArray
    threshold: FloatArray
    left: IntArray

    @classmethod
    def of(cls, feature: IntArray, threshold: FloatArray) -> Self:
        """Find the children: those of the first node that asks are 1 and 2, and so on."""
        inner = feature != NONE
        return cls(feature, threshold, np.where(inner, 2 * np.cumsum(inner) - 1, NONE))

    @property
    def inner(self) -> IntArray:
        """The nodes that ask, parents before children."""
        return np.flatnonzero(self.left != NONE)

    @property
    def depth(self) -> int:
        """Questions on the longest path."""
        depth = np.zeros(len(self.left), dtype=int)
        for node in self.inner:
            depth[self.left[node] : self.left[node] + 2] = depth[node] + 1
        return int(depth[-1])

    def apply(self, X: FloatArray) -> IntArray:
        """Return the leaf of every row."""
        node = np.zeros(len(X), dtype=int)
        rows = np.arange(len(X) if self.left[0] != NONE else 0)
        while len(rows):
            at = node[rows]
            below = self.left[at] + (X[rows, self.feature[at]] > self.threshold[at])
            node[rows] = below
            rows = rows[self.left[below] != NONE]
        return node


@dataclass(frozen=True)
class SortedRows:
    """Rows, sorted by each feature that has more than one value.

    A run is a stretch of rows with the same value.

    Attributes
    ----------
    X : array of shape (m, d)
    features : array of shape (k,)
        Those with more than one value; no tree asks about the others.
    order : array of shape (k * m,)
        For one feature after the other, the rows from the lowest value to the highest.
    starts : array of shape (n_runs + 1,)
        Where in ``order`` each run starts, and where the last one ends.
    first_run : array of shape (k + 1,)
        The first run of each feature, and their number.
    """

    X: FloatArray
    features: IntArray
    order: NDArray[np.int32]
    starts: IntArray
    first_run: IntArray

    @classmethod
    def of(cls, X: FloatArray) -> Self:
        """Sort."""
        features = np.flatnonzero(X.max(axis=0) > X.min(axis=0))
        columns = np.ascontiguousarray(X[:, features].T)
        order = np.argsort(columns, axis=1, kind="stable")
        values = np.take_along_axis(columns, order, axis=1)
        is_start = np.ones(values.shape, dtype=bool)
        np.not_equal(values[:, 1:], values[:, :-1], out=is_start[:, 1:])
        starts = np.append(np.flatnonzero(is_start), is_start.size)
        first_run = np.append(0, np.cumsum(is_start.sum(axis=1)))
        return cls(X, features, order.astype(np.int32).ravel(), starts, first_run)

    def grow(self, signed: FloatArray, max_depth: int, by_error: bool = False) -> Tree:
        """Grow a tree on weights D.

        Parameters
        ----------
        signed : array of shape (m,)
            D(i) y(i), with y of -1 and +1.
        max_depth : int
        by_error : bool
            Whether the questions of the last level, whose children answer, are to have the least
            error in place of the least Gini index.
        """
        place = np.where(signed != 0, 0, NONE).astype(np.int32)  # a row's node in its level
        mass = np.column_stack([np.abs(signed), signed])
        levels, width = [], 1
        for depth in range(1, max_depth + 1):
            levels.append(self._questions(place, mass, width, by_error and depth == max_depth))
            width = 2 * int((levels[-1][0] != NONE).sum())
            if width == 0:
                break
            place = self._below(place, *levels[-1])
        levels.append(_leaves(width))
        feature, threshold = zip(*levels, strict=True)
        return Tree.of(np.concatenate(feature), np.concatenate(threshold))

    def _questions(
        self, place: NDArray[np.int32], mass: FloatArray, width: int, by_error: bool
    ) -> tuple[IntArray, FloatArray]:
        """Return the features and thresholds of a level of nodes."""
        from predictree_paper.cut_kernels import best_cuts  # noqa: PLC0415 -- compiled when used

        there = place != NONE
        sums = [np.bincount(place[there], part[there], width) for part in mass.T]
        total: FloatArray = np.column_stack(sums).astype(float)
        mixed = total[:, 0] - np.abs(total[:, 1]) > PURE * total[:, 0]
        open_place = np.where(there & mixed[place], place, np.int32(NONE))
        runs = (self.order, self.starts, self.first_run)
        cuts = best_cuts(*runs, open_place, mass, total, by_error)
        feature, threshold = _leaves(width)
        found = cuts[:, 0] != NONE
        feature[found] = self.features[cuts[found, 0]]
        beside = self.order[self.starts[cuts[found, 1:]]]  # a row on either side of each cut
        threshold[found] = _midway(*self.X[beside, feature[found, None]].T)
        return feature, threshold

    def _below(
        self, place: NDArray[np.int32], feature: IntArray, threshold: FloatArray
    ) -> NDArray[np.int32]:
        """Send the rows of a level on to the next; those in leaves are done."""
        inner = feature != NONE
        rows = np.flatnonzero((place != NONE) & inner[place])
        at = place[rows]
        below = np.full_like(place, NONE)
        right: BoolArray = self.X[rows, feature[at]] > threshold[at]
        below[rows] = 2 * (np.cumsum(inner)[at] - 1) + right
        return below


def _leaves(n: int) -> tuple[IntArray, FloatArray]:
    """Return the feature and the threshold of nodes that do not ask."""
    return np.full(n, NONE), np.full(n, np.nan)


def _midway(low: FloatArray, high: FloatArray) -> FloatArray:
    """Return a threshold that parts two values, even if there is no double between them."""
    middle = low / 2 + high / 2
    return np.where(middle < high, middle, low)
