"""`predictree fit --plan`: what a fit would take."""

import json

import numpy as np
import polars as pl
import pytest

from predictree import ToPsRegressor
from predictree.cli import main
from predictree.run.forecast import Forecast, OneFit, Plan

PLAN = Plan(
    n_rows=120,
    learners=(OneFit("linear", 0.1, 1e6, 1e3),),
    forecasts=(Forecast("the root alone", 5, 1.0, 1.0, 1e6),),
    cheaper=(),
    assumptions=("all is well",),
)


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
