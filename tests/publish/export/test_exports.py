"""All exports: they answer as their model on rows of all kinds, or are refused by name."""

import json
import shutil
import subprocess
from itertools import chain
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from predictree.errors import ExportError, InvalidInputError
from predictree.model.schema import UNSEEN
from predictree.publish.export import EXPORTS, onnx, replay, scorer, sql
from predictree.publish.export.document import document, factors
from predictree.publish.export.json import javascript, to_json
from publish.export import models

ASK = """
const {answer} = require(process.argv[2]);
const {model, rows} = JSON.parse(require("fs").readFileSync(0, "utf8"));
console.log(JSON.stringify(rows.map((row) => answer(model, row))));
"""


@pytest.mark.parametrize("name", models.MAKERS)
@pytest.mark.parametrize("kind", ["scorer", "python", "sql", "onnx"])
def test_every_export_answers_as_its_model(kind, name):
    """What is returned was tried out on rows of all kinds: see the tests of `replay`."""
    assert EXPORTS[kind](models.model(name))


@pytest.mark.parametrize("name", models.MAKERS)
def test_sqlite_answers_as_the_model(name):
    assert EXPORTS["sql"](models.model(name), dialect="sqlite").startswith("WITH")


def codes_of(model):
    """Rows of codes that the model may be asked: at its cuts, missing, unknown, infinite."""
    columns = []
    for place, column in enumerate(model.schema.columns):
        cuts = [t.threshold[t.feature == place].tolist() for t in model.trees]
        if column.levels:
            values = [st.sampled_from([*map(float, range(len(column.levels)))])]
            values += [st.just(UNSEEN)] if column.is_category else []
        elif column.kind == "date":
            values = [st.integers(-(10**5), 10**5).map(float)]
        else:
            values = [st.floats(-1e6, 1e6), st.sampled_from([0.0, 1.0, *chain(*cuts)])]
            values += [] if place in model.needed else [st.sampled_from([np.inf, -np.inf])]
        missing = [] if place in model.needed else [st.just(np.nan)]
        columns.append(st.one_of(*values, *missing))
    return st.lists(st.tuples(*columns), min_size=1, max_size=8).map(np.array)


@pytest.mark.parametrize(
    "name", ["value by hand", "two classes by hand", "three classes by hand, two trees", "no gaps"]
)
@settings(max_examples=15, deadline=None)
@given(data=st.data())
def test_any_rows_are_answered_alike(name, data):
    model = models.model(name)
    found, codes = document(model), data.draw(codes_of(model))
    rows = [
        {c.name: replay._plain(c, v) for c, v in zip(model.schema.columns, row)} for row in codes
    ]
    tried = replay.Sample(model, codes, rows)
    graph = onnx.to_onnx(model)
    ways = {
        "JSON": lambda t: [scorer.answer(found, row) for row in t.rows],
        "DuckDB": lambda t: sql._in_duckdb(t, sql.Query(found, sql.DUCKDB).select("t", ())),
        "SQLite": lambda t: sql._in_sqlite(t, sql.Query(found, sql.SQLITE).select("t", ())),
        "ONNX": lambda t: onnx._answers(found, graph, t),
    }
    for what, answered in ways.items():
        replay.replay(what, tried, answered)
    scores = model.scores(codes)
    asked = np.mean([tree.scores(codes) for tree in model.trees], axis=0)
    np.testing.assert_allclose(scores, asked, rtol=1e-12, atol=1e-12)


@pytest.mark.skipif(shutil.which("node") is None, reason="there is no node")
@pytest.mark.parametrize("name", models.MAKERS)
def test_javascript_answers_as_the_model(name, tmp_path):
    model = models.model(name)
    (tmp_path / "scorer.js").write_text(javascript())
    (tmp_path / "ask.js").write_text(ASK)

    def answered(tried):
        given = {"model": json.loads(to_json(model)), "rows": tried.rows}
        command = ["node", str(tmp_path / "ask.js"), str(tmp_path / "scorer.js")]
        done = subprocess.run(
            command, input=json.dumps(given), capture_output=True, text=True, check=True
        )
        return json.loads(done.stdout)

    replay.replay("JavaScript", replay.sample(model), answered)


def test_both_reference_scorers_are_under_a_hundred_lines():
    assert len(Path(scorer.__file__).read_text("utf-8").splitlines()) < 100
    assert len(javascript().splitlines()) < 100


@pytest.mark.parametrize("kind", ["scorer", "python", "sql", "onnx", "scorecard"])
def test_other_learners_are_refused_by_name(kind):
    with pytest.raises(InvalidInputError, match="'near' cannot be exported"):
        EXPORTS[kind](models.near())
    assert models.forest().frozen_.compiled == ("trees",)
    with pytest.raises(InvalidInputError, match="'trees' cannot be exported"):
        EXPORTS[kind](models.forest())


def test_models_that_fill_gaps_are_refused():
    X = models.X.copy()
    X[::5, 0] = np.nan
    imputing = models.ToPsRegressor("lr", imputation="mice", n_imputations=2, max_depth=0)
    with pytest.raises(InvalidInputError, match="mice"):
        document(models.fitted(imputing, X, models.PAIRED))


def test_an_export_that_answers_otherwise_is_not_written():
    tried = replay.sample(models.model("value by hand"))
    right = replay.answers(tried.model, tried.codes)
    replay.replay("copy", tried, lambda _: right)
    wrong = right.copy()
    wrong[17] += 1e-6
    with pytest.raises(ExportError, match=r"the copy answers .* where the model answers"):
        replay.replay("copy", tried, lambda _: wrong)
    wrong[17] = np.nan
    with pytest.raises(ExportError, match="not written"):
        replay.replay("copy", tried, lambda _: wrong)


def test_a_sample_has_rows_of_all_kinds():
    model = models.model("additive value")
    tried = replay.sample(model)
    job = [row["job"] for row in tried.rows]
    assert {"cook", "o'poet", "king", None} < set(job)
    assert any(j not in ("cook", "o'poet", "king", None) for j in job)
    heat = tried.codes[:, 0]
    span = model.schema.columns[0].span
    assert np.isnan(heat).any()
    assert (heat > span.high + 100).any()
    np.testing.assert_array_equal(model.encode(frame_of(tried)), tried.codes)


def frame_of(tried):
    frame = models.pd.DataFrame(tried.rows)
    frame["day"] = models.pd.to_datetime(
        [replay.moment(d) for d in frame["day"].replace({np.nan: None})]
    )
    return frame


def test_surfaces_are_sums_of_few_products():
    a, b = np.arange(6.0)[:, None], np.cos(np.arange(10.0)).reshape(5, 2)
    parts = list(factors(a[:, None] * b + 1.0))
    assert len(parts) == 2
    np.testing.assert_allclose(sum(u[:, None] * v for u, v in parts), a[:, None] * b + 1.0)


def test_python_is_one_function_without_dependencies():
    model = models.model("two classes by hand")
    made = {}
    exec(EXPORTS["python"](model), made)
    assert made["predict"]({"heat": 10.0, "job": "cook", "dose": 0.0}) == pytest.approx(
        replay.answers(model, np.array([[10.0, 0.0, 0.0]]))[0]
    )


def test_sql_keeps_columns_and_speaks_other_dialects():
    model = models.model("two classes by hand")
    text = EXPORTS["sql"](model, "my.table", keep=("id",))
    assert 'FROM "my"."table"' in text
    assert 'AS "id"' in text
    assert 'AS "probability_b"' in text
    postgres = EXPORTS["sql"](model, dialect="postgres")
    assert "DOUBLE PRECISION" in postgres


def test_knots_are_looked_up_unless_too_many_are_in_one_cell():
    assert sql.Grid.of("a", tuple(np.linspace(-3, 5, 100))).steps <= 2
    assert sql.Grid.of("a", (*np.linspace(0, 1e-3, 9), 1e3)) is None
    found = document(models.model("additive value"))
    assert "_g0_0" in sql.Query(found, sql.DUCKDB).select("t", ())
    assert "_g0_0" not in sql.Query(found, sql.OTHERS).select("t", ())


def test_a_scorecard_is_read_by_adding_points():
    card = EXPORTS["scorecard"](models.curves(), double=20.0)
    assert {row["column"] for row in card} >= {None, "job"}
    base = [row["points"] for row in card if row["column"] is None]
    constant = document(models.curves())["functions"][0]["constant"][0]
    assert base == pytest.approx([20 * constant / np.log(2)])


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("additive value", "of two classes"),
        ("two classes by hand", "pairs"),
        ("three classes by hand, two trees", "of two classes"),
    ],
)
def test_what_is_no_scorecard_is_refused(name, message):
    with pytest.raises(InvalidInputError, match=message):
        EXPORTS["scorecard"](models.model(name))
