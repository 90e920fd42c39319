import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from predictree_paper.side_kernels import regress, rss_after, scatter_of_sides
from predictree_paper.sides import (
    Bins,
    Sides,
    all_bins,
    rounding_of_sums,
    rounding_of_variance,
    with_ones,
)

seeds = st.integers(0, 10_000)


def rows_with_ties(seed, n=60):
    """Return a feature of few values, one of two, one that is constant, and one of many."""
    rng = np.random.default_rng(seed)
    return np.column_stack(
        [rng.integers(0, 4, n), rng.integers(0, 2, n), np.full(n, 0.3), 1e3 + rng.normal(size=n)]
    ).astype(float)


def naive_scatter(columns):
    centred = columns - columns.mean(axis=0)
    return centred.T @ centred


@settings(max_examples=30, deadline=None)
@given(seeds)
def test_sums_of_sides_are_those_of_their_rows(seed):
    X = rows_with_ties(seed)
    table = with_ones(X)
    sides = Sides.of(table, table.T @ table, X, 9, 5)
    assert {split.feature for split in sides.splits} == {0, 1, 3}
    for split, count, scatter in zip(sides.splits, sides.count, sides.scatter):
        left = X[:, split.feature] < split.threshold
        assert count.tolist() == [left.sum(), (~left).sum()]
        for side, found in zip((left, ~left), scatter):
            np.testing.assert_allclose(found, naive_scatter(X[side]), rtol=1e-8, atol=1e-8)


def test_only_splits_with_enough_rows_on_both_sides_part_the_rows():
    X = np.arange(100.0)[:, None]
    bins = Bins.of(X, 0, 9, 35)
    assert [split.threshold for split in bins.splits] == [39, 49, 59]
    assert [len(rows) for rows in bins.rows] == [39, 10, 10, 41]
    assert np.concatenate(bins.rows).tolist() == list(range(100))
    np.testing.assert_array_equal(bins.count, [[39, 61], [49, 51], [59, 41]])
    assert all_bins(X, 9, 51) == []


def test_no_splits_have_no_sums():
    table = with_ones(np.ones((20, 2)))
    sides = Sides.of(table, table.T @ table, np.ones((20, 2)), 9, 1)
    assert sides.splits == ()
    assert (sides.count.shape, sides.scatter.shape) == ((0, 2), (0, 2, 2, 2))


def test_bins_are_summed_from_either_end():
    """A constant first column makes all scatter zero; products of the second are 0, 1, 4."""
    columns = np.column_stack([np.ones(3), np.arange(3.0)])
    bins = columns[:, :, None] * columns[:, None, :]
    scatter = np.empty((2, 2, 1, 1))
    scatter_of_sides(bins, scatter)
    np.testing.assert_allclose(scatter[:, :, 0, 0], [[0, 0.5], [0.5, 0]], atol=1e-15)


def matrices(seed, m=4, p=6):
    rng = np.random.default_rng(seed)
    return np.stack([naive_scatter(rng.normal(size=(30, p))) for _ in range(m)])


def naive_regress(C, i, slope):
    """Map the columns, each less its multiple of column i."""
    shrink = np.eye(len(C)) - np.outer(np.eye(len(C))[i], slope)
    return shrink.T @ C @ shrink


def naive_rss_after(C, slopes, floor):
    """Take each variable off in turn, then try every line on the others."""
    found = []
    for i in range(len(floor)):
        after = naive_regress(C, i, slopes[:, i])
        lines = [after[-1, -1]]
        for j in set(range(len(floor))) - {i}:
            if after[j, j] > floor[j]:
                lines.append(after[-1, -1] - after[j, -1] ** 2 / after[j, j])
        found.append(min(lines))
    return found


def slopes_of(C):
    return C[:, :-1] / np.diag(C)[:-1]


@settings(max_examples=30, deadline=None)
@given(seeds, st.sampled_from([0.0, 25.0]))
def test_looking_ahead_is_to_regress_and_then_to_try_all_lines(seed, floor):
    C = matrices(seed)
    slopes, floors = slopes_of(C.sum(axis=0)), np.full(5, floor)
    expected = [naive_rss_after(matrix, slopes, floors) for matrix in C]
    np.testing.assert_allclose(rss_after(C, slopes, floors), expected, rtol=1e-9)


@settings(max_examples=30, deadline=None)
@given(seeds, st.integers(0, 4), st.integers(0, 4))
def test_a_regression_in_place_leaves_the_kept_columns(seed, i, other):
    """With the variable itself go those that do not vary any more."""
    C = matrices(seed)
    total = C.sum(axis=0)
    slope = total[i] / total[i, i]
    kept = np.array([j for j in range(6) if j not in (i, other)])
    expected = np.stack([naive_regress(matrix, i, slope)[np.ix_(kept, kept)] for matrix in C])
    slopes, floor = slopes_of(expected.sum(axis=0)), np.zeros(len(kept) - 1)
    flat = C.reshape(-1).copy()
    ahead = regress(flat, 6, i, slope, kept, slopes, floor)
    found = flat[: expected.size].reshape(expected.shape)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(ahead, rss_after(expected, slopes, floor), rtol=1e-8)


@settings(max_examples=30, deadline=None)
@given(seeds)
def test_a_sum_rounds_at_least_as_a_column_of_its_values(seed):
    X = rows_with_ties(seed)
    coefficients = np.random.default_rng(seed).normal(size=(5, 3))
    values = np.column_stack([np.ones(len(X)), X]) @ coefficients
    assert (rounding_of_sums(X, coefficients) >= rounding_of_variance(values) * (1 - 1e-9)).all()
    as_given = rounding_of_sums(X, np.eye(5, 4, -1))
    np.testing.assert_allclose(as_given, rounding_of_variance(X), rtol=1e-12)


def test_what_terms_leave_of_each_other_is_rounding():
    """Three of one column less the other are zero but for rounding, as the last column is."""
    x = np.random.default_rng(0).normal(size=50)
    X = np.column_stack([x, 0.1 + 3 * x, np.zeros(50)])
    rest = 0.1 + X @ [3.0, -1.0, 1.0]
    assert rest.var() > rounding_of_variance(X)[2] == 0
    assert rest.var() < rounding_of_sums(X, np.array([[0.1], [3], [-1], [1]]))[0]
