"""Every split is tried with all learners, in the order in which ties are broken."""

import numpy as np
from sklearn.dummy import DummyRegressor
from sklearn.linear_model import LinearRegression

from growing import fits_of, held_out, root_of
from predictree.grow.combine.best import Best
from predictree.grow.methods import Recipe, paper
from predictree.grow.rows import Limits
from predictree.grow.search.exhaustive import Exhaustive
from predictree.grow.search.trials import Trials

N = 200
LIMITS = Limits(n_thresholds=3, max_depth=1, min_samples_leaf=5, min_samples_val=5, min_gain=0.0)


def trials_of(estimators):
    rng = np.random.default_rng(0)
    X = rng.random((N, 2))
    fits = fits_of(X, X[:, 0] ** 2, held_out(N), estimators)
    way = paper(fits, Recipe(LIMITS))
    root = root_of(way, fits)
    return fits, root, list(Exhaustive(LIMITS, fits, way.combine)(root))


def test_all_candidate_splits_are_tried_in_order():
    _, root, trials = trials_of([DummyRegressor()])
    wanted = [split for splits in root.rows.splits(LIMITS) for split in splits]
    assert [trial.split for trial in trials] == wanted
    assert len(wanted) == 6


def test_every_learner_answers_every_row():
    fits, root, trials = trials_of([LinearRegression(), DummyRegressor()])
    for trial in trials:
        assert len(trial.own) == 2
        assert all(own.shape == (len(root.rows.v1), 1) for own in trial.own)
        assert not np.isnan(trial.own).any()
    assert fits.ledger.fits.made == fits.ledger.fits.exhaustive == 2 * len(trials)  # the slow one


def test_a_side_is_answered_by_what_was_trained_on_it():
    _, root, trials = trials_of([DummyRegressor()])
    problem, trial = root.rows.problem, trials[2]
    for mine, side in zip(trial.sides, root.rows.divide(trial.split), strict=True):
        np.testing.assert_allclose(trial.own[0][mine], problem.y[side.train].mean())


def test_where_sums_tell_the_promising_splits_are_tried_alone():
    """They have the best among them, as if all had been tried."""
    fits, root, few = trials_of([LinearRegression()])
    combine = Best(fits)
    all_trials = Trials(root, LIMITS, fits)
    every = list(all_trials.of_all(all_trials.splits))
    best = min((combine.losses(root, trial).min(), i) for i, trial in enumerate(every))[1]
    assert every[best].split in [trial.split for trial in few]
    assert len(few) < len(every)
