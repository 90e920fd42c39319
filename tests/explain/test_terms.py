"""Terms as a frame: whole, exact, in the user's own values, and the same without pandas."""

import sys
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from handmade import FRAME, HEAT, ROWS, additive_model, functions
from predictree import ToPsRegressor
from predictree.errors import InvalidInputError
from predictree.explain import contrast, explain, terms
from predictree.explain.additive import AdditiveTree, importances_of


@pytest.fixture(scope="module")
def fitted():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"x": rng.uniform(-2, 2, 400), "job": rng.choice(["cook", "poet"], 400)})
    X["spare"] = rng.normal(size=400)
    y = np.where(X.job == "cook", 2 * X.x, -X.x) + 0.2 * rng.normal(size=400)
    return ToPsRegressor("additive", max_depth=1, random_state=0).fit(X, y), X


def of(frame, region, feature):
    return frame[(frame.region == region) & (frame.feature == feature) & frame.feature_2.isna()]


def test_lines_have_the_functions_values():
    frame = terms(additive_model(), 1)
    heat = of(frame, 1, "heat")
    assert heat.value.tolist() == [0.0, 10.0, 20.0]
    assert heat.effect.tolist() == [-1.0, 0.0, 2.0]
    assert heat.change.tolist() == [1.0, 0.0, -2.0]
    np.testing.assert_allclose(heat.error, np.sqrt([0.05, 0.01, 0.13]))
    np.testing.assert_allclose(heat.change_error, [0.1, 0.0, 0.2])
    job = of(frame, 1, "job")
    assert job.value.tolist() == ["cook", "poet"]
    assert job.effect.tolist() == [1.0, -1.0]


def test_shares_are_those_of_the_regions_rows():
    frame = terms(additive_model())
    assert of(frame, 1, "heat").share.tolist() == [0.375, 0.375, 0.25]  # 0, 5, 10, 20
    assert of(frame, 2, "heat").value.tolist() == [0.0, 10.0, 20.0, "missing"]
    assert of(frame, 2, "heat").share.tolist() == [0.25, 0.375, 0.125, 0.25]
    assert of(frame, 2, "job").value.tolist() == ["cook", "poet", "other or missing"]


def test_all_leaves_are_told_the_farthest_first():
    model = additive_model()
    assert terms(model).region.unique().tolist() == AdditiveTree.of(model).leaves == [2, 1]
    assert terms(model).rule.unique().tolist() == ["dose ≥ 0.5", "dose < 0.5"]
    assert terms(model, 0).rule.unique().tolist() == ["all rows"]


def test_pairs_have_two_values():
    frame = terms(additive_model(), 1)
    pair = frame[frame.feature_2.notna()]
    assert set(zip(pair.feature, pair.feature_2)) == {("heat", "dose")}
    assert pair.value_2.unique().tolist() == [0.0]  # no row of the region has another dose
    assert pair.effect.tolist() == [-0.25, 0.0, 0.0]


def test_two_classes_have_one_score_and_three_have_three():
    two = terms(additive_model(1, "logit"), 1)
    assert two.target.unique().tolist() == ["b"]
    three = terms(additive_model(3, "softmax"), 1)
    assert three.target.unique().tolist() == ["a", "b", "c"]
    by = {target: part.effect.to_numpy() for target, part in three.groupby("target")}
    np.testing.assert_allclose(by["b"], -by["a"])


def test_baseline_and_effects_are_the_prediction(fitted):
    model, X = fitted
    frame = model.terms()
    for i, leaf in enumerate(model.apply(X[:40])):
        total = 0.0
        for name in X.columns:
            lines = of(frame, leaf, name)
            if name == "job":
                total += lines.effect[lines.value == X[name][i]].sum()
            elif len(lines):
                total += np.interp(X[name][i], lines.value.astype(float), lines.effect)
        baseline = frame[(frame.region == leaf) & (frame.feature == "(baseline)")]
        assert total + baseline.effect.item() == pytest.approx(model.predict(X[i : i + 1])[0])


def test_what_regions_share_cancels_out_of_their_contrast():
    frame = contrast(additive_model(), 1, 2)
    heat = frame[frame.feature == "heat"]
    assert heat.difference.tolist() == [1.0, 0.0, -2.0]
    np.testing.assert_allclose(heat.error, [0.1, 0.0, 0.2])
    job = frame[frame.feature == "job"]
    assert job.difference.tolist() == [-2.0, 2.0]
    np.testing.assert_allclose(job.error, np.sqrt([0.03, 0.03]))
    back = contrast(additive_model(), 2, 1)
    np.testing.assert_allclose(back.difference, -frame.difference)
    assert (contrast(additive_model(), 1, 1).difference == 0).all()
    assert (contrast(additive_model(), 1, 1).error == 0).all()


def test_a_record_array_without_pandas(monkeypatch):
    with_pandas = terms(additive_model())
    monkeypatch.setattr(sys.modules["predictree.explain.terms"], "find_spec", lambda name: None)
    without = terms(additive_model())
    assert isinstance(without, np.recarray)
    assert list(without.dtype.names) == with_pandas.columns.tolist()
    assert without["effect"].tolist() == with_pandas.effect.tolist()
    assert without.effect[without["region"] == 1].dtype == float


def test_other_models_say_that_they_have_no_terms(regimes):
    X, y = regimes
    model = ToPsRegressor("lr", max_depth=0).fit(X, y)
    for ask in (model.terms, lambda: model.contrast(0, 0)):
        with pytest.raises(InvalidInputError, match="learners='additive'"):
            ask()
    assert not hasattr(model, "feature_importances_")


def test_a_model_without_a_census_says_so():
    model = additive_model()
    old = replace(model, backgrounds=(replace(model.backgrounds[0], census=None),))
    for ask in (lambda: terms(old), lambda: terms(replace(model, backgrounds=()))):
        with pytest.raises(InvalidInputError, match="fit it again"):
            ask()
    assert explain(old, FRAME[:1]).paths[0].effects is not None


@pytest.mark.parametrize("node", [-1, 3, "a", 1.5, None])
def test_a_node_that_is_not_there(node):
    with pytest.raises(InvalidInputError, match="node="):
        contrast(additive_model(), 1, node)
    if node is not None:
        with pytest.raises(InvalidInputError, match="node="):
            terms(additive_model(), node)


def test_curves_are_told_where_the_region_has_rows(fitted):
    model, X = fitted
    read = AdditiveTree.of(model)
    for leaf in read.leaves:
        lines = of(model.terms(leaf), leaf, "x")
        here = X.x[model.apply(X) == leaf]
        values = lines.value.astype(float).to_numpy()
        assert values[1] >= here.min() or values[0] >= here.min()
        assert lines.share.sum() == pytest.approx(1)


def test_importances_are_variances_of_terms_and_of_splits():
    model = additive_model()
    root, left, right = functions()
    found = importances_of([AdditiveTree.of(model)])
    assert found.sum() == pytest.approx(1)
    total = np.zeros(3)
    for function, rows in ((left, ROWS[:4]), (right, ROWS[4:])):
        heat, job, dose, pair = (e[:, 0].var() for e in function.effects(rows))
        total += 0.5 * np.array([heat + pair / 2, job, dose + pair / 2])
        total[2] += 0.5 * np.square(function.sum(rows) - root.sum(rows)).mean()
    np.testing.assert_allclose(found, total / total.sum())


def test_importances_of_an_estimator(fitted):
    model, _ = fitted
    x, job, spare = model.feature_importances_
    assert job > 10 * spare
    assert x > 10 * spare
    assert x + job + spare == pytest.approx(1)


def test_only_terms_that_matter_are_ranked():
    read = AdditiveTree.of(additive_model())
    assert [read.name(t) for t in read.ranked()] == ["job", "heat", "heat × dose"]
    assert [read.name(t) for t in read.ranked(1)] == ["job"]
    assert [[read.source(node, term) for term in range(4)] for node in range(3)] == [
        [0, 0, 0, 0],
        [1, 0, 0, 0],
        [0, 2, 0, 0],
    ]
    assert HEAT.feature == read.columns[0][0]
