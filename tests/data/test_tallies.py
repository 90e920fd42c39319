"""Gram matrices of the bins of every feature, by group."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from predictree.data.splits import candidate_splits
from predictree.data.tallies import Binned, grams, sides
from predictree.model.tree import Split


def some_columns(n, seed=0):
    """Numbers, numbers with gaps, few values, and levels with gaps."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    X[rng.random(n) < 0.2, 1] = np.nan
    X[:, 2] = rng.integers(0, 3, n)
    X[:, 3] = rng.integers(0, 5, n)
    X[rng.random(n) < 0.1, 3] = np.nan
    return X


def binned(X):
    found = [candidate_splits(j, column, None, 9, j == 3) for j, column in enumerate(X.T)]
    return [Binned.of(splits, X[:, splits[0].feature]) for splits in found if splits]


@given(st.integers(0, 10_000), st.integers(5, 60))
@settings(max_examples=30, deadline=None)
def test_bins_send_every_row_to_the_side_that_its_split_does(seed, n):
    X = some_columns(n, seed)
    for feature in binned(X):
        for split, left in zip(feature.splits, feature.left, strict=True):
            told = left[feature.code]
            np.testing.assert_array_equal(told, split.goes_left(X[:, split.feature]))


def test_the_last_bin_is_of_missing_values():
    feature = Binned.of([Split(0, 1.0, True, True)], np.array([0.0, np.nan, 2.0]))
    assert feature.code.tolist() == [0, 2, 1]
    assert feature.left.tolist() == [[True, False, True]]


@pytest.mark.parametrize("width", [4, 60])
def test_grams_are_those_of_the_rows_of_each_cell(width):
    """Few columns and many take different ways."""
    rng = np.random.default_rng(0)
    X, ends = some_columns(5000), [0, 1200, 5000]
    rows = rng.normal(size=(len(X), width))
    group = np.repeat([1, 2], [1200, 3800])
    for feature, found in zip(binned(X), grams(rows, binned(X), ends), strict=True):
        assert found.shape == (feature.n_bins, 3, width, width)
        for b in range(feature.n_bins):
            for g in range(3):
                mine = rows[(feature.code == b) & (group == g)]
                np.testing.assert_allclose(found[b, g], mine.T @ mine, atol=1e-9)
        counted = feature.counts(group, 3)
        assert counted.sum(axis=0).tolist() == [0, 1200, 3800]
        assert counted[0, 2] == np.count_nonzero((feature.code == 0) & (group == 2))


@pytest.mark.parametrize("width", [4, 60])
def test_any_number_of_threads_gives_the_same_bits(width):
    X, ends = some_columns(9000), [4000, 9000]
    rows = np.random.default_rng(0).normal(size=(len(X), width))
    alone = list(grams(rows, binned(X), ends))
    with ThreadPoolExecutor(3) as pool:
        together = list(grams(rows, binned(X), ends, pool.map))
    for one, other in zip(alone, together, strict=True):
        np.testing.assert_array_equal(one, other)


def test_no_feature_has_no_sums():
    assert list(grams(np.ones((3, 2)), [], [3])) == []


def test_each_side_is_a_sum_of_its_own():
    """As a difference from the total, what is small beside it would be lost."""
    left = np.array([[True, False], [False, True]])
    cells = np.array([[1e-9], [1e9]])
    np.testing.assert_array_equal(sides(left, cells)[..., 0], [[1e-9, 1e9], [1e9, 1e-9]])
