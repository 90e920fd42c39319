"""One learning problem: who is fitted on what, and who says what about whom."""

import pickle

import numpy as np
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from growing import in_folds
from predictree.data.partition import Partition
from predictree.grow.problem import ROOT_PATH, Problem, Seeds
from predictree.learners import adapt
from predictree.losses import LogLoss, SquaredError


def test_with_folds_a_row_is_judged_by_the_model_that_never_saw_it(regimes, spy):
    X, y = regimes
    partition = in_folds(len(X), 2)
    learner = adapt("spy", spy, "regression", 1)
    problem = Problem(X, y, None, partition, (learner,), SquaredError(), Seeds(0))
    models = problem.fit(learner, partition.train, ROOT_PATH)
    scores = problem.held_out(models, partition.v1)
    for f, (seen, _, _) in enumerate(spy.seen):
        np.testing.assert_array_equal(seen, X[partition.fold != f])
        judged = partition.fold == f
        np.testing.assert_array_equal(scores[judged], models[f].scores(X[judged]))


def test_seeds_depend_on_what_is_fitted_and_on_nothing_else():
    seeds = Seeds(1)
    same = seeds.derive(5, "forest", 0)
    assert seeds.derive(5, "forest", 0) == same
    others = [
        Seeds(2).derive(5, "forest", 0),
        Seeds(1, repeat=1).derive(5, "forest", 0),
        seeds.derive(6, "forest", 0),
        seeds.derive(5, "linear", 0),
        seeds.derive(5, "forest", 1),
        seeds.derive(5 + 2**5000, "forest", 0),
    ]
    assert len({same, *others}) == 7


def test_samples_are_nested_and_keep_the_classes():
    rng = np.random.default_rng(0)
    y = (rng.random(5000) < 0.01).astype(int)
    X = rng.normal(size=(5000, 2))
    learner = adapt("a", DecisionTreeClassifier(), "classification", 2)
    parts = Partition.from_codes(np.arange(5000, dtype=np.int8) % 3)
    problem = Problem(X, y, None, parts, (learner,), LogLoss(), Seeds(0))
    rows = np.arange(0, 5000, 2)
    few, more = (problem.sample(rows, share) for share in (1 / 9, 1 / 3))
    assert set(few) < set(more) < set(rows)
    for some, share in ((few, 1 / 9), (more, 1 / 3)):
        assert y[some].sum() == np.ceil(share * y[rows].sum())


def test_what_is_computed_once_does_not_travel_with_tasks():
    X = np.random.default_rng(0).normal(size=(30, 2))
    learner = adapt("a", DecisionTreeRegressor(), "regression", 1)
    parts = Partition.from_codes(np.arange(30, dtype=np.int8) % 3)
    problem = Problem(X, X[:, 0], None, parts, (learner,), SquaredError(), Seeds(0), view=np.square)
    assert problem.seen is problem.seen
    travelled = pickle.loads(pickle.dumps(problem))
    assert "seen" not in vars(travelled)
    np.testing.assert_array_equal(travelled.seen, problem.seen)
