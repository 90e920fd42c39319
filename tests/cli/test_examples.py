"""The demo: what it prints of a tree, beside what it sets it, and the files that it leaves."""

import pytest

from predictree import load as load_model
from predictree.cli import examples, main
from predictree.data.datasets import Dataset, load_data


@pytest.fixture
def few(monkeypatch):
    """Every table has a few hundred rows."""

    def some(name):
        X, y, task = load_data(name)
        return Dataset(X[::15], y[::15], task)

    monkeypatch.setattr(examples, "load_data", some)


@pytest.fixture
def without_lightgbm(monkeypatch):
    monkeypatch.setattr(examples, "find_spec", lambda name: None if name == "lightgbm" else name)


def test_the_demo_shows_the_tree_what_is_special_and_what_it_is_worth(
    few, without_lightgbm, capsys, tmp_path
):
    assert main(["demo", "bikes", "--out", str(tmp_path / "try")]) == 0
    out, err = capsys.readouterr()
    assert "CC BY 4.0, Fanaee-T and Gama" in out
    assert '├─ working_day = "no"' in out
    assert '└─ working_day = "yes"' in out
    assert "hour adds" in out
    table = out.partition("that no model has seen")[2].splitlines()[1:]
    assert [line[:23].strip() for line in table if line] == [
        "",
        "tree of additive models",
        "one additive model",
        "linear model",
    ]
    errors = [float(line[23:].split()[0]) for line in table[1:] if line]
    assert errors == sorted(errors)
    assert "predictree view" in err
    assert load_model(tmp_path / "try" / "bikes.tops").get_n_leaves() > 1
    assert (tmp_path / "try" / "bikes-report.html").stat().st_size > 10_000


def test_its_commands_work(few, without_lightgbm, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["demo", "wines"]) == 0
    err = capsys.readouterr().err
    command = next(line for line in err.splitlines() if "predictree explain" in line)
    assert main(command.partition("predictree ")[2].split()) == 0
    assert "good" in capsys.readouterr().out


def test_without_files_nothing_is_written(few, without_lightgbm, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["demo", "bikes", "--no-files"]) == 0
    assert list(tmp_path.iterdir()) == []


def test_what_files_need_is_told(few, monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(
        examples, "find_spec", lambda name: None if name in ("lightgbm", "jinja2") else name
    )
    assert main(["demo", "bikes", "--out", str(tmp_path)]) == 0
    assert "pip install 'predictree[app,report,frames]'" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_a_boosting_sees_words_as_categories():
    X, y, _ = load_data("bikes")

    class Kept:
        def fit(self, X, y):
            self.kinds = dict(X.dtypes.astype(str))

        def predict(self, X):
            return X["weather"].cat.codes

    model = examples.Words(Kept()).fit(X, y)
    assert model.model.kinds["weather"] == "category"
    assert model.model.kinds["hour"] == "int64"
    assert model.predict(X[:1]).tolist() == [0]
