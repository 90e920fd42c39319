"""Budgets before the fit: forecasts, their counts, and the limit of memory."""

import json
import time
import tracemalloc
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import KFold

from conftest import HELD_OUT, Raises, Spy
from predictree import ToPsClassifier, ToPsRegressor
from predictree.cli import main
from predictree.errors import InvalidInputError, LearnerFailedWarning, NoPredictorError
from predictree.learners import adapt
from predictree.run.costs import Costs, LearnerCost
from predictree.run.measuring import NOTHING, Growth, memory_of, nested_samples, timed, weighed
from predictree.run.memory import MemoryLimit, bytes_of, in_words
from predictree.run.planning import Course, Forecast, Forecaster, OneFit, Plan, duration

MB = 10**6


class Slow(Spy):
    """A spy whose fits move a clock by a power of their rows."""

    clock = 0.0

    def fit(self, X, y, sample_weight=None):
        Slow.clock += 1e-4 * len(X) ** 1.3
        return super().fit(X, y, sample_weight)


class Hungry(RegressorMixin, BaseEstimator):
    """A mean that needs so many bytes a row to be taken."""

    def __init__(self, per_row=10_000):
        self.per_row = per_row

    def fit(self, X, y):
        np.zeros(self.per_row * len(X), dtype=np.uint8)
        self.mean_ = float(np.mean(y))
        return self

    def predict(self, X):
        return np.full(len(X), self.mean_)


# How costs grow


@given(st.floats(1e-6, 10), st.floats(1.0, 2.5), st.floats(10, 1e6))
def test_a_power_law_is_found_again(scale, power, n):
    rows = (500, 1500, 4000)
    growth = Growth(rows, tuple(scale * m**power for m in rows))
    assert growth.exponent == pytest.approx(power)
    assert growth.at(n) == pytest.approx(scale * n**power)


@given(st.floats(0, 10), st.floats(1e-5, 1e-3), st.floats(5_000, 1e6))
def test_a_fixed_cost_does_not_make_many_rows_cheap(fixed, a_row, n):
    rows = (500, 1500, 4000)
    growth = Growth(rows, tuple(fixed + a_row * m for m in rows))
    true = fixed + a_row * n
    assert true * (1 - 1e-6) <= growth.at(n) <= 4 * true  # the least power is 0.3


def test_powers_are_held_within_bounds():
    assert Growth((100, 1000), (1.0, 1e6)).exponent == 2.5
    assert Growth((100, 1000), (1.0, 1.0)).exponent == 0.3
    assert Growth((100, 1000), (1.0, 100.0), most=1.0).exponent == 1.0
    assert Growth((100,), (2.0,)).at(300) == pytest.approx(6.0)
    assert Growth((100, 1000), (5.0, 4.0)).exponent == 0.3
    assert NOTHING.at(1e6) < 10
    assert Growth((100,), (2.0,)).at(0) == 0


def test_samples_are_nested_and_keep_the_classes():
    y = np.repeat([0, 1, 2], [900, 95, 5])
    few, more, everything = nested_samples(y, True, (100, 300, 1000))
    assert set(few) < set(more) < set(everything)
    assert np.bincount(y[few]).tolist() == [90, 10, 1]
    assert np.bincount(y[more]).tolist() == [270, 29, 2]
    assert len(everything) == 1000
    assert [len(rows) for rows in nested_samples(y, False, (100, 2000, 5000))] == [100]
    assert [len(rows) for rows in nested_samples(y, False, (2000, 5000))] == [1000]


# Counts


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
    """Of the spy alone; linear regression is fitted one by one only where it is kept."""
    learners = [("line", LinearRegression()), ("spy", Spy())]
    settings = {"learners": learners, "min_gain_se": 0.0, "max_depth": 1}
    plan, made, model = spied(ToPsRegressor, *regimes, **settings)
    assert len(model.tree_) == 3
    root, tried, kept = 5, 2 * 5, 2 * 2 * 5
    assert plan.forecasts[1].fits == root + tried + kept
    assert root + tried <= made <= root + tried + kept // 2


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


def test_a_first_fit_is_not_timed(regimes, monkeypatch):
    X, y = regimes
    fits, before = [], []

    class Counts(LinearRegression):
        def fit(self, X, y):
            fits.append(len(X))
            return super().fit(X, y)

    def noted(work):
        before.append(len(fits))
        return timed(work)

    monkeypatch.setattr("predictree.run.costs.timed", noted)
    ToPsRegressor([("counts", Counts())], max_depth=0, random_state=0).plan(X, y)
    assert before[0] > 0


def test_a_slow_fit_is_not_repeated_on_more_rows(clock, monkeypatch):
    monkeypatch.setattr("predictree.run.costs.PATIENCE", 0.1)
    Slow.seen = []
    X = np.random.default_rng(0).normal(size=(5000, 2))
    ToPsRegressor([("slow", Slow())], max_depth=0).plan(X, X[:, 0])
    assert max(len(X) for X, _, _ in Slow.seen) <= 500


def test_time_limit_caps_the_forecast(clock, regimes):
    learners, limit = [("slow", Slow())], 0.2
    [root] = ToPsRegressor(learners, max_depth=0, time_limit=limit).plan(*regimes).forecasts
    assert root.seconds == limit
    assert root.unlimited_seconds == pytest.approx(5 * 1e-4 * 480**1.3, rel=0.1)


HALF_SECOND = LearnerCost("a", False, False, Growth((100,), (0.5,)), NOTHING, NOTHING)
COURSE = Course(
    n_rows=100, n_splits=9, n_folds=1, n_trees=1, n_draws=0, workers=1, depth=1, may_grow=False,
    n_parts=0, mixes=False, races=False, refit=False, time_limit=None, table=0,
)  # fmt: skip


def test_processes_share_the_splits():
    costs = Costs((HALF_SECOND,), NOTHING, NOTHING)
    one, two = (Forecaster(replace(COURSE, workers=w), costs).tree() for w in (1, 2))
    assert one.fits == two.fits == 1 + 2 * 9 + 2
    kept = 2 * 0.25
    assert one.seconds == pytest.approx(0.5 + 9 * 0.5 + kept, abs=1e-3)
    assert two.seconds == pytest.approx(0.5 + 5 * 0.5 + kept, abs=1e-3)


# What a plan is


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


PLAN = Plan(
    n_rows=1000,
    learners=(OneFit("forest", 12.3, 3.14e9, 2e8),),
    forecasts=(
        Forecast("the root alone", 5, 61.2, 61.2, 4.2e9),
        Forecast("one split", 1045, 600.0, 5400.0, 5e9),
    ),
    cheaper=(Forecast("validation=3", 627, 400.0, 400.0, 4.5e9),),
    assumptions=("all is well",),
)

PRINTED = """\
one fit on a training fold                                              time  memory
  forest                                                                12 s  3.1 GB

the whole fit                fits                                       time  memory
  the root alone                5                                       61 s  4.2 GB
  one split                 1,045  10.0 min (time_limit; 1.5 h without)  5.0 GB

one split, but with
  validation=3                627                                    6.7 min  4.5 GB

An estimate, which supposes:
- all is well
"""


def squeezed(text):
    return [" ".join(line.split()) for line in text.splitlines()]


def test_a_plan_in_words():
    assert squeezed(str(PLAN)) == squeezed(PRINTED)
    lines = str(PLAN).splitlines()
    assert len({len(line) for line in lines[:6] if line}) == 1  # flush right


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0.0123, "0.012 s"), (9.4, "9.4 s"), (61, "61 s"), (90, "1.5 min"), (7200, "2.0 h")],
)
def test_times_in_words(seconds, words):
    assert duration(seconds) == words


# Memory


@pytest.mark.parametrize(
    ("size", "expected"),
    [
        (1e6, 1e6), (5, 5.0), ("4GB", 4e9), ("4 gb", 4e9), ("1.5G", 1.5e9), ("512MiB", 2.0**29),
        ("300kB", 3e5), ("2TB", 2e12), ("1000", 1000.0), (np.int64(7), 7.0), (" 20 B ", 20.0),
    ],
)  # fmt: skip
def test_sizes_are_read(size, expected):
    assert bytes_of(size) == expected


@pytest.mark.parametrize(
    "size", ["", "4XB", "GB", "-1GB", "4GB5", "1e9GB", "i", 0, -5, np.nan, np.inf, True, [1]]
)
def test_sizes_that_cannot_be(size, regimes):
    with pytest.raises(InvalidInputError, match="memory_limit"):
        bytes_of(size)
    with pytest.raises(InvalidInputError, match="memory_limit"):
        ToPsRegressor("lr", memory_limit=size).fit(*regimes)


@pytest.mark.parametrize(
    ("n_bytes", "words"),
    [(7, "7 bytes"), (1500, "1.5 kB"), (3.14e9, "3.1 GB"), (9.96e8, "996 MB"), (9.999e8, "1.0 GB")],
)
def test_sizes_in_words(n_bytes, words):
    assert in_words(n_bytes) == words


def test_a_fit_is_weighed():
    held = []
    weight = weighed(lambda: held.append(np.zeros(2 * MB, dtype=np.uint8)))
    assert weight.peak == pytest.approx(2 * MB, rel=0.01)
    assert not tracemalloc.is_tracing()


class Native:
    """A model whose memory Python does not see."""

    def __getstate__(self):
        return b"x" * (3 * MB)


def test_what_is_outside_of_python_is_weighed_by_the_model():
    weight = weighed(Native)
    assert weight.model == pytest.approx(3 * MB, rel=0.01)
    assert weight.peak == pytest.approx(3 * MB, rel=0.01)
    own = weighed(lambda: np.zeros(2 * MB, dtype=np.uint8))  # is not counted twice
    assert own.peak == pytest.approx(2 * MB, rel=0.01)
    assert weighed(lambda: (i for i in ())).model == 0  # cannot be pickled


def test_weighing_leaves_tracing_as_it_was():
    tracemalloc.start()
    try:
        weighed(lambda: None)
        assert tracemalloc.is_tracing()
    finally:
        tracemalloc.stop()


def test_memory_is_extrapolated():
    X = np.zeros((4000, 2))
    y = np.arange(4000.0)
    learner = adapt("hungry", Hungry(10_000), "regression", 1)
    peak, _ = memory_of(learner, X, y, nested_samples(y, False, (100, 300)))
    assert peak.at(4000) == pytest.approx(4000 * 10_000, rel=0.02)
    limit = MemoryLimit(100 * MB, X.nbytes, 2)
    kept, lost = limit.sieve([learner], X, y, 4000)
    assert (kept, lost) == ((learner,), [])
    with pytest.raises(NoPredictorError, match="hungry needs about 40 MB for one fit"):
        MemoryLimit(60 * MB, X.nbytes, 2).sieve([learner], X, y, 4000)


def test_a_forest_weighs_what_its_trees_weigh():
    """Its nodes are made in C: what Python sees of the fit is a fraction."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 3))
    y = rng.normal(size=3000)
    learner = adapt("forest", RandomForestRegressor(20, random_state=0), "regression", 1)
    peak, model = memory_of(learner, X, y, nested_samples(y, False, (300, 900)))
    true = weighed(lambda: learner.fit(X, y, np.arange(3000), 0))
    assert model.at(3000) == pytest.approx(true.model, rel=0.2)
    assert peak.at(3000) == pytest.approx(true.peak, rel=0.2)
    assert true.peak > true.model > 100 * 3000


def test_learners_without_room_are_left_out_and_recorded(regimes):
    X, y = regimes
    learners = [("line", LinearRegression()), ("hungry", Hungry(20_000))]
    model = ToPsRegressor(learners, max_depth=0, memory_limit="5MB", random_state=0)
    with pytest.warns(LearnerFailedWarning, match="hungry 1× .needs about"):
        model.fit(X, y)
    [failure] = model.fit_failures_
    assert (failure.node, failure.learner, failure.count) == (0, "hungry", 1)
    assert failure.reason == (
        "needs about 9.6 MB for one fit, memory_limit leaves 5.0 MB for it"
    )  # 480 rows of a training fold
    plan = model.plan(X, y)
    assert [one.name for one in plan.learners] == ["line"]
    assert plan.assumptions[-1] == f"hungry is left out: it {failure.reason}"
    model.set_params(memory_limit="20MB").fit(X, y)
    assert model.fit_failures_ == []


def test_a_limit_that_leaves_nobody(regimes):
    model = ToPsRegressor([("hungry", Hungry())], memory_limit=1 * MB)
    with pytest.raises(NoPredictorError, match=r"into memory_limit=1\.0 MB: hungry"):
        model.fit(*regimes)
    assert not hasattr(model, "tree_")


def test_nothing_is_tried_without_a_limit(regimes, spy):
    ToPsRegressor([("spy", spy)], max_depth=0, random_state=0).fit(*regimes)
    assert len(Spy.seen) == 5


def test_a_limit_with_room_changes_nothing(regimes):
    X, y = regimes
    learners = [("line", LinearRegression()), ("forest", RandomForestRegressor(5))]
    free, limited = (
        ToPsRegressor(learners, max_depth=1, memory_limit=limit, random_state=0).fit(X, y)
        for limit in (None, "8GB")
    )
    np.testing.assert_array_equal(free.predict(X), limited.predict(X))


# The command


@pytest.fixture
def table(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    dose = rng.normal(size=120)
    pl.DataFrame({"dose": dose, "effect": dose + rng.normal(size=120)}).write_csv("t.csv")


def test_the_command_prints_a_plan_and_fits_nothing(table, capsys, monkeypatch, tmp_path):
    monkeypatch.setattr(ToPsRegressor, "plan", lambda self, X, y: PLAN)
    command = ["fit", "t.csv", "--target", "effect", "--plan"]
    assert main(command) == 0
    out, err = capsys.readouterr()
    assert out == f"{PLAN}\n"
    assert err == "t.csv: 120 rows, 1 features; regression of 'effect'\n"
    assert main([*command, "--json", "-o", "m.tops"]) == 0
    assert json.loads(capsys.readouterr().out) == json.loads(json.dumps(PLAN.to_dict()))
    assert [path.name for path in tmp_path.iterdir()] == ["t.csv"]


def test_the_command_plans_with_its_options(table, capsys):
    command = ["fit", "t.csv", "--target", "effect", "--learners", "lr", "--plan", "--json"]
    assert main([*command, "--max-depth", "1", "--memory-limit", "4GB"]) == 0
    plan = json.loads(capsys.readouterr().out)
    assert [one["name"] for one in plan["learners"]] == ["linear"]
    assert [f["what"] for f in plan["forecasts"]] == ["the root alone", "one split"]


@pytest.mark.parametrize(
    ("options", "message"),
    [([], "required: -o/--output"), (["-o", "m", "--memory-limit", "lots"], "'lots' is no size")],
    ids=["output", "size"],
)
def test_wrong_usage_is_told(table, capsys, options, message):
    with pytest.raises(SystemExit) as end:
        main(["fit", "t.csv", "--target", "effect", *options])
    assert end.value.code == 2
    assert message in capsys.readouterr().err
