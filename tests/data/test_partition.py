import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from predictree.data.partition import (
    Partition,
    assign_folds,
    blocks,
    check_codes,
    check_fractions,
    check_parts,
    hold_out,
    row_keys,
)
from predictree.errors import InvalidInputError

SHARES = (0.75, 0.15, 0.10)


def draw(X, strata=None, groups=None, seed=0):
    return hold_out(X, strata, groups, SHARES, np.random.default_rng(seed))


def test_shares_are_kept_overall_and_in_every_class():
    X = np.random.default_rng(1).normal(size=(1000, 3))
    y = np.repeat([0, 1], [900, 100])
    codes = draw(X, y)
    assert np.bincount(codes).tolist() == [750, 150, 100]
    assert np.bincount(codes[y == 1]).tolist() == [75, 15, 10]


def test_every_class_stays_in_training():
    X = np.arange(12.0)[:, None]
    y = np.array([0] * 9 + [1, 2, 3])
    for seed in range(20):
        codes = draw(X, y, seed=seed)
        assert set(y[codes == 0]) == {0, 1, 2, 3}
        assert set(codes) == {0, 1, 2}


def test_equal_rows_share_a_part():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 4, size=(300, 3)).astype(float)
    codes = draw(X, rng.integers(0, 2, 300))
    for row in np.unique(X, axis=0):
        assert len(set(codes[(row == X).all(axis=1)])) == 1


def test_groups_share_a_part_and_so_do_groups_with_a_row_in_common():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2))
    groups = np.repeat(np.arange(50), 4)
    X[4] = X[0]  # groups 0 and 1 now share a feature row
    codes = draw(X, groups=groups)
    for group in range(50):
        assert len(set(codes[groups == group])) == 1
    assert codes[0] == codes[4]


@pytest.mark.parametrize("seed", range(5))
def test_folds_of_groups_are_even_in_rows_and_classes(seed):
    rng = np.random.default_rng(seed)
    groups = np.concatenate([np.repeat(np.arange(5), 30), np.arange(5, 55)])
    X, y = rng.normal(size=(200, 2)), (rng.random(200) < 0.15).astype(int)
    for strata in (None, y):
        fold = assign_folds(X, strata, groups, 5, rng)
        assert np.ptp(np.bincount(fold)) <= (0 if strata is None else 3)
        assert all(len(set(fold[groups == group])) == 1 for group in range(55))
    assert np.ptp(np.bincount(fold, y)) <= 3  # one group has eight


def test_a_large_group_has_a_fold_with_little_else():
    rng = np.random.default_rng(0)
    groups = np.concatenate([np.zeros(100), rng.integers(1, 30, 100)])
    fold = assign_folds(rng.normal(size=(200, 2)), None, groups, 4, rng)
    assert sorted(np.bincount(fold))[-1] == 100
    assert np.bincount(fold).min() >= 30


def test_folds_are_those_of_before_where_there_are_no_groups():
    X = np.array([3.0, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8])[:, None]
    y = np.arange(12) % 3 // 2
    drawn = [assign_folds(X, strata, None, 3, np.random.default_rng(0)) for strata in (None, y)]
    assert drawn[0].tolist() == [0, 1, 2, 1, 1, 1, 2, 0, 1, 0, 1, 0]
    assert drawn[1].tolist() == [0, 2, 0, 2, 1, 1, 0, 1, 1, 0, 1, 2]


def test_fewer_groups_than_folds():
    X = np.random.default_rng(0).normal(size=(30, 2))
    with pytest.raises(InvalidInputError, match=r"has 3 groups, too few for 5.*validation=3, or"):
        assign_folds(X, None, np.arange(30) % 3, 5, np.random.default_rng(0))
    X[5] = X[0]  # of six groups, two share a feature row
    fold = assign_folds(X, None, np.arange(30) // 5, 6, np.random.default_rng(0))
    assert set(fold) == set(range(5))


@given(st.integers(0, 1000), st.booleans())
def test_order_and_repetition_of_rows_do_not_matter(seed, grouped):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(30, 2))
    y = rng.integers(0, 3, 30)
    groups = np.arange(30) // 3 if grouped else None
    codes = draw(X, y, groups)
    again = rng.permutation(np.repeat(np.arange(30), rng.integers(1, 4, 30)))
    repeated = draw(X[again], y[again], None if groups is None else groups[again])
    assert (repeated == codes[again]).all()


def test_keys_tell_rows_apart_and_zeros_and_nans_together():
    X = np.array([[0.0, np.nan], [-0.0, -np.nan], [np.nan, 0.0], [0.0, 0.0]])
    keys = row_keys(X)
    assert keys[0] == keys[1]
    assert len(set(keys.tolist())) == 3


def test_keys_of_many_rows_do_not_collide():
    X = np.random.default_rng(0).integers(0, 3, size=(20000, 12)).astype(float)
    assert len(np.unique(row_keys(X))) == len(np.unique(X, axis=0))


def test_blocks_follow_chains_of_groups():
    X = np.array([[1.0], [2.0], [2.0], [3.0], [3.0], [9.0]])
    keys = blocks(X, np.array(["a", "a", "b", "b", "c", "d"]))
    assert len(set(keys[:5].tolist())) == 1
    assert keys[5] != keys[0]


@pytest.mark.parametrize("n", [1, 2])
def test_too_few_rows_for_three_parts(n):
    with pytest.raises(InvalidInputError, match=f"n_samples={n}.* in {n} block"):
        draw(np.arange(float(n))[:, None])


def test_held_out_rows_are_in_fold_zero_and_training_rows_in_none():
    partition = Partition.from_codes(np.array([0, 1, 2, 0], dtype=np.int8))
    assert partition.train.tolist() == [0, 3]
    assert (partition.v1.tolist(), partition.v2.tolist()) == ([1], [2])
    assert partition.fold.tolist() == [-1, 0, 0, -1]
    assert partition.n_folds == 1


@pytest.mark.parametrize(
    ("partition", "message"),
    [
        ([0, 1, 2], "one code per row"),
        ([0, 1, 2, 3], r"holds \[3\]: use 0 for S"),
        (["S", "V1", "V2", "S"], "use 0 for S"),
        ([0, None, 1, 2], r"holds \[None\]"),
    ],
)
def test_wrong_codes(partition, message):
    with pytest.raises(InvalidInputError, match=message):
        check_codes(partition, 4)


def test_an_empty_part():
    with pytest.raises(InvalidInputError, match="leaves V2 empty"):
        check_parts(np.array([0, 0, 1, 1]))


@pytest.mark.parametrize(
    "validation", [("a", "b", "c"), 5, (0.5, 0.5), (0.8, 0.2, 0.2), (1.0, 0.0, 0.0), "holdout"]
)
def test_wrong_shares(validation):
    with pytest.raises(InvalidInputError, match="three positive numbers"):
        check_fractions(validation)


def test_a_partition_of_some_rows_is_the_same_for_them():
    rows = np.array([1, 2, 4, 5, 8])
    parts = Partition.from_codes(np.array([0, 1, 2, 0, 0, 1, 2, 0, 2], dtype=np.int8)).pooled()
    few = parts.on(rows)
    assert rows[few.train].tolist() == [4]
    assert rows[few.v1].tolist() == [1, 2, 5, 8]
    assert few.v1 is few.v2
    np.testing.assert_array_equal(few.fold, parts.fold[rows])
    np.testing.assert_array_equal(few.weighing, parts.weighing[rows])
    folds = Partition.from_folds(np.arange(9) % 3).on(rows)
    assert folds.train is folds.v1
    assert folds.train.tolist() == [0, 1, 2, 3, 4]
    assert folds.n_folds == 3
