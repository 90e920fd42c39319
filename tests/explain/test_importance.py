"""Coefficients and permutation importance of the predictors of a node."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression, PoissonRegressor, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, RobustScaler, StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from conftest import HELD_OUT
from predictree import ToPsClassifier, ToPsRegressor
from predictree.errors import InvalidInputError
from predictree.explain import coefficients, importances


@pytest.fixture(scope="module")
def patients():
    rng = np.random.default_rng(0)
    n = 600
    frame = pd.DataFrame(
        {
            "sex": rng.choice(["f", "m"], n),
            "dose": rng.uniform(0, 10, n),
            "age": rng.uniform(20, 80, n),
            "site": rng.choice(["a", "b", "c"], n),
        }
    )
    frame.loc[::6, "age"] = np.nan
    y = np.where(frame["sex"] == "m", 2.0, -1.0) * frame["dose"]
    y = y + np.where(frame["site"] == "b", 4.0, 0.0) + 0.1 * rng.normal(size=n)
    return frame, y.to_numpy()


def test_slopes_are_those_of_the_regions(regimes):
    X, y = regimes
    model = ToPsRegressor("lr", max_depth=1, random_state=0).fit(X, y)
    left, right = model.tree_[0].children
    for node, slope in ((left, -2.0), (right, 2.0)):
        (found,) = coefficients(model, node)
        assert (found.learner, found.trained_on, found.target) == ("linear", node, None)
        assert found.scale == "score"
        assert found.values["x1"] == pytest.approx(slope, abs=0.05)
        rows = X[:, 0] == (node == right)
        model_itself = next(p for p in model.tree_.predictors if p.trained_on == node)
        expected = found.intercept + X[rows] @ list(found.values.values())
        assert model_itself.scores(X[rows])[:, 0] == pytest.approx(expected)


@pytest.mark.parametrize("scaler", [StandardScaler(), MinMaxScaler(), RobustScaler()])
def test_scalers_are_multiplied_out(regimes, scaler):
    X, y = regimes
    X = X * [1, 50, 1] + [0, 7, 0]
    model = ToPsRegressor(
        [("ridge", make_pipeline(scaler, Ridge(1e-9)))], max_depth=0, random_state=0, refit=True
    ).fit(X, y)
    (found,) = coefficients(model, 0)
    plain = LinearRegression().fit(X, y)
    assert list(found.values.values()) == pytest.approx(plain.coef_, rel=1e-6)
    assert found.intercept == pytest.approx(plain.intercept_, rel=1e-6)


def test_columns_are_named_as_learners_see_them(patients):
    frame, y = patients
    model = ToPsRegressor("lr", max_depth=1, random_state=0).fit(frame, y)
    (found,) = coefficients(model, 1)
    assert list(found.values) == [
        'sex = "m"', "dose", "age", 'site = "a"', 'site = "b"', 'site = "c"', "age is missing",
    ]  # fmt: skip
    assert found.values['site = "b"'] - found.values['site = "a"'] == pytest.approx(4, abs=0.1)


def test_a_classification_has_a_line_a_class_or_one_for_two(regimes):
    X, y = regimes
    learners = [("linear", LinearRegression()), ("logistic", LogisticRegression())]
    model = ToPsClassifier(learners, loss="brier", max_depth=0, random_state=0)
    two = coefficients(model.fit(X, np.where(y > 0, "up", "down")), 0)
    assert {(c.learner, c.target, c.scale) for c in two} <= {
        ("linear", "up", "score"),
        ("logistic", "up", "log-odds"),
    }
    three = coefficients(model.fit(X, np.digitize(y, [-1, 1])), 0)
    for learner in {c.learner for c in three}:
        mine = [c for c in three if c.learner == learner]
        assert [c.target for c in mine] == [0, 1, 2]
        slopes = np.array([list(c.values.values()) for c in mine])
        assert slopes.sum(axis=0) == pytest.approx(0, abs=1e-6)


def test_what_is_not_linear_is_left_out(regimes):
    X, y = regimes
    learners = [("stump", DecisionTreeRegressor(max_depth=1))]
    model = ToPsRegressor(learners, max_depth=0, random_state=0).fit(X, y)
    assert coefficients(model, 0) == ()


def test_the_importance_is_of_the_region(regimes):
    X, y = regimes
    model = ToPsRegressor("lr", max_depth=1, random_state=0, **HELD_OUT).fit(X[:400], y[:400])
    _, right = model.tree_[0].children
    own = [p for p in model.tree_.predictors if p.trained_on == right]
    found = importances(model, X[400:], y[400:], node=right, n_repeats=20)
    assert [f.trained_on for f in found.lines][-1:] == [p.trained_on for p in own]
    assert list(found.to_frame().index)[-1] == f"linear of node {right}"
    mine = found.lines[-1]
    assert (mine.node, mine.rule) == (right, "x0 ≥ 0.5")
    within = X[400:, 0] == 1
    assert mine.n_rows == within.sum()
    assert mine.loss == pytest.approx(
        np.mean((y[400:][within] - own[0].scores(X[400:][within])[:, 0]) ** 2)
    )
    assert mine.mean["x0"] == pytest.approx(0, abs=1e-12)
    # exchanging independent values doubles their variance: slope² · 2 Var
    spread = 2 * 2.0**2 * X[400:][within][:, 1].var()
    assert mine.mean["x1"] == pytest.approx(spread, rel=0.25)
    assert mine.spread["x1"] > 0


def test_any_learner_class_labels_weights_and_gaps(patients):
    frame, y = patients
    label = np.where(y > 3, "high", "low")
    frame = frame.assign(idle=1.0)
    model = ToPsClassifier(
        [("tree", DecisionTreeClassifier(max_depth=4))],
        loss="auc",
        max_depth=0,
        random_state=0,
        feature_roles={"idle": "ignore"},
    ).fit(frame, label)
    weight = np.ones(len(frame))
    (one,) = importances(model, frame, label, node=0, n_repeats=2).lines
    (two,) = importances(model, frame, label, node=0, sample_weight=weight, n_repeats=2).lines
    assert one.mean == pytest.approx(two.mean)
    assert list(one.mean) == ["sex", "dose", "age", "site"]
    assert max(one.mean, key=one.mean.get) in ("sex", "dose")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda m, X, y: coefficients(m, 99), "node=99: it must be a whole number below"),
        (lambda m, X, y: coefficients(m, 0, tree=1), "tree=1: it must be a whole number below 1"),
        (lambda m, X, y: importances(m, X, y, node=0, n_repeats=0), "n_repeats=0"),
        (lambda m, X, y: importances(m, X[:9], y, node=0), r"shape \(600,\), and X 9 rows"),
        (lambda m, X, y: importances(m, X[:0], y[:0], node=0), "no row of X"),
        (lambda m, X, y: importances(m, X, y + 5, node=0), "is no class of the model"),
        (lambda m, X, y: importances(m, X, y, node=9), "node=9: it must be a whole number below"),
    ],
)
def test_what_cannot_be_told_says_why(regimes, call, message):
    X, y = regimes
    y = (y > 0).astype(int)
    model = ToPsClassifier("lr", random_state=0, max_depth=1).fit(X, y)
    with pytest.raises(ValueError, match=message):
        call(model, X, y)


def test_a_node_without_rows(regimes):
    X, y = regimes
    model = ToPsRegressor("lr", max_depth=1, random_state=0).fit(X, y)
    with pytest.raises(InvalidInputError, match="no row of X falls in node 1"):
        importances(model, X[X[:, 0] == 1], y[X[:, 0] == 1], node=1)


def test_a_link_is_not_linear(regimes):
    X, y = regimes
    model = ToPsRegressor([("poisson", PoissonRegressor())], max_depth=0, random_state=0)
    model.fit(X, np.abs(y))
    assert model.explain(X[0]).paths[0].parts[0].contributions is None
    assert coefficients(model, 0) == ()
