"""Small multiples: which curves a panel has, by whom, how few points do, and where rows are."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from handmade import COLUMNS, additive_model
from predictree.errors import InvalidInputError
from predictree.explain.additive import AdditiveTree
from predictree.explain.panels import panels_of, simplified, target_of


@pytest.fixture
def read():
    return AdditiveTree.of(additive_model())


def panels(read, target=0, most=5):
    return panels_of(read, target, range(len(read.columns)), read.leaves, most)


def test_all_rows_come_first_and_then_who_differs(read):
    heat, job, dose, pair = panels(read)
    assert [line.node for line in heat.lines] == [0, 1]
    assert [line.node for line in job.lines] == [0, 2]
    assert [line.node for line in dose.lines] == [0]
    assert [panel.kind for panel in (heat, job, dose, pair)] == ["line", "bars", "line", "heat"]
    assert [panel.name for panel in (heat, job, dose, pair)][-1] == "heat × dose"


def test_lines_go_through_the_curve_with_a_band(read):
    heat, *_ = panels(read)
    root, region = heat.lines
    assert root.x.tolist() == region.x.tolist() == [0.0, 10.0, 20.0]
    assert root.y.tolist() == [-2.0, 0.0, 4.0]
    assert region.y.tolist() == [-1.0, 0.0, 2.0]
    np.testing.assert_allclose(root.high - root.low, 2 * 1.96 * np.array([0.2, 0.1, 0.3]))
    assert root.missing == 0.5
    assert region.missing is None  # no row of it lacks a value
    assert heat.ends == (0.0, 20.0)
    assert heat.words == ("0", "20")


def test_bars_are_levels_in_their_places(read):
    _, job, *_ = panels(read)
    assert job.words == ("cook", "poet", "other or missing")
    assert [line.x.tolist() for line in job.lines] == [[0, 1, 2], [0, 1, 2]]
    assert job.lines[1].y.tolist() == [3.0, -3.0, 0.0]
    np.testing.assert_allclose(job.rows, [0.5, 0.375, 0.125])


def test_ordered_levels_are_bars_too():
    model = additive_model()
    columns = (replace(COLUMNS[0], kind="ordered", levels=tuple(map(str, range(21)))), *COLUMNS[1:])
    read = AdditiveTree.of(replace(model, schema=replace(model.schema, columns=columns)))
    assert panels(read)[0].kind == "bars"
    assert panels(read)[0].words == ("0", "10", "20", "missing")


def test_a_heat_map_has_the_values_of_both(read):
    *_, pair = panels(read)
    assert pair.lines == ()
    assert pair.grid.shape == (4, 2)
    assert pair.grid[2, 1] == 0.5
    assert pair.grid_words == (("0", "10", "20", "missing"), ("0", "1"))
    assert pair.height == (-0.25, 0.5)


def test_curves_beyond_what_may_be_are_counted(read):
    heat, *_ = panels(read, most=0)
    assert [line.node for line in heat.lines] == [0]
    assert heat.n_others == 1


def test_shares_of_rows_sum_to_those_with_a_value(read):
    heat, *_ = panels(read)
    assert heat.rows.sum() == pytest.approx(7 / 8)


def test_height_has_zero_and_all_bands(read):
    heat, _, dose, _ = panels(read)
    low, high = heat.height
    assert low == pytest.approx(-2 - 1.96 * 0.2)
    assert high == pytest.approx(4 + 1.96 * 0.3)
    assert dose.height == (0.0, 0.0)


def test_the_class_that_varies_most_is_shown():
    read = AdditiveTree.of(additive_model(3, "softmax"))
    assert target_of(read, None) == 0
    assert target_of(read, "c") == 2
    assert panels(read, 2)[0].lines[0].y.tolist() == [-1.0, 0.0, 2.0]
    with pytest.raises(InvalidInputError, match="'a', 'b', 'c'"):
        target_of(read, "d")


def test_a_straight_line_has_two_points():
    x = np.linspace(0, 1, 50)
    assert simplified(x, 3 * x - 1, 1e-9).tolist() == [0, 49]
    assert simplified(x, np.abs(x - x[20]), 1e-9).tolist() == [0, 20, 49]
    assert len(simplified(x, np.sin(20 * x), 0.0, 7)) == 7
    assert simplified(x[:1], x[:1], 0.1).tolist() == [0]
    assert simplified(x[:0], x[:0], 0.1).tolist() == []


@given(st.lists(st.floats(-1e3, 1e3), min_size=1, max_size=40), st.floats(1e-6, 10))
def test_few_points_are_as_near_as_wanted(values, tolerance):
    x, y = np.arange(len(values), dtype=float), np.array(values)
    kept = simplified(x, y, tolerance)
    assert np.abs(np.interp(x, x[kept], y[kept]) - y).max() <= tolerance
