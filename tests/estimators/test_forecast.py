"""Forecasts of a fit: what is counted, what is extrapolated, and what is cheaper."""

import json
import time

import numpy as np
import pytest
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import KFold

from conftest import HELD_OUT, Raises, Spy
from predictree import ToPsClassifier, ToPsRegressor
from predictree.errors import NoPredictorError


class Slow(Spy):
    """A spy whose fits move a clock by a power of their rows."""

    clock = 0.0

    def fit(self, X, y, sample_weight=None):
        Slow.clock += 1e-4 * len(X) ** 1.3
        return super().fit(X, y, sample_weight)


def spied(make, X, y, learners=None, **settings):
    """Return the plan of a fit of spies, the fits that it made, and the model."""
    learners = [("spy", Spy())] if learners is None else learners
    model = make(learners, random_state=0, **settings)
    plan = model.plan(X, y)
    Spy.seen = []
    model.fit(X, y)
    return plan, len(Spy.seen), model


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({}, 5),
        ({"validation": 3, "n_repeats": 2}, 6),
        ({"validation": KFold(4)}, 4),
        ({"validation": (0.6, 0.2, 0.2)}, 1),
        (HELD_OUT, 1),
        ({"learners": [("a", Spy()), ("line", LinearRegression()), ("b", Spy())]}, 10),
        ({"refit": True}, 6),
    ],
    ids=["folds", "repeats", "splitter", "shares", "paths", "several", "refit"],
)
def test_fits_of_the_root_are_counted_exactly(regimes, settings, expected):
    settings = {"max_depth": 0, **settings}
    plan, made, _ = spied(ToPsRegressor, *regimes, **settings)
    assert [f.what for f in plan.forecasts] == ["the root alone"]
    assert plan.forecasts[0].fits == made == expected


def test_every_imputation_has_its_tree(regimes):
    X, y = regimes
    X = X.copy()
    X[::7, 1] = np.nan
    settings = {"max_depth": 0, "imputation": "mice", "n_imputations": 3}
    plan, made, _ = spied(ToPsRegressor, X, y, **settings)
    assert plan.forecasts[0].fits == made == 15
    assert 'imputation="native"' in [f.what for f in plan.cheaper]
    settings["imputation"] = "native"
    assert spied(ToPsRegressor, X, y, **settings)[0].forecasts[0].fits == 5


@pytest.mark.parametrize("search", ["exhaustive", "racing"])
@pytest.mark.parametrize("validation", [2, (0.75, 0.15, 0.10)], ids=["folds", "parts"])
@pytest.mark.parametrize("refit", [False, True])
def test_fits_of_one_split_with_paths_are_counted_exactly(regimes, search, validation, refit):
    """The lone learner is trained anew on both sides, so that nothing is left to chance."""
    settings = {**HELD_OUT, "validation": validation, "search": search, "max_depth": 1}
    settings["refit"] = refit
    plan, made, model = spied(ToPsRegressor, *regimes, **settings)
    assert [node.trained_on for node in model.tree_] == [0, 1, 2]
    assert plan.forecasts[1].what == "one split"
    assert plan.forecasts[1].fits == made


def test_fits_of_one_split_of_mixtures_are_counted_but_for_what_has_no_weight(regimes):
    """Of the spy alone; linear regression comes from sums wherever it is fitted."""
    learners = [("line", LinearRegression()), ("spy", Spy())]
    settings = {"learners": learners, "min_gain_se": 0.0, "max_depth": 1}
    plan, made, model = spied(ToPsRegressor, *regimes, **settings)
    assert len(model.tree_) == 3
    root, tried, kept = 5, 2 * 5, 2 * 5
    assert plan.forecasts[1].fits == root + tried + kept
    assert root + tried <= made <= root + tried + kept


def test_a_lone_slow_learner_is_rehearsed_with_its_fits(regimes):
    plan, made, model = spied(ToPsRegressor, *regimes, max_depth=1)
    assert len(model.tree_) == 3
    assert plan.forecasts[1].fits == made


# Time


@pytest.fixture
def clock(monkeypatch):
    Slow.clock = 0.0
    monkeypatch.setattr(time, "perf_counter", lambda: Slow.clock)


def test_the_time_of_a_fit_is_extrapolated(clock):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20_000, 2))
    model = ToPsRegressor([("slow", Slow())], max_depth=0, random_state=0)
    plan = model.plan(X, X[:, 0])
    assert plan.learners[0].seconds == pytest.approx(1e-4 * 16_000**1.3, rel=0.01)
    assert plan.forecasts[0].seconds == pytest.approx(5 * 1e-4 * 16_000**1.3, rel=0.01)
    assert max(len(X) for X, _, _ in Slow.seen) <= 4000
    three = next(f for f in plan.cheaper if f.what == "validation=3")
    assert three.fits == 3
    assert three.seconds == pytest.approx(3 * 1e-4 * (20_000 * 2 / 3) ** 1.3, rel=0.01)


def test_a_first_fit_is_not_timed(clock, regimes):
    class Imports(Slow):
        """Takes an hour before its first fit."""

        def fit(self, X, y, sample_weight=None):
            Slow.clock += 0.0 if Slow.seen else 3600.0
            return super().fit(X, y, sample_weight)

    Slow.seen = []
    plan = ToPsRegressor([("slow", Imports())], max_depth=0, random_state=0).plan(*regimes)
    assert plan.learners[0].seconds < 1.0


def test_a_slow_fit_is_not_repeated_on_more_rows(clock, monkeypatch):
    monkeypatch.setattr("predictree.estimators.samples.PATIENCE", 0.1)
    Slow.seen = []
    X = np.random.default_rng(0).normal(size=(5000, 2))
    ToPsRegressor([("slow", Slow())], max_depth=0).plan(X, X[:, 0])
    assert max(len(X) for X, _, _ in Slow.seen) <= 500


def test_time_limit_caps_the_forecast(clock, regimes):
    learners, limit = [("slow", Slow())], 0.2
    [root] = ToPsRegressor(learners, max_depth=0, time_limit=limit).plan(*regimes).forecasts
    assert root.seconds == limit
    assert root.unlimited_seconds == pytest.approx(5 * 1e-4 * 480**1.3, rel=0.1)


def test_a_plan_leaves_no_trace(regimes):
    state = np.random.RandomState(3)
    before = state.get_state()[1].copy()
    model = ToPsRegressor("lr", validation=KFold(3, shuffle=True, random_state=state))
    model.set_params(random_state=state)
    kept = dict(vars(model))
    model.plan(*regimes)
    assert vars(model) == kept
    assert (state.get_state()[1] == before).all()


def test_cheaper_settings_change_something(regimes):
    def names(**settings):
        plan = ToPsRegressor([("spy", Spy())], random_state=0, **settings).plan(*regimes)
        present = plan.forecasts[-1]
        assert all(
            f.fits < present.fits
            or f.seconds < present.seconds
            or f.peak_bytes < present.peak_bytes
            for f in plan.cheaper
        )
        return [f.what for f in plan.cheaper if not f.what.startswith("n_jobs")]

    slowest = names(search="exhaustive", n_repeats=4)
    assert {"validation=3", 'search="racing"', "max_depth=1", "n_repeats=1"} <= set(slowest)
    assert 'learners="lr"' in slowest
    least = names(validation=3, max_depth=0, refit=True)
    assert set(least) <= {'learners="lr"'}


def test_depths_follow_max_depth(regimes):
    def depths(**settings):
        return [f.what for f in ToPsRegressor("lr", **settings).plan(*regimes).forecasts]

    assert depths(max_depth=0) == ["the root alone"]
    assert depths(max_depth=1) == ["the root alone", "one split"]
    assert depths(max_depth=2)[2:] == ["a full tree of depth 2"]
    assert depths()[2:] == ["a full tree of depth 3"]


def test_a_classification_of_frames_with_gaps_is_planned():
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"kind": rng.choice(list("abc"), 300), "dose": rng.normal(size=300)})
    X.loc[::5, "dose"] = None
    y = np.where(X["kind"] == "a", "yes", "no")
    plan = ToPsClassifier("lr", loss="auc", **HELD_OUT).plan(X, y, sample_weight=np.ones(300))
    assert all(f.seconds > 0 and f.peak_bytes > 0 for f in plan.forecasts)
    json.dumps(plan.to_dict(), allow_nan=False)


def test_learners_that_fail_are_named(regimes):
    X, y = regimes
    learners = [("line", LinearRegression()), ("bad", Raises())]
    plan = ToPsClassifier(learners, max_depth=0).plan(X, y > 0)
    assert [one.name for one in plan.learners] == ["line"]
    assert "bad is left out" in plan.assumptions[-1]
    assert "no luck today" in plan.assumptions[-1]
    with pytest.raises(NoPredictorError, match="no luck today"):
        ToPsClassifier([("bad", Raises())]).plan(X, y > 0)


@pytest.mark.parametrize(
    ("settings", "message"),
    [({"learners": "lots"}, "not a preset"), ({"validation": 1}, "validation"), ({}, "NaN")],
    ids=["learners", "validation", "labels"],
)
def test_what_cannot_be_fitted_cannot_be_planned(regimes, settings, message):
    X, y = regimes
    y = np.where(np.arange(len(y)) == 0, np.nan, y) if not settings else y
    with pytest.raises(ValueError, match=message):
        ToPsRegressor(**{"learners": "lr", **settings}).plan(X, y)


# Every kind of learners and settings


def rows_of(n, k=4):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, k))
    return X, X[:, 0] * (X[:, 1] > 0) + 0.3 * rng.normal(size=n)


FOREST = ("forest", RandomForestRegressor(5, random_state=0))


@pytest.mark.parametrize(
    "settings",
    [
        {"learners": "lr", "weights": "path", "validation": (0.6, 0.2, 0.2)},
        {"learners": [FOREST, ("line", LinearRegression())], "memory_limit": "4GB"},
        {"learners": [FOREST], "refit": True, "n_repeats": 2, "time_limit": 60},
        {"interactions": 1},
        {"interactions": 0, "monotonic_cst": [1, 0, 0, 0]},
    ],
    ids=["paths", "memory", "refitted", "additive", "rising"],
)
def test_every_kind_of_growth_is_planned(settings):
    plan = ToPsRegressor(max_depth=2, random_state=0, **settings).plan(*rows_of(400))
    root, split, whole = plan.forecasts
    assert 0 < root.seconds <= split.seconds <= whole.seconds
    assert root.fits <= split.fits <= whole.fits
    assert 0 < root.peak_bytes <= split.peak_bytes <= whole.peak_bytes
    assert all(one.seconds > 0 and one.peak_bytes > 0 for one in plan.learners)


def test_the_papers_way_is_planned():
    X, y = rows_of(300)
    model = ToPsClassifier.paper("lr", max_depth=1, random_state=0)
    assert [f.fits for f in model.plan(X, y > 0).forecasts] == [0, 0]


def test_additive_trees_fit_nothing_one_by_one():
    plan = ToPsRegressor(interactions=0, random_state=0).plan(*rows_of(300))
    assert {f.fits for f in plan.forecasts} == {0}
    assert [one.name for one in plan.learners] == ["additive"]


def test_a_reference_is_a_stack_more(regimes):
    settings = {"max_depth": 0, "n_repeats": 2, "random_state": 0}
    plan = ToPsRegressor([("spy", Spy())], reference=[FOREST], **settings).plan(*regimes)
    alone = ToPsRegressor([("spy", Spy())], **settings).plan(*regimes)
    assert (plan.forecasts[0].fits, alone.forecasts[0].fits) == (20, 10)


def test_processes_do_not_change_the_counts(regimes):
    one, two = (
        ToPsRegressor([FOREST], max_depth=1, n_jobs=n_jobs, random_state=0).plan(*regimes)
        for n_jobs in (1, 2)
    )
    assert [f.fits for f in one.forecasts] == [f.fits for f in two.forecasts]
    assert two.forecasts[0].peak_bytes > one.forecasts[0].peak_bytes


def test_weights_groups_and_parts_are_those_of_the_fit(regimes):
    X, y = regimes
    weight = np.where(np.arange(len(y)) % 3, 1.0, 0.0)
    model = ToPsRegressor([("spy", Spy())], max_depth=0, random_state=0)
    assert model.plan(X, y, weight).n_rows == 400
    assert model.plan(X, y, groups=np.arange(len(y)) // 6).forecasts[0].fits == 5
    parts = np.repeat([0, 1, 2], 200)
    plan = model.plan(X, y, partition=parts)
    assert (plan.n_rows, plan.forecasts[0].fits) == (200, 1)


def test_a_plan_writes_nothing(regimes, tmp_path, capsys):
    ToPsRegressor("lr", checkpoint=tmp_path / "journal", verbose=1).plan(*regimes)
    assert list(tmp_path.iterdir()) == []
    assert capsys.readouterr() == ("", "")
