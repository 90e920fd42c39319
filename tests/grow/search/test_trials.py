"""The trials of a leaf."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression, Ridge

from growing import fits_of, held_out, root_of
from predictree.grow.methods import Recipe, paper
from predictree.grow.rows import Limits
from predictree.grow.search.trials import Trials, nested
from predictree.losses import AUC, CallableLoss, Error, SquaredError
from predictree.model.tree import Split
from predictree.run.tasks import Executor


def test_missing_to_the_left_and_to_the_right_are_two_families():
    splits = [Split(0, t, left, True) for t in (1.0, 2.0) for left in (False, True)]
    assert nested(splits) == [[0, 2], [1, 3]]
    plain = [Split(0, 1.0, True), Split(0, 2.0, False)]  # no row of S is missing: one family
    assert nested(plain) == [[0, 1]]


def told_by(X, y, loss, n_jobs):
    """The trials of a root, by so many jobs."""
    fits = fits_of(X, y, held_out(len(y)), [LinearRegression(), Ridge()], loss)
    limits = Limits(9, 1, 20, 10, 0.0)
    root = root_of(paper(fits, Recipe(limits)), fits)
    with Executor(n_jobs) as executor:
        trials = Trials(root, limits, replace(fits, executor=executor))
        return root, [*trials.of_all(trials.splits)]


@pytest.mark.parametrize("loss", [AUC(), Error(), SquaredError()])
def test_trials_are_the_same_by_any_number_of_threads(loss, monkeypatch):
    monkeypatch.setattr("predictree.grow.search.trials.BATCH", 1)  # every feature on its own
    X = np.random.default_rng(0).normal(size=(800, 6))
    y = X[:, 0] * X[:, 1] + X[:, 2]
    y = y if loss.task == "regression" else (y > 0).astype(int)
    (root, one), (_, two) = (told_by(X, y, loss, n_jobs) for n_jobs in (1, 2))
    assert [trial.split for trial in one] == [trial.split for trial in two]
    for a, b in zip(one, two, strict=True):
        np.testing.assert_array_equal(a.own, b.own)
        np.testing.assert_array_equal(a.pairs, b.pairs)
        np.testing.assert_array_equal(a.pairs, root.judge.pairs(a.goes_left, a.own))


def test_a_loss_of_the_users_own_judges_in_one_thread():
    """Nobody knows whether it may be called twice at a time."""
    X = np.random.default_rng(0).normal(size=(800, 3))
    loss = CallableLoss(lambda y, told: float(np.abs(y - told).mean()))
    _, trials = told_by(X, (X[:, 0] > 0).astype(int), loss, 2)
    assert all(trial.pairs is None for trial in trials)
