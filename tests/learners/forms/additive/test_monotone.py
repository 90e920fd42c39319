"""Curves that only rise or only fall."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from predictree import ToPsClassifier, ToPsRegressor
from predictree.errors import InvalidInputError
from predictree.learners.forms.additive.monotone import mass_of, monotone
from predictree.model.additive import Axis


def test_a_curve_that_turns_is_brought_to_the_nearest_that_rises():
    found = monotone(np.array([[1.0, 3.0, 2.0, 9.0]]), np.array([1.0, 1.0, 1.0, 5.0]), 1)
    assert found.tolist() == [[1.0, 2.5, 2.5, 9.0]]  # the last cell is for missing values


def test_rows_weigh_where_a_curve_is_levelled():
    found = monotone(np.array([[1.0, 3.0, 2.0, 0.0]]), np.array([1.0, 1.0, 3.0, 0.0]), 1)
    assert found[0, :3].tolist() == [1.0, 2.25, 2.25]


def test_falling_is_rising_turned_round():
    curve, mass = np.array([[1.0, 3.0, 2.0, 0.0]]), np.ones(4)
    assert np.allclose(monotone(curve, mass, -1), -monotone(-curve, mass, 1))


def test_the_mass_of_cells_is_that_of_the_rows_between_them():
    axis = Axis(0, np.array([0.0, 1.0]))
    assert mass_of(axis, np.array([0.0, 0.25, np.nan]), np.ones(3)).tolist() == [1.75, 0.25, 1.0]


def table(n, seed):
    """Answers rise along the first column in truth, but not in every region, and fall at random."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    slope = np.where(X[:, 2] > 0, 1.0, -0.3)
    y = slope * X[:, 0] + np.sin(3 * X[:, 1]) + np.where(X[:, 2] > 0, X[:, 1], -X[:, 1])
    return X, y + 0.3 * rng.normal(size=n)


def along(model, X, column, ask):
    """Return what a model says as one column of some rows runs through all values."""
    values = np.linspace(-5, 5, 61)
    told = []
    for value in values:
        moved = X.copy()
        moved[:, column] = value
        told.append(ask(model, moved))
    return np.array(told)


@settings(max_examples=4, deadline=None)
@given(seed=st.integers(0, 2**16), direction=st.sampled_from([-1, 1]))
def test_values_go_one_way_along_every_path(seed, direction):
    X, y = table(600, seed)
    model = ToPsRegressor("additive", monotonic_cst=[direction, 0, 0, 0], random_state=0).fit(X, y)
    steps = np.diff(along(model, X[:50], 0, lambda m, Z: m.predict(Z)), axis=0)
    assert (direction * steps >= -1e-9).all()
    assert all(node.split is None or node.split.feature != 0 for node in model.tree_)


def test_a_tree_still_grows_and_bends_what_is_free():
    X, y = table(2000, 1)
    model = ToPsRegressor("additive", monotonic_cst=[1, 0, 0, 0], random_state=0).fit(X, y)
    free = ToPsRegressor("additive", random_state=0).fit(X, y)
    assert model.get_n_leaves() > 1
    assert (np.diff(along(free, X[:50], 0, lambda m, Z: m.predict(Z)), axis=0) < -1e-3).any()


def test_probabilities_go_one_way_with_missing_values_and_names():
    X, y = table(1500, 2)
    X[::7, 0] = np.nan
    frame = pd.DataFrame(X, columns=list("abcd"))
    model = ToPsClassifier("additive", monotonic_cst={"a": 1}, random_state=0).fit(frame, y > 0)

    def ask(m, Z):
        return m.predict_proba(pd.DataFrame(Z, columns=list("abcd")))[:, 1]

    assert (np.diff(along(model, X[1:60], 0, ask), axis=0) >= -1e-12).all()


def test_a_direction_that_holds_anyway_costs_next_to_nothing():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1500, 3))
    f = np.arctan(X[:, 0]) + X[:, 1] ** 2
    y, test = f + 0.2 * rng.normal(size=1500), slice(1000, None)
    losses = [
        np.mean((ToPsRegressor("additive", monotonic_cst=given, random_state=0)
                 .fit(X[:1000], y[:1000]).predict(X[test]) - f[test]) ** 2)
        for given in (None, [1, 0, 0])
    ]  # fmt: skip
    assert losses[1] < 1.1 * losses[0]


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ([1, 0], "shape"),
        ([2, 0, 0], "must be 1"),
        ({"z": 1}, "'z'"),
        ({"kind": 1}, "category"),
    ],
)
def test_what_cannot_be_is_refused(asked, message):
    frame = pd.DataFrame(
        {"a": np.arange(60.0), "b": np.arange(60.0) % 7, "kind": ["u", "v", "w"] * 20}
    )
    with pytest.raises(InvalidInputError, match=message):
        ToPsRegressor("additive", monotonic_cst=asked).fit(frame, np.arange(60.0))


def test_other_learners_and_several_classes_are_refused():
    X = np.arange(120.0).reshape(60, 2)
    with pytest.raises(InvalidInputError, match="learners='additive'"):
        ToPsRegressor("lr", monotonic_cst=[1, 0]).fit(X, X[:, 0])
    with pytest.raises(InvalidInputError, match="two classes"):
        ToPsClassifier("additive", monotonic_cst=[1, 0]).fit(X, np.arange(60) % 3)
