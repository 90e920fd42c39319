"""Tallies: products of the columns of rows, summed by the bins of each feature and by group.

What is asked of many sets of rows is summed once by the cells that they are made of. A cell is a
bin of one feature and a group of rows, such as a fold; both sides of every split by that feature,
with any groups left out, are sums over cells.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Protocol

import numpy as np

from predictree.model.tree import BoolArray, FloatArray, IntArray, Split

NARROW = 220  # columns times bins a feature up to which one large product beats many small ones
BLOCK = 2048  # rows in hand at a time: they and their products stay in the cache


class Spread(Protocol):
    """Applies a function to tasks, maybe in several threads, and gives results in their order."""

    def __call__(self, function: Callable[[Any], Any], tasks: Iterable[Any], /) -> Iterator[Any]:
        """Return an iterator over the results."""


@dataclass(frozen=True, eq=False, slots=True)
class Binned:
    """The splits of one feature as bins: values that no split tells apart share one.

    Attributes
    ----------
    splits : sequence of Split
    code : array of shape (n,)
        The bin of every row; the last one is of missing values.
    left : array of shape (splits, bins)
        Which bins each split sends left.
    """

    splits: Sequence[Split]
    code: IntArray
    left: BoolArray

    @classmethod
    def of(cls, splits: Sequence[Split], column: FloatArray) -> "Binned":
        """Find the bin of every value of a feature."""
        levels = np.unique([split.threshold for split in splits if split.is_level])
        cuts = np.unique([s.threshold for s in splits if not s.is_level and s.threshold < np.inf])
        if len(levels):
            place = np.minimum(np.searchsorted(levels, column), len(levels) - 1)
            code, example = np.where(levels[place] == column, place, len(levels)), [*levels, -1.0]
        else:
            code, example = np.zeros(len(column), dtype=np.int16), [-np.inf, *cuts]
            for cut in cuts:  # they are few: quicker than searching each value's place
                code += column >= cut
        code[np.isnan(column)] = len(example)
        code = code.astype(np.min_scalar_type(len(example)))
        values = np.array([*example, np.nan])
        return cls(splits, code, np.array([split.goes_left(values) for split in splits]))

    @property
    def n_bins(self) -> int:
        """Bins, that of missing values included."""
        return int(self.left.shape[1])

    def counts(self, group: IntArray, n_groups: int) -> IntArray:
        """Return how many rows every cell has: (bins, groups)."""
        cell = self.code.astype(np.int64) * n_groups + group
        found = np.bincount(cell, minlength=self.n_bins * n_groups)
        return found.reshape(-1, n_groups)


def sides(left: BoolArray, cells: FloatArray | IntArray) -> FloatArray:
    """Add cells, (bins, ...), to both sides of splits: (splits, 2, ...).

    Each side is a sum of its own: a difference would round more.
    """
    both = np.stack([left, ~left], axis=1).reshape(-1, left.shape[1]).astype(float)
    summed = both @ cells.reshape(len(cells), -1)
    return np.asarray(summed.reshape(len(left), 2, *cells.shape[1:]))


def grams(
    rows: FloatArray, features: Sequence[Binned], ends: Sequence[int], spread: Spread = map
) -> Iterator[FloatArray]:
    """Yield for each feature the Gram matrices of its cells: (bins, groups, p, p).

    Few columns have all products of a row made once, which one matrix product adds to the bins of
    all features. With many columns each feature's rows are sorted into its bins and have a product
    of matrices each, but for the bin with most rows: it is what the others leave.

    The order of adding is that of the rows, whatever the number of threads.

    Parameters
    ----------
    rows : array of shape (n, p)
        Group after group.
    features : sequence of Binned
    ends : sequence of int
        Where each group ends.
    spread : callable
        Takes the place of ``map``.
    """
    if not features:
        return iter(())
    blocks = _blocks(ends)
    if sum(feature.n_bins for feature in features) * rows.shape[1] <= NARROW * len(features):
        return _of_few_columns(rows, features, blocks, len(ends), spread)
    totals = np.zeros((len(ends), rows.shape[1], rows.shape[1]))
    for g, some in blocks:
        totals[g] += rows[some].T @ rows[some]
    return spread(lambda feature: _of_feature(rows, feature, ends, totals), features)


def _blocks(ends: Sequence[int]) -> list[tuple[int, slice]]:
    """Return blocks of rows with their groups."""
    return [
        (g, slice(a, min(a + BLOCK, end)))
        for g, (start, end) in enumerate(zip([0, *ends], ends, strict=False))
        for a in range(start, end, BLOCK)
    ]


def _of_few_columns(
    rows: FloatArray,
    features: Sequence[Binned],
    blocks: list[tuple[int, slice]],
    n_groups: int,
    spread: Spread,
) -> Iterator[FloatArray]:
    """Sum packed products, the lower triangles of the Gram matrices."""
    p, first = rows.shape[1], np.cumsum([0, *(feature.n_bins for feature in features)]).tolist()

    def packed(block: tuple[int, slice]) -> FloatArray:
        products, place = np.empty((p * (p + 1) // 2, block[1].stop - block[1].start)), 0
        columns = np.ascontiguousarray(rows[block[1]].T)
        for a in range(p):
            np.multiply(columns[: a + 1], columns[a], out=products[place : place + a + 1])
            place += a + 1
        falls = np.empty((first[-1], products.shape[1]))
        for feature, start, end in zip(features, first, first[1:], strict=False):
            bins = np.arange(end - start, dtype=feature.code.dtype)[:, None]
            np.equal(feature.code[block[1]], bins, out=falls[start:end], casting="unsafe")
        return falls @ products.T

    sums = np.zeros((first[-1], n_groups, p * (p + 1) // 2))
    for (g, _), some in zip(blocks, spread(packed, blocks), strict=True):
        sums[:, g] += some
    a, b = np.tril_indices(p)
    for start, end in pairwise(first):
        found = np.empty((end - start, n_groups, p, p))
        found[..., a, b] = found[..., b, a] = sums[start:end]
        yield found


def _of_feature(
    rows: FloatArray, feature: Binned, ends: Sequence[int], totals: FloatArray
) -> FloatArray:
    """Multiply the rows of each bin but the one with most, which is what the others leave."""
    found = np.zeros((feature.n_bins, *totals.shape))
    most = np.bincount(feature.code, minlength=feature.n_bins).argmax()
    for g, (first, last) in enumerate(zip([0, *ends], ends, strict=False)):
        code = feature.code[first:last]
        by_bin = first + np.argsort(code, kind="stable")
        borders = np.cumsum(np.bincount(code, minlength=feature.n_bins)).tolist()
        for b, (start, end) in enumerate(zip([0, *borders], borders, strict=False)):
            for a in range(start, end if b != most else start, BLOCK):
                mine = rows.take(by_bin[a : min(a + BLOCK, end)], axis=0)
                found[b, g] += mine.T @ mine
    found[most] = totals - found.sum(axis=0)
    return found
