"""The command ``predictree reproduce``."""

import json
import os
import subprocess
import sys
import tomllib
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

import predictree
from paper.making import patients, register, write_news, write_survival
from predictree import cli
from predictree_paper import command
from predictree_paper.experiments import EXPERIMENTS

FORMS = (".json", ".jsonl", ".md", ".svg", ".tex")
ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
POINTS = PROJECT["entry-points"][cli.PLUGINS]


@pytest.fixture(autouse=True)
def own_entry_points(monkeypatch):
    """The entry points of pyproject.toml, whatever is installed."""
    points = [EntryPoint(name, value, cli.PLUGINS) for name, value in POINTS.items()]
    monkeypatch.setattr(cli, "entry_points", lambda group: points)


def call(capsys, *argv):
    """Return exit code, stdout and stderr."""
    capsys.readouterr()
    try:
        code = cli.main(["reproduce", *map(str, argv)])
    except SystemExit as end:
        code = end.code
    return code, *capsys.readouterr()


def test_every_experiment_has_a_name_on_the_command_line():
    assert tuple(EXPERIMENTS) == command.NAMES


def test_the_command_is_found_as_an_entry_point_and_brings_nothing_along(tmp_path):
    info = tmp_path / f"predictree-{predictree.__version__}.dist-info"
    info.mkdir()
    lines = [f"[{cli.PLUGINS}]", *(f"{name} = {value}" for name, value in POINTS.items())]
    (info / "entry_points.txt").write_text("\n".join(lines))
    code = (
        "import sys; from predictree.cli import make_parser; "
        "print(make_parser().parse_args(['reproduce', 'toy']).name); "
        "print(*sorted(name for name in sys.modules if name.startswith('predictree_paper')))"
    )
    paths = os.pathsep.join([str(tmp_path), str(ROOT / "src")])
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": paths},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.splitlines() == ["toy", "predictree_paper predictree_paper.command"]


@pytest.mark.parametrize(
    ("library", "words"),
    [("xgboost", ["toy", "--algorithms", "xgboost"]), ("pandas", ["bank", "--algorithms", "lr"])],
)
def test_without_a_library_of_its_extra_the_command_names_it(
    capsys, tmp_path, monkeypatch, library, words
):
    monkeypatch.setitem(sys.modules, library, None)
    code, out, err = call(capsys, *words, "--out", tmp_path)
    assert (code, out) == (1, "")
    assert f"needs {library}: pip install 'predictree[paper]'" in err
    assert list(tmp_path.iterdir()) == []


def test_help_leads_with_examples(capsys):
    code, out, _ = call(capsys, "--help")
    assert code == 0
    assert out.index("  predictree reproduce toy") < out.index("options:")


def test_the_toy_example_is_the_papers(capsys, tmp_path):
    code, out, err = call(capsys, "toy", "--out", tmp_path)
    assert code == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == [f"toy{form}" for form in FORMS]
    rows = {row["algorithm"]: row for row in table_of(tmp_path / "toy.json")["rows"]}
    assert {name: row["loss"] * 40 for name, row in rows.items()} == {
        "tops-lr-in-sample": 10, "stump": 11, "lr": 13
    }  # fmt: skip
    assert rows["stump"]["difference"] == rows["tops-lr-in-sample"]["difference"] == 0
    assert "+0.0000" in out
    assert "[3/3] run 1, fold 1, lr: 0.3250" in err


def table_of(path):
    return json.loads(path.read_text(encoding="utf-8"))["tables"][0]


def test_news_end_to_end_resumed_and_as_table_only(capsys, tmp_path):
    write_news(tmp_path)
    out_dir = tmp_path / "out"
    words = ["news", "--data-dir", tmp_path, "--out", out_dir, "--runs", 2, "--folds", 3]
    code, first, err = call(capsys, *words, "--algorithms", "lr", "stump")
    assert code == 0
    assert err.count("\n[") == 12
    path = out_dir / "news.jsonl"
    header = json.loads(path.read_text().splitlines()[0])
    assert header["command"].startswith("predictree reproduce news --runs 2 --folds 3 --algorithms")
    path.write_text(path.read_text()[:-30])
    code, again, err = call(capsys, *words, "--algorithms", "lr", "stump")
    assert code == 0
    assert err.count("\n[") == 1
    assert losses(again) == losses(first)
    for form in FORMS:
        if form != ".jsonl":
            (out_dir / f"news{form}").unlink()
    code, only, err = call(capsys, "news", "--out", out_dir, "--table")
    assert (code, only) == (0, again)
    assert "[" not in err
    assert sorted(path.name for path in out_dir.iterdir()) == [f"news{form}" for form in FORMS]


def losses(out):
    """The first cells of every row: name, n, loss and its spread."""
    return [line.split()[:4] for line in out.splitlines() if line.startswith(("LR", "class"))]


def test_patients_with_gaps_at_all_horizons(capsys, tmp_path):
    write_survival(tmp_path, "heart.csv", patients())
    code, out, _ = call(
        capsys, "heart", "--data-dir", tmp_path, "--out", tmp_path / "out",
        "--runs", 2, "--imputations", 2, "--algorithms", "lr", "stump",
    )  # fmt: skip
    assert code == 0
    for horizon in ("3 months", "1 year", "3 years", "10 years"):
        assert f"Heart transplant waiting list, {horizon}\n" in out
    assert "0.3200" in out  # what the paper has for LR at three months


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["heart"], "give --data-dir DIR with DIR/survival/heart.csv: the UNOS data are not"),
        (["bank", "--data-dir", "nowhere"], "--data-dir nowhere: there is no such folder"),
        (["bank", "--data-dir", "."], "there is no paper/bank+marketing.zip (nor bank-additional"),
        (["heart-flchain", "--data-dir", "."], "there is no survival/R_flchain.csv.gz"),
        (["toy", "--algorithms", "tops-lrr"], "there is no algorithm 'tops-lrr': use tops-lr"),
        (["toy", "--folds", "3"], "toy has no folds"),
        (["toy", "--table", "--algorithms", "lr"], "leave out --algorithms"),
        (["toy", "--table"], "toy.jsonl has no results yet: give the command without --table"),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, list) else "",
)
def test_what_cannot_be_used_is_1(capsys, tmp_path, monkeypatch, argv, message):
    monkeypatch.chdir(tmp_path)
    code, out, err = call(capsys, *argv)
    assert (code, out) == (1, "")
    assert message in err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["moon"], "invalid choice: 'moon'"),
        (["toy", "--runs", "0"], "'0' is not a whole number of at least 1"),
        (["toy", "--folds", "1"], "'1' is not a whole number of at least 2"),
        (["toy", "--imputations", "x"], "'x' is not a whole number of at least 1"),
        (["toy", "--seed", "-2"], "'-2' is not a whole number of at least 0"),
        (["toy", "--jobs", "0"], "'0' is not a whole number of at least 1"),
    ],
    ids=["name", "runs", "folds", "imputations", "seed", "jobs"],
)
def test_wrong_usage_is_2(capsys, argv, message):
    code, out, err = call(capsys, *argv)
    assert (code, out) == (2, "")
    assert message in err


def test_if_every_fit_fails_so_does_the_command(capsys, tmp_path, monkeypatch):
    def fails(work):
        raise RuntimeError("no luck\n   today")

    register(monkeypatch, "frail", fails)
    code, _, err = call(capsys, "toy", "--out", tmp_path, "--algorithms", "frail")
    assert code == 1
    assert "error: no fit succeeded, the first for RuntimeError: no luck today\n" in err


def test_without_matplotlib_there_is_a_table_and_a_warning(capsys, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    code, out, err = call(capsys, "toy", "--out", tmp_path, "--algorithms", "lr")
    assert code == 0
    assert "LR " in out
    assert "warning: no figure" in err
    assert "predictree[paper]" in err
    assert not (tmp_path / "toy.svg").exists()
