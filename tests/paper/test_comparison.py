"""Gains and p-values, by hand."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from predictree_paper.comparison import (
    compare,
    corrected_t_test,
    experiments,
    standard_error,
    two_sample_t_test,
)


def p_of_two_degrees(t):
    """The two-sided p-value of t with two degrees of freedom has a closed form."""
    return 1 - abs(t) / np.sqrt(t**2 + 2)


def test_two_samples_by_hand():
    # means 1 and 4, pooled variance 2, standard error √(2 · (½ + ½))
    p = two_sample_t_test(np.array([0.0, 2.0]), np.array([3.0, 5.0]))
    assert p == pytest.approx(p_of_two_degrees(3 / np.sqrt(2)))


def test_corrected_by_hand():
    # mean 2, variance 1, three differences, one test row for four training rows
    p = corrected_t_test(np.array([1.0, 2.0, 3.0]), 0.25)
    assert p == pytest.approx(p_of_two_degrees(2 / np.sqrt(1 / 3 + 0.25)))


@given(st.lists(st.integers(-1000, 1000), min_size=2, max_size=8), st.floats(0.01, 1))
def test_the_correction_never_makes_a_difference_surer(thousandths, ratio):
    d = np.array(thousandths) / 1000
    plain, corrected = corrected_t_test(d, 0.0), corrected_t_test(d, ratio)
    assert np.isnan(plain) == np.isnan(corrected)
    assert np.isnan(plain) or corrected >= plain


@pytest.mark.parametrize("sample", [[0.5], [0.5, 0.5]], ids=["one", "constant"])
def test_nothing_to_test(sample):
    assert np.isnan(two_sample_t_test(np.array(sample), np.array(sample)))
    assert np.isnan(corrected_t_test(np.array(sample), 0.25))


def test_experiments_are_runs():
    assert experiments({(0, 0): 1.0, (0, 1): 3.0, (1, 0): 5.0, (1, 1): 7.0}).tolist() == [2, 6]


def test_experiments_are_the_folds_of_a_single_run():
    assert experiments({(0, 0): 1.0, (0, 1): 3.0}).tolist() == [1, 3]
    assert experiments({(0, 0): 1.0, (0, 1): 3.0, (1, 0): 8.0}).tolist() == [1, 3, 8]


def test_a_run_that_lacks_folds_is_left_out():
    losses = {(run, fold): float(run) for run in range(2) for fold in range(2)}
    assert experiments(losses | {(2, 0): 9.0}).tolist() == [0, 1]


def test_compare_looks_only_at_what_both_have():
    tops = {(0, 0): 0.1, (0, 1): 0.2, (1, 0): 9.0}
    other = {(0, 0): 0.2, (0, 1): 0.3, (2, 0): 9.0}
    found = compare(tops, other, 0.25)
    assert found.n == 2
    assert found.gain == pytest.approx(1 - 0.15 / 0.25)
    # means 0.15 and 0.25, pooled variance 0.005
    assert found.p_value == pytest.approx(p_of_two_degrees(0.1 / np.sqrt(0.005)))


def test_one_split_has_no_corrected_test():
    found = compare({(0, 0): 0.1, (1, 0): 0.2}, {(0, 0): 0.3, (1, 0): 0.3}, None)
    assert np.isnan(found.corrected_p_value)
    assert not np.isnan(found.p_value)


def test_nothing_in_common():
    found = compare({(0, 0): 0.1}, {(1, 0): 0.1}, 0.25)
    assert found.n == 0
    assert np.isnan(found.gain)


def test_no_gain_over_no_loss():
    assert np.isnan(compare({(0, 0): 0.1}, {(0, 0): 0.0}, 0.25).gain)


def test_the_standard_error_of_an_error_rate_is_binomial():
    assert standard_error("error", 0.1, 100, 50) == pytest.approx(0.03)


def test_the_standard_error_of_an_auc_is_that_of_many_samples():
    rng = np.random.default_rng(0)
    losses = []
    for _ in range(2000):  # exponential scores, for which the formula is exact
        cases, others = rng.exponential(3.0, 12), rng.exponential(1.0, 60)
        losses.append(np.mean(cases[:, None] < others))
    assert np.mean(losses) == pytest.approx(0.25, abs=0.01)
    told = standard_error("auc", 0.25, 72, 12)
    assert told == pytest.approx(np.std(losses), rel=0.05)
    assert standard_error("auc", 0.0, 72, 12) == 0
