"""Functions: weighted means of linear ones are one function of the kind."""

import numpy as np

from predictree.model.additive import Axis
from predictree.model.frozen.functions import (
    Bend,
    Function,
    Levels,
    Line,
    Pair,
    levels_of,
    merged,
    scaled,
)

ONE = np.ones(1)


def line(slope, centre, missing=0.0, feature=0):
    return Line(feature, slope * ONE, centre, missing * ONE)


def function(*terms, constant=0.0, link="identity"):
    return Function(constant * ONE, terms, link, (0,) if link == "identity" else (0, 1))


def test_lines_become_one_whose_constant_and_missing_value_are_kept():
    parts = [(0.25, function(line(2.0, 1.0, 7.0), constant=1.0)), (0.75, function(line(4.0, 3.0)))]
    [(weight, found)] = merged(parts)
    (only,) = found.terms
    assert weight == 1.0

    def answer(x):
        return found.constant[0] + only.slope[0] * (x - only.centre)

    for x in (-1.0, 0.0, 2.5):
        expected = 0.25 * (1 + 2 * (x - 1)) + 0.75 * 4 * (x - 3)
        assert abs(answer(x) - expected) < 1e-14
    assert abs(found.constant[0] + only.missing[0] - 0.25 * (1 + 7)) < 1e-14


def test_lines_far_from_zero_keep_their_digits():
    parts = [(0.5, function(line(1.0, 1e9))), (0.5, function(line(-1.0, 1e9 + 1)))]
    [(_, found)] = merged(parts)
    x = 1e9 + 5.0
    answer = found.constant[0] + found.terms[0].slope[0] * (x - found.terms[0].centre)
    assert abs(answer - 0.5 * (5 - 4)) < 1e-12


def test_tables_of_the_same_levels_become_one():
    def table(value):
        return Levels(1, np.array([0.0, 1.0]), np.full((2, 1), value), ONE, -ONE)

    [(_, found)] = merged([(0.5, function(table(1.0))), (0.5, function(table(3.0)))])
    (only,) = found.terms
    assert only.values[:, 0].tolist() == [2.0, 2.0]
    assert (only.other[0], only.missing[0]) == (1.0, -1.0)


def test_what_is_behind_a_link_stays_apart():
    odds = function(line(1.0, 0.0), link="expit")
    assert merged([(0.5, odds), (0.5, odds)]) == [(0.5, odds), (0.5, odds)]
    bounded = Function(ONE, (), "identity", (0,), (0.0, 1.0))
    assert len(merged([(0.5, bounded), (0.5, bounded)])) == 2


def test_all_terms_can_be_scaled():
    axis = Axis(0, np.array([0.0, 1.0]))
    values = np.arange(9.0).reshape(3, 3, 1)
    assert scaled(Pair((axis, axis), values), 2.0).values[1, 2, 0] == 10.0
    bend = scaled(Bend(0, axis.knots, values[:2, 0], ONE), 3.0)
    assert (bend.values[1, 0], bend.missing[0]) == (9.0, 3.0)
    table = scaled(levels_of(axis, values[0]), 4.0)
    assert (table.values[1, 0], table.other[0], table.missing[0]) == (4.0, 8.0, 8.0)
    assert scaled(line(1.0, 2.0, 3.0), 2.0).missing[0] == 6.0
