from importlib.util import find_spec

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression, LogisticRegression, Perceptron, RidgeClassifier
from sklearn.neighbors import KNeighborsClassifier, NearestCentroid
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from predictree.errors import InvalidInputError, SampleWeightError
from predictree.learners import PRESETS, adapt, presets, resolve_learners
from predictree.learners.adapter import seeded, take_rows, takes_missing_values, weight_keyword

rng = np.random.default_rng(0)
X = rng.normal(size=(60, 3))
Y3 = np.digitize(X[:, 0] + 0.3 * rng.normal(size=60), [-0.5, 0.5])
ALL = np.arange(60)


def fitted(estimator, y, n_outputs, task="classification", rows=ALL, **metadata):
    learner = adapt("a", estimator, task, n_outputs, metadata=metadata)
    return learner.fit(X, y, rows, seed=3)


def test_a_classifier_answers_with_its_probabilities():
    expected = LogisticRegression().fit(X, Y3).predict_proba(X)
    np.testing.assert_array_equal(fitted(LogisticRegression(), Y3, 3).scores(X), expected)


def test_a_regressor_is_fitted_on_the_indicator_of_each_class():
    scores = fitted(LinearRegression(), Y3, 3).scores(X)
    for c in range(3):
        expected = LinearRegression().fit(X, c == Y3).predict(X)
        np.testing.assert_allclose(scores[:, c], expected)


def test_a_regressor_that_overwrites_its_rows_does_no_harm():
    before = X.copy()
    scores = fitted(LinearRegression(copy_X=False), Y3, 3).scores(X)
    np.testing.assert_array_equal(X, before)
    np.testing.assert_allclose(scores, fitted(LinearRegression(), Y3, 3).scores(X))


def test_with_two_classes_one_indicator_tells_all():
    y = (Y3 > 0).astype(int)
    scores = fitted(LinearRegression(), y, 2).scores(X)
    np.testing.assert_array_equal(scores[:, 1], LinearRegression().fit(X, y).predict(X))
    np.testing.assert_array_equal(scores[:, 0], 1 - scores[:, 1])


def test_a_regressor_in_a_regression_answers_with_its_value():
    scores = fitted(LinearRegression(), X[:, 1], 1, "regression").scores(X)
    np.testing.assert_allclose(scores, X[:, [1]])


@pytest.mark.parametrize("estimator", [LogisticRegression(), LinearRegression()])
def test_one_class_gives_a_constant(estimator):
    rows = np.flatnonzero(Y3 == 1)
    assert (fitted(estimator, Y3, 3, rows=rows).scores(X) == [0, 1, 0]).all()


@pytest.mark.parametrize("estimator", [LogisticRegression(), LinearRegression()])
def test_a_class_that_was_not_seen_has_score_zero(estimator):
    rows = np.flatnonzero(Y3 != 1)
    scores = fitted(estimator, Y3, 3, rows=rows).scores(X)
    assert (scores[:, 1] == 0).all()
    assert (scores[:, [0, 2]] != 0).any()


def test_without_probabilities_the_ranking_of_the_margin_is_kept():
    y = (Y3 > 0).astype(int)
    scores = fitted(RidgeClassifier(), y, 2).scores(X)
    margin = RidgeClassifier().fit(X, y).decision_function(X)
    assert (np.argsort(scores[:, 1]) == np.argsort(margin)).all()
    np.testing.assert_allclose(scores.sum(axis=1), 1)


@pytest.mark.parametrize("estimator", [RidgeClassifier(), Perceptron(), NearestCentroid()])
def test_classifiers_of_every_kind_can_serve(estimator):
    scores = fitted(estimator, Y3, 3).scores(X)
    assert scores.shape == (60, 3)
    assert np.mean(scores.argmax(axis=1) == Y3) > 0.6


@pytest.mark.parametrize(
    ("estimator", "task"), [(KMeans(), "classification"), (LogisticRegression(), "regression")]
)
def test_an_estimator_of_the_wrong_kind_is_named(estimator, task):
    with pytest.raises(InvalidInputError, match=r"learner 'a' \(.*\) cannot serve in a"):
        adapt("a", estimator, task, 2)


def test_seeds_fill_only_what_was_left_open():
    pipeline = make_pipeline(StandardScaler(), RandomForestClassifier())
    assert seeded(clone(pipeline), 7).get_params()["randomforestclassifier__random_state"] == 7
    assert seeded(RandomForestClassifier(random_state=1), 7).random_state == 1


def test_weights_find_their_way_into_pipelines():
    inner = make_pipeline(StandardScaler(), LogisticRegression())
    outer = make_pipeline(MinMaxScaler(), inner)
    assert weight_keyword("a", LinearRegression()) == "sample_weight"
    assert weight_keyword("a", outer) == "pipeline__logisticregression__sample_weight"


@pytest.mark.parametrize(
    "estimator", [KNeighborsClassifier(), make_pipeline(MinMaxScaler(), KNeighborsClassifier())]
)
def test_a_learner_that_takes_no_weights_is_named(estimator):
    with pytest.raises(SampleWeightError, match=r"learner 'near' \(KNeighborsClassifier\)"):
        weight_keyword("near", estimator)


def test_metadata_is_cut_to_the_rows():
    given = {"w": list(range(4)), "text": "four", "flag": True}
    cut = take_rows(given, np.array([3, 1]), 4)
    assert cut["w"].tolist() == [3, 1]
    assert (cut["text"], cut["flag"]) == ("four", True)


def test_weights_reach_the_estimator():
    w = rng.uniform(size=60)
    scores = fitted(LinearRegression(), X[:, 1] ** 2, 1, "regression", sample_weight=w).scores(X)
    expected = LinearRegression().fit(X, X[:, 1] ** 2, w).predict(X)
    np.testing.assert_allclose(scores[:, 0], expected)


@pytest.mark.parametrize(("task", "n"), [("classification", 5), ("regression", 5)])
def test_presets(task, n):
    assert [name for name, _ in resolve_learners("lr", task)] == ["linear"]
    assert len(resolve_learners("paper", task)) == n
    y, k = (Y3, 3) if task == "classification" else (X[:, 0], 1)
    for name, estimator in resolve_learners("paper", task):
        scores = adapt(name, estimator, task, k).fit(X, y, ALL, seed=0).scores(X)
        assert np.isfinite(scores).all()


def test_every_preset_exists_for_both_tasks():
    assert set(PRESETS["classification"]) == set(PRESETS["regression"])


@pytest.mark.parametrize(
    ("learners", "message"),
    [
        ("lasso", r"'lasso' is not a preset: use 'additive', 'strong', 'boosted', 'lr', 'paper'"),
        ("default", "is now called 'strong'"),
        ([], "non-empty list"),
        (None, "non-empty list"),
        ([LinearRegression()], "must be a pair"),
        ([("a", LinearRegression)], "must be a pair"),
        ([("a", "linear")], "must be a pair"),
        ([("a", LinearRegression()), ("a", LinearRegression())], "the name 'a' twice"),
        ([("a__b", LinearRegression())], "must not be empty or hold '__'"),
    ],
)
def test_bad_lists_of_learners(learners, message):
    with pytest.raises(InvalidInputError, match=message):
        resolve_learners(learners, "classification")


def test_the_users_estimators_are_not_touched():
    mine = RandomForestRegressor(n_estimators=2)
    (_, copy) = resolve_learners([("f", mine)], "regression")[0]
    assert copy is not mine


def test_class_weights_mean_the_users_classes():
    """Also on a training set without the first class, where codes would shift."""
    labels = np.array(["a", "b", "c"])
    weighted = LogisticRegression(class_weight={"a": 1, "b": 50, "c": 1})
    learner = adapt("w", weighted, "classification", 3, classes=labels)
    rows = np.flatnonzero(Y3 != 0)
    expected = clone(weighted).fit(X[rows], labels[Y3[rows]]).predict_proba(X)
    scores = learner.fit(X, Y3, rows, seed=0).scores(X)
    np.testing.assert_array_equal(scores[:, 1:], expected)


def test_proper_scores_are_probabilities():
    y = (Y3 > 0).astype(int)
    raw = fitted(LinearRegression(), y, 2).scores(X)
    proper = adapt("a", LinearRegression(), "classification", 2, proper=True)
    scores = proper.fit(X, y, ALL, seed=0).scores(X)
    assert raw.min() < 0
    np.testing.assert_allclose(scores[:, 1], raw[:, 1].clip(0, 1))


@pytest.mark.parametrize(
    ("estimator", "takes"),
    [
        (LinearRegression(), False),
        (HistGradientBoostingClassifier(), True),
        (make_pipeline(SimpleImputer(), LinearRegression()), True),
        (make_pipeline(StandardScaler(), LinearRegression()), False),
        (make_pipeline(StandardScaler(), SimpleImputer(), LinearRegression()), True),
        (make_pipeline("passthrough", HistGradientBoostingClassifier()), True),
    ],
)
def test_who_takes_missing_values(estimator, takes):
    assert takes_missing_values(estimator) is takes


def test_the_boosted_preset_without_its_libraries_says_what_to_install(monkeypatch):
    monkeypatch.setattr(presets, "find_spec", lambda name: None)
    with pytest.raises(InvalidInputError, match=r"pip install 'predictree\[boosted\]'"):
        presets.resolve_learners("boosted", "classification")


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_the_boosted_preset_adds_what_is_installed(task, monkeypatch):
    pytest.importorskip("lightgbm")
    monkeypatch.setattr(
        presets, "find_spec", lambda name: find_spec(name) if name == "lightgbm" else None
    )
    default, boosted = (
        [name for name, _ in presets.resolve_learners(preset, task)]
        for preset in ("strong", "boosted")
    )
    assert boosted == [*default, "lightgbm"]
