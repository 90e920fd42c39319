import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from sklearn.base import clone
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import GridSearchCV, GroupKFold, KFold, cross_val_score
from sklearn.utils import get_tags

from conftest import Spy
from predictree import ToPsClassifier
from predictree.errors import CensoringWarning, CompetingEventsWarning, InvalidInputError
from predictree.estimators.survival import (
    StepFunction,
    ToPsSurvival,
    brier_score,
    concordance_index,
    concordance_index_ipcw,
    horizon_auc,
    integrated_brier_score,
)
from predictree.estimators.survival.estimator import coherent
from predictree.estimators.survival.outcome import Outcome, censoring_curve, read_outcome

LOGISTIC = ToPsClassifier([("logistic", LogisticRegression())], max_depth=0, random_state=0)
GROWN = ToPsClassifier("lr", max_depth=2, min_gain_se=0.0, random_state=0)
LINEAR = ToPsClassifier("lr", max_depth=0, random_state=0)
HORIZONS = (0.3, 1.0, 2.5)

# By hand: G is 5/6 after time 1, 5/8 after 2 (of six, one and the event at 2 have gone, of the four
# left one is censored), 5/16 after 4.
HAND = Outcome(np.array([0, 1, 0, 1, 0, 1]), np.array([1.0, 2, 2, 3, 4, 5]))
HAND_Y = (HAND.cause, HAND.time)


def sample(n, seed=0, causes=1):
    """Exponential times whose rate rises with the first feature; uniform censoring."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    times = [rng.exponential(np.exp(-X[:, cause])) for cause in range(causes)]
    time = np.min([*times, rng.uniform(0, 4, n)], axis=0)
    cause = np.sum([(c + 1) * (time == t) for c, t in enumerate(times)], axis=0)
    return X, cause, time


@pytest.fixture(scope="module")
def data():
    X, event, time = sample(400)
    y = np.empty(len(X), dtype=[("died", bool), ("days", float)])
    y["died"], y["days"] = event, time
    return X, y


@pytest.fixture(scope="module")
def fitted(data):
    return ToPsSurvival(HORIZONS, LOGISTIC).fit(*data)


@pytest.fixture(scope="module")
def shared(data):
    return ToPsSurvival(HORIZONS, GROWN, shared_tree=True).fit(*data)


# What is known, and with what weight


def test_the_curve_of_censoring_by_hand():
    curve = censoring_curve(HAND)
    np.testing.assert_array_equal(curve.x, [1, 2, 3, 4, 5])
    np.testing.assert_allclose(curve.y, [5 / 6, 5 / 8, 5 / 8, 5 / 16, 5 / 16])
    np.testing.assert_allclose(curve([0, 1, 1.5, 2]), [1, 5 / 6, 5 / 6, 5 / 8])
    np.testing.assert_allclose(curve.before([0, 1, 1.5, 2]), [1, 1, 5 / 6, 5 / 6])


def test_weights_by_hand():
    weight = HAND.weights(3.0, censoring_curve(HAND))
    np.testing.assert_allclose(weight, [0, 6 / 5, 0, 8 / 5, 8 / 5, 8 / 5])
    np.testing.assert_array_equal(HAND.by(3.0), [0, 1, 0, 1, 0, 0])


def test_a_weight_is_a_repetition():
    mass = np.array([1, 3, 2, 0, 1, 2])
    again = Outcome(np.repeat(HAND.cause, mass), np.repeat(HAND.time, mass))
    times = np.linspace(0, 6, 25)
    by_mass = censoring_curve(HAND, mass.astype(float))(times)
    np.testing.assert_allclose(by_mass, censoring_curve(again)(times))


@pytest.mark.parametrize("horizon", HORIZONS)
def test_those_known_stand_for_all(horizon):
    _, cause, time = sample(500)
    outcome = Outcome(cause, time)
    assert outcome.weights(horizon, censoring_curve(outcome)).sum() == pytest.approx(500)


def test_without_censoring_every_weight_is_one():
    outcome = Outcome(np.ones(5, dtype=int), np.arange(5.0))
    np.testing.assert_array_equal(outcome.weights(2.0, censoring_curve(outcome)), np.ones(5))


def test_large_weights_are_limited_with_a_warning():
    cause = np.array([1] + [0] * 39 + [1])
    outcome = Outcome(cause, np.arange(41.0))
    with pytest.warns(CensoringWarning, match="1 weights against censoring are limited to 20"):
        weight = outcome.weights(39.5, censoring_curve(outcome))
    assert weight[-1] == pytest.approx(20)


def test_a_step_function_steps_and_ends():
    curve = StepFunction(np.array([1.0, 2.0]), np.array([0.75, 0.5]), end=2.0)
    np.testing.assert_array_equal(curve([0, 1, 1.9, 2]), [1, 0.75, 0.75, 0.5])
    assert curve(1.5) == 0.75
    for beyond in ([1, 2.1], np.nan):
        with pytest.raises(InvalidInputError, match="the curve ends at time 2"):
            curve(beyond)


FORMS = {
    "structured": lambda event, time: np.array(
        list(zip(event, time)), dtype=[("e", bool), ("t", float)]
    ),
    "array": lambda event, time: np.column_stack([event, time]),
    "pair": lambda event, time: (event.tolist(), time.tolist()),
    "pandas": lambda event, time: pd.DataFrame({"e": event == 1, "t": time}),
    "polars": lambda event, time: pl.DataFrame({"e": event == 1, "t": time}),
}


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_forms_of_y(form):
    outcome = read_outcome(form(HAND.cause, HAND.time))
    np.testing.assert_array_equal(outcome.cause, HAND.cause)
    np.testing.assert_array_equal(outcome.time, HAND.time)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (
            [1, 0, 1],
            r"y has shape \(3,\): give a frame with the columns 'event' and 'time'",
        ),
        (pd.DataFrame({"a": [1], "b": [2], "c": [3]}), r"y has fields \['a', 'b', 'c'\]"),
        (([1, 0], [3, -1]), r"1 times in y are negative \(the first is in row 1\)"),
        (([1, 0], [np.nan, 1]), r"1 times in y are not finite \(the first is in row 0\)"),
        (([1, 0], ["a", "b"]), "the times in y are not numbers"),
        (([1, 0], [[1], [2]]), r"the times in y have shape \(2, 1\)"),
        (([3.5, 7.25], [1, 0]), "the events in y hold 3.5.*Events come before times"),
        (([1, 0, 1], [1, 2]), "y has 3 events but 2 times"),
        (([np.nan, 1], [1, 0]), "the events in y hold nan"),
        ((["yes", "no"], [1, 0]), "the events in y have shape.*0 or False for censored"),
    ],
)
def test_a_wrong_y_is_told(y, message):
    with pytest.raises(InvalidInputError, match=message):
        read_outcome(y)


# The estimator


def test_it_finds_the_risk(data, fitted):
    X, event, time = sample(2000, seed=1)
    truth = np.exp(-np.outer(np.exp(X[:, 0]), HORIZONS))
    assert np.abs(fitted.predict_survival(X) - truth).mean() < 0.05
    assert fitted.score(X, (event, time)) == concordance_index((event, time), fitted.predict(X))
    assert fitted.score(X, (event, time)) > 0.7


def test_censoring_is_accounted_for():
    # Without features the answer is the Kaplan-Meier estimate itself.
    _, event, time = sample(400)
    X = np.random.default_rng(1).normal(size=(400, 1))
    alive = ToPsSurvival(HORIZONS, LINEAR).fit(X, (event, time)).predict_survival(X).mean(axis=0)
    ends = censoring_curve(Outcome(1 - event, time))
    np.testing.assert_allclose(alive, ends(HORIZONS), atol=0.02)


@pytest.mark.parametrize("kind", ["fitted", "shared"])
def test_curves_never_rise(kind, data, request):
    model = request.getfixturevalue(kind)
    survival = model.predict_survival(data[0])
    assert survival.shape == (400, 3)
    assert (np.diff(survival, axis=1) <= 0).all()
    assert survival.min() >= 0
    assert survival.max() <= 1
    np.testing.assert_allclose(model.predict(data[0]), (1 - survival).mean(axis=1))


def test_curves_are_isotonic_regressions_and_sum_to_one_at_most():
    one = coherent(np.array([[[0.2], [0.4], [0.3]], [[0.1], [0.2], [0.3]]]))
    np.testing.assert_allclose(one[:, :, 0], [[0.2, 0.35, 0.35], [0.1, 0.2, 0.3]])
    two = coherent(np.array([[[0.9, 0.0], [0.0, 0.9]]]))
    np.testing.assert_allclose(two[0], [[0.45, 0], [0.45, 0.55]])
    rng = np.random.default_rng(0)
    many = coherent(rng.dirichlet(np.ones(4), size=(200, 5))[:, :, 1:])
    assert (np.diff(many, axis=1) >= 0).all()
    assert many.sum(axis=2).max() <= 1 + 1e-12


def test_survival_functions_are_the_survival(data, fitted):
    curves = fitted.predict_survival_function(data[0][:5])
    rows = np.vstack([curve(HORIZONS) for curve in curves])
    np.testing.assert_array_equal(rows, fitted.predict_survival(data[0][:5]))
    assert curves[0](0.1) == 1
    np.testing.assert_array_equal(curves[0].x, HORIZONS)


def test_a_model_a_horizon_is_a_classifier_on_weighted_rows(data, fitted):
    X, y = data
    outcome = read_outcome(y)
    weight = outcome.weights(1.0, censoring_curve(outcome))
    known = weight > 0
    alone = clone(LOGISTIC).fit(X[known], outcome.by(1.0)[known], weight[known])
    np.testing.assert_allclose(fitted.models_[1].predict_proba(X), alone.predict_proba(X))
    assert (fitted.models_[1].partition_[~known] == -1).all()
    np.testing.assert_array_equal(fitted.censoring_(HORIZONS), censoring_curve(outcome)(HORIZONS))


def test_the_users_weights_count(data):
    X, y = data
    mass = np.arange(400) % 3
    weighted = ToPsSurvival(HORIZONS, LINEAR).fit(X, y, mass)
    repeated = ToPsSurvival(HORIZONS, LINEAR).fit(np.repeat(X, mass, axis=0), np.repeat(y, mass))
    np.testing.assert_allclose(weighted.predict(X), repeated.predict(X))


def test_copies_of_a_row_share_a_fold(data, shared):
    (model,) = shared.models_
    folds = model.partition_.reshape(3, 400)
    for copies in folds.T:
        assert len(set(copies[copies >= 0])) <= 1
    assert (folds[0] >= 0).sum() > (folds[2] >= 0).sum()  # some are not known any more
    assert model.n_features_in_ == 4


def test_a_shared_tree_sees_the_horizon(data, spy):
    X, y = data
    estimator = ToPsClassifier([("spy", spy)], max_depth=0, random_state=0)
    ToPsSurvival(HORIZONS, estimator, shared_tree=True).fit(X, y)
    seen = np.unique(np.concatenate([rows[:, 3] for rows, _, _ in Spy.seen]))
    np.testing.assert_allclose(seen, np.log(HORIZONS))


@pytest.mark.parametrize("shared_tree", [False, True])
def test_a_users_own_groups_and_parts_are_kept(data, shared_tree):
    X, y = data
    copies = 3 if shared_tree else 1
    groups = np.arange(400) // 4
    survival = ToPsSurvival(HORIZONS, LINEAR, shared_tree=shared_tree).fit(X, y, groups=groups)
    folds = survival.models_[0].partition_
    for group in range(100):
        assert len(set(folds[np.tile(groups == group, copies) & (folds >= 0)])) <= 1
    parts = np.arange(400) % 3
    survival.fit(X, y, partition=parts)
    found = survival.models_[0].partition_
    assert (found == np.tile(parts, copies))[found >= 0].all()


@pytest.mark.filterwarnings("ignore:The groups parameter is ignored by KFold")
def test_a_splitter_must_keep_the_copies_together(data):
    splitting = clone(LINEAR).set_params(validation=KFold(3, shuffle=True, random_state=0))
    with pytest.raises(InvalidInputError, match=r"KFold.*puts copies of one row.*GroupKFold"):
        ToPsSurvival(HORIZONS, splitting, shared_tree=True).fit(*data)
    grouping = clone(LINEAR).set_params(validation=GroupKFold(3))
    ToPsSurvival(HORIZONS, grouping, shared_tree=True).fit(*data)


def test_parameters_and_clones():
    model = ToPsSurvival(HORIZONS, clone(LINEAR), shared_tree=True, competing="event")
    copy = clone(model).set_params(estimator__max_depth=3)
    assert copy.get_params()["estimator__max_depth"] == 3
    assert (copy.horizons, copy.shared_tree, copy.competing) == (HORIZONS, True, "event")
    assert model.estimator.max_depth == 0
    assert ToPsSurvival().get_params(deep=False) == {
        "horizons": (90, 365, 1095, 3650),
        "estimator": None,
        "shared_tree": False,
        "competing": "censoring",
    }
    assert get_tags(ToPsSurvival()).input_tags.allow_nan


def test_it_survives_a_pickle(data, fitted):
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(again.predict(data[0]), fitted.predict(data[0]))


def test_it_works_in_cross_validation_and_grid_search(data):
    X, y = data
    model = ToPsSurvival((1.0,), clone(LINEAR))
    assert cross_val_score(model, X, y, cv=3).mean() > 0.65
    search = GridSearchCV(model, {"estimator__n_repeats": [1, 2]}, cv=2).fit(X, y)
    assert search.best_estimator_.models_[0].n_repeats in (1, 2)


def test_weights_are_routed_through_an_outer_estimator(data):
    X, y = data
    with sklearn.config_context(enable_metadata_routing=True):
        learner = LinearRegression().set_fit_request(sample_weight=True)
        inner = ToPsClassifier([("line", learner)], max_depth=0, random_state=0)
        model = ToPsSurvival((1.0,), inner.set_fit_request(sample_weight=True, groups=True))
        model.set_fit_request(sample_weight=True)
        search = GridSearchCV(model, {"competing": ["event"]}, cv=2)
        search.fit(X, y, sample_weight=np.ones(400), groups=np.arange(400) // 2)
    folds = search.best_estimator_.models_[0].partition_.reshape(-1, 2)
    assert all(a == b for a, b in folds if min(a, b) >= 0)


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame])
@pytest.mark.parametrize("shared_tree", [False, True])
def test_frames_are_as_good_as_arrays(data, make, shared_tree):
    X, y = data
    frame = make({name: X[:, i] for i, name in enumerate("abc")})
    model = ToPsSurvival(HORIZONS, LINEAR, shared_tree=shared_tree)
    by_array = model.fit(X, y).predict_survival(X)
    outcome = make({"died": y["died"], "days": y["days"]})
    by_frame = model.fit(frame, outcome).predict_survival(frame)
    np.testing.assert_allclose(by_array, by_frame, atol=1e-12)
    assert model.feature_names_in_.tolist() == list("abc")
    with pytest.raises(ValueError, match="same order"):
        model.predict(frame[list("bac")])


def test_a_frame_with_numbers_for_names(data):
    X, y = data
    model = ToPsSurvival(HORIZONS, LINEAR, shared_tree=True).fit(pd.DataFrame(X), y)
    assert model.predict(pd.DataFrame(X)).shape == (400,)
    assert model.predict(X.tolist()).shape == (400,)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"horizons": (2, 1)}, r"horizons=\(2, 1\): give positive times, each later"),
        ({"horizons": (0, 1)}, "give positive times"),
        ({"horizons": ()}, "give positive times"),
        ({"horizons": (1, np.inf)}, "give positive times"),
        ({"horizons": (1e-9, 1)}, r"no row has an event by horizon 1e-09 \(the first is at"),
        ({"horizons": (1, 50)}, r"no row is observed beyond horizon 50 \(the last time is 3\."),
        ({"competing": "ignore"}, "competing='ignore': it must be 'censoring' or 'event' or"),
        ({"estimator": LogisticRegression()}, "it must be a ToPsClassifier or None"),
    ],
)
def test_wrong_parameters_are_told(data, params, message):
    with pytest.raises(InvalidInputError, match=message):
        ToPsSurvival(**({"horizons": HORIZONS, "estimator": LINEAR} | params)).fit(*data)


def test_no_event_at_all_and_unequal_lengths_are_told(data):
    X, y = data
    model = ToPsSurvival(HORIZONS, LINEAR)
    with pytest.raises(InvalidInputError, match="there is none at all"):
        model.fit(X, (np.zeros(400), y["days"]))
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        model.fit(X[:-1], y)


def test_a_failed_fit_leaves_the_earlier_one(data):
    X, y = data
    model = ToPsSurvival(HORIZONS, LINEAR).fit(X, y)
    before = model.predict(X)
    with pytest.raises(InvalidInputError):
        model.set_params(horizons=(1, 2, 50), shared_tree=True).fit(X[:, :2], y)
    np.testing.assert_array_equal(model.predict(X), before)


# Competing events


@pytest.fixture(scope="module")
def competing():
    X, cause, time = sample(600, causes=2)
    return X, (cause, time)


def test_competing_events_as_censoring_are_warned_of(competing):
    X, (cause, time) = competing
    model = ToPsSurvival(HORIZONS, LINEAR)
    with pytest.warns(CompetingEventsWarning, match="cause-specific") as caught:
        model.fit(X, (cause, time))
    assert f"{(cause == 2).sum()} rows" in str(caught[0].message)
    assert caught[0].filename == __file__
    only = ToPsSurvival(HORIZONS, LINEAR).fit(X, (cause == 1, time))
    np.testing.assert_array_equal(model.predict(X), only.predict(X))


def test_competing_events_as_the_event(competing):
    X, (cause, time) = competing
    model = ToPsSurvival(HORIZONS, LINEAR, competing="event").fit(X, (cause, time))
    any_event = ToPsSurvival(HORIZONS, LINEAR).fit(X, (cause > 0, time))
    np.testing.assert_array_equal(model.predict(X), any_event.predict(X))
    assert model.score(X, (cause, time)) == any_event.score(X, (cause > 0, time))
    assert model.predict_cumulative_incidence(X).shape == (600, 3, 1)


@pytest.mark.parametrize("shared_tree", [False, True])
def test_competing_events_as_classes(competing, shared_tree):
    X, y = competing
    model = ToPsSurvival(HORIZONS, LOGISTIC, competing="class", shared_tree=shared_tree).fit(X, y)
    incidence = model.predict_cumulative_incidence(X)
    assert incidence.shape == (600, 3, 2)
    assert model.causes_.tolist() == [1, 2]
    assert (np.diff(incidence, axis=1) >= 0).all()
    np.testing.assert_allclose(model.predict_survival(X), 1 - incidence.sum(axis=2))
    rate = np.exp(X[:, :2])
    total = rate.sum(axis=1)[:, None]
    truth = rate[:, None] / total[:, None] * (1 - np.exp(-total * HORIZONS))[:, :, None]
    assert np.abs(incidence - truth).mean() < 0.08
    assert model.score(X, y) > 0.6


def test_weighted_shares_of_classes_are_the_aalen_johansen_estimate():
    _, cause, time = sample(300, causes=2)
    outcome = Outcome(cause, time)
    weight = outcome.weights(1.0, censoring_curve(outcome))
    alive, incidence = 1.0, np.zeros(3)
    for i, row in enumerate(np.argsort(time)):
        if time[row] <= 1.0 and cause[row]:
            incidence[cause[row]] += alive / (300 - i)
            alive *= 1 - 1 / (300 - i)
    shares = np.bincount(outcome.by(1.0), weight) / 300
    np.testing.assert_allclose(shares, [alive, *incidence[1:]])


def test_a_cause_that_comes_late_has_probability_zero_before(competing):
    X, (cause, time) = competing
    late = np.where((cause == 2) & (time > 0.3), 5, np.minimum(cause, 1))
    model = ToPsSurvival(HORIZONS, LOGISTIC, competing="class").fit(X, (late, time))
    assert model.causes_.tolist() == [1, 5]
    incidence = model.predict_cumulative_incidence(X)
    assert (incidence[:, 0, 1] == 0).all()
    assert incidence[:, 2, 1].mean() > 0.1


# Measures


def test_auc_and_brier_by_hand():
    # Known at 3: events with weights 6/5 and 8/5, two survivors with 8/5.
    risk = [9, 2, 9, 3, 2, 1]
    auc = (6 / 5 * 1.5 + 8 / 5 * 2) / (2 * (6 / 5 + 8 / 5))
    assert horizon_auc(HAND_Y, HAND_Y, risk, 3.0) == pytest.approx(auc)
    survival = [0.5, 0.5, 0.5, 0.0, 1.0, 0.75]
    brier = (6 / 5 * 0.25 + 8 / 5 * 0.0625) / 6
    assert brier_score(HAND_Y, HAND_Y, survival, 3.0) == pytest.approx(brier)


def test_the_integral_is_the_trapezoid():
    survival = np.column_stack([np.full(6, 0.8), np.full(6, 0.5), np.full(6, 0.4)])
    first, second, third = (
        brier_score(HAND_Y, HAND_Y, column, t) for column, t in zip(survival.T, (1.5, 2, 3))
    )
    expected = ((first + second) / 2 * 0.5 + (second + third) / 2) / 1.5
    found = integrated_brier_score(HAND_Y, HAND_Y, survival, (1.5, 2, 3))
    assert found == pytest.approx(expected)


def test_concordance_by_hand():
    # Pairs of the event at 2: with the censoring at 2 and all later; of that at 3: with 4 and 5.
    # Of the six 3.5 are concordant; the event at 5 has no partner.
    risk = [0, 3, 3, 2, 4, 1]
    assert concordance_index(HAND_Y, risk) == pytest.approx(3.5 / 6)
    weights = (6 / 5) ** 2, (8 / 5) ** 2
    expected = (weights[0] * 2.5 + weights[1]) / (weights[0] * 4 + weights[1] * 2)
    assert concordance_index_ipcw(HAND_Y, HAND_Y, risk) == pytest.approx(expected)
    assert concordance_index_ipcw(HAND_Y, HAND_Y, risk, tau=3) == pytest.approx(2.5 / 4)


def naive_concordance(event, time, risk):
    good = pairs = 0.0
    for i in np.flatnonzero(event):
        later = (time > time[i]) | ((time == time[i]) & (event == 0))
        pairs += later.sum()
        good += (risk[later] < risk[i]).sum() + 0.5 * (risk[later] == risk[i]).sum()
    return good / pairs


@pytest.mark.parametrize("n", [2, 511, 512, 513, 1500])
@pytest.mark.parametrize("levels", [3, 40, 10**9])
def test_concordance_is_that_of_all_pairs(n, levels):
    rng = np.random.default_rng(n)
    time, risk = rng.integers(0, levels, n).astype(float), rng.integers(0, levels, n)
    event = rng.integers(0, 2, n)
    event[time.argmin()], event[time.argmax()] = 1, 0
    expected = naive_concordance(event, time, risk)
    assert concordance_index((event, time), risk) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: concordance_index(HAND_Y, [1, 2]), r"risk has shape \(2,\), but y has 6 rows"),
        (lambda: concordance_index(HAND_Y, [np.nan] * 6), "risk contains NaN or inf"),
        (lambda: concordance_index(([0, 0], [1, 2]), [1, 2]), "no two rows can be compared"),
        (lambda: concordance_index(([1, 2], [1, 2]), [1, 2]), "competing events .code 2."),
        (lambda: horizon_auc(HAND_Y, HAND_Y, range(6), 1.0), "no row has an event by horizon 1"),
        (lambda: horizon_auc(HAND_Y, HAND_Y, range(6), 9), "no row is observed beyond horizon 9"),
        (lambda: brier_score(HAND_Y, HAND_Y, [1], 2), r"survival has shape \(1,\)"),
        (lambda: integrated_brier_score(HAND_Y, HAND_Y, [1], [2]), "at least two horizons"),
    ],
)
def test_wrong_measures_are_told(call, message):
    with pytest.raises(InvalidInputError, match=message):
        call()


# scikit-survival's numbers


def structured(event, time):
    return FORMS["structured"](event, time)


@pytest.fixture(scope="module")
def judged():
    """Times that are all different: at ties of events and censorings the conventions differ."""
    _, event, time = sample(500, seed=2)
    X, event_test, time_test = sample(300, seed=3)
    kept = time_test < time.max()
    rng = np.random.default_rng(0)
    risk = (X[:, 0] + rng.normal(size=300)).round(1)[kept]
    return structured(event, time), structured(event_test[kept], time_test[kept]), risk


def test_auc_is_that_of_scikit_survival(judged):
    metrics = pytest.importorskip("sksurv.metrics")
    expected, _ = metrics.cumulative_dynamic_auc(*judged, np.array(HORIZONS))
    found = [horizon_auc(*judged, horizon) for horizon in HORIZONS]
    np.testing.assert_allclose(found, expected)


def test_brier_scores_are_those_of_scikit_survival(judged):
    metrics = pytest.importorskip("sksurv.metrics")
    train, test, risk = judged
    survival = np.exp(-np.outer(np.exp(risk / 2), HORIZONS))
    _, expected = metrics.brier_score(train, test, survival, HORIZONS)
    found = [brier_score(train, test, s, t) for s, t in zip(survival.T, HORIZONS)]
    np.testing.assert_allclose(found, expected)
    integral = metrics.integrated_brier_score(train, test, survival, HORIZONS)
    assert integrated_brier_score(train, test, survival, HORIZONS) == pytest.approx(integral)


def test_concordance_is_that_of_scikit_survival(judged):
    metrics = pytest.importorskip("sksurv.metrics")
    train, test, risk = judged
    event, time = test.dtype.names
    expected = metrics.concordance_index_censored(test[event], test[time], risk)[0]
    assert concordance_index(test, risk) == pytest.approx(expected)
    rough = structured(test[event], test[time].round(1))
    expected = metrics.concordance_index_censored(rough[event], rough[time], risk)[0]
    assert concordance_index(rough, risk) == pytest.approx(expected)
    expected = metrics.concordance_index_ipcw(train, test, risk, tau=2.5)[0]
    assert concordance_index_ipcw(train, test, risk, 2.5) == pytest.approx(expected)


def test_the_curve_of_censoring_is_that_of_scikit_survival():
    nonparametric = pytest.importorskip("sksurv.nonparametric")
    _, event, time = sample(300)
    time = time.round(1) + 0.1  # many ties
    x, y = nonparametric.kaplan_meier_estimator(event == 1, time, reverse=True)
    np.testing.assert_allclose(censoring_curve(Outcome(event, time))(x), y)


def test_scikit_survival_takes_our_curves(data, fitted, judged):
    metrics = pytest.importorskip("sksurv.metrics")
    X, y = data
    curves = fitted.predict_survival_function(X)
    times = np.array([0.5, 1.0, 2.0])
    survival = np.vstack([curve(times) for curve in curves])
    ours = integrated_brier_score(y, y, survival, times)
    assert ours == pytest.approx(metrics.integrated_brier_score(y, y, survival, times))
