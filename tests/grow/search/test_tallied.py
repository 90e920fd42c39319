"""What sums tell of splits is what the scores of their rows tell."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeRegressor

from growing import fits_of, held_out, in_folds, root_of
from predictree.data.partition import Partition
from predictree.grow.algorithm import argmin, best_split
from predictree.grow.methods import Recipe, paper, stacked
from predictree.grow.rows import Limits
from predictree.grow.search import tallied
from predictree.grow.search.exhaustive import SETTLED
from predictree.grow.search.tallied import Tallied
from predictree.grow.search.trials import Trials
from predictree.learners import adapt
from predictree.losses import AbsoluteError, SquaredError
from predictree.run.tasks import Executor

LIMITS = Limits(9, 2, 20, 10, 0.0)
RECIPE = Recipe(LIMITS, strength=30.0)
STANDARD_RIDGE = make_pipeline(StandardScaler(), Ridge(2.0))
PARTITIONS = {
    "folds": (lambda n: in_folds(n, 4), stacked),
    "some always train": (lambda n: Partition.from_folds(np.arange(n) % 5 - 1), stacked),
    "pooled": (lambda n: held_out(n).pooled(), stacked),
    "held out": (held_out, paper),
    "folds, one predictor": (lambda n: in_folds(n, 4), paper),
}


def some_data(n=400):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(n, 4))
    X[:, 3] = X[:, 3] > 0.5
    y = np.where(X[:, 0] > 0.3, 2 * X[:, 1], -X[:, 2]) + X[:, 3] + 0.5 * rng.normal(size=n)
    return X, y


def weighted(fits):
    """The same, with weights of rows."""
    problem = fits.problem
    weight = np.random.default_rng(2).uniform(0.5, 2.0, len(problem.X))
    learners = [replace(one, metadata={"sample_weight": weight}) for one in problem.learners]
    fits.problem = replace(problem, weight=weight, learners=tuple(learners))
    return fits


def fits_on(kind, learners, loss=None):
    partition, method = PARTITIONS[kind]
    X, y = some_data()
    return fits_of(X, y, partition(len(y)), learners, loss), method


def told(leaf, way, fits, without=None):
    """Splits and their losses, from sums."""
    sums = Tallied.of(leaf, Trials(leaf, LIMITS, fits), map)
    rest = leaf if without is None else leaf.without(without)
    return sums, way.combine.by_squares(rest, sums.squares(without))


def by_scores(leaf, way, fits, splits):
    """Losses of the same splits, from the scores of all rows."""
    trials = Trials(leaf, LIMITS, fits).of_all([[split] for split in splits])
    return [way.combine.best(leaf, trial, np.inf).loss for trial in trials]


@pytest.mark.parametrize("kind", PARTITIONS)
@pytest.mark.parametrize(
    "learners", [[LinearRegression()], [Ridge(5.0), LinearRegression()], [STANDARD_RIDGE]]
)
def test_losses_of_all_splits_are_those_of_their_rows(kind, learners):
    fits, method = fits_on(kind, learners)
    way = method(fits, RECIPE)
    root = root_of(way, fits)
    sums, losses = told(root, way, fits)
    np.testing.assert_allclose(losses, by_scores(root, way, fits, sums.splits), rtol=1e-8)


@pytest.mark.parametrize("kind", ["folds", "held out"])
def test_the_same_without_a_part_of_the_rows(kind):
    fits, method = fits_on(kind, [LinearRegression()])
    way = method(fits, RECIPE)
    root = root_of(way, fits)
    p = int(root.rows.part[0])
    sums, losses = told(root, way, fits, without=p)
    rest = root.without(p)
    np.testing.assert_allclose(losses, by_scores(rest, way, fits, sums.splits), rtol=1e-8)
    assert sums.admitted(LIMITS, p).tolist() == [
        LIMITS.admits(
            split.goes_left(fits.problem.X[rest.rows.train, split.feature]),
            rest.rows.goes_left(split),
        )
        for split in sums.splits
    ]


def test_weights_count_in_fits_and_losses():
    fits, method = fits_on("folds", [LinearRegression()])
    way = method(weighted(fits), RECIPE)
    root = root_of(way, fits)
    sums, losses = told(root, way, fits)
    np.testing.assert_allclose(losses, by_scores(root, way, fits, sums.splits), rtol=1e-8)


@pytest.mark.parametrize("method", [stacked, paper])
def test_what_is_inherited_counts_below_the_root(method):
    X, y = some_data(800)
    fits = fits_of(X, y, in_folds(len(y), 4), [LinearRegression()])
    way = method(fits, RECIPE)
    child = best_split(root_of(way, fits), way).children[0]
    assert len(child.pool) == 2
    sums, losses = told(child, way, fits)
    np.testing.assert_allclose(losses, by_scores(child, way, fits, sums.splits), rtol=1e-8)


@pytest.mark.parametrize("kept", [0, tallied.KEPT])
@pytest.mark.parametrize("kind", ["folds", "held out"])
def test_what_is_chosen_without_a_part_has_its_scores_and_models(kind, kept, monkeypatch):
    """They are those of least squares on the rows that are left, also where sums are not kept."""
    monkeypatch.setattr(tallied, "KEPT", kept)
    fits, method = fits_on(kind, [LinearRegression()])
    way = method(fits, RECIPE)
    root = root_of(way, fits)
    argmin(root, way)
    rest = root.without(int(root.rows.part[0]))
    trial = next(way.search(rest))
    (exact,) = Trials(rest, LIMITS, fits).of_all([[trial.split]])
    np.testing.assert_allclose(trial.own[0], exact.own[0], atol=1e-9)
    problem = fits.problem
    for right, side in enumerate(rest.rows.divide(trial.split)):
        for f, model in enumerate(trial.models[0, right]):
            mine = side.train[problem.partition.fold[side.train] != f]
            fitted = LinearRegression().fit(problem.X[mine], problem.y[mine])
            told = model.scores(problem.X)[:, 0]
            np.testing.assert_allclose(told, fitted.predict(problem.X), atol=1e-8)


@pytest.mark.parametrize("kept", [0, tallied.KEPT])
def test_any_number_of_jobs_gives_the_same_bits(kept, monkeypatch):
    monkeypatch.setattr(tallied, "KEPT", kept)
    fits, method = fits_on("folds", [LinearRegression()])
    way = method(fits, RECIPE)
    root = root_of(way, fits)
    losses = []
    for n_jobs in (1, 3):
        sums = Tallied.of(root, Trials(root, LIMITS, fits), Executor(n_jobs).spread)
        losses.append(way.combine.by_squares(root, sums.squares(None)))
        losses.append(way.combine.by_squares(root.without(0), sums.squares(0)))
    np.testing.assert_array_equal(losses[0], losses[2])
    np.testing.assert_array_equal(losses[1], losses[3])


def test_sums_that_are_too_many_are_made_again(monkeypatch):
    fits, method = fits_on("folds", [LinearRegression()])
    way = method(fits, RECIPE)
    root = root_of(way, fits)
    _, kept = told(root, way, fits)
    monkeypatch.setattr(tallied, "KEPT", 0)
    monkeypatch.setattr(tallied, "AT_ONCE", 1)
    sums, again = told(root, way, fits)
    np.testing.assert_allclose(again, kept, rtol=1e-12)
    assert not sums.kept


def test_a_rehearsal_looks_at_no_row_again(monkeypatch):
    fits, method = fits_on("folds", [LinearRegression()])
    way = method(fits, RECIPE)
    root = root_of(way, fits)
    asked = []
    monkeypatch.setattr(Tallied, "of", lambda *given, of=Tallied.of: asked.append(0) or of(*given))
    found = [argmin(leaf, way) for leaf in (root, root.without(0), root.without(1))]
    assert len(asked) == 1
    assert all(one is not None for one in found)
    argmin(replace(root, loss=root.loss), way)
    assert len(asked) == 2


def test_a_part_without_which_weights_are_found_on_other_halves_is_no_slice():
    fits, method = fits_on("pooled", [LinearRegression()])
    way = method(fits, RECIPE)
    rest = root_of(way, fits).without(0)
    assert rest.rows.apart is None
    assert argmin(rest, way) is not None


def test_only_splits_that_may_be_the_best_are_looked_at_by_rows():
    fits, method = fits_on("folds", [LinearRegression()])
    way = method(fits, RECIPE)
    root = root_of(way, fits)
    trials = list(way.search(root))
    assert len(trials) == SETTLED
    every = by_scores(root, way, fits, told(root, way, fits)[0].splits)
    assert argmin(root, way).loss == pytest.approx(min(every), rel=1e-9)


def test_equal_splits_are_all_looked_at_in_their_order():
    X, y = some_data()
    X = np.column_stack([X[:, 1:], *[X[:, 0]] * (SETTLED + 2)])
    fits = fits_of(X, y, in_folds(len(y), 4), [LinearRegression()])
    way = stacked(fits, RECIPE)
    root = root_of(way, fits)
    assert len(list(way.search(root))) >= SETTLED + 2
    assert argmin(root, way).trial.split.feature == 3


def test_where_rows_leave_coefficients_open_the_learners_say_what_they_are():
    """The shortest of all, which a level that training rows do not have depends on."""
    rng = np.random.default_rng(0)
    level = rng.choice(4, 400, p=[0.5, 0.3, 0.19, 0.01])
    X = np.column_stack([rng.normal(size=400), *(level == c for c in range(4))])
    y = np.where(X[:, 0] > 0, X[:, 0] + level, -level) + 0.1 * rng.normal(size=400)
    fits = fits_of(X, y, in_folds(400, 4), [LinearRegression()])
    way = stacked(fits, RECIPE)
    root = root_of(way, fits)
    sums, _ = told(root, way, fits)
    assert all(sums.trial(root, place, None) is None for place in range(len(sums.splits)))
    trial = next(way.search(root))
    (exact,) = Trials(root, LIMITS, fits).of_all([[trial.split]])
    np.testing.assert_array_equal(trial.own[0], exact.own[0])


def test_no_split_is_looked_at_where_none_can_gain():
    X, y = np.random.default_rng(0).normal(size=(300, 3)), np.zeros(300)
    y[:] = 3 * X[:, 0] + np.random.default_rng(1).normal(size=300)
    fits = fits_of(X, y, held_out(300), [LinearRegression()])
    way = paper(fits, replace(RECIPE, limits=replace(LIMITS, min_gain=10.0)))
    assert list(way.search(root_of(way, fits))) == []


@pytest.mark.parametrize(
    ("learners", "loss"),
    [
        ([LinearRegression()], AbsoluteError()),
        ([LinearRegression(), DecisionTreeRegressor()], SquaredError()),
    ],
)
def test_other_losses_and_learners_want_scores(learners, loss):
    fits, _ = fits_on("held out", learners, loss)
    way = paper(fits, RECIPE)
    root = root_of(way, fits)
    assert Tallied.of(root, Trials(root, LIMITS, fits), map) is None


def test_weights_that_a_scaler_does_not_see_want_scores():
    fits, _ = fits_on("held out", [STANDARD_RIDGE])
    fits.problem = replace(
        fits.problem,
        weight=np.ones(400),
        learners=tuple(
            adapt("a", STANDARD_RIDGE, "regression", 1, metadata={"ridge__sample_weight": w})
            for w in [np.ones(400)]
        ),
    )
    way = paper(fits, RECIPE)
    root = root_of(way, fits)
    assert Tallied.of(root, Trials(root, LIMITS, fits), map) is None
