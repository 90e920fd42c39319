"""Racing: what is cheap ranks the splits, and slow learners see a shortlist."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from conftest import HELD_OUT
from growing import fits_of, found_at, in_folds, root_of
from predictree import ToPsClassifier, ToPsRegressor
from predictree.grow.methods import Recipe, stacked
from predictree.grow.rows import Limits
from predictree.grow.search import racing
from predictree.grow.search.trials import Trials
from predictree.learners import resolve_learners
from predictree.learners.forms.logistic import LogisticForm
from predictree.losses import LogLoss
from predictree.model.tree import Split

TREES = [
    ("small", DecisionTreeRegressor(max_depth=2)),
    ("large", DecisionTreeRegressor(max_depth=5)),
]


def splits_of(model):
    return [(node.split, node.learner, node.trained_on) for node in model.tree_]


def test_auto_races_only_where_a_learner_has_no_closed_form(regimes):
    X, y = regimes
    assert ToPsRegressor("lr", random_state=0, **HELD_OUT).fit(X, y).fits_.made == 0
    fits = ToPsRegressor(TREES, random_state=0, **HELD_OUT).fit(X, y).fits_
    assert 0 < fits.made < fits.exhaustive


def test_racing_with_room_for_all_splits_is_exhaustive(regimes, monkeypatch):
    X, y = regimes
    learners = [("linear", LinearRegression(tol=1e-12)), *TREES]
    whole = ToPsRegressor(
        learners, search="exhaustive", max_depth=3, random_state=0, **HELD_OUT
    ).fit(X, y)
    monkeypatch.setattr(racing, "RACES", ((0, ((1.0, 10**6),)),))
    raced = ToPsRegressor(learners, search="racing", max_depth=3, random_state=0, **HELD_OUT).fit(
        X, y
    )
    assert splits_of(raced) == splits_of(whole)
    assert raced.fits_ == whole.fits_


@pytest.mark.parametrize("length", [3, 10**6])
def test_logistic_regression_waits_for_the_shortlist(regimes, monkeypatch, length):
    X, y = regimes
    learners = [
        ("logistic", LogisticRegression(solver="newton-cholesky", tol=1e-8)),
        ("linear", LinearRegression(tol=1e-12)),
        ("tree", DecisionTreeClassifier(max_depth=2)),
    ]
    fit = partial(ToPsClassifier, learners, max_depth=2, random_state=0, **HELD_OUT)
    whole = fit(search="exhaustive").fit(X, y > 0)
    monkeypatch.setattr(racing, "RACES", ((0, ((1.0, length),)),))
    asked = []
    form = LogisticForm.fit_splits
    monkeypatch.setattr(
        LogisticForm,
        "fit_splits",
        lambda self, cuts: asked.append(len(cuts.places)) or form(self, cuts),
    )
    raced = fit(search="racing").fit(X, y > 0)
    if length == 3:
        assert 0 < max(asked) <= 3
    else:
        assert splits_of(raced) == splits_of(whole)


def test_racing_of_quick_learners_on_few_rows_is_exhaustive(regimes):
    X, y = regimes
    models = [
        ToPsRegressor("lr", search=search, random_state=0, **HELD_OUT).fit(X, y)
        for search in ("exhaustive", "racing")
    ]
    assert splits_of(models[0]) == splits_of(models[1])


def test_fits_are_counted(regimes):
    X, y = regimes
    model = ToPsRegressor(TREES, search="racing", max_depth=1, random_state=0, **HELD_OUT).fit(X, y)
    n_splits = 16  # one of the binary feature, and those of the others with enough rows of V¹
    assert model.fits_.exhaustive == 2 * len(TREES) * n_splits
    assert model.fits_.made == 2 * len(TREES) * 2  # without a quick learner two splits are tried
    linear = [*TREES, ("linear", LinearRegression())]
    model = ToPsRegressor(linear, search="racing", max_depth=1, random_state=0, **HELD_OUT)
    assert model.fit(X, y).fits_.made == 2 * len(TREES)


def test_a_growing_share_of_the_rows(regimes, monkeypatch, spy):
    X, y = regimes
    monkeypatch.setattr(racing, "RACES", ((0, ((1 / 9, 6), (1.0, 1))),))
    model = ToPsRegressor(
        [("spy", spy)], search="racing", max_depth=1, random_state=0, **HELD_OUT
    ).fit(X, y)
    n = int((model.partition_ == 0).sum())
    sizes = np.array([len(rows) for rows, _, _ in type(spy).seen[1:]])
    pairs = sizes[: len(sizes) // 2 * 2].reshape(-1, 2).sum(axis=1)  # both sides of a split
    expected = [n / 9] * 12 + [n] * 2  # twice as many where linear regression stands in
    np.testing.assert_allclose(pairs[:14], expected, atol=2)
    assert model.fits_.made == 28


@pytest.mark.parametrize("missing", [False, True])
def test_without_a_quick_learner_linear_regression_ranks_the_splits(missing, monkeypatch):
    """The first learner tells nothing of where to split; the slope in feature 0 turns at x₂ = 0."""
    monkeypatch.setattr(racing, "RACES", ((0, ((1.0, 1),)),))
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 6))
    y = np.where(X[:, 2] > 0, 2, -2) * X[:, 0] + 0.1 * rng.normal(size=3000)
    if missing:
        X[rng.random(X.shape) < 0.1] = np.nan
    learner = HistGradientBoostingRegressor(max_iter=5, max_leaf_nodes=4)
    model = ToPsRegressor([("boosting", learner)], max_depth=1, random_state=0, **HELD_OUT).fit(
        X, y
    )
    assert model.tree_[0].split.feature == 2
    assert abs(model.tree_[0].split.threshold) < 0.3


def test_the_same_tree_whatever_the_jobs(regimes):
    X, y = regimes
    models = [
        ToPsRegressor(
            TREES, search="racing", max_depth=2, n_jobs=n, random_state=0, **HELD_OUT
        ).fit(X, y)
        for n in (1, 2)
    ]
    assert splits_of(models[0]) == splits_of(models[1])
    np.testing.assert_array_equal(models[0].predict(X), models[1].predict(X))


def test_racing_classifies(regimes):
    X, y = regimes
    learners = [("tree", DecisionTreeClassifier(max_depth=3))]
    for k, loss in ((2, "auc"), (4, "log_loss")):
        codes = np.digitize(y, np.quantile(y, np.arange(1, k) / k))
        model = ToPsClassifier(
            learners, loss=loss, search="racing", random_state=0, **HELD_OUT
        ).fit(X, codes)
        assert model.tree_[0].split_loss < model.tree_[0].loss


RACE = Recipe(Limits(9, 1, 20, 10, 0.0), demand=(1.645, 1.645), races=True, strength=30.0)


def race_of(X, y, estimators, loss=None):
    """The root of a tree of mixtures, the way it grows, and what fits its learners."""
    fits = fits_of(X, y, in_folds(len(y), 4), estimators, loss)
    way = stacked(fits, RACE)
    return root_of(way, fits), way, fits


def test_slow_learners_are_trained_on_the_chosen_split_alone(regimes):
    X, y = regimes
    learners = [("linear", LinearRegression()), ("tree", DecisionTreeRegressor(max_depth=3))]
    model = ToPsRegressor(learners, max_depth=1, random_state=0).fit(X, y)
    assert model.get_n_leaves() == 2
    assert model.fits_.made == 2 * 5  # one slow learner, two sides, five folds


def test_without_quick_learners_the_slow_ones_are_trained_on_what_a_stand_in_likes_best(regimes):
    root, way, fits = race_of(*regimes, [DecisionTreeRegressor(max_depth=2, random_state=0)])
    assert found_at(root, way).trial.asked_all
    assert fits.ledger.fits.made == racing.SLOW_FINALISTS * 2 * 4


def test_of_slow_learners_the_first_that_can_be_fitted_scouts(regimes):
    learners = [DecisionTreeRegressor(max_depth=d, random_state=0) for d in (2, 3)]
    root, way, fits = race_of(*regimes, learners)
    trial = found_at(root, way).trial
    assert not trial.asked_all
    assert fits.ledger.fits.made == racing.SLOW_FINALISTS * 2 * 4
    assert [bool(np.isnan(scores).all()) for scores in trial.own] == [False, True]
    without_first = replace(root, pool=[h for h in root.pool if h.learner == 1])
    trial = found_at(without_first, way).trial
    assert [bool(np.isnan(scores).all()) for scores in trial.own] == [True, False]


SMOOTH = ("logistic", "kernel")  # of the default's learners


def opposite_slopes(n=1000):
    """Return rows whose slopes turn round with the first column: on all rows there are none."""
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(0, 2, n), rng.normal(size=(n, 5))])
    return X, np.where(X[:, 0] == 1, 2, -2) * X[:, 1:].sum(axis=1) + 0.3 * rng.normal(size=n)


@pytest.mark.parametrize(
    "learners",
    [
        [pair for pair in resolve_learners("strong", "classification") if pair[0] in SMOOTH],
        [("logistic", LogisticRegression()), ("neighbours", KNeighborsClassifier(20))],
    ],
    ids=["quick", "slow"],
)
def test_a_split_that_the_mixture_does_not_want_of_the_stand_in_is_found(learners):
    X, y = opposite_slopes()
    model = ToPsClassifier(learners, max_depth=1, random_state=0).fit(X, y > 0)
    assert model.tree_[0].split is not None
    assert model.tree_[0].split.feature == 0


@pytest.mark.parametrize("size", [3, 10**6])
def test_a_learner_that_takes_steps_is_trained_on_the_finalists_alone(regimes, monkeypatch, size):
    X, y = regimes
    monkeypatch.setattr(racing, "FINALISTS", size)
    estimators = [
        LogisticRegression(solver="newton-cholesky", tol=1e-8),
        DecisionTreeClassifier(max_depth=2, random_state=0),
    ]
    root, way, fits = race_of(X, (y > 0).astype(int), estimators, LogLoss())
    asked, form = [], LogisticForm.fit_splits
    monkeypatch.setattr(
        LogisticForm,
        "fit_splits",
        lambda self, cuts: asked.append(len(cuts.places)) or form(self, cuts),
    )
    found = found_at(root, way)
    if size == 3:
        assert sum(asked) == 3
    else:
        trials = Trials(root, RACE.limits, fits)
        told = trials.of_quick(trials.splits, *trials.closed)
        every = found_at(root, replace(way, search=lambda leaf: told))
        assert found.trial.split == every.trial.split
        assert found.loss == pytest.approx(every.loss)


def test_logistic_regressions_rank_splits_by_sums_and_fit_few(regimes, monkeypatch):
    X, y = regimes
    asked, form = [], LogisticForm.fit_splits
    monkeypatch.setattr(
        LogisticForm,
        "fit_splits",
        lambda self, cuts: asked.append(len(cuts.places)) or form(self, cuts),
    )
    fit = partial(ToPsClassifier, [("logistic", LogisticRegression())], random_state=0)
    models = [fit(search=search, max_depth=1) for search in ("auto", "exhaustive")]
    few, every = (model.fit(X, y > 0) for model in models)
    assert splits_of(few) == splits_of(every)
    assert few.tree_[0].split is not None
    np.testing.assert_array_equal(few.predict_proba(X), every.predict_proba(X))
    assert min(asked) == racing.FINALISTS < max(asked)


def test_a_loss_that_is_no_sum_is_asked_of_every_split(regimes, monkeypatch):
    X, y = regimes
    asked, form = [], LogisticForm.fit_splits
    monkeypatch.setattr(
        LogisticForm,
        "fit_splits",
        lambda self, cuts: asked.append(len(cuts.places)) or form(self, cuts),
    )
    ToPsClassifier(
        [("logistic", LogisticRegression())], loss="auc", max_depth=1, random_state=0
    ).fit(X, y > 0)
    assert min(asked) > racing.FINALISTS


@pytest.mark.parametrize("loss", ["auc", "mae"])
def test_on_many_rows_a_share_of_them_ranks_the_splits_of_quick_learners(loss, monkeypatch):
    """The slope turns round where the third column passes a half."""
    monkeypatch.setattr(racing, "MANY", 1000)
    monkeypatch.setattr(racing, "FEWEST", 1)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(12_000, 5))
    X[:, 4] = rng.integers(0, 2, 12_000)
    y = np.where(X[:, 2] > 0.5, 2, -2) * X[:, 0] + rng.normal(size=12_000)
    make = ToPsClassifier.paper if loss == "auc" else ToPsRegressor.paper
    asked, of_all = [], Trials.of_all

    def spied(self, by_feature, *more):
        asked.append(sum(map(len, by_feature)))
        return of_all(self, by_feature, *more)

    monkeypatch.setattr(Trials, "of_all", spied)
    found = []
    for search in ("racing", "exhaustive"):
        model = make("lr", loss=loss, search=search, max_depth=1, random_state=0)
        model.fit(X, y > 0 if loss == "auc" else y)
        found.append((model.tree_[0].split, model.tree_[0].split_loss))
    assert found[0] == found[1]
    assert found[0][0].feature == 2
    assert asked[0] <= racing.FINALISTS < 30 < asked[1]


def test_paper_is_exhaustive_unless_asked(monkeypatch):
    monkeypatch.setattr(racing, "MANY", 100)
    monkeypatch.setattr(racing, "shortlist", lambda *given: pytest.fail("it raced"))
    X = np.random.default_rng(0).normal(size=(400, 3))
    ToPsRegressor.paper("lr", max_depth=1, random_state=0).fit(X, X[:, 0])


def test_the_nearest_split_is_of_the_same_kind():
    cuts = [Split(0, t) for t in (1.0, 2.0, 3.0)]
    assert racing.nearest(Split(0, 2.2), cuts) is cuts[1]
    sided = [Split(0, t, left, True) for t in (1.0, np.inf) for left in (False, True)]
    assert racing.nearest(Split(0, 5.0, True, True), sided) is sided[1]
    assert racing.nearest(Split(0, np.inf, False, True), sided) is sided[2]
    levels = [Split(0, 1.0, is_level=True), Split(0, 2.0)]
    assert racing.nearest(Split(0, 1.0, is_level=True), levels) is levels[0]
    assert racing.nearest(Split(0, np.inf, False, True), cuts) is None


def test_a_sample_keeps_classes_and_parts_together(regimes):
    X, y = regimes
    root, _, _ = race_of(X, y, [LinearRegression()])
    few = root.sampled(0.2)
    assert few.rows.train is few.rows.v1
    assert len(few.rows.train) == pytest.approx(0.2 * len(root.rows.train), abs=1)
    place = np.searchsorted(root.rows.v1, few.rows.v1)
    np.testing.assert_array_equal(few.pool[0].scores, root.pool[0].scores[place])
