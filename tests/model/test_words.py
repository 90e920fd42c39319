"""Numbers, losses and rules in words."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from predictree.model.schema import Column
from predictree.model.tree import Split
from predictree.model.words import loss_words, percent, rounded, rules


@pytest.mark.parametrize(
    ("value", "digits", "text"),
    [
        (5.551e-17, 4, "0"),
        (0.0, 4, "0"),
        (np.nan, 4, "–"),
        (None, 4, "–"),
        (np.inf, 4, "–"),
        (130.4, 2, "130"),
        (3094.2, 4, "3,094"),
        (1234567.0, 3, "1,234,567"),
        (0.48241, 3, "0.482"),
        (0.5, 3, "0.5"),
        (-2.0, 4, "-2"),
        (0.00017681, 3, "0.000177"),
        (3.2e-9, 3, "3.20e-09"),
    ],
)
def test_numbers_are_rounded_in_one_way(value, digits, text):
    assert rounded(value, digits) == text


@given(st.floats(1e-4, 1e9), st.integers(2, 6))
def test_what_is_rounded_is_near(value, digits):
    told = float(rounded(value, digits).replace(",", ""))
    assert told == pytest.approx(value, rel=0.51 * 10.0 ** (1 - digits))


def test_losses_have_their_names_and_squares_their_roots():
    assert loss_words("mse", 2644.0) == "mean squared error of 2,644 (RMSE 51.42)"
    assert loss_words("auc", 0.1171) == "1 − AUC of 0.1171"
    assert loss_words("my_own", 2.0) == "my_own of 2"
    assert (percent(-0.1234), percent(np.nan)) == ("−12.3%", "–")


def test_the_rest_of_two_levels_has_a_name_unless_rows_without_a_value_are_there():
    level = Split(0, 0.0, is_level=True)
    two, three = (Column("k", "category", tuple(names)) for names in ("ab", "abc"))
    assert rules(level, [two], 4) == ('k = "a"', 'k = "b"')
    assert rules(level, [three], 4) == ('k = "a"', 'k ≠ "a"')
    missing = Split(0, 0.0, is_level=True, had_missing=True)
    assert rules(missing, [two], 4) == ('k = "a"', 'k ≠ "a"')
