"""The grower on problems made by hand, below the estimators."""

import numpy as np
import pytest
from predictree.grow.appraisal import ITSELF, Candidate, Side
from predictree.grow.grower import Grower
from predictree.grow.search_ import Limits
from predictree.grow.weights import weigh
from sklearn.linear_model import LinearRegression
from sklearn.tree import DecisionTreeRegressor

from predictree.data.partition import Partition
from predictree.grow.problem import ROOT_PATH, Problem, Seeds
from predictree.learners import adapt
from predictree.losses import SquaredError
from predictree.run.tasks import Executor


def limits(**changes):
    return Limits(
        **{
            "n_thresholds": 3,
            "max_depth": 2,
            "min_samples_leaf": 5,
            "min_samples_val": 5,
            "min_gain": 0.0,
            **changes,
        }
    )


def problem(X, y, partition, estimator=None):
    learner = adapt("linear", estimator or LinearRegression(), "regression", 1)
    return Problem(X, y, None, partition, (learner,), SquaredError(), Seeds(0))


def held_out(n):
    return Partition.from_codes((np.arange(n) % 4).clip(max=2).astype(np.int8))


def two_folds(n):
    """Every row trains in one fold and is judged in the other."""
    rows = np.arange(n)
    return Partition.from_folds(rows % 2)


@pytest.mark.parametrize("make_partition", [held_out, two_folds])
def test_the_true_split_is_found(regimes, make_partition):
    X, y = regimes
    grower = Grower(problem(X, y, make_partition(len(X))), limits(max_depth=1), Executor())
    grower.grow()
    tree = grower.freeze(weigh(grower.problem, grower, 5))
    tree.validate()
    assert tree[0].split.feature == 0
    assert tree[0].split_loss < 0.2 < tree[0].loss


def test_with_folds_a_row_is_judged_by_the_model_that_never_saw_it(regimes, spy):
    X, y = regimes
    partition = two_folds(len(X))
    p = problem(X, y, partition, spy)
    models = p.fit(p.learners[0], partition.train, ROOT_PATH)
    scores = p.held_out(models, partition.v1)
    for f, (seen, _, _) in enumerate(spy.seen):
        np.testing.assert_array_equal(seen, X[partition.fold != f])
        judged = partition.fold == f
        np.testing.assert_array_equal(scores[judged], models[f].scores(X[judged]))


def test_with_folds_a_predictor_is_the_mean_of_its_models(regimes):
    X, y = regimes
    grower = Grower(problem(X, y, two_folds(len(X))), limits(max_depth=0), Executor())
    grower.grow()
    tree = grower.freeze(weigh(grower.problem, grower, 5))
    halves = [LinearRegression().fit(X[f::2], y[f::2]).predict(X) for f in (1, 0)]
    np.testing.assert_allclose(tree.scores(X)[:, 0], np.mean(halves, axis=0))


def test_min_gain_must_be_exceeded(regimes):
    X, y = regimes
    partition = held_out(len(X))
    free = Grower(problem(X, y, partition), limits(max_depth=1), Executor())
    free.grow()
    gain = free.nodes[0].loss - free.nodes[0].split_loss
    for min_gain, n_nodes in ((0.9 * gain, 3), (1.1 * gain, 1)):
        grower = Grower(
            problem(X, y, partition), limits(min_gain=min_gain, max_depth=1), Executor()
        )
        grower.grow()
        assert len(grower.nodes) == n_nodes


def test_a_perfect_fit_is_not_split():
    """Losses of rounding errors differ, but no split is a gain."""
    X = np.random.default_rng(0).normal(size=(200, 3))
    grower = Grower(problem(X, X @ [1e3, -2e3, 5e3], held_out(200)), limits(), Executor())
    grower.grow()
    assert len(grower.nodes) == 1


def test_children_have_the_rows_they_need(regimes):
    X, y = regimes
    grower = Grower(
        problem(X, y, held_out(len(X))),
        limits(min_samples_leaf=20, min_samples_val=30, max_depth=None, n_thresholds=9),
        Executor(),
    )
    grower.grow()
    assert len(grower.nodes) > 3
    for node in grower.nodes[1:]:
        assert len(node.region.train) >= 20
        assert len(node.region.v1) >= 30


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


@pytest.mark.parametrize(
    ("estimator", "advice"),
    [
        (LinearRegression(), "may be nearly collinear"),
        (DecisionTreeRegressor(), "give it a random_state"),
    ],
    ids=["a closed form", "any learner"],
)
def test_a_model_that_does_not_answer_as_it_was_judged_is_refused_with_advice(
    regimes, estimator, advice
):
    X, y = regimes
    p = problem(X, y, held_out(len(X)), estimator)
    models = p.fit(p.learners[0], p.root.train, ROOT_PATH)
    scores = p.held_out(models, p.root.v1)
    grower = Grower(p, limits(), Executor())
    grower._as_judged(Side(p.root, [], Candidate(ITSELF, 0, scores)), models)
    with pytest.raises(RuntimeError, match=advice):
        grower._as_judged(Side(p.root, [], Candidate(ITSELF, 0, scores + 1)), models)
