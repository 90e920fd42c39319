"""The fitted model: what it answers, what it refuses, and that nothing changes it."""

import subprocess
import sys
from copy import copy
from dataclasses import FrozenInstanceError

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.linear_model import LinearRegression, Ridge

from conftest import remade
from predictree import ToPsClassifier, ToPsRegressor, export_text
from predictree.errors import InvalidInputError
from predictree.estimators.survival import ToPsSurvival
from predictree.explain import coefficients, explain, importances, learner_map, scorecard, summarise
from predictree.model import Model, SurvivalModel, model_of

rng = np.random.default_rng(0)
X = np.column_stack([rng.integers(0, 2, 400).astype(float), rng.normal(size=(400, 2))])
y = np.where(X[:, 0] == 1, 2.0, -2.0) * X[:, 1] + 0.3 * rng.normal(size=400)
label = np.where(y > 0, "up", "down")
frame = pd.DataFrame({"job": np.where(X[:, 0] == 1, "clerk", "smith"), "age": X[:, 1]})


@pytest.fixture(scope="module")
def value():
    return ToPsRegressor("lr", max_depth=1, random_state=0).fit(X, y)


@pytest.fixture(scope="module")
def classes():
    return ToPsClassifier("lr", max_depth=1, random_state=0).fit(frame, label)


ALONE = """
import sys
import numpy as np
from predictree.losses import SquaredError
from predictree.model import (
    Account, Column, Comparison, Constant, Model, Node, PathWeight, Predictor, Schema, Settings,
    Split, Tree, Verdict,
)

def node(i, children=None, split=None):
    weights = None if children else (PathWeight(i, "a", i, 1.0),)
    parent, loss = (None if i == 0 else 0), (0.0 if children else None)
    return Node(i, parent, int(i > 0), children, split, "a", i, 0.0, loss, 1, 1, 1, weights)

models = [(), (Constant(np.array([1.0])),), (Constant(np.array([2.0])),)]
tree = Tree.from_nodes(
    [node(0, (1, 2), Split(0, 0.5)), node(1), node(2)],
    [Predictor("a", i, m) for i, m in enumerate(models)],
    1,
)
none = Comparison("none", 1.0, 0.0, 0.0)
model = Model(
    schema=Schema((Column("x"),), False), named=False, needed=(), classes=None, trees=(tree,),
    imputations=(), backgrounds=(), loss=SquaredError(),
    account=Account(Verdict("mse", 1.0, none, none)),
    settings=Settings("ToPsRegressor", {}),
)
assert model.decide(model.scores(model.encode([[0], [1]]))).tolist() == [1.0, 2.0]
assert model.rule(2) == "x ≥ 0.5"
heavy = {"sklearn", "scipy", "pandas", "polars", "narwhals", "numba", "joblib"}
assert not heavy & {name.split(".")[0] for name in sys.modules}, heavy & set(sys.modules)
"""


def test_a_model_needs_numpy_alone():
    subprocess.run([sys.executable, "-c", ALONE], check=True)


def test_estimators_answer_as_their_model(value, classes):
    for estimator, data in ((value, X), (classes, frame)):
        model = estimator.model_
        codes = model.encode(data)
        assert (model.decide(model.scores(codes)) == estimator.predict(data)).all()
        assert (model.leaves(codes) == estimator.apply(data)).all()
    assert (value.model_.scores(X)[:, 0] == value.predict(X)).all()


def test_a_model_is_not_changed(value):
    model = value.model_
    for name in ("trees", "loss", "settings"):
        with pytest.raises(FrozenInstanceError):
            setattr(model, name, None)
    for name in ("tree_", "verdict_", "schema_"):
        with pytest.raises(AttributeError):
            setattr(value, name, None)


def everything_of(model):
    return [
        model.predict(X),
        str(model.explain(X[0])),
        export_text(model),
        summarise(model),
        scorecard(model, X, y, n_bootstrap=3),
        importances(model, X, y, n_repeats=1).to_dict(),
        learner_map(model).to_dict(),
        coefficients(model, 1),
    ]


def test_a_parameter_changed_after_the_fit_changes_no_answer(value):
    changed = copy(value).set_params(
        learners="paper", loss="mae", weights="path", max_depth=9, imputation="mice"
    )
    for one, other in zip(everything_of(value), everything_of(changed), strict=True):
        assert np.all(one == other)


def test_learners_changed_after_the_fit_are_not_those_of_the_fit():
    ridge = Ridge(2.0)
    model = ToPsRegressor([("ridge", ridge)], max_depth=0, random_state=0).fit(X, y)
    ridge.alpha = 7.0
    ((_, kept),) = model.model_.settings.parameters["learners"]
    assert kept.alpha == 2.0


def test_splits_of_the_rows_are_not_kept():
    halves = [(np.arange(200), np.arange(200, 400)), (np.arange(200, 400), np.arange(200))]
    model = ToPsRegressor("lr", validation=halves, max_depth=0).fit(X, y)
    assert model.model_.settings.parameters["validation"] == "splits"
    assert model.validation is halves


def test_explanations_take_a_model_or_its_estimator(value):
    for one, other in zip(
        [explain(value, X[0]).to_dict(), export_text(value), summarise(value)],
        [explain(value.model_, X[0]).to_dict(), export_text(value.model_), summarise(value.model_)],
        strict=True,
    ):
        assert one == other


def test_what_is_no_model_is_told(value):
    assert isinstance(model_of(value), Model)
    for wrong, message in (
        (ToPsRegressor(), "this ToPsRegressor is not fitted: call fit first"),
        (LinearRegression(), "this LinearRegression is not fitted"),
        (3, "this int is no fitted model"),
    ):
        with pytest.raises(InvalidInputError, match=message):
            explain(wrong, X[0])


def test_rules_lead_to_nodes(value):
    model = value.model_
    assert model.path(2) == [0, 2]
    assert [model.rules(i) for i in range(3)] == [[], ["x0 < 0.5"], ["x0 ≥ 0.5"]]
    assert model.rule(0) == "all rows"


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (frame[["job"]], "lacks 'age'"),
        (frame.assign(more=1), "has a further 'more'"),
        (frame[["age", "job"]], "another order of columns"),
        (frame.assign(age=np.inf), "contains inf: column 'age'"),
        (frame.assign(age="old"), "'age' held numbers"),
        (np.ones((2, 2)), "columns such as 'job' that are not numbers"),
    ],
)
def test_a_frame_that_is_not_that_of_the_fit_is_refused(classes, table, message):
    with pytest.raises(InvalidInputError, match=message):
        classes.model_.encode(table)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (X[:, :2], "X has 2 columns, and the model was fitted on 3"),
        (X[0], "X has 1 dimensions"),
        ([["a", 1, 2]], "what is no number"),
        ([[np.nan, 1, 2]], "contains NaN: column 0 has it in 1 of 1 rows"),
        (pd.DataFrame(X[:, :2]), "X has 2 columns"),
    ],
)
def test_an_array_that_cannot_be_used_is_refused(value, table, message):
    with pytest.raises(InvalidInputError, match=message):
        value.model_.encode(table)


def test_labels_are_coded_in_one_place(value, classes):
    assert classes.model_.code_labels(["up", "down"], 2).tolist() == [1, 0]
    assert value.model_.code_labels([[1], [2]], 2).tolist() == [1.0, 2.0]
    for model, labels, message in (
        (classes, ["up"], "give one label for each"),
        (classes, ["up", "side"], "'side', which is no class of the model: it knows 'down', 'up'"),
        (classes, [1, 2], "1, which is no class"),
        (value, ["a", "b"], "y holds what is no number"),
        (value, [1, np.nan], "y contains NaN or inf"),
    ):
        with pytest.raises(InvalidInputError, match=message):
            model.model_.code_labels(labels, 2)


def test_each_tree_sees_the_gaps_of_its_own_imputation():
    gaps = X.copy()
    gaps[::7, 2] = np.nan
    model = ToPsRegressor(
        "lr", imputation="mice", n_imputations=2, n_repeats=2, max_depth=0, random_state=0
    )
    model = model.fit(gaps, y).model_
    by_hand = [tree.scores(model.imputations[i % 2](gaps)) for i, tree in enumerate(model.trees)]
    assert len(by_hand) == 4
    np.testing.assert_allclose(model.scores(gaps), np.mean(by_hand, axis=0), rtol=0, atol=1e-14)
    np.testing.assert_array_equal(model.seen(gaps, 3), model.imputations[1](gaps))


def test_survival_keeps_the_settings_of_its_fit():
    inner = ToPsClassifier("lr", max_depth=0, random_state=0)
    model = ToPsSurvival((0.5, 2), inner).fit(X, (y > -1, np.abs(y) + 0.1))
    before = model.predict_survival(X)
    model.set_params(shared_tree=True, horizons=(1, 3), estimator__max_depth=3)
    kept = model.model_.settings.parameters
    assert isinstance(model.model_, SurvivalModel)
    assert (kept["shared_tree"], kept["estimator"].parameters["max_depth"]) == (False, 0)
    np.testing.assert_array_equal(model.predict_survival(X), before)
    assert summarise(model)["horizons"] == [0.5, 2.0]
    with pytest.raises(InvalidInputError, match="give one of its models_"):
        export_text(model)


def test_a_clone_is_not_fitted(value):
    assert not hasattr(clone(value), "tree_")
    assert not hasattr(value, "classes_")
    assert hasattr(remade(value, segments=()), "segments_")
