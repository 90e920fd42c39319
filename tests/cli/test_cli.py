"""The command line: what it prints, where, and with which exit code."""

import gzip
import json
import os
import subprocess
import sys
import tomllib
from importlib.metadata import EntryPoint
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from sklearn.svm import SVR

import predictree
from predictree import ToPsRegressor, cli
from predictree.cli import console, csvfile, main, tables
from predictree.cli.doctor import CORE, EXTRAS
from predictree.estimators.survival import ToPsSurvival

ROOT = Path(__file__).parents[2]


def make_table(n=240):
    rng = np.random.default_rng(0)
    sex, dose = rng.choice(["f", "m"], n), rng.uniform(0, 10, n).round(2)
    effect = np.where(sex == "m", 2 * dose, -dose) + rng.normal(size=n)
    return pl.DataFrame(
        {
            "id": np.arange(n),
            "sex": sex,
            "dose": dose,
            "effect": effect.round(2),
            "better": np.where(effect > 0, "yes", "no"),
        }
    )


@pytest.fixture(scope="module")
def fitted(tmp_path_factory):
    """A folder with a table, a regression and a classification."""
    folder = tmp_path_factory.mktemp("fitted")
    make_table().write_csv(folder / "t.csv")
    fit = ["fit", str(folder / "t.csv"), "--learners", "lr", "--role", "id=ignore"]
    value = [*fit, "--target", "effect", "--role", "better=ignore", "-o", str(folder / "value")]
    chosen = [*fit, "--target", "better", "--role", "effect=ignore", "-o", str(folder / "class")]
    assert main(value) == 0
    assert main(chosen) == 0
    return folder


@pytest.fixture
def here(tmp_path, monkeypatch):
    """An empty folder to work in, with short names in messages."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(capsys, *argv):
    """Return exit code, stdout and stderr of a command."""
    capsys.readouterr()
    try:
        code = main([str(word) for word in argv])
    except SystemExit as end:
        code = end.code
    out, err = capsys.readouterr()
    return code, out, err


def shell(command, folder, **env):
    """Return the finished process of a shell command, with ``predictree`` as python -m."""
    python = f'"{sys.executable}" -m predictree'
    paths = os.pathsep.join(filter(None, [str(ROOT / "src"), os.environ.get("PYTHONPATH")]))
    return subprocess.run(
        command.replace("predictree ", f"{python} "),
        shell=True,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": paths, **env},
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )


# Usage


def test_without_a_command_help_leads_with_examples(capsys):
    code, out, err = run(capsys)
    assert (code, out) == (2, "")
    assert err.index("examples:") < err.index("options:")


@pytest.mark.parametrize(
    "command",
    ["demo", "fit", "predict", "explain", "show", "report", "view", "serve", "doctor"],
)
def test_help_of_a_command_leads_with_examples(capsys, command):
    code, out, _ = run(capsys, command, "--help")
    assert code == 0
    assert out.index("examples:") < out.index("options:")
    assert f"  predictree {command} " in out


def plugins(monkeypatch, **modules):
    """Let other packages bring commands: names and the modules that have them."""
    points = [EntryPoint(name, module, cli.PLUGINS) for name, module in modules.items()]
    monkeypatch.setattr(cli, "entry_points", lambda group: points)


def test_another_package_may_bring_a_command(capsys, monkeypatch):
    plugins(monkeypatch, versions="predictree.cli.doctor")  # adds itself as doctor, again
    monkeypatch.setattr(cli, "COMMANDS", ())
    code, out, _ = run(capsys, "doctor", "--json")
    assert code == 0
    assert json.loads(out)["predictree"] == predictree.__version__


@pytest.mark.parametrize("words", [[], ["toy"], ["--table"], ["bank", "--out", "x"], ["--help"]])
def test_a_command_that_is_not_installed_says_what_to_install(capsys, monkeypatch, words):
    plugins(monkeypatch)
    told = "error: the command reproduce is not installed: pip install 'predictree[paper]'\n"
    assert run(capsys, "reproduce", *words) == (1, "", told)


def test_a_command_that_cannot_be_loaded_says_what_to_install(capsys, monkeypatch):
    plugins(monkeypatch, reproduce="no_such_package.command", other="no_such_package.command")
    code, out, err = run(capsys, "reproduce", "toy")
    assert (code, out) == (1, "")
    assert "No module named 'no_such_package'): pip install 'predictree[paper]'" in err
    assert "pip install 'no_such_package'" in run(capsys, "other")[2]
    assert "needs pip install 'predictree[paper]'" in run(capsys, "--help")[1]


def test_version(capsys):
    assert run(capsys, "--version")[1] == f"predictree {predictree.__version__}\n"


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["grow"], "invalid choice: 'grow'"),
        (["fit", "t.csv", "-o", "m"], "required: --target"),
        (["fit", "t.csv", "--target", "y", "-o", "m", "--max-depth", "x"], "invalid int value"),
        (["fit", "t.csv", "--target", "y", "-o", "m", "--role", "a=b"], "is not COL=ROLE"),
        (["fit", "t.csv", "--target", "y", "-o", "m", "--validation", "a"], "number of folds"),
        (["fit", "t.csv", "--target", "y", "-o", "m", "--validation", "1,2"], "three shares"),
        (["fit", "t.csv", "--target", "y", "-o", "m", "--sep", ";;"], "not one character"),
        (["explain", "m", "t.csv", "--row", "0"], "rows count from 1"),
        (["fit", "t.csv", "--config"], "--config: expected one argument"),
        (
            ["fit", "t.csv", "--target", "y", "-o", "m", "--learner", "lr"],
            "did you mean '--learners' or",
        ),
        (["show", "m", "--jsn=1"], "no option '--jsn': did you mean '--json'?"),
        (["show", "m", "n"], "'n' is one argument too many"),
    ],
)
def test_wrong_usage_is_2(capsys, argv, message):
    code, out, err = run(capsys, *argv)
    assert (code, out) == (2, "")
    assert message in err


# Reading

GOOD = "a,b,y\n1,2,3\n4,5,6\n"
FIT = ["--target", "y", "-o", "m", "--learners", "lr"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "t.csv is empty: give a table with a header and rows"),
        ("\n1,2\n", "t.csv has no header: its first line must name the columns"),
        ("a,b,y\n", "t.csv has a header and no rows: there is nothing to read"),
        ("a|b|y\n1|2|3\n", "t.csv, line 1: the header is a single column, 'a|b|y': try --sep '|'"),
        ("a,y,a\n1,2,3\n", "t.csv, line 1: columns 1 and 3 have the same name 'a': rename one"),
        (GOOD + "7,8\n", "t.csv, line 4: 2 values under a header of 3: correct the line"),
        (GOOD + "7,8,9,10\n", "t.csv, line 4: 4 values under a header of 3: correct the line"),
        ("a,y\n1,2\n\n3,4\n", "t.csv, line 3 is blank: delete it"),
        ('a,y\n1,2\n"3,4\n5,6\n', "t.csv, line 3: unexpected end of data. Close the quote"),
        ("a,b,Y\n1,2,3\n", "t.csv has no column 'y': did you mean 'Y'?"),
        ("a,b,c\n1,2,3\n", "t.csv has no column 'y': there is 'a', 'b', 'c'"),
        ("y\n1\n2\n", "t.csv has no column beside the target 'y'"),
        (
            "a,y\n1,2\n3,\n4,NA\n",
            "t.csv, line 3: the target 'y' is missing here, and in 2 of 3 rows",
        ),
        ('a,y\n"1\n1",2\n3,\n', "t.csv, line 4: the target 'y' is missing here"),
        (b"a,y\n1,2\n\xe9,4\n", "t.csv, line 3: this is not UTF-8 text. Save the table as CSV"),
        ("a,y\n1,2\n".encode("utf-16"), "t.csv, line 1: this is not UTF-8 text"),
        (gzip.compress(GOOD.encode(), mtime=0)[:-9], "t.csv is damaged"),
        (b"PAR1 and no more", "t.csv is damaged"),
        ("a,y\n1,1\n2,1\n", "t.csv: y has only one class (1)"),
    ],
)
def test_each_fault_of_a_file_is_told(capsys, here, content, message):
    (here / "t.csv").write_bytes(content if isinstance(content, bytes) else content.encode())
    code, out, err = run(capsys, "fit", "t.csv", *FIT)
    assert (code, out) == (1, "")
    assert message in err
    assert err.startswith(
        "error: " if message != "t.csv: y has only one class (1)" else "t.csv: 2 rows"
    )
    assert "Traceback" not in err


def test_what_is_not_a_file(capsys, here):
    assert "error: t.csv: there is no such file\n" in run(capsys, "fit", "t.csv", *FIT)[2]
    (here / "t.csv").mkdir()
    assert "error: t.csv is not a file: give" in run(capsys, "fit", "t.csv", *FIT)[2]


def test_a_wrong_separator_is_told_with_the_right_one(capsys, here):
    (here / "t.csv").write_text("a;y\n1;2\n")
    code, _, err = run(capsys, "fit", "t.csv", *FIT, "--sep", ",")
    assert code == 1
    assert "t.csv, line 1: the header is a single column, 'a;y': try --sep ';'" in err


def args_for(path, **more):
    return type("Args", (), {"data": str(path), "sep": None, "missing": [], **more})


@pytest.mark.parametrize("sep", [",", ";", "\t"])
def test_the_separator_is_found(here, sep):
    Path("t.csv").write_text(f'a{sep}"b,;b"\n1{sep}2\n')
    assert tables.read_table(args_for("t.csv")).frame.rows() == [(1, 2)]


def test_what_spreadsheets_write_is_read(here):
    Path("t.csv").write_bytes(b"\xef\xbb\xbfa;b\r\n1;x\r\n;y\r\n\r\n\r\n")
    frame = tables.read_table(args_for("t.csv")).frame
    assert frame.to_dict(as_series=False) == {"a": [1, None], "b": ["x", "y"]}


def test_gzip_and_parquet_hold_the_same_table(here):
    table = make_table(20)
    table.write_csv("t.csv")
    table.write_parquet("t.parquet")
    Path("t.csv.gz").write_bytes(gzip.compress(Path("t.csv").read_bytes()))
    for name in ("t.csv", "t.csv.gz", "t.parquet"):
        assert tables.read_table(args_for(name)).frame.equals(table)


def test_a_kind_that_only_late_rows_tell(here, monkeypatch):
    monkeypatch.setattr(tables, "LOOKED_AT", 2)
    Path("t.csv").write_text("a,b,c\n1,,1\n2,,2\n2.5,3,x\n")
    frame = tables.read_table(args_for("t.csv")).frame
    assert frame.dtypes == [pl.Float64, pl.Int64, pl.String]


def test_numbers_among_spaces_are_numbers(here):
    Path("t.csv").write_text("a, b\n1, 2\n3, 4.5\n")
    assert tables.read_table(args_for("t.csv")).frame.rows() == [(1, 2.0), (3, 4.5)]


def test_a_word_in_a_column_of_numbers_is_told(capsys, here):
    Path("t.csv").write_text("a,b\n1,x\n2,y\n?,z\n")
    tables.read_table(args_for("t.csv"))
    err = capsys.readouterr().err
    assert "warning: t.csv, line 4: column 'a' is read as text because of '?'" in err
    assert tables.read_table(args_for("t.csv", missing=["?"])).frame["a"].to_list() == [1, 2, None]
    assert capsys.readouterr().err == ""


def test_decimal_commas_are_numbers_where_commas_separate_nothing(capsys, here):
    Path("t.csv").write_text("a;b;c\n7,4;x;1\n;y,z;2\n-0,5;;3\n")
    frame = tables.read_table(args_for("t.csv")).frame
    assert frame.rows() == [(7.4, "x", 1), (None, "y,z", 2), (-0.5, None, 3)]
    assert capsys.readouterr().err == "t.csv: decimal commas in 'a'\n"


@pytest.mark.parametrize(
    ("content", "word"),
    [('a,b\n"7,4",1\n"7,5",2\n', "7,4"), ("a;b\n7,4;1\n8,1;2\n1.234,5;2\n", "1.234,5")],
    ids=["quoted", "thousands"],
)
def test_numbers_that_may_mean_another_are_text(capsys, here, content, word):
    Path("t.csv").write_text(content)
    assert tables.read_table(args_for("t.csv")).frame["a"].dtype == pl.String
    err = capsys.readouterr().err
    assert f"column 'a' is read as text because of {word!r}" in err
    assert err.endswith("Write numbers with a point and without separators of thousands\n")


def test_quotes_in_a_header_are_read_as_one(here):
    Path("t.csv").write_text('"a ""q""",b\n1,2\n')
    assert tables.read_table(args_for("t.csv")).frame.columns == ['a "q"', "b"]


def test_polars_is_asked_for(capsys, here, monkeypatch):
    monkeypatch.setattr(tables, "find_spec", lambda name: None)
    code, _, err = run(capsys, "fit", "t.csv", *FIT)
    assert code == 1
    assert "pip install 'predictree[frames]'" in err


def test_the_line_of_a_row(here):
    Path("t.csv").write_text('a,b\n"x\ny",1\nz,2\n')
    assert [csvfile.line_of(Path("t.csv"), ",", row) for row in (0, 1)] == [2, 4]


# fit


def test_fit_prints_tree_and_verdict_and_tells_the_rest(capsys, here):
    make_table().write_csv("t.csv")
    fit = ["--target", "effect", "-o", "m", "--learners", "lr", "--max-depth", "1"]
    code, out, err = run(capsys, "fit", "t.csv", *fit, "--role", "better=ignore")
    assert code == 0
    assert out.startswith("all rows: linear  n=240/240/240  loss=")
    assert '├─ sex = "f": linear' in out
    assert "The tree earned its place" in out
    assert "t.csv: 240 rows, 4 features; regression of 'effect'\n" in err
    assert f"saved m, {console.size(Path('m').stat().st_size)}\n" in err


def test_fit_in_json(capsys, here):
    make_table().write_csv("t.csv")
    code, out, _ = run(capsys, "fit", "t.csv", "--target", "better", *FIT[2:], "--json")
    found = json.loads(out)
    assert code == 0
    assert (found["task"], found["classes"], found["rows"]) == (
        "classification",
        ["no", "yes"],
        240,
    )
    assert found["bytes"] == Path("m").stat().st_size
    assert found["trees"][0]["nodes"][0]["rule"] == "all rows"


@pytest.mark.parametrize(
    ("values", "task"),
    [
        (["a", "b"], "classification"),
        ([True, False], "classification"),
        ([0, 1], "classification"),
        ([1.0, 2.0], "classification"),
        ([0.5, 1.0], "regression"),
        (list(range(11)), "regression"),
    ],
)
def test_the_task_is_guessed(values, task):
    from predictree.cli.fit import task_of

    assert task_of("auto", pl.Series("y", values)) == task
    assert task_of("regression", pl.Series("y", values)) == "regression"


def test_options_reach_the_estimator(capsys, here):
    make_table().write_csv("t.csv")
    options = "--paper --loss mse --validation 0.6,0.2,0.2 --repeats 2 --max-depth 1 --seed 3"
    fit = ["--target", "effect", "-o", "m", "--learners", "lr", *options.split()]
    assert run(capsys, "fit", "t.csv", *fit)[0] == 0
    expected = ToPsRegressor.paper(
        "lr", loss="mse", validation=(0.6, 0.2, 0.2), n_repeats=2, max_depth=1, random_state=3
    ).get_params()
    assert predictree.load("m").get_params() == expected


def test_a_run_file_and_the_command_line_wins(capsys, here):
    make_table().write_csv("t.csv")
    Path("run.toml").write_text(
        'target = "effect"\noutput = "a"\nlearners = "lr"\nmax-depth = 3\npaper = true\n'
        'validation = [0.6, 0.2, 0.2]\nrole = { id = "ignore", sex = "split" }\nmissing = ["?"]\n'
    )
    fit = ["fit", "t.csv", "--config", "run.toml", "--max-depth", "1", "--role", "sex=both"]
    assert run(capsys, *fit, "-o", "b")[0] == 0
    model = predictree.load("b")
    assert not Path("a").exists()
    assert (model.max_depth, model.weights) == (1, "path")
    assert model.validation == (0.6, 0.2, 0.2)
    assert model.feature_roles == {"id": "ignore", "sex": "both"}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("max_depth = 3", "run.toml: there is no option 'max_depth': did you mean 'max-depth'?"),
        ("zzz = 3", "run.toml: there is no option 'zzz'"),
        ("max-depth = ", "run.toml: this is not TOML"),
        ("max-depth = 'deep'", "argument --max-depth: invalid int value: 'deep'"),
    ],
)
def test_a_wrong_run_file_is_wrong_usage(capsys, here, content, message):
    Path("run.toml").write_text(content)
    code, _, err = run(capsys, "fit", "t.csv", *FIT, "--config", "run.toml")
    assert code == 2
    assert message in err


def test_a_run_file_that_is_not_there(capsys, here):
    code, _, err = run(capsys, "fit", "t.csv", *FIT, "--config", "run.toml")
    assert code == 2
    assert "--config run.toml: No such file" in err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--target", "better", "--task", "regression"], "line 2: the target 'better' is 'yes'"),
        (
            ["--target", "better", "--role", "sx=split"],
            "no feature 'sx' to have the role 'split': did",
        ),
        (["--target", "better", "-o", "no/m"], "no/m: there is no folder no: make it first"),
        (["--target", "better", "-o", "."], ". is a folder: give the name of a file"),
        (["--target", "better", "--loss", "mse"], "loss"),
    ],
)
def test_what_cannot_be_fitted_is_told(capsys, here, options, message):
    make_table().write_csv("t.csv")
    code, out, err = run(capsys, "fit", "t.csv", "-o", "m", "--learners", "lr", *options)
    assert (code, out) == (1, "")
    assert message in err
    assert not Path("m").exists()


def test_libraries_are_asked_for_before_the_fit(capsys, here, monkeypatch):
    monkeypatch.setitem(sys.modules, "skops.io", None)
    code, out, err = run(capsys, "fit", "not-even-read.csv", *FIT)
    assert (code, out) == (1, "")
    assert err == "error: saving a model needs skops: pip install 'predictree[persist]'\n"
    assert "no such file" in run(capsys, "fit", "not-even-read.csv", "--target", "y", "--plan")[2]


def test_a_folder_that_cannot_be_written_to_is_told_before_the_fit(capsys, here, monkeypatch):
    def refuse(dir):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(tables, "TemporaryFile", refuse)
    code, out, err = run(capsys, "fit", "not-even-read.csv", *FIT)
    assert (code, out) == (1, "")
    assert err == (
        "error: m: nothing can be written to the folder . (Permission denied): choose another\n"
    )


def test_a_file_that_could_be_written_leaves_nothing_behind(here):
    tables.check_writable("m")
    assert not list(here.iterdir())


def test_warnings_are_one_line_each(capsys, here):
    make_table(60).write_csv("t.csv")
    err = run(capsys, "fit", "t.csv", "--target", "better", *FIT[2:])[2]
    (line,) = [line for line in err.splitlines() if "has only" in line]
    assert line.startswith("warning: class ")


# predict


def test_answers_keep_the_order_of_rows(capsys, fitted, here):
    shuffled = make_table().sample(fraction=1, shuffle=True, seed=1).drop("effect", "id")
    shuffled.write_csv("new.csv")
    code, out, err = run(capsys, "predict", fitted / "value", "new.csv")
    rows = shuffled.with_columns(id=pl.lit(0), better=pl.lit(""))
    expected = predictree.load(fitted / "value").predict(rows.select("id", "sex", "dose", "better"))
    assert (code, err) == (0, "")
    assert out.splitlines()[0] == "prediction"
    assert [float(line) for line in out.splitlines()[1:]] == expected.tolist()


def test_classes_come_with_their_probabilities(capsys, fitted):
    _, out, _ = run(capsys, "predict", fitted / "class", fitted / "t.csv")
    answers = pl.read_csv(out.encode())
    assert answers.columns == ["prediction", "probability_no", "probability_yes"]
    model, X = predictree.load(fitted / "class"), make_table().drop("better")
    assert answers["prediction"].to_list() == model.predict(X).tolist()
    assert answers.select(pl.col("^prob.*$")).to_numpy() == pytest.approx(model.predict_proba(X))


@pytest.mark.parametrize("name", ["a.csv", "a.csv.gz", "a.parquet"])
def test_answers_go_to_a_file(capsys, fitted, here, name):
    code, out, err = run(capsys, "predict", fitted / "value", fitted / "t.csv", "-o", name)
    assert (code, out, err) == (0, "", f"wrote 240 answers to {name}\n")
    assert tables.read_table(args_for(name)).frame.shape == (240, 1)


def test_many_rows_are_answered_in_pieces(capsys, fitted, monkeypatch):
    whole = run(capsys, "predict", fitted / "class", fitted / "t.csv")[1]
    monkeypatch.setattr("predictree.cli.predict.AT_ONCE", 100)
    monkeypatch.setattr("predictree.cli.tables.AT_ONCE", 100)
    pieces = run(capsys, "predict", fitted / "class", fitted / "t.csv")[1]
    assert len(pieces.splitlines()) == len(whole.splitlines()) == 241


def test_levels_that_look_like_numbers_stay_levels(capsys, here):
    table = make_table().with_columns(sex=pl.col("sex").replace({"f": "1", "m": "x"}))
    table.write_csv("t.csv")
    assert run(capsys, "fit", "t.csv", "--target", "effect", *FIT[2:])[0] == 0
    table.filter(pl.col("sex") == "1").write_csv("ones.csv")
    assert run(capsys, "predict", "m", "ones.csv")[0] == 0


def test_a_model_without_names_takes_columns_by_place(capsys, here, regimes):
    X, y = regimes
    predictree.save(ToPsRegressor("lr", random_state=0).fit(X, y), "m")
    pl.DataFrame(X[:5], schema=["p", "q", "r"]).write_csv("t.csv")
    code, out, err = run(capsys, "predict", "m", "t.csv")
    assert (code, err, len(out.splitlines())) == (0, "", 6)
    assert run(capsys, "explain", "m", "t.csv", "--row", "2")[0] == 0
    pl.DataFrame(X[:5, :2]).write_csv("t.csv")
    assert "has 2 columns, and the model was fitted on 3" in run(capsys, "predict", "m", "t.csv")[2]


def test_what_cannot_be_predicted_is_told(capsys, fitted, here):
    (here / "t.csv").write_text("sexe,dose\nf,1\n")
    code, out, err = run(capsys, "predict", fitted / "value", "t.csv")
    assert (code, out) == (1, "")
    assert err == "error: t.csv has no column 'sex', which the model needs: did you mean 'sexe'?\n"
    (here / "t.csv").write_text("sex,dose\nf,\n")
    err = run(capsys, "predict", fitted / "value", "t.csv")[2]
    assert err.startswith("error: t.csv: Input X contains NaN: column 'dose' has it in 1 of 1 rows")
    err = run(capsys, "predict", fitted / "value", "t.csv", "-o", "a.xlsx")[2]
    assert "a.xlsx: the name must end in .csv or .csv.gz or .parquet" in err


def test_all_columns_that_are_lacking_are_named(capsys, fitted, here):
    (here / "t.csv").write_text("sexe,weight\nf,1\n")
    err = run(capsys, "predict", fitted / "value", "t.csv")[2]
    assert err == (
        "error: t.csv lacks 2 columns that the model needs: 'sex', 'dose'. "
        "For the first, did you mean 'sexe'?\n"
    )


def test_a_model_that_is_none_is_told(capsys, fitted, here):
    assert run(capsys, "show", "m")[2] == "error: m: there is no such file\n"
    assert run(capsys, "show", here)[2] == f"error: {here} cannot be read (Is a directory)\n"
    Path("m").write_bytes(b"PK\0no model")
    code, _, err = run(capsys, "predict", "m", fitted / "t.csv")
    assert code == 1
    assert err.startswith("error: m: the file cannot be read as a model")
    assert len(err.splitlines()) == 1


def test_types_that_nobody_trusts_are_named(capsys, here, regimes):
    X, y = regimes
    predictree.save(ToPsRegressor([("svm", SVR())], max_depth=0).fit(X[:90], y[:90]), "m")
    np.savetxt("t.csv", X, delimiter=",", header="a,b,c", comments="")
    code, out, err = run(capsys, "predict", "m", "t.csv")
    assert (code, out) == (1, "")
    assert "m would build types that are not known to be harmless" in err
    assert "add --trust sklearn.svm._classes.SVR" in err
    assert run(capsys, "predict", "m", "t.csv", "--trust", "sklearn.svm._classes.SVR")[0] == 0
    assert run(capsys, "show", "m")[0] == 0  # which builds nothing


def test_other_models_are_for_python(capsys, here, regimes):
    X, y = regimes
    model = ToPsSurvival((1.0,), predictree.ToPsClassifier("lr", random_state=0))
    predictree.save(model.fit(X, (y > 0, np.abs(y) + 0.1)), "m")
    code, _, err = run(capsys, "predict", "m", "t.csv")
    assert code == 1
    assert "holds a ToPsSurvival, which the command line does not know" in err
    code, out, _ = run(capsys, "show", "m")
    assert code == 0
    assert out.startswith("horizon 1\n\nall rows: linear")


def test_show_builds_no_learner(capsys, fitted, monkeypatch):
    monkeypatch.setattr("predictree.publish.files.archive.from_record", None)
    monkeypatch.setattr("predictree.publish.files.archive.need_skops", None)
    code, out, _ = run(capsys, "show", fitted / "value")
    assert code == 0
    assert out.startswith("all rows: ")


def test_what_steers_a_terminal_is_shown_not_sent(capsys, here, regimes):
    X, y = regimes
    frame = pl.DataFrame({"a\x1b[2J": X[:, 0], "b\r": X[:, 1]})
    predictree.save(ToPsRegressor("lr", random_state=0, max_depth=1).fit(frame, y), "m")
    _, out, _ = run(capsys, "show", "m")
    assert "a\\x1b[2J" in out
    assert "\x1b" not in out


# explain and show


def test_an_explanation_sums_to_the_prediction(capsys, fitted):
    code, out, _ = run(capsys, "explain", fitted / "value", fitted / "t.csv", "--row", 3, "--json")
    found = json.loads(out)
    (tree,) = found["trees"]
    total = 0.0
    for part in tree["predictors"]:
        assert part["share"] == part["weight"] * part["answer"]
        total += part["share"]
    model = predictree.load(fitted / "value")
    assert code == 0
    assert total == tree["score"] == found["prediction"]
    assert total == pytest.approx(model.predict(make_table().drop("effect"))[2], rel=1e-12)
    assert tree["path"][0]["rule"] == "all rows"
    assert tree["path"][-1]["node"] == tree["leaf"]


def test_an_explanation_in_words(capsys, fitted):
    code, out, _ = run(capsys, "explain", fitted / "value", fitted / "t.csv", "--row", 1)
    lines = out.splitlines()
    sex = make_table()["sex"][0]
    assert code == 0
    assert lines[0] == f"{fitted / 't.csv'}, line 2"
    assert lines[1].startswith("prediction: ")
    assert lines[3].split() == ["node", "rule", "here", "rows"]
    assert lines[5].split()[1:5] == ["sex", "=", f'"{sex}"', sex]
    by_predictor, by_column = (line.split() for line in lines if line.startswith("sum"))
    assert by_predictor[:2] == ["sum", "1"]
    assert by_predictor[2] == by_column[1] == lines[1].split()[1]
    assert [line.split()[0] for line in lines if "sex" in line][-1] == "sex"


def test_an_explanation_of_a_class(capsys, fitted):
    argv = ["explain", fitted / "class", fitted / "t.csv", "--row", 1]
    found = json.loads(run(capsys, *argv, "--json")[1])
    assert sum(found["probabilities"].values()) == pytest.approx(1)
    assert found["prediction"] == max(found["probabilities"], key=found["probabilities"].get)
    assert f"prediction: {found['prediction']}\nprobabilities: no: " in run(capsys, *argv)[1]


def test_true_and_false_are_written_as_they_are_read(capsys, here):
    make_table().with_columns(better=pl.col("better") == "yes").write_csv("t.csv")
    assert run(capsys, "fit", "t.csv", "--target", "better", *FIT[2:])[0] == 0
    lines = run(capsys, "predict", "m", "t.csv")[1].splitlines()
    assert lines[0] == "prediction,probability_false,probability_true"
    word = lines[1].split(",")[0]
    assert f"prediction: {word}\n" in run(capsys, "explain", "m", "t.csv", "--row", 1)[1]


def test_a_row_that_is_not_there(capsys, fitted):
    code, _, err = run(capsys, "explain", fitted / "value", fitted / "t.csv", "--row", 241)
    assert code == 1
    assert "has 240 rows, and none is number 241" in err


def test_show(capsys, fitted):
    model = predictree.load(fitted / "value")
    code, out, err = run(capsys, "show", fitted / "value")
    assert (code, err) == (0, "")
    assert out.startswith(model.export_text())
    assert " ".join(out.split()).endswith(str(model.verdict_))
    found = json.loads(run(capsys, "show", fitted / "value", "--json")[1])
    assert [node["id"] for node in found["trees"][0]["nodes"]] == [n.id for n in model.tree_]


# report


def test_a_report_without_data(capsys, fitted, here):
    code, out, err = run(capsys, "report", fitted / "value", "-o", "r.html")
    assert (code, out) == (0, "")
    assert err.startswith("wrote r.html, ")
    assert err.endswith(" kB: open it in a browser\n")
    assert "held-out rows of the fit" in Path("r.html").read_text(encoding="utf-8")


def test_fit_reports_as_well(capsys, here, monkeypatch):
    make_table().write_csv("t.csv")
    fit = ["fit", "t.csv", "--target", "effect", "--learners", "lr", "-o", "m.tops"]
    code, _, err = run(capsys, *fit, "--report", "r.html")
    assert code == 0
    assert err.endswith("wrote r.html: open it in a browser\n")
    assert Path("r.html").stat().st_size > 10_000
    Path("m.tops").unlink()
    assert "there is no folder no" in run(capsys, *fit, "--report", "no/r.html")[2]
    monkeypatch.setitem(sys.modules, "jinja2", None)
    code, _, err = run(capsys, *fit, "--report", "r.html")
    assert code == 1
    assert "--report needs jinja2: pip install 'predictree[report]'" in err
    assert not Path("m.tops").exists()


@pytest.mark.parametrize(("model", "target"), [("value", "effect"), ("class", "better")])
def test_a_report_on_data_with_rows(capsys, fitted, here, model, target):
    argv = ["--data", fitted / "t.csv", "--target", target, "--rows", 2, "-o", "r.html"]
    assert run(capsys, "report", fitted / model, *argv)[0] == 0
    page = Path("r.html").read_text(encoding="utf-8")
    assert "the 240 rows given to this report" in page
    assert "<strong>row 2</strong>" in page
    assert "<strong>row 3</strong>" not in page


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["--target", "effect"], "--target and --rows are about --data"),
        (["--data", "t.csv"], "--data needs --target COL"),
        (["--data", "t.csv", "--target", "efect"], "did you mean 'effect'"),
        (["--data", "no.csv", "--rows", "1"], "no.csv: there is no such file"),
        (["-o", "no/r.html"], "there is no folder no"),
    ],
    ids=lambda argv: argv[0] if isinstance(argv, list) else "",
)
def test_what_cannot_be_reported_is_told(capsys, fitted, monkeypatch, argv, message):
    monkeypatch.chdir(fitted)
    code, out, err = run(capsys, "report", "value", "-o", "r.html", *argv)
    assert (code, out) == (1, "")
    assert message in err


# doctor


def test_the_doctor(capsys):
    code, out, _ = run(capsys, "doctor", "--json")
    found = json.loads(out)
    assert code == 0
    assert found["predictree"] == predictree.__version__
    assert found["packages"]["numpy"] == np.__version__
    assert found["cores"]["usable"] >= 1
    assert f"numpy {np.__version__} " in " ".join(run(capsys, "doctor")[1].split())


def test_the_doctor_says_how_to_get_an_extra(capsys, monkeypatch):
    monkeypatch.setattr("predictree.cli.doctor._version", lambda name: None)
    assert "pip install 'predictree[boosted]'" in run(capsys, "doctor")[1]


def test_the_doctor_knows_all_dependencies():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = {
        extra: {requirement.split(">")[0] for requirement in requirements}
        for extra, requirements in project["optional-dependencies"].items()
    }
    assert {extra: set(names) for extra, names in EXTRAS.items()} == extras
    assert set(CORE) == {requirement.split(">")[0] for requirement in project["dependencies"]}


# Streams


class Terminal:
    def isatty(self):
        return True


def test_colours_are_for_terminals(monkeypatch):
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    assert console._painted("error:", console.RED, Terminal()) == "\033[31merror:\033[0m"
    assert console._painted("error:", console.RED, sys.__stdin__) == "error:"
    monkeypatch.setenv("NO_COLOR", "1")
    assert console._painted("error:", console.RED, Terminal()) == "error:"


def test_a_reader_that_stops_is_no_error(fitted):
    make_table(100_000).write_csv(fitted / "long.csv")
    done = shell("(predictree predict value long.csv; echo $? >&2) | head -1", fitted)
    assert (done.stdout, done.stderr) == ("prediction\n", "0\n")


def test_streams_and_codes_of_a_real_process(fitted):
    done = shell("predictree show value", fitted, PYTHONIOENCODING="ascii", NO_COLOR="1")
    assert (done.returncode, done.stderr) == (0, "")
    assert "├─" in done.stdout
    done = shell("predictree show nothing", fitted)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "error: nothing: there is no such file\n"
    assert shell("predictree show", fitted).returncode == 2


def test_an_interrupt_is_quiet(capsys, monkeypatch):
    def stop():
        raise KeyboardInterrupt

    monkeypatch.setattr("predictree.cli.doctor.examine", stop)
    assert run(capsys, "doctor") == (130, "", "error: interrupted\n")


def test_json_keeps_to_json(capsys):
    console.print_json({"a": [float("nan"), 1.5], 2: "ä"})
    assert json.loads(capsys.readouterr().out) == {"a": [None, 1.5], "2": "ä"}


def test_sizes():
    assert [console.size(n) for n in (12, 1234, 5_600_000, 2e9)] == [
        "12 bytes",
        "1.23 kB",
        "5.6 MB",
        "2 GB",
    ]


def test_a_time_limit_saves_what_is_there(here, capsys):
    make_table().write_csv("t.csv")
    fit = ["fit", "t.csv", "--target", "effect", "--learners", "lr", "-o", "m.tops", "--verbose"]
    status, _, err = run(capsys, *fit, "--time-limit", "0s")
    assert status == 0
    assert "stopped by --time-limit" in err
    assert predictree.load("m.tops").get_n_leaves() == 1
    status, _, err = run(capsys, *fit, "--time-limit", "2h")
    assert status == 0
    assert "node root (240 rows): " in err
    assert "stopped" not in err
    with pytest.raises(SystemExit, match="2"):
        main([*fit, "--time-limit", "soon"])
    assert "'soon' is no time, such as 90s, 10m or 2h" in capsys.readouterr().err


def test_a_checkpoint_that_is_taken_up_is_told(capsys, here):
    make_table().write_csv("t.csv")
    call = [
        "fit",
        "t.csv",
        "--target",
        "effect",
        "-o",
        "m",
        "--learners",
        "lr",
        "--checkpoint",
        "c",
    ]
    assert "going on" not in run(capsys, *call)[2]
    code, _, err = run(capsys, *call)
    assert code == 0
    assert "going on with the checkpoint c: nothing in it is fitted again" in err
