"""Kernel machines against the plain formulas."""

from dataclasses import replace

import numpy as np
import pytest

from predictree.learners.metric.machine import Machine, Setting, solved, solved_by


@pytest.fixture
def rows():
    rng = np.random.default_rng(1)
    Z = rng.normal(size=(60, 3))
    return Z, np.column_stack([np.sin(Z[:, 0]), Z[:, 1]]), rng.uniform(0.5, 2, 60)


@pytest.fixture(params=[1.0, 1.4])
def setting(request):
    return Setting(np.array([2.0, 0.9, 0.1]), 1.5, request.param, 4)


def plain_kernel(setting, A, B):
    d = np.array([[np.sqrt(setting.metric @ (a - b) ** 2) for b in B] for a in A])
    return np.exp(-((d / (setting.reach * np.sqrt(2 * A.shape[1]))) ** setting.power))


def test_the_kernel_is_that_of_the_formula(setting, rows):
    Z, *_ = rows
    assert setting.kernel(setting.distances(Z[:5], Z)) == pytest.approx(
        plain_kernel(setting, Z[:5], Z), abs=1e-7
    )


def test_a_column_without_weight_says_nothing(setting, rows):
    Z, *_ = rows
    setting = replace(setting, metric=np.array([1.0, 0.0, 1.0]))
    moved = Z + np.array([0, 100, 0])
    assert setting.distances(moved, Z) == pytest.approx(setting.distances(Z, Z), abs=1e-7)


def test_coefficients_minimise_weighed_squares_with_a_ridge(setting, rows):
    Z, Y, weight = rows
    machine = solved(setting, Z, Y, weight)
    K = plain_kernel(setting, Z, Z)
    W = np.diag(weight)
    plain = np.linalg.solve(K @ W @ K + setting.ridge * K, K @ W @ Y)
    assert machine.scores(Z) == pytest.approx(K @ plain, abs=1e-5)


def test_weights_are_repetitions(setting, rows):
    Z, Y, _ = rows
    weight = np.where(np.arange(len(Z)) % 3, 1.0, 2.0)
    again = np.repeat(np.arange(len(Z)), weight.astype(int))
    twice = solved(setting, Z[again], Y[again], np.ones(len(again)))
    assert solved(setting, Z, Y, weight).scores(Z) == pytest.approx(twice.scores(Z), abs=1e-6)


def test_fewer_rows_are_all_rows_if_they_are_all(setting, rows):
    Z, Y, weight = rows
    exact = solved(setting, Z, Y, weight)
    assert solved_by(Z, setting, Z, Y, weight).scores(Z) == pytest.approx(exact.scores(Z), abs=1e-4)


def test_the_metric_is_the_mean_square_of_the_slopes(setting, rows):
    Z, Y, weight = rows
    machine = solved(setting, Z, Y, weight)
    free = Machine(setting, Z, machine.coefficients)
    small, slopes = 1e-5, []
    for j in range(Z.shape[1]):
        step = small * np.eye(Z.shape[1])[j]
        slopes.append((free.scores(Z + step) - free.scores(Z - step)) / (2 * small))
    squares = np.square(slopes).sum(axis=(1, 2))
    assert machine.followed().metric == pytest.approx(squares / squares.mean(), rel=0.02)


def test_without_slopes_the_metric_stays(setting, rows):
    Z, Y, weight = rows
    machine = solved(setting, Z, 0 * Y, weight)
    assert machine.followed() is setting
