"""What the sides of all splits of a node need to know of their rows: counts and scatter matrices.

Model trees judge a split by least squares on either side. All of it follows from the products of
columns, summed over the rows of a side: over bins between thresholds, and then over runs of bins.
"""

from dataclasses import dataclass

import numpy as np

from predictree.learners.closed_form import cell_grams
from predictree.splits import candidate_splits
from predictree.tree import FloatArray, Split


@dataclass(frozen=True)
class Sides:
    """Splits of a node with the sums of their two sides.

    Attributes
    ----------
    splits : tuple of Split
    count : array of shape (q, 2)
        Rows that go left and right.
    scatter : array of shape (q, 2, p, p)
        Sums of products of the columns, each about its mean on that side.
    """

    splits: tuple[Split, ...]
    count: FloatArray
    scatter: FloatArray

    @classmethod
    def of(
        cls,
        table: FloatArray,
        total: FloatArray,
        X: FloatArray,
        feature: int,
        n_thresholds: int,
        least: int,
    ) -> "Sides":
        """Sum over the sides of one feature's splits that have enough rows.

        Parameters
        ----------
        table : array of shape (n, p)
            A column of ones, then the centred columns to sum products of.
        total : array of shape (p, p)
            Their sums over all rows.
        X : array of shape (n, d)
            The features on the rows of the node.
        feature, n_thresholds : int
            What is split at how many quantiles.
        least : int
            Rows that a side must have.
        """
        column = np.ascontiguousarray(X[:, feature])
        splits = candidate_splits(feature, column, None, n_thresholds)
        grams = _grams(table, total, [split.threshold for split in splits], column)
        count = grams[:, :, 0, 0]
        enough = np.flatnonzero(np.round(count.min(axis=1)) >= least)
        return cls(tuple(splits[i] for i in enough), count[enough], scatter_of(grams[enough]))


def all_sides(
    table: FloatArray, total: FloatArray, X: FloatArray, n_thresholds: int, least: int
) -> Sides:
    """Return the splits of all features."""
    by_feature = [Sides.of(table, total, X, j, n_thresholds, least) for j in range(X.shape[1])]
    return Sides(
        tuple(split for sides in by_feature for split in sides.splits),
        np.concatenate([sides.count for sides in by_feature]),
        np.concatenate([sides.scatter for sides in by_feature]),
    )


def _grams(
    table: FloatArray, total: FloatArray, thresholds: list[float], column: FloatArray
) -> FloatArray:
    """Return the sums of products over the left and the right of every threshold: (q, 2, p, p)."""
    beyond = np.searchsorted(thresholds, column, side="right")
    cells = np.split(
        np.argsort(beyond, kind="stable"),
        np.cumsum(np.bincount(beyond, minlength=len(thresholds) + 1))[:-1],
    )
    bins = cell_grams(table, None, cells, total)
    left = np.cumsum(bins[:-1], axis=0)
    right = np.cumsum(bins[:0:-1], axis=0)[::-1]  # summed anew: a difference would round more
    return np.stack([left, right], axis=1)


def scatter_of(grams: FloatArray) -> FloatArray:
    """Turn sums of products with a first column of ones into those about the means."""
    total = grams[..., 0, 1:]
    product = total[..., :, None] * total[..., None, :]
    return np.asarray(grams[..., 1:, 1:] - product / grams[..., :1, :1])


def with_ones(columns: FloatArray) -> FloatArray:
    """Return columns about their means, after a column of ones."""
    return np.column_stack([np.ones(len(columns)), columns - columns.mean(axis=0)])


def rounding_of_variance(X: FloatArray) -> FloatArray:
    """Return the variances up to which what is left of a column is but rounding."""
    return np.asarray(1e-9 * X.var(axis=0) + np.square(1e-13 * np.abs(X).max(axis=0)))
