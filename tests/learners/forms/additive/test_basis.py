"""The columns of an additive model: knots, components, levels, gaps, sizes."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from predictree.learners.forms.additive.basis import (
    LEVELS,
    LINEAR,
    MISSING,
    SMOOTH,
    STEPS,
    Basis,
    Sizes,
    components,
    knots_of,
    masses,
    quantiles,
)

SMALL = Sizes(smooth=8, steps=10)


def basis_of(X, weight=None, categories=(), sizes=SMALL):
    mass = np.ones(len(X)) if weight is None else weight
    return Basis.of(X, mass, tuple(range(X.shape[1])), frozenset(categories), sizes)


@given(st.lists(st.integers(0, 9), min_size=1, max_size=30), st.floats(0, 1))
def test_quantiles_are_those_of_the_repeated_values(values, level):
    x = np.array(values, dtype=float)
    found = quantiles(*masses(x, np.ones(len(x))), np.array([level]))
    np.testing.assert_allclose(found, np.quantile(x, level), atol=1e-6)


def test_few_values_are_all_knots_and_frequent_ones_always():
    values, counts = np.arange(5.0), np.ones(5)
    assert knots_of(values, counts, 6, 0, 4).tolist() == values.tolist()
    many, often = np.arange(1000.0), np.ones(1000)
    often[777] = 100
    assert 777.0 in knots_of(many, often, 10, 0, 999)


@pytest.mark.parametrize("order", [1, 2])
def test_components_are_those_of_the_prior_on_differences(order):
    D = np.diff(np.eye(9), n=order, axis=0)
    table = components(9, order, 9)
    np.testing.assert_allclose(table @ table.T, np.linalg.pinv(D.T @ D), atol=1e-8)
    assert components(9, order, 3).shape == (9, 3)
    np.testing.assert_allclose(components(9, order, 3), table[:, :3])


def test_columns_have_mean_zero_and_groups_have_size_one():
    rng = np.random.default_rng(0)
    X, weight = rng.lognormal(size=(200, 2)), rng.integers(1, 4, 200).astype(float)
    basis = basis_of(X, weight)
    B = basis.design(X)
    assert (B[:, 0] == 1).all()
    np.testing.assert_allclose(np.average(B[:, 1:], axis=0, weights=weight), 0, atol=1e-9)
    square = np.average(np.square(B[:, 1:]), axis=0, weights=weight)
    for group in np.unique(basis.group):
        mine = basis.group == group
        size = square[mine] if (basis.kind[mine] == LINEAR).all() else square[mine].sum()
        np.testing.assert_allclose(size, 1)


def test_a_weight_is_as_many_rows():
    rng = np.random.default_rng(0)
    X, weight = rng.normal(size=(150, 1)), rng.integers(1, 4, 150)
    weighed = basis_of(X, weight.astype(float))
    repeated = basis_of(np.repeat(X, weight, axis=0))
    np.testing.assert_allclose(weighed.design(X), repeated.design(X), atol=1e-7)


def test_a_curve_is_its_columns():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 2))
    basis = basis_of(X)
    b = rng.normal(size=(basis.width, 1))
    mine = basis.feature == 1
    left, right, share = basis.features[1].axis.place(X[:, 1])
    curve = basis.curve(1, b)[:, 0]
    found = curve[left] * (1 - share) + curve[right] * share
    np.testing.assert_allclose(found, basis.design(X)[:, 1:][:, mine] @ b[mine, 0])


def test_kinds_by_how_many_values_there_are():
    n = 90
    X = np.column_stack([np.arange(n) % 2, np.arange(n) % 3, np.arange(n), np.zeros(n)]) * 1.0
    basis = basis_of(X)
    kinds = [set(one.kind.tolist()) for one in basis.features]
    assert kinds == [{LINEAR}, {LINEAR, SMOOTH, STEPS}, {LINEAR, SMOOTH, STEPS}]
    assert [np.count_nonzero(one.kind == LINEAR) for one in basis.features] == [1, 1, 2]
    assert [one.axis.feature for one in basis.features] == [0, 1, 2]  # the constant says nothing


def test_gaps_have_a_flag_if_there_are_some():
    X = np.arange(40.0)[:, None]
    X[:3] = np.nan
    assert MISSING not in basis_of(X).kind
    X[:8] = np.nan
    basis = basis_of(X)
    flag = basis.design(X)[:, 1 + np.flatnonzero(basis.kind == MISSING)[0]]
    assert len(np.unique(flag)) == 2
    assert np.unique(flag[:8]).tolist() != np.unique(flag[8:]).tolist()
    others = np.flatnonzero(basis.kind != MISSING)
    assert (basis.design(X)[:8][:, 1 + others] == 0).all()


def test_rare_levels_are_one_with_the_unknown():
    x = np.repeat([0.0, 1.0, 2.0, 3.0], [10, 10, 2, 1])
    basis = basis_of(x[:, None], categories=[0])
    assert (basis.kind == LEVELS).all()
    assert basis.features[0].axis.knots.tolist() == [0, 1]
    rows = basis.design(np.array([[2.0], [3.0], [9.0], [np.nan], [0.0]]))
    assert (rows[:4] == rows[0]).all()
    assert (rows[4] != rows[0]).any()


def test_unknown_levels_are_like_the_mean_where_all_are_known():
    basis = basis_of(np.repeat([0.0, 1.0], 10)[:, None], categories=[0])
    assert (basis.design(np.array([[7.0]]))[:, 1:] == 0).all()


def test_nothing_can_be_said_by_a_single_level_or_none():
    assert basis_of(np.zeros((20, 1)), categories=[0]).width == 0
    assert basis_of(np.full((20, 1), np.nan), categories=[0]).width == 0
    assert basis_of(np.full((20, 1), np.nan)).width == 0


def test_many_features_have_fewer_parts_each():
    assert Sizes().of(1) == (25, 80)
    assert Sizes().of(20) == (13, 25)
    assert Sizes().of(1000) == (6, 10)
    assert Sizes().of(0) == Sizes().of(1)
