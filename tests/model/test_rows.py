"""One row as a dict: it is coded as a table of one row is, or refused by name and type."""

import datetime as dt

import numpy as np
import pandas as pd
import polars as pl
import pytest

from handmade import additive_model
from predictree import ToPsRegressor
from predictree.errors import InvalidInputError
from predictree.model.rows import one_row

N = 200
rng = np.random.default_rng(0)
FRAME = pd.DataFrame(
    {
        "id": np.arange(N),
        "heat": rng.normal(size=N),
        "job": rng.choice(["cook", "poet"], N),
        "day": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 90, N), "D"),
        "size": pd.Categorical(rng.choice(list("sml"), N), list("sml"), ordered=True),
    }
)
FRAME.loc[::5, "heat"] = None
FRAME.loc[::6, "job"] = None
VALUE = FRAME["heat"].fillna(0) + (FRAME["job"] == "cook")


@pytest.fixture(scope="module")
def model():
    lone = ToPsRegressor("lr", max_depth=0, feature_roles={"id": "ignore"}, random_state=0)
    return lone.fit(FRAME, VALUE).model_


def test_dicts_and_frames_of_one_row_are_coded_as_tables_are(model):
    for i in range(10):
        row = FRAME[i : i + 1]
        expected = model.encode(row)[:, 1:]
        for given in (row, pl.from_pandas(row)):
            np.testing.assert_array_equal(model.fast.codes([one_row(given)])[:, 1:], expected)
        answer = model.decide(model.scores(model.encode(row)))[0]
        assert model.fast(row) == pytest.approx(answer, rel=1e-14)


def test_levels_and_dates_that_are_written_out(model):
    row = {"heat": None, "job": "king", "size": "xxl", "day": "2020-02-01T12:00:00+01:00"}
    heat, job, day, size = model.fast.codes([row])[0, 1:]
    assert np.isnan([heat, size]).all()
    assert job == -1.0
    assert day == 18293 + 11 / 24
    assert model.fast.codes([row | {"day": dt.date(2020, 2, 1)}])[0, 3] == 18293
    assert np.isnan(model.fast.codes([row | {"day": None, "job": None}])[0, 2:4]).all()


ROW = {"heat": 1.0, "job": "cook", "size": "s", "day": "2020-01-01"}


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"heat": 1.0}, "lacks 'job'"),
        (ROW | {"hat": 1}, "a further 'hat'"),
        (ROW | {"heat": "warm"}, "'heat' is 'warm', which is no number"),
        (ROW | {"heat": [1]}, "no number"),
        (ROW | {"job": 3}, "'job' is 3, which is no text"),
        (ROW | {"day": "soon"}, "no date"),
        (ROW | {"day": 3}, "no date"),
        (ROW | {"heat": float("inf")}, "infinite"),
        (ROW | {"heat": 10**400}, "no number"),
    ],
)
def test_others_are_refused_by_name(model, row, message):
    with pytest.raises(InvalidInputError, match=message):
        model.fast(row)


def test_what_is_needed_must_be_there():
    X = rng.normal(size=(100, 2))
    model = ToPsRegressor("lr", max_depth=0, random_state=0).fit(X, X[:, 0]).model_
    assert model.fast({"x0": 1.0, "x1": 0.0}) == pytest.approx(1.0)
    with pytest.raises(InvalidInputError, match="'x1' must not be missing"):
        model.fast({"x0": 1.0, "x1": None})


def test_classes_have_probabilities():
    model = additive_model(link="logit")
    found = model.fast({"heat": 10.0, "job": "cook", "dose": 0.0})
    assert found.sum() == pytest.approx(1.0)


@pytest.mark.parametrize("row", [[1.0], FRAME[:2], "row"])
def test_only_one_row_is_a_row(model, row):
    with pytest.raises(InvalidInputError, match="a frame of one row"):
        model.fast(row)
