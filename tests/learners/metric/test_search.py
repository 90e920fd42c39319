"""The search for a machine."""

import numpy as np

from predictree.learners.metric.machine import LADDER
from predictree.learners.metric.search import Rows, Search, searched


def rows_of(n, seed=0):
    rng = np.random.default_rng(seed)
    Z = rng.normal(size=(n, 6))
    return Rows(Z, np.sin(2 * Z[:, :1]) + 0.1 * rng.normal(size=(n, 1)), np.ones(n))


def test_a_metric_that_follows_its_slopes_is_better_than_none():
    search = Search(rows_of(200), rows_of(200, seed=1))
    first = search.first()
    best = search.best(first)
    assert best.error < 0.5 * first.error
    assert best.machine.setting.metric.argmax() == 0
    assert best.before is not None


def test_the_ridge_is_as_good_as_its_neighbours():
    search = Search(rows_of(150), rows_of(150, seed=1))
    found = search.first()
    rung, setting = found.machine.setting.rung, found.machine.setting
    for other in {rung - 1, rung + 1} & {*range(len(LADDER))}:
        tried = search.tried(
            type(setting)(setting.metric, setting.reach, setting.power, other), None
        )
        assert tried.error >= found.error


def test_weights_judge():
    fitted, judging = rows_of(100), rows_of(100, seed=1)
    setting = Search(fitted, judging).first().machine.setting
    half = Rows(judging.Z, judging.Y, np.where(np.arange(100) < 50, 1.0, 0.0))
    told = Search(fitted, half).tried(setting, None)
    plain = Search(fitted, judging.among(np.arange(50))).tried(setting, None)
    assert np.isclose(told.error, plain.error)


def test_few_rows_have_no_search():
    given = rows_of(12)
    choice = searched(given.Z, given.Y, given.weight, np.random.RandomState(0))
    assert len(choice.held_rows) == 0
    assert choice.before is None


def test_rows_that_judge_were_not_fitted():
    given = rows_of(300)
    choice = searched(given.Z, given.Y, given.weight, np.random.RandomState(0))
    assert len(choice.held_rows) == len(choice.held) == 120
