"""The audit finds what tells of few rows, and nothing else."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import LinearRegression
from sklearn.neighbors import KNeighborsRegressor

from model.test_discretion import HOW, N, table
from predictree import ToPsClassifier, ToPsRegressor, save
from predictree.cli import main
from predictree.errors import InvalidInputError
from predictree.estimators.survival import ToPsSurvival
from predictree.publish.files.audit import audit


def found(model, k=5):
    return {(one.where, one.what): one.rows for one in audit(model, k)}


def test_a_plain_model_of_many_rows_tells_of_none():
    X = np.random.default_rng(0).normal(size=(N, 2))
    model = ToPsRegressor([("linear", LinearRegression())], **HOW).fit(X, X[:, 0])
    assert found(model) == {}
    wide = found(model, 10**9)
    assert {where for where, _ in wide} >= {"column x0", "column x1", "leaf 0"}


def test_levels_labels_and_knots_of_an_additive_model():
    model = ToPsRegressor("additive", **HOW).fit(*table())
    told = found(model)
    y = table()[1]
    assert told["labels", f"the least label, {y.min():.6g}, which bounds the answers"] == 1
    assert not any("level" in what and "knots" not in what for _, what in told)
    knots = [what for where, what in told if where == "column wage" and "knot" in what]
    assert any("8.41234e+06" in what or "knot" in what for what in knots)


def test_a_level_that_learners_need_is_found():
    told = found(ToPsRegressor("lr", **HOW).fit(*table()))
    assert told["column job", "the level astronaut"] == 4
    assert ("column job", "the level clerk") not in told


def test_levels_of_an_older_model_are_not_known():
    from dataclasses import replace

    from conftest import remade

    model = ToPsRegressor("lr", **HOW).fit(*table())
    job, wage = model.schema_.columns
    older = replace(model.schema_, columns=(replace(job, counts=()), wage))
    assert found(remade(model, schema=older))["column job", "the level clerk"] is None


@pytest.mark.parametrize(
    ("learner", "what"),
    [
        (RandomForestRegressor(5, random_state=0), "leaves of trees"),
        (KNeighborsRegressor(), "training rows, or values of them, in _fit_X"),
    ],
)
def test_learners_that_keep_rows_are_found(learner, what):
    X = np.random.default_rng(0).normal(size=(N, 2))
    told = found(ToPsRegressor([("a", learner)], **HOW | {"max_depth": 0}).fit(X, X[:, 0]))
    assert any(key[0].startswith("learner a") and key[1].startswith(what) for key in told)


def test_a_rare_class_is_found():
    X = np.random.default_rng(0).normal(size=(N, 2))
    y = np.where(X[:, 0] > 0, "often", "sometimes")
    y[:3] = "hardly"
    told = found(ToPsClassifier("lr", **HOW | {"max_depth": 0}).fit(X, y))
    assert told == {("labels", "the class hardly"): 3}


def test_models_of_several_horizons_are_looked_through():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"job": ["one"] + ["many"] * 199, "x": rng.normal(size=200)})
    death = rng.exponential(size=200)
    how = ToPsClassifier("lr", max_depth=0, random_state=0)
    model = ToPsSurvival((0.5, 1), how).fit(X, (death < 3, np.minimum(death, 3)))
    assert ("column job", "the level one") in found(model)


@pytest.mark.parametrize("k", [0, -1, 1.5, True, "5"])
def test_odd_numbers_of_rows(k):
    with pytest.raises(InvalidInputError, match="k="):
        audit(None, k)


def test_the_command(tmp_path, capsys):
    model = ToPsRegressor("lr", **HOW).fit(*table())
    path = tmp_path / "m.tops"
    save(model, path)
    assert main(["audit", str(path)]) == 0
    out, err = capsys.readouterr()
    assert "the level astronaut   ≤ 4" in out
    assert "one thing in" in err
    assert main(["audit", str(path), "--k", "1"]) == 0
    assert "nothing in" in capsys.readouterr().err
    assert main(["audit", str(path), "--json", "--k", "7"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["k"] == 7
    assert {"where": "column job", "what": "the level astronaut", "rows": 4} in told["found"]
    with pytest.raises(SystemExit):
        main(["audit", str(path), "--k", "none"])
