"""What the sides of all splits of a node need to know of their rows: counts and scatter matrices.

Model trees judge a split by least squares on either side. All of it follows from the products of
columns, summed over the rows of a side: over bins between thresholds, and then over runs of bins.
"""

from dataclasses import dataclass

import numpy as np

from predictree.data.splits import candidate_splits
from predictree.learners.forms.design import cell_grams
from predictree.model.tree import FloatArray, IntArray, Split
from predictree_paper.side_kernels import scatter_of_sides


@dataclass(frozen=True)
class Bins:
    """The splits of one feature that leave enough rows on both sides, and the rows in between.

    Attributes
    ----------
    splits : tuple of Split
        In rising order of their thresholds.
    rows : list of arrays
        Those between two thresholds; one more than there are splits.
    """

    splits: tuple[Split, ...]
    rows: list[IntArray]

    @classmethod
    def of(cls, X: FloatArray, feature: int, n_thresholds: int, least: int) -> "Bins":
        """Part the rows by a feature at its quantiles, with at least so many on each side."""
        column = np.ascontiguousarray(X[:, feature])
        splits = candidate_splits(feature, column, None, n_thresholds)
        below = np.searchsorted(np.sort(column), [split.threshold for split in splits])
        enough = np.flatnonzero(np.minimum(below, len(column) - below) >= least)
        kept = tuple(splits[i] for i in enough)
        beyond = np.searchsorted([split.threshold for split in kept], column, side="right")
        return cls(kept, np.split(np.argsort(beyond, kind="stable"), below[enough]))

    @property
    def count(self) -> FloatArray:
        """Rows that go left and right at each split: (q, 2)."""
        below = np.cumsum([len(rows) for rows in self.rows], dtype=float)
        return np.column_stack([below[:-1], below[-1] - below[:-1]])

    def scatter(
        self, table: FloatArray, total: FloatArray, out: FloatArray | None = None
    ) -> FloatArray:
        """Sum products over the sides of each split, about the means there: (q, 2, p, p).

        Parameters
        ----------
        table : array of shape (n, 1 + p)
            A column of ones, then the centred columns to sum products of.
        total : array of shape (1 + p, 1 + p)
            Their sums over all rows.
        out : array of shape (q, 2, p, p), optional
            Where to put them.
        """
        p = table.shape[1] - 1
        sums = np.empty((len(self.splits), 2, p, p)) if out is None else out
        scatter_of_sides(cell_grams(table, None, self.rows, total), sums)
        return sums


def all_bins(X: FloatArray, n_thresholds: int, least: int) -> list[Bins]:
    """Return the bins of all features that can be split."""
    of_features = (Bins.of(X, feature, n_thresholds, least) for feature in range(X.shape[1]))
    return [bins for bins in of_features if bins.splits]


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
        cls, table: FloatArray, total: FloatArray, X: FloatArray, n_thresholds: int, least: int
    ) -> "Sides":
        """Sum over the sides of all splits that have enough rows.

        ``table`` and ``total`` are as in `Bins.scatter`; ``X`` are the features on the rows.
        """
        of_features = all_bins(X, n_thresholds, least)
        splits = tuple(split for bins in of_features for split in bins.splits)
        count = np.concatenate([np.empty((0, 2)), *(bins.count for bins in of_features)])
        p = table.shape[1] - 1
        scatter = np.empty((len(splits), 2, p, p))
        start = 0
        for bins in of_features:
            stop = start + len(bins.splits)
            bins.scatter(table, total, scatter[start:stop])
            start = stop
        return cls(splits, count, scatter)


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
    return _rounding(X.std(axis=0), np.abs(X).max(axis=0))


def rounding_of_sums(X: FloatArray, coefficients: FloatArray) -> FloatArray:
    """Return the variances up to which ``[1, x] @ coefficients`` varies by rounding alone.

    Its terms round, however little they leave of each other, so their sizes count and not that of
    the sum: it is at most theirs together. A column as it is gives its `rounding_of_variance`.

    Parameters
    ----------
    X : array of shape (n, d)
    coefficients : array of shape (1 + d, p)
        Of p sums: a constant, and the coefficients of the columns.
    """
    constant, of_columns = np.split(np.abs(coefficients), [1])
    return _rounding(X.std(axis=0) @ of_columns, constant[0] + np.abs(X).max(axis=0) @ of_columns)


def _rounding(spread: FloatArray, largest: FloatArray) -> FloatArray:
    """Return variances that may be left of columns by rounding.

    What is left of a sum of squares when others are taken off it is off by 1e-16 of it, or some
    more, and is to be divided by; so it has to be well above. The values are off by 1e-16 of the
    largest, or of hundreds that are summed, even where they do not vary.
    """
    return np.asarray(1e-9 * np.square(spread) + np.square(1e-13 * largest))
