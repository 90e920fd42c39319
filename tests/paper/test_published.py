"""The paper's numbers, as far as they check one another."""

import pytest

from predictree_paper.algorithms import ALGORITHMS
from predictree_paper.experiments import EXPERIMENTS
from predictree_paper.published import PUBLISHED

NOT_RUN = {"cnn"}  # the footnote's; it needs a library for deep learning
SUMS = {  # of the losses of a column, added up from the paper
    ("toy", ""): 0.525,
    ("mnist49", ""): 0.2916,
    ("mnist", ""): 0.0252,
    ("bank", ""): 0.9215,
    ("news", ""): 4.5285,
    ("heart", "3 months"): 3.544,
    ("heart", "1 year"): 3.206,
    ("heart", "3 years"): 2.978,
    ("heart", "10 years"): 3.011,
}
IDS = [" ".join(key).strip() for key in PUBLISHED]


@pytest.mark.parametrize("key", PUBLISHED, ids=IDS)
def test_the_losses_add_up(key):
    assert sum(row.loss for row in PUBLISHED[key]) == pytest.approx(SUMS[key], abs=1e-9)


@pytest.mark.parametrize("key", PUBLISHED, ids=IDS)
def test_the_gains_follow_from_the_losses(key):
    tops, *others = PUBLISHED[key]
    assert tops.gain is None
    for row in others:
        if row.gain is not None:
            assert row.gain == pytest.approx(100 * (1 - tops.loss / row.loss), abs=0.11)


def test_every_row_of_the_two_tables_has_a_gain_and_a_p_value():
    in_tables = [row for rows in PUBLISHED.values() for row in rows[1:] if "Table" in row.table]
    assert len(in_tables) == 13 + 14 + 14 + 4 * 12
    assert all(row.gain is not None and row.p is not None for row in in_tables)


def test_every_row_has_an_algorithm_of_its_own():
    for (name, _), rows in PUBLISHED.items():
        names = [row.algorithm for row in rows]
        assert len(set(names)) == len(names)
        assert set(names) - set(ALGORITHMS) <= NOT_RUN
        assert set(names) - NOT_RUN <= set(EXPERIMENTS[name].algorithms)
