"""What every term adds for one row: exact, by node, on the right scale."""

import json

import numpy as np
import pandas as pd
import pytest

from handmade import FRAME, additive_model
from predictree import ToPsClassifier, ToPsRegressor
from predictree.explain import explain
from predictree.explain.effects import effects_of


def table(n, seed=0):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({"x": rng.uniform(-2, 2, n), "job": rng.choice(["cook", "poet"], n)})
    X["z"] = np.where(rng.random(n) < 0.1, np.nan, rng.normal(size=n))
    return X, np.where(X.job == "cook", 2 * X.x, -X.x) + X.z.fillna(1) + 0.2 * rng.normal(size=n)


def test_a_row_by_hand():
    model = additive_model()
    (path,) = explain(model, FRAME[1:2]).paths
    found = path.effects
    assert found.nodes == (0, 1)
    assert found.scale == "score"
    assert found.baseline[:, 0].tolist() == [2.0, -0.5]
    heat, job, dose, pair = found.terms
    assert (heat.columns, heat.values) == (("heat",), (5.0,))
    assert heat.amounts[:, 0].tolist() == [-1.0, 0.5]  # half way from 0 to 10
    assert job.values == ("poet",)
    assert job.amounts[:, 0].tolist() == [-1.0, 0.0]
    assert dose.amounts[:, 0].tolist() == [0.0, 0.0]
    assert (pair.columns, pair.values) == (("heat", "dose"), (5.0, 0.0))
    assert pair.amounts[:, 0].tolist() == [-0.125, 0.0]
    assert found.total == path.scores == -0.125


@pytest.mark.parametrize("row", range(len(FRAME)))
def test_effects_sum_to_the_score(row):
    model = additive_model()
    (path,) = explain(model, FRAME[row : row + 1]).paths
    np.testing.assert_allclose(path.effects.total, path.scores, atol=1e-12)


def test_what_is_cut_off_is_told():
    model = additive_model(span=(0.0, 3.0))
    (path,) = explain(model, FRAME[1:2]).paths
    assert path.effects.cut.tolist() == [0.125]
    assert path.effects.total == path.scores == 0.0
    assert "kept within the labels" in str(explain(model, FRAME[1:2]))


def test_two_classes_sum_to_log_odds():
    model = additive_model(1, "logit")
    found = explain(model, FRAME[1:2])
    odds = found.scores[1] / found.scores[0]
    assert found.paths[0].effects.total == pytest.approx(np.log(odds))
    told = explain(model, FRAME[1:2], target="a").to_dict()["trees"][0]["effects"]
    other = explain(model, FRAME[1:2], target="b").to_dict()["trees"][0]["effects"]
    assert told["sum"] == -other["sum"] == pytest.approx(np.log(1 / odds))
    assert told["scale"] == "log-odds"


def test_three_classes_have_a_sum_each():
    model = additive_model(3, "softmax")
    found = explain(model, FRAME[1:2])
    total = found.paths[0].effects.total
    np.testing.assert_allclose(np.exp(total) / np.exp(total).sum(), found.scores)


def test_a_fitted_regression_with_gaps_and_levels():
    X, y = table(400)
    model = ToPsRegressor("additive", max_depth=1, random_state=0).fit(X, y)
    for i in range(30):
        (path,) = model.explain(X[i : i + 1]).paths
        assert path.effects.total[0] == pytest.approx(model.predict(X[i : i + 1])[0], abs=1e-12)
        assert path.effects.nodes == tuple(step.node for step in path.steps)
        assert {t.columns for t in path.effects.terms} >= {("x",), ("job",)}


def test_a_fitted_classification():
    X, y = table(500)
    model = ToPsClassifier("additive", max_depth=1, random_state=0).fit(X, y > 0)
    for i in range(20):
        (path,) = model.explain(X[i : i + 1]).paths
        p = model.predict_proba(X[i : i + 1])[0]
        assert path.effects.total[0] == pytest.approx(np.log(p[1] / p[0]), abs=1e-9)


def test_contributions_by_column_sum_to_the_mean_of_several_trees():
    found = explain(additive_model(n_trees=2), FRAME[3:4])
    assert found.contributions.total == pytest.approx(found.scores)
    assert (found.unexplained == 0).all()
    # the pair says nothing here
    assert found.contributions.amounts[:, 0].tolist() == [2.0, -1.0, 0.0]


def test_half_of_a_pair_is_each_columns():
    found = explain(additive_model(), FRAME[0:1]).contributions.amounts[:, 0]
    assert found.tolist() == [-1.0 - 0.125, 1.0, -0.125]


def test_text_html_and_json_tell_the_effects():
    found = explain(additive_model(), FRAME[1:2])
    text = str(found)
    assert "what every term adds to the score" in text
    assert "heat × dose" in text
    assert "node 1" in text
    assert "heat × dose" in found._repr_html_()
    told = json.loads(json.dumps(found.to_dict()))["trees"][0]["effects"]
    assert told["baseline"]["by_node"] == {"0": 2.0, "1": -0.5}
    assert told["sum"] == -0.125
    added = told["baseline"]["effect"] + sum(term["effect"] for term in told["terms"])
    assert added == pytest.approx(-0.125)


def test_many_terms_are_summed_up():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 20))
    model = ToPsRegressor("additive", max_depth=0, interactions=0).fit(X, X.sum(axis=1))
    text = str(model.explain(X[0]))
    assert "8 others" in text


def test_other_trees_have_no_effects(regimes):
    X, y = regimes
    model = ToPsRegressor("lr", max_depth=0).fit(X, y)
    (path,) = model.explain(X[0]).paths
    assert path.effects is None
    assert effects_of(model.model_, 0, X[:1], [0], [0, 0, 0]) is None
    assert model.explain(X[0]).to_dict()["trees"][0]["effects"] is None


def test_shap_of_a_classification_asks_for_rows():
    pytest.importorskip("shap")
    found = explain(additive_model(1, "logit"), FRAME[1:2], shap=True)
    assert found.paths[0].parts[0].contributions is None
    assert "log-odds" in found.paths[0].parts[0].reason
