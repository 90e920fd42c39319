"""The census of a tree: shares of rows at cells, sizes of terms, and how far nodes move."""

import numpy as np
import pytest

from handmade import ROWS, additive_tree, functions
from predictree import ToPsRegressor
from predictree.explain import census
from predictree.explain.census import census_of, functions_of


def test_rows_between_two_cells_count_for_both():
    found = census_of(additive_tree(), ROWS, np.ones(8))
    heat = found.cells[0]
    assert heat[0].tolist() == [2.5 / 8, 3 / 8, 1.5 / 8, 1 / 8]
    assert heat[1].tolist() == [1.5 / 4, 1.5 / 4, 1 / 4, 0]
    np.testing.assert_allclose([cells.sum(axis=1) for cells in found.cells], 1)


def test_weights_count():
    weight = np.array([3.0, 1, 1, 1, 1, 1, 1, 1])
    found = census_of(additive_tree(), ROWS, weight)
    assert found.cells[2][0].tolist() == [0.6, 0.4, 0]
    assert found.cells[0][1].tolist() == [3.5 / 6, 1.5 / 6, 1 / 6, 0]


def test_sizes_are_standard_deviations_at_the_node():
    found = census_of(additive_tree(3, "softmax"), ROWS, np.ones(8))
    for node, rows in enumerate((ROWS, ROWS[:4], ROWS[4:])):
        effects = functions(3, "softmax")[node].effects(rows)
        np.testing.assert_allclose(found.size[node], [e.std(axis=0) for e in effects], atol=1e-12)


def test_how_far_nodes_move():
    found = census_of(additive_tree(), ROWS, np.ones(8))
    root, left, _ = (f.sum(ROWS[:4]) for f in functions())
    assert found.moved[0] == found.apart[0] == 0
    assert found.moved[1] == found.apart[1] == pytest.approx(np.sqrt(((left - root) ** 2).mean()))


def test_of_very_many_rows_some_are_looked_at(monkeypatch):
    rows = np.tile(ROWS, (1000, 1))
    rows[:, 0] = np.linspace(0, 20, len(rows))
    whole = census_of(additive_tree(), rows, np.ones(len(rows)))
    monkeypatch.setattr(census, "MOST_ROWS", 101)
    found = census_of(additive_tree(), rows, np.ones(len(rows)))
    np.testing.assert_allclose(found.cells[0], whole.cells[0], atol=0.02)
    assert not np.array_equal(found.cells[0], whole.cells[0])


def test_a_node_without_rows_has_zeros():
    found = census_of(additive_tree(), ROWS[:4], np.ones(4))
    assert not found.cells[0][2].any()
    assert not found.size[2].any()


def test_other_trees_have_none(regimes):
    X, y = regimes
    model = ToPsRegressor("lr", max_depth=0).fit(X, y)
    assert functions_of(model.tree_) is None
    assert model.backgrounds_[0].census is None
