"""How the cost of a fit is measured, and how it grows."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.ensemble import RandomForestRegressor

from predictree.learners import adapt
from predictree.run.measuring import NOTHING, Cost, memory_of, nested_samples, weighed

MB = 10**6


@given(st.floats(1e-6, 10), st.floats(1.0, 2.5), st.floats(10, 1e6))
def test_a_power_law_is_found_again(scale, power, n):
    rows = (500, 1500, 4000)
    cost = Cost(rows, tuple(scale * m**power for m in rows))
    assert cost.at(n) == pytest.approx(scale * n**power)


@given(st.floats(0, 10), st.floats(1e-5, 1e-3), st.floats(5_000, 1e6))
def test_a_fixed_cost_does_not_make_many_rows_cheap(fixed, a_row, n):
    rows = (500, 1500, 4000)
    cost = Cost(rows, tuple(fixed + a_row * m for m in rows))
    true = fixed + a_row * n
    assert true * (1 - 1e-6) <= cost.at(n) <= 4 * true  # the least power is 0.3


def test_powers_are_held_within_bounds():
    assert Cost((100, 1000), (1.0, 1e6)).at(2000) == pytest.approx(1e6 * 2**2.5)
    assert Cost((100, 1000), (1.0, 1.0)).at(2000) == pytest.approx(2**0.3)
    assert Cost((100, 1000), (5.0, 4.0)).at(2000) == pytest.approx(4 * 2**0.3)
    assert Cost((100,), (2.0,)).at(300) == pytest.approx(6.0)
    assert NOTHING.at(1e6) < 10
    assert Cost((100,), (2.0,)).at(0) == 0


def test_a_power_is_that_of_the_nearest_rows():
    cost = Cost((100, 200, 400), (1.0, 4.0, 8.0))
    assert cost.at(50) == pytest.approx(1 / 4)
    assert cost.at(150) == pytest.approx(1.5**2)
    assert [cost.at(n) for n in (100, 200, 400)] == pytest.approx([1.0, 4.0, 8.0])
    assert cost.at(800) == pytest.approx(16.0)


def test_samples_are_nested_and_keep_the_classes():
    y = np.repeat([0, 1, 2], [900, 95, 5])
    few, more, everything = nested_samples(y, True, (100, 300, 1000))
    assert set(few) < set(more) < set(everything)
    assert np.bincount(y[few]).tolist() == [90, 10, 1]
    assert np.bincount(y[more]).tolist() == [270, 29, 2]
    assert len(everything) == 1000
    assert [len(rows) for rows in nested_samples(y, False, (100, 2000, 5000))] == [100]
    assert [len(rows) for rows in nested_samples(y, False, (2000, 5000))] == [1000]


def test_a_fit_is_weighed():
    held = []
    weight = weighed(lambda: held.append(np.zeros(2 * MB, dtype=np.uint8)))
    assert weight.peak == pytest.approx(2 * MB, rel=0.01)
    assert not tracemalloc.is_tracing()


class Native:
    """A model whose memory Python does not see."""

    def __getstate__(self):
        return b"x" * (3 * MB)


def test_what_is_outside_of_python_is_weighed_by_the_model():
    weight = weighed(Native)
    assert weight.model == pytest.approx(3 * MB, rel=0.01)
    assert weight.peak == pytest.approx(3 * MB, rel=0.01)
    own = weighed(lambda: np.zeros(2 * MB, dtype=np.uint8))  # is not counted twice
    assert own.peak == pytest.approx(2 * MB, rel=0.01)
    assert weighed(lambda: (i for i in ())).model == 0  # cannot be pickled


def test_weighing_leaves_tracing_as_it_was():
    tracemalloc.start()
    try:
        weighed(lambda: None)
        assert tracemalloc.is_tracing()
    finally:
        tracemalloc.stop()


def test_a_forest_weighs_what_its_trees_weigh():
    """Its nodes are made in C: what Python sees of the fit is a fraction."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 3))
    y = rng.normal(size=3000)
    learner = adapt("forest", RandomForestRegressor(20, random_state=0), "regression", 1)
    peak, model = memory_of(learner, X, y, nested_samples(y, False, (300, 900)))
    true = weighed(lambda: learner.fit(X, y, np.arange(3000), 0))
    assert model.at(3000) == pytest.approx(true.model, rel=0.2)
    assert peak.at(3000) == pytest.approx(true.peak, rel=0.2)
    assert true.peak > true.model > 100 * 3000
