"""Whether a split is real: the choice rehearsed without each part of the rows."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from conftest import HELD_OUT
from growing import fits_of, found_at, held_out, in_folds, rehearsed, root_of
from predictree import ToPsClassifier, ToPsRegressor
from predictree.grow import proof
from predictree.grow.algorithm import argmin, best_split
from predictree.grow.methods import Recipe, paper, stacked
from predictree.grow.rows import Limits
from predictree.losses import AUC, LogLoss, SquaredError

LIMITS = Limits(9, 1, 20, 10, 0.0)
STRICT = Recipe(LIMITS, demand=(1.645, 1.645), strength=30.0)
REGRESSORS = [LinearRegression(), DecisionTreeRegressor(max_depth=2, random_state=0)]
CLASSIFIERS = [
    LogisticRegression(solver="newton-cholesky", tol=1e-8),
    DecisionTreeClassifier(max_depth=2, random_state=0),
]
KINDS = {
    "folds": (lambda n: in_folds(n, 4), stacked, replace(STRICT, races=True)),
    "pooled": (lambda n: held_out(n).pooled(), stacked, STRICT),
    "held out": (held_out, paper, STRICT),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("loss", [SquaredError(), LogLoss(), AUC()])
def test_no_row_has_a_say_in_the_choice_that_it_judges(regimes, kind, loss, monkeypatch):
    """With other labels in one part, all else being as it was, that part gets the same scores."""
    monkeypatch.setattr(proof, "FIRST", 10)  # whatever the first parts show
    X, y = regimes
    estimators = REGRESSORS
    if loss.task == "classification":
        y, estimators = (y > 0).astype(int), CLASSIFIERS
    partition, method, recipe = KINDS[kind]
    fits = fits_of(X, y, partition(len(y)), estimators, loss)
    way = method(fits, recipe)
    root, problem = root_of(way, fits), fits.problem
    before = rehearsed(root, way)
    assert not np.allclose(before, root.answer.scores)
    for p in np.unique(root.rows.part):
        held, other = root.rows.part == p, y.copy()
        other[root.rows.v1[held]] = np.random.default_rng(0).permutation(y)[: held.sum()]
        fits.problem = replace(problem, y=other)
        told = replace(root, rows=replace(root.rows, problem=fits.problem))
        np.testing.assert_array_equal(rehearsed(told, way)[held], before[held])


def test_the_rehearsal_of_a_real_split_is_near_its_promise(regimes):
    X, y = regimes
    fits = fits_of(X, y, in_folds(len(y), 4), REGRESSORS[:1])
    way = stacked(fits, STRICT)
    root = root_of(way, fits)
    choice = best_split(root, way)
    assert choice is not None
    assert choice.split.feature == 0
    promised = way.combine.rehearsed(root, found_at(root, way)).loss
    kept = fits.problem.loss.value(root.rows.judged, rehearsed(root, way))
    assert kept == pytest.approx(promised, rel=0.05)
    assert choice.loss < promised


def test_the_best_of_many_meaningless_splits_does_not_convince():
    rng = np.random.default_rng(0)
    fits = fits_of(
        rng.normal(size=(400, 20)), rng.normal(size=400), in_folds(400, 4), REGRESSORS[:1]
    )
    way = stacked(fits, STRICT)
    root = root_of(way, fits)
    assert found_at(root, way).loss < root.loss
    assert best_split(root, way) is None


@pytest.mark.parametrize("search", ["exhaustive", "racing"])
def test_without_the_demand_any_gain_will_do(search):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(400, 4)), rng.normal(size=400)
    learners = [("linear", LinearRegression()), ("tree", DecisionTreeRegressor(max_depth=2))]
    settings = {"search": search, "max_depth": 1, "random_state": 0}
    for weights in ("shrunk", "path"):
        free = ToPsRegressor(learners, min_gain_se=0, weights=weights, **settings).fit(X, y)
        strict = ToPsRegressor(learners, min_gain_se=3, weights=weights, **settings).fit(X, y)
        assert (free.get_n_leaves(), strict.get_n_leaves()) == (2, 1)


def test_the_root_and_the_nodes_below_it_have_demands_of_their_own():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(400, 4)), rng.normal(size=400)

    def leaves(min_gain_se):
        settings = {"min_gain_se": min_gain_se, "max_depth": 2, "random_state": 0}
        return ToPsRegressor("lr", **settings).fit(X, y).get_n_leaves()

    assert leaves((3, 0)) == 1
    assert leaves((0, 3)) == 2
    assert leaves((0, 0)) == leaves(0) == 3


def test_held_out_parts_may_ask_for_more_than_chance(regimes):
    X, y = regimes
    model = ToPsRegressor("lr", random_state=0, **(HELD_OUT | {"min_gain_se": 2})).fit(X, y)
    assert model.tree_[0].split.feature == 0


def test_noise_grows_no_tree_of_lines():
    """Where hundreds of local models are fitted, the best of them must not pass for a finding."""
    grown = 0
    for seed in range(12):
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(300, 8)), rng.integers(0, 2, 300)
        grown += ToPsClassifier("lr", random_state=seed).fit(X, y).get_n_leaves() > 1
    assert grown <= 2


def test_a_demand_below_zero_is_met_once_all_is_rehearsed():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(400, 20)), rng.normal(size=400)
    fits = fits_of(X, y, in_folds(400, 4), REGRESSORS[:1])
    strict, lax = (stacked(fits, replace(STRICT, demand=(d, d))) for d in (2.5, -1e9))
    root, asked = root_of(strict, fits), []

    def ask(rest):
        asked.append(rest)
        return argmin(rest, strict)

    found = found_at(root, strict)
    assert not strict.proof(root, found, ask)
    assert len(asked) < 4
    asked.clear()
    assert lax.proof(root, found, ask)
    assert len(asked) == 4
