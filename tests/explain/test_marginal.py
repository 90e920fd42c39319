"""Curves with the pairs that their feature is in, by two regions that are made by hand."""

import numpy as np
import pytest

from handmade import ROWS, additive_model
from predictree.explain.additive import AdditiveTree
from predictree.explain.marginal import marginal


@pytest.fixture
def read():
    return AdditiveTree.of(additive_model())


@pytest.mark.parametrize("node", [1, 2])
def test_where_the_other_feature_has_one_value_the_pair_is_a_curve(read, node):
    """Dose is 0 on one side and 1 on the other: the surface of heat and dose is its one side."""
    function = read.functions[node]
    rows = ROWS[:4] if node == 1 else ROWS[4:]
    whole = function.effects(rows)[0] + function.effects(rows)[-1]
    shape = marginal(read, node, 0)
    cells = read.reached(node, 0)
    side = function.curves[0].values + function.surfaces[0].values[:, node - 1]
    expected = side[cells] - (shape.share / shape.share.sum()) @ side[cells]
    np.testing.assert_allclose(shape.effect, expected)
    assert np.ptp(whole) == pytest.approx(np.ptp(side[cells]), rel=0.5)


def test_of_all_rows_the_pair_is_averaged_and_nothing_differs(read):
    shape, surface = marginal(read, 0, 0), read.functions[0].surfaces[0]
    mean = surface.values[:, :2].mean(axis=1)  # as many rows of either dose
    expected = read.functions[0].curves[0].values + mean
    np.testing.assert_allclose(np.diff(shape.effect[:, 0]), np.diff(expected[:, 0]))
    np.testing.assert_allclose(shape.change, 0, atol=1e-12)
    assert (shape.error >= read.shape(0, 0).error).all()


def test_a_term_without_pairs_is_its_curve(read):
    shape, curve = marginal(read, 2, 1), read.shape(2, 1)
    np.testing.assert_allclose(np.diff(shape.effect[:, 0]), np.diff(curve.effect[:, 0]))
    np.testing.assert_allclose(shape.error, curve.error)
    np.testing.assert_allclose(shape.change_error, curve.change_error)


def test_effects_and_changes_have_the_mean_zero_in_the_region(read):
    for node in (1, 2):
        shape = marginal(read, node, 0)
        np.testing.assert_allclose(shape.share @ shape.effect, 0, atol=1e-12)
        np.testing.assert_allclose(shape.share @ shape.change, 0, atol=1e-12)
