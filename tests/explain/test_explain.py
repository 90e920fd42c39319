"""One prediction taken apart: its sums, its neighbours, its words."""

import json
import sys
from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import Lasso, LinearRegression, LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.tree import DecisionTreeRegressor

import predictree
from conftest import HELD_OUT, remade
from predictree import ToPsClassifier, ToPsRegressor
from predictree.errors import DamagedModelError, InvalidInputError, MissingExtraError
from predictree.explain import contributions, explain


def approx(value):
    """Equal up to the rounding of a sum in another order."""
    return pytest.approx(value, rel=1e-12, abs=1e-12)


def in_order(parts):
    total = np.zeros_like(parts[0].share)
    for part in parts:
        total = total + part.share
    return total


def test_shares_sum_to_the_prediction(regimes):
    X, y = regimes
    model = ToPsRegressor("lr", random_state=0).fit(X, y)
    for i in range(20):
        found = explain(model, X[i : i + 1])
        (path,) = found.paths
        assert (in_order(path.parts) == path.scores).all()
        assert found.scores[0] == approx(model.predict(X[i : i + 1])[0])
        assert sum(part.weight for part in path.parts) == pytest.approx(1)


def test_rules_lead_to_the_leaf(regimes):
    X, y = regimes
    model = ToPsRegressor("lr", max_depth=1, random_state=0).fit(X, y)
    (path,) = explain(model, X[:1]).paths
    rule = "x0 ≥ 0.5" if X[0, 0] else "x0 < 0.5"
    assert [step.rule for step in path.steps] == ["all rows", rule]
    assert [step.column for step in path.steps] == [None, "x0"]
    assert path.leaf == model.apply(X[:1])[0]
    assert {part.trained_on for part in path.parts} <= {step.node for step in path.steps}


def test_trees_are_averaged(regimes):
    X, y = regimes
    label = np.where(y > 0, "up", "down")
    model = ToPsClassifier("lr", n_repeats=3, random_state=0).fit(X, label)
    found = explain(model, X[:1])
    assert len(found.paths) == 3
    assert (found.scores == np.mean([path.scores for path in found.paths], axis=0)).all()
    assert found.scores[1] - 0.5 == approx(model.decision_function(X[:1])[0])


def test_gaps_are_filled_as_in_predict(regimes):
    X, y = regimes
    X = X.copy()
    X[::7, 2] = np.nan
    model = ToPsRegressor("lr", imputation="mice", n_imputations=2, random_state=0).fit(X, y)
    assert explain(model, X[:1]).scores[0] == approx(model.predict(X[:1])[0])


def test_one_row_at_a_time(regimes):
    X, y = regimes
    model = ToPsRegressor("lr", random_state=0).fit(X, y)
    with pytest.raises(InvalidInputError, match="one row is wanted, and there are 2"):
        explain(model, X[:2])
    with pytest.raises(InvalidInputError, match=r"a row is no dict: give a frame"):
        explain(model, {"a": 1.0, "b": 2.0, "c": 3.0})


def test_a_row_is_a_row_of_any_table(regimes):
    X, y = regimes
    names = ["sex", "dose", "age"]
    frame = pd.DataFrame(X, columns=names)
    model = ToPsRegressor("lr", random_state=0).fit(frame, y)
    wanted = model.predict(frame[:1])[0]
    for row in (frame[:1], frame.iloc[0], pl.DataFrame(X[:1], names)):
        assert model.explain(row).prediction == approx(wanted)
    model = ToPsRegressor("lr", random_state=0).fit(X, y)
    for row in (X[:1], X[0], X[0].tolist()):
        assert model.explain(row).prediction == approx(wanted)


def test_cohorts_are_told_in_words(regimes):
    X, y = regimes
    model = ToPsRegressor("lr", max_depth=1, random_state=0).fit(X, y)
    (path,) = model.explain(X[0]).paths
    rule = "x0 ≥ 0.5" if X[0, 0] else "x0 < 0.5"
    assert {part.trained_on: (part.cohort, part.n_train) for part in path.parts} == {
        0: ("all rows", 600),
        path.leaf: (rule, int((X[:, 0] == X[0, 0]).sum())),
    }


# What columns add


def assert_sums(found):
    total = found.contributions.total + found.unexplained
    assert total == pytest.approx(found.scores, rel=1e-9, abs=1e-9)


def with_everything(n=400):
    """A table with categories of few and many levels, dates, gaps and an idle column."""
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(
        {
            "sex": rng.choice(["f", "m"], n),
            "dose": rng.uniform(0, 10, n),
            "site": rng.choice([f"s{i:02d}" for i in range(20)], n),
            "day": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, n), "D"),
            "size": pd.Categorical(rng.choice(["s", "m", "l"], n), ["s", "m", "l"], ordered=True),
            "id": np.arange(n),
        }
    )
    y = np.where(frame["sex"] == "m", 2.0, -2.0) * frame["dose"] + rng.normal(size=n)
    frame.loc[::7, "dose"] = np.nan
    frame.loc[::5, "sex"] = None
    return frame, y.to_numpy()


def test_slopes_times_distances_from_the_mean(regimes):
    X, y = regimes
    model = ToPsRegressor("lr", max_depth=1, refit=True, random_state=0).fit(X, y)
    found = model.explain(X[3])
    amounts, baseline = np.zeros(3), 0.0
    for part in found.paths[0].parts:
        rows = np.ones(600, bool) if part.trained_on == 0 else X[:, 0] == X[3, 0]
        fitted = LinearRegression().fit(X[rows], y[rows])
        mean = X[rows].mean(axis=0)
        amounts += part.weight * fitted.coef_ * (X[3] - mean)
        baseline += part.weight * y[rows].mean()  # a regression meets the mean at the mean
    assert found.contributions.amounts[:, 0] == pytest.approx(amounts)
    assert found.contributions.baseline[0] == pytest.approx(baseline)
    assert (found.unexplained == 0).all()
    assert_sums(found)


LINEAR = [
    ("linear", LinearRegression()),
    ("ridge", make_pipeline(StandardScaler(), Ridge())),
    ("lasso", make_pipeline(MinMaxScaler(), Lasso(0.01))),
]


@pytest.mark.parametrize("more", [{}, {"imputation": "mice", "n_imputations": 2}, {"n_repeats": 2}])
def test_linear_members_are_told_by_column_on_any_table(more):
    frame, y = with_everything()
    roles = {"id": "ignore"}
    model = ToPsRegressor(LINEAR, feature_roles=roles, max_depth=1, random_state=0, **more)
    model.fit(frame, y)
    for i in (0, 1, 5, 7, 8):  # with gaps and without
        found = model.explain(frame[i : i + 1])
        assert all(part.contributions for path in found.paths for part in path.parts)
        assert (found.unexplained == 0).all()
        assert found.prediction == approx(model.predict(frame[i : i + 1])[0])
        assert found.contributions.amounts[-1, 0] == 0.0
        assert_sums(found)


def test_the_mean_contribution_of_the_training_rows_is_none(regimes):
    X, y = regimes
    X, y = X[:150].copy(), y[:150]
    X[::5, 1] = np.nan
    weight = np.random.default_rng(0).uniform(0.5, 2, len(X))
    model = ToPsRegressor("lr", max_depth=0, refit=True, random_state=0).fit(X, y, weight)
    every = np.array([model.explain(x).contributions.amounts[:, 0] for x in X])
    assert np.ptp(every, axis=0).min() > 0
    assert np.average(every, axis=0, weights=weight) == pytest.approx(0, abs=1e-9)


def test_scores_that_are_cut_say_how_much(regimes):
    X, _ = regimes
    model = ToPsClassifier("lr", loss="brier", max_depth=0, random_state=0).fit(X, X[:, 1] > 0.5)
    found = [model.explain(x) for x in X[:40]]
    for explanation in found:
        assert_sums(explanation)
    cut = np.array([explanation.contributions.cut[1] for explanation in found])
    assert (cut != 0).any()
    assert (cut == 0).any()


@pytest.mark.parametrize("loss", ["brier", "auc"])
def test_classes_are_told_one_by_one(regimes, loss):
    X, y = regimes
    label = np.digitize(y, [-1, 1]).astype(str) if loss == "brier" else np.where(y > 0, "b", "a")
    model = ToPsClassifier("lr", loss=loss, max_depth=1, random_state=0).fit(X, label)
    for i in range(10):
        found = model.explain(X[i])
        assert found.prediction == model.predict(X[i : i + 1])[0]
        assert found.classes[found.target] == found.prediction
        assert_sums(found)
    other = model.explain(X[0], target=model.classes_[0])
    assert other.target == 0
    assert other.to_dict()["score"] == other.scores[0]


def test_log_odds_are_not_a_sum_and_said_to_be_none(regimes):
    X, y = regimes
    learners = [("logistic", LogisticRegression()), ("linear", LinearRegression())]
    model = ToPsClassifier(learners, loss="log_loss", max_depth=0, random_state=0).fit(X, y > 0)
    found = model.explain(X[0])
    told = {part.learner: part for path in found.paths for part in path.parts}
    assert told["logistic"].contributions is None
    assert "log-odds" in told["logistic"].reason
    assert found.unexplained == pytest.approx(told["logistic"].share)
    assert_sums(found)


def test_an_older_model_has_no_baseline(regimes):
    X, y = regimes
    model = ToPsRegressor("lr", random_state=0).fit(X, y)
    found = remade(model, backgrounds=()).explain(X[0])
    assert "fit again" in found.paths[0].parts[0].reason
    assert found.unexplained == pytest.approx(found.scores)


def test_a_file_keeps_all_that_an_explanation_needs(tmp_path):
    frame, y = with_everything()
    model = ToPsRegressor("lr", max_depth=1, random_state=0).fit(frame, y)
    predictree.save(model, tmp_path / "m.tops")
    again = predictree.load(tmp_path / "m.tops")
    assert again.explain(frame[:1]).to_dict() == model.explain(frame[:1]).to_dict()


def test_a_file_with_means_of_another_tree_is_refused(regimes, tmp_path):
    X, y = regimes
    model = ToPsRegressor("lr", max_depth=1, random_state=0).fit(X, y)
    (background,) = model.backgrounds_
    for wrong in (
        (background, background),
        (replace(background, mean=background.mean[:1]),),
        (replace(background, missing=background.missing.astype(int)),),
    ):
        predictree.save(remade(model, backgrounds=wrong), tmp_path / "m.tops")
        with pytest.raises(DamagedModelError, match="the means of nodes"):
            predictree.load(tmp_path / "m.tops")


def test_members_that_are_not_linear_say_what_to_do(regimes):
    X, y = regimes
    learners = [("stump", DecisionTreeRegressor(max_depth=1))]
    model = ToPsRegressor(learners, max_depth=0, random_state=0).fit(X, y)
    (part,) = model.explain(X[0]).paths[0].parts
    assert (part.contributions, "shap=True" in part.reason) == (None, True)


def test_shap_is_asked_for(regimes, monkeypatch):
    X, y = regimes
    model = ToPsRegressor("lr", max_depth=0, random_state=0).fit(X, y)
    monkeypatch.setattr(contributions, "find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match=r"predictree\[shap\]"):
        model.explain(X[0], shap=True)


def test_shap_tells_of_trees():
    pytest.importorskip("shap")
    frame, y = with_everything(200)
    learners = [
        ("forest", RandomForestRegressor(5)),
        ("boosting", HistGradientBoostingRegressor(max_iter=5)),
        ("linear", LinearRegression()),
    ]
    model = ToPsRegressor(learners, validation=2, max_depth=0, random_state=0).fit(frame, y)
    found = model.explain(frame[:1], shap=True)
    told = {part.learner: part for part in found.paths[0].parts}
    assert told["forest"].contributions is not None
    assert told["linear"].contributions is not None
    for part in told.values():
        if part.contributions is not None:
            assert part.contributions.total == pytest.approx(part.answer)
    assert_sums(found)


def test_shap_compares_with_rows_whatever_the_member(regimes):
    pytest.importorskip("shap")
    X, y = regimes
    learners = [
        ("boosting", HistGradientBoostingClassifier(max_iter=5)),
        ("logistic", LogisticRegression()),
        ("forest", RandomForestClassifier(5)),
    ]
    label = np.digitize(y, [-1, 1])
    model = ToPsClassifier(learners, validation=2, max_depth=1, random_state=0).fit(X, label)
    alone = model.explain(X[0], shap=True)
    reasons = {p.learner: p.reason for p in alone.paths[0].parts}
    assert "margin" in reasons.get("boosting", "margin")
    assert reasons.get("forest") is None
    found = model.explain(X[0], background=X[:20])
    assert all(part.contributions is not None for part in found.paths[0].parts)
    assert (found.unexplained == 0).all()
    for explanation in (alone, found):
        assert_sums(explanation)


# One change away


def test_a_neighbour_is_where_the_changed_row_is(regimes):
    X, y = regimes
    model = ToPsRegressor("lr", max_depth=3, random_state=0, **HELD_OUT).fit(X, y)
    seen = set()
    for x in X[:40]:
        (path,) = model.explain(x).paths
        assert len(path.neighbours) == len(path.steps) - 1
        for neighbour, step in zip(path.neighbours, path.steps[1:], strict=True):
            changed = x.copy()
            j = int(neighbour.column[1:])
            changed[j] = neighbour.value
            assert model.apply(changed[None])[0] == neighbour.leaf != path.leaf
            assert model.predict(changed[None])[0] == pytest.approx(neighbour.scores[0])
            assert step.column == neighbour.column
            threshold = model.tree_[neighbour.node].split.threshold
            if neighbour.is_below:
                assert x[j] >= threshold == np.nextafter(neighbour.value, np.inf)
            else:
                assert x[j] < threshold == neighbour.value
            seen.add(neighbour.is_below)
    assert seen == {True, False}


def test_levels_and_gaps_have_neighbours():
    rng = np.random.default_rng(0)
    n = 600
    frame = pd.DataFrame(
        {
            "kind": rng.choice(["a", "b", "c"], n),
            "dose": rng.normal(size=n),
            "z": rng.normal(size=n),
        }
    )
    frame.loc[rng.uniform(size=n) < 0.4, "z"] = np.nan
    known = frame["z"].notna()
    slope = np.where(frame["kind"] == "b", 3.0, np.where(known, 1.0, -2.0))
    y = slope * frame["dose"] + 0.05 * rng.normal(size=n)
    model = ToPsRegressor("lr", max_depth=3, random_state=0).fit(frame, y)
    rules = set()
    for i in range(15):
        row = frame[i : i + 1]
        (path,) = model.explain(row).paths
        for neighbour in path.neighbours:
            value = np.nan if neighbour.value is None else neighbour.value
            changed = row.assign(**{neighbour.column: value})
            assert model.apply(changed)[0] == neighbour.leaf != path.leaf
            assert model.predict(changed)[0] == pytest.approx(neighbour.scores[0])
            rules.add(neighbour.rule)
    assert {'kind = "b"', 'kind ≠ "b"', "z is known", "z is missing"} <= rules


def test_dates_and_orders_have_neighbours():
    rng = np.random.default_rng(0)
    n = 600
    day = rng.integers(0, 1000, n)
    size = pd.Categorical(rng.choice(["s", "m", "l"], n), ["s", "m", "l"], ordered=True)
    frame = pd.DataFrame(
        {
            "day": pd.Timestamp("2020-01-01") + pd.to_timedelta(day, "D"),
            "size": size,
            "x": rng.normal(size=n),
        }
    )
    slope = np.where(day < 500, 1.0, -1.0) * np.where(size == "l", 3.0, 1.0)
    model = ToPsRegressor("lr", max_depth=2, random_state=0)
    model.fit(frame, slope * frame["x"] + 0.05 * rng.normal(size=n))
    columns = set()
    for i in range(20):
        row = frame[i : i + 1]
        (path,) = model.explain(row).paths
        for neighbour in path.neighbours:
            columns.add(neighbour.column)
            assert neighbour.leaf != path.leaf
            if neighbour.column == "size":
                changed = row.assign(
                    size=pd.Categorical([neighbour.value], ["s", "m", "l"], ordered=True)
                )
                assert model.apply(changed)[0] == neighbour.leaf
            else:
                assert neighbour.value[:4] in ("2020", "2021", "2022")
    assert columns == {"day", "size"}


# As data, text and a page


def test_a_dict_survives_json():
    frame, y = with_everything()
    model = ToPsClassifier("lr", max_depth=1, random_state=0).fit(frame, y > 0)
    for i in (0, 1):
        found = model.explain(frame[i : i + 1]).to_dict()
        assert json.loads(json.dumps(found, allow_nan=False)) == found
    assert found["prediction"] is bool(model.predict(frame[1:2])[0])


def test_a_frame_has_a_row_a_predictor(regimes):
    X, y = regimes
    model = ToPsRegressor("lr", n_repeats=2, random_state=0).fit(X, y)
    found = model.explain(X[0])
    frame = found.to_frame()
    assert len(frame) == sum(len(path.parts) for path in found.paths)
    by_tree = frame.groupby("tree")["share"].sum()
    assert by_tree.mean() == pytest.approx(found.prediction)


def test_pandas_is_asked_for(regimes, monkeypatch):
    X, y = regimes
    found = ToPsRegressor("lr", max_depth=0, random_state=0).fit(X, y).explain(X[0])
    # the function hides the module of the same name
    monkeypatch.setattr(sys.modules[explain.__module__], "find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match=r"predictree\[frames\]"):
        found.to_frame()


def test_the_text_says_all(regimes):
    X, y = regimes
    model = ToPsRegressor("lr", max_depth=1, n_repeats=2, random_state=0).fit(X, y)
    text = str(model.explain(X[0]))
    for words in ("prediction: ", "tree 2 of 2", "trained on", "one change away", "baseline"):
        assert words in text
    assert text.count("sum") == 3


def test_the_text_says_which_class_it_is_about(regimes):
    X, y = regimes
    model = ToPsClassifier("lr", max_depth=0, random_state=0)
    model.fit(X, np.where(y > 0, "ill", "well"))
    chosen = model.predict(X[:1])[0]
    other = "well" if chosen == "ill" else "ill"
    for target, told in ((None, chosen), (other, other)):
        text = str(model.explain(X[0], target=target))
        assert f"prediction: {chosen}\n" in text
        assert f"\nwhat follows is about {told}\n" in text


def test_long_and_broken_names_keep_the_table_in_shape(regimes):
    X, y = regimes
    frame = pd.DataFrame(X, columns=["n" * 200, "two\nlines", "c"])
    text = str(ToPsRegressor("lr", max_depth=0, random_state=0).fit(frame, y).explain(frame[:1]))
    assert "two lines" in text
    assert max(map(len, text.splitlines())) < 100


def test_a_page_escapes_names(regimes):
    X, y = regimes
    names = ["<script>alert(1)</script>", "b&c", '"d"']
    model = ToPsRegressor([("<i>", LinearRegression())], max_depth=1, random_state=0)
    frame = pd.DataFrame(X, columns=names)
    page = model.fit(frame, y).explain(frame[:1])._repr_html_()
    assert "&lt;script&gt;alert(1)&lt;/script&gt; " in page
    assert "<script>" not in page
    assert "<i>" not in page
    root = ElementTree.fromstring(page.replace("<br>", "<br/>"))
    assert len(root.findall("table")) == 4
    assert "src" not in page
