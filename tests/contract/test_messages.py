"""What a person is told who makes a common mistake: the right thing by name, and what to do."""

import io
import sys
from inspect import signature

import numpy as np
import pandas as pd
import polars as pl
import pytest

from predictree import ToPsClassifier, ToPsRegressor, ToPsSurvival
from predictree.cli import main
from predictree.errors import InvalidInputError, LeakWarning
from predictree.estimators.survival.outcome import read_outcome

N = 60
RNG = np.random.default_rng(0)
X = pd.DataFrame({"age": RNG.normal(size=N), "dose": RNG.normal(size=N)})
Y = X["age"] + RNG.normal(size=N)
GOOD = np.where(Y > 0, "yes", "no")


def root(estimator=ToPsRegressor, **more):
    return estimator("lr", max_depth=0, random_state=0, **more)


# Data


@pytest.mark.parametrize(
    ("estimator", "X", "y", "told"),
    [
        (ToPsRegressor, X, GOOD, "y holds text, such as '(yes|no)'.*use ToPsClassifier"),
        (ToPsRegressor, X, [None, *Y[1:]], r"None or NaN\) in 1 of 60 rows, first in row 0"),
        (ToPsClassifier, X, [*GOOD[:-1], None], r"None or NaN\) in 1 of 60 rows, first in row 59"),
        (ToPsRegressor, X, Y.where(Y > 0), r"y is missing \(None or NaN\) in"),
        (ToPsClassifier, X, Y, "60 different numbers, such as.*use ToPsRegressor"),
        (ToPsRegressor, X[:0], Y[:0], "X has no rows to learn from"),
        (ToPsRegressor, X.assign(c=[[1]] * N), Y, "'c' holds values of type list: give a column"),
        (
            ToPsRegressor,
            X.assign(c=pd.period_range("2020-01", periods=N, freq="M")),
            Y,
            "'c' holds values of type Period.*to_timestamp",
        ),
        (ToPsRegressor, X.assign(c=1j), Y, "'c' holds values of type complex.*two columns"),
    ],
)
def test_data_that_cannot_be_used(estimator, X, y, told):
    with pytest.raises(InvalidInputError, match=told):
        root(estimator).fit(X, y)


def test_the_target_among_the_features_is_noticed():
    with pytest.warns(LeakWarning, match="column 'again' of X is the target itself.*'ignore'"):
        root().fit(X.assign(again=Y), Y)
    words = np.where(GOOD == "yes", "ill", "well")
    with pytest.warns(LeakWarning, match="column 'state'"):
        root(ToPsClassifier).fit(X.assign(state=words), GOOD)


@pytest.mark.filterwarnings("error::predictree.errors.LeakWarning")
def test_what_is_not_the_target_is_left_alone():
    root(feature_roles={"again": "ignore"}).fit(X.assign(again=Y), Y)
    root().fit(X.assign(nearly=Y + 1e-9 * (X["age"] > 0)), Y)
    near = GOOD.copy()
    near[0] = "no" if near[0] == "yes" else "yes"
    root(ToPsClassifier).fit(X.assign(state=near), GOOD)


def test_levels_that_are_numbers_are_taken():
    kind = pd.Categorical(RNG.integers(0, 3, N), ordered=True)
    assert root().fit(X.assign(kind=kind), Y).n_features_in_ == 3


def test_no_rows_get_no_answers():
    model = root().fit(X, Y)
    assert model.predict(X[:0]).shape == (0,)
    chosen = root(ToPsClassifier).fit(X.to_numpy(), GOOD)
    assert chosen.predict_proba(np.zeros((0, 2))).shape == (0, 2)


# Parameters


def test_a_parameter_that_there_is_not_is_told_the_nearest():
    with pytest.raises(TypeError, match=r"ToPsRegressor has no parameter 'max_deph'.*'max_depth'"):
        ToPsRegressor(max_deph=2)
    with pytest.raises(TypeError, match=r"estimator=ToPsClassifier\(learners=...\)"):
        ToPsSurvival(learners="lr")
    with pytest.raises(TypeError, match="did you mean 'horizons'"):
        ToPsSurvival(horizon=[1])
    assert list(signature(ToPsRegressor).parameters)[:2] == ["learners", "loss"]


@pytest.mark.parametrize("limit", ["10m", "2h", "90s", "90", 90, 90.0, " 1.5h "])
def test_times_are_numbers_or_text_as_on_the_command_line(limit):
    assert root(time_limit=limit, learner_timeout=None).fit(X, Y).stopped_ is None


@pytest.mark.parametrize("limit", ["soon", "10d", -1, "-1s", True, "", [1]])
def test_what_is_no_time_is_told_what_is(limit):
    with pytest.raises(InvalidInputError, match=r"time_limit=.*'90s', '10m' or '2h'"):
        root(time_limit=limit).fit(X, Y)


# Survival


def test_columns_of_event_and_time_have_no_order():
    event, time = RNG.integers(0, 2, N), RNG.exponential(size=N)
    either = [
        pd.DataFrame({"time": time, "event": event}),
        pd.DataFrame({"Died": event, "t": time}),
    ]
    either.append(np.rec.fromarrays([time, event], names="days,status"))
    for y in either:
        found = read_outcome(y)
        np.testing.assert_array_equal(found.cause, event)
        np.testing.assert_array_equal(found.time, time)


def test_times_before_events_are_told_of_names():
    with pytest.raises(InvalidInputError, match="columns 'event' and 'time' the order does not"):
        read_outcome(np.column_stack([[1.5, 2.5], [0, 1]]))


# The command line


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A table, and a model of one of its columns."""
    folder = tmp_path_factory.mktemp("messages")
    table = pl.DataFrame({"age": X["age"].round(3), "dose": X["dose"].round(3), "good": GOOD})
    table.with_columns(price=pl.Series(Y)).write_csv(folder / "credit.csv")
    table.select("dose", "good").write_csv(folder / "few.csv")
    table.select("age", "dose")[:0].write_csv(folder / "none.csv")
    fit = ["fit", folder / "credit.csv", "--target", "good", "--role", "price=ignore"]
    assert main([str(w) for w in [*fit, "-o", folder / "m.tops", "--learners", "lr"]]) == 0
    return folder


@pytest.mark.parametrize(
    ("command", "told"),
    [
        ("show credit.csv", "credit.csv is a table and not a model. The model comes first"),
        ("predict credit.csv m.tops", "credit.csv is a table and not a model"),
        ("predict m.tops few.csv", "no column 'age', which the model needs: add it"),
        ("report m.tops --data credit.csv -o r.html", "--data needs --target COL"),
        (
            "fit credit.csv --target price --task classification -o p",
            "60 different numbers, such as.*give --task regression",
        ),
        ("fit none.csv --target age -o p", "none.csv has a header and no rows"),
    ],
)
def test_what_the_command_line_says(capsys, folder, monkeypatch, command, told):
    monkeypatch.chdir(folder)
    capsys.readouterr()
    assert main(command.split()) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert pd.Series([err]).str.contains(told).all(), err


def test_a_table_without_rows_gets_the_head_of_answers(capsys, folder):
    capsys.readouterr()
    assert main(["predict", str(folder / "m.tops"), str(folder / "none.csv")]) == 0
    assert capsys.readouterr().out == "prediction,probability_no,probability_yes\n"


def test_a_table_is_read_from_standard_input(capsys, folder, monkeypatch):
    def given(name):
        stream = io.TextIOWrapper(io.BytesIO((folder / name).read_bytes()))
        monkeypatch.setattr(sys, "stdin", stream)

    capsys.readouterr()
    given("credit.csv")
    assert main(["predict", str(folder / "m.tops"), "-"]) == 0
    piped = capsys.readouterr().out
    assert main(["predict", str(folder / "m.tops"), str(folder / "credit.csv")]) == 0
    assert capsys.readouterr().out == piped
    given("few.csv")
    assert main(["predict", str(folder / "m.tops"), "-"]) == 1
    assert "standard input has no column 'age'" in capsys.readouterr().err
