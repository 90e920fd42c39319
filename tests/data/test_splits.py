import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from predictree.data.splits import candidate_splits
from predictree.model.tree import Split


def splits(*columns, weight=None, n_thresholds=9):
    return [
        split
        for feature, column in enumerate(columns)
        for split in candidate_splits(feature, np.array(column, dtype=float), weight, n_thresholds)
    ]


def test_two_values_are_cut_midway():
    assert splits([0, 1, 0, 1, 0]) == [Split(0, 0.5, missing_left=True)]


def test_others_are_cut_at_the_deciles():
    found = splits(np.arange(100))
    assert [s.threshold for s in found] == [9, 19, 29, 39, 49, 59, 69, 79, 89]


def test_repeated_deciles_count_once_and_none_leaves_a_side_empty():
    found = splits([0] * 80 + [1] * 10 + [2] * 10)
    assert [s.threshold for s in found] == [1.0]


def test_constant_and_wholly_missing_columns_offer_nothing():
    assert splits([3, 3, 3], [np.nan] * 3) == []


def test_features_and_thresholds_come_in_order():
    found = splits([2, 1, 0, 3], [0, 1, 0, 1], n_thresholds=2)
    assert [(s.feature, s.threshold) for s in found] == [(0, 1), (0, 2), (1, 0.5)]


def test_missing_values_are_tried_on_both_sides_and_do_not_move_the_cut():
    found = splits([0, 1, np.nan])
    assert found[:2] == [Split(0, 0.5, False, True), Split(0, 0.5, True, True)]
    assert found[2:] == [Split(0, np.inf, False, True)]  # the known against the missing


def test_a_category_offers_its_levels_and_its_gaps():
    column = np.array([0, 1, 2, 2, np.nan])
    found = candidate_splits(3, column, None, 9, is_category=True)
    assert [(s.threshold, s.is_level) for s in found] == [
        (0, True),
        (1, True),
        (2, True),
        (np.inf, False),
    ]
    assert all(not s.missing_left and s.had_missing for s in found)
    two = candidate_splits(3, np.array([0.0, 4.0]), None, 9, is_category=True)
    assert two == [Split(3, 0.0, False, False, True)]
    many = candidate_splits(0, np.repeat(np.arange(100.0), np.arange(1, 101)), None, 9, True)
    assert [s.threshold for s in many] == list(range(70, 100))  # the most frequent


@pytest.mark.parametrize(("values", "left"), [([0, 0, 0, 1], True), ([0, 1, 1, 1], False)])
def test_values_missing_only_at_prediction_follow_the_larger_side(values, left):
    assert splits(values)[0].missing_left is left


def test_values_one_rounding_apart_are_still_separated():
    low = 1.0
    high = np.nextafter(low, 2)
    (split,) = splits([low, high])
    assert split.goes_left(np.array([low, high])).tolist() == [True, False]


@given(
    st.lists(st.tuples(st.integers(0, 6), st.integers(1, 4)), min_size=1, max_size=12),
    st.integers(1, 9),
    st.sampled_from([1.0, 0.1, 7.3]),
)
def test_a_weight_is_a_repetition_whatever_its_unit(rows, n_thresholds, unit):
    values, weight = (np.array(column, dtype=float) for column in zip(*rows))
    repeated = np.repeat(values, weight.astype(int))
    weighted = splits(values, weight=unit * weight, n_thresholds=n_thresholds)
    assert weighted == splits(repeated, n_thresholds=n_thresholds)
