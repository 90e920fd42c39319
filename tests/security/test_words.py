"""Names from files: seen on terminals, in pages and in spreadsheets, and obeyed by none."""

import ast
import json
import re
import sys
import traceback
import unicodedata
import warnings
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression

import predictree.cli
from predictree import ToPsClassifier, errors, load, save
from predictree.cli import main
from predictree.cli.console import complain, print_json, say, tell, warn
from predictree.errors import DamagedModelError, PredictreeError, UntrustedTypeError, shown
from predictree.explain import importances, learner_map, scorecard
from predictree.explain.bounds import loss_bound
from predictree.model.words import cell
from predictree.publish.report.content import describe
from predictree.publish.report.page import render
from predictree.publish.serve import Viewer
from predictree.publish.serve.server import _seen

CLEAR_SCREEN, CSI, RIGHT_TO_LEFT, LINE = "\x1b[2J", "\x9b2J", "\u202e", "\u2028"
STEERS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]")
HOSTILE = f"={CLEAR_SCREEN}{CSI}{RIGHT_TO_LEFT}{LINE}\u2066<b>\a\b\r\x7f"
N = 300


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    levels = np.array([f"one{HOSTILE}", f"two{HOSTILE}"])
    level = rng.choice(levels, N)
    number = rng.normal(size=N)
    frame = pl.DataFrame({f"level{HOSTILE}": level, f"number{HOSTILE}": number})
    up = (number > 0) ^ (level == levels[0])
    return frame, np.where(up, f"=up{HOSTILE}", f"@down{HOSTILE}")


@pytest.fixture(scope="module")
def stacked(table):
    learners = [(f"lr{HOSTILE}", LogisticRegression())]
    return ToPsClassifier(learners, max_depth=1, min_gain_se=0.0, random_state=0).fit(*table)


@pytest.fixture(scope="module")
def additive(table):
    how = {"max_depth": 1, "interactions": 0, "min_gain_se": 0.0, "random_state": 0}
    return ToPsClassifier("additive", **how).fit(*table)


def is_seen(text):
    """Whether all of a text is seen, and the hostile part of it was there at all."""
    assert "x1b[2J" in text
    assert STEERS.findall(text) == []
    return True


@given(st.text())
def test_what_steers_is_shown_and_all_else_stays(text):
    found = shown(text)
    assert not any(unicodedata.category(c) in errors.STEERING for c in found if c not in "‌‍")
    assert shown(found) == found
    if all(unicodedata.category(c) not in errors.STEERING for c in text):
        assert found == text


def test_words_of_all_scripts_stay_as_they_are():
    for word in ("naïve", "年齢\u3000区分", "می\u200cخواهم", "👩\u200d⚕️", "a\u00a0b", "Ω ≥ ½"):
        assert shown(word) == word
    assert shown("a\x1b\u202e\n") == r"a\x1b\u202e\n"
    assert shown("a\nb\tc", keep="\n") == "a\nb\\tc"


TEXTS = {
    "tree": lambda model, X, y: model.export_text(),
    "verdict": lambda model, X, y: str(model.verdict_) + HOSTILE_SEEN,
    "row": lambda model, X, y: str(model.explain(X[:1])),
    "html": lambda model, X, y: model.explain(X[:1])._repr_html_(),
    "regions": lambda model, X, y: str(scorecard(model, X, y)),
    "learners": lambda model, X, y: str(learner_map(model)) + HOSTILE_SEEN,
    "importances": lambda model, X, y: str(importances(model, X, y)),
    "bound": lambda model, X, y: str(loss_bound(model, X, y, loss="error")),
    "page": lambda model, X, y: render(describe(model, X, y, rows=X[:2])),
    "answers": lambda model, X, y: json.dumps(_seen(Viewer(model).form()), ensure_ascii=False),
}
HOSTILE_SEEN = shown(CLEAR_SCREEN)


@pytest.mark.parametrize("kind", ["stacked", "additive"])
@pytest.mark.parametrize("name", TEXTS)
def test_no_text_steers(name, kind, table, request):
    assert is_seen(TEXTS[name](request.getfixturevalue(kind), *table))


def test_formulas_are_seen(additive):
    assert is_seen(additive.export_text(formulas=True))


def test_figures_are_seen(stacked, additive, table):
    for figure in (additive.plot_terms().figure_, stacked.plot().figure):
        words = [text.get_text() for text in figure.findobj(lambda a: hasattr(a, "get_text"))]
        assert STEERS.findall("".join(words)) == []
        assert any("x1b" in word for word in words)


def test_lines_of_progress_are_seen(table, capsys):
    learners = [(f"lr{HOSTILE}", LogisticRegression())]
    ToPsClassifier(learners, max_depth=1, min_gain_se=0.0, random_state=0, verbose=1).fit(*table)
    assert is_seen(capsys.readouterr().err)


KINDS = [
    kind
    for kind in vars(errors).values()
    if isinstance(kind, type) and issubclass(kind, PredictreeError | UserWarning)
]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_errors_and_warnings_are_seen(kind):
    trouble = kind([f"os.{HOSTILE}"]) if kind is UntrustedTypeError else kind(f"a\n{HOSTILE}")
    assert is_seen(str(trouble))
    if issubclass(kind, Warning):
        assert is_seen(warnings.formatwarning(trouble, kind, "file", 1))
    else:
        assert is_seen("".join(traceback.format_exception(trouble)))


@pytest.mark.parametrize("speak", [say, tell, warn, complain])
def test_the_terminal_is_not_steered(speak, capsys):
    speak(f"a {HOSTILE}")
    out, err = capsys.readouterr()
    assert is_seen(out + err)


def test_json_is_seen_and_means_the_same(capsys):
    print_json({HOSTILE: [HOSTILE, "\U000e0041"]})
    out = capsys.readouterr().out
    assert "\\u001b" in out
    assert STEERS.findall(out) == []
    assert json.loads(out) == {HOSTILE: [HOSTILE, "\U000e0041"]}


def test_only_the_console_prints():
    """What a command says goes through it; the others print what they have made themselves."""
    own = {"console.py", "examples.py", "serve.py", "view.py"}
    for path in Path(predictree.cli.__file__).parent.glob("*.py"):
        calls = [n for n in ast.walk(ast.parse(path.read_text())) if isinstance(n, ast.Call)]
        prints = [call for call in calls if getattr(call.func, "id", "") == "print"]
        assert path.name in own or not prints, path


@pytest.fixture(scope="module")
def files(stacked, table, tmp_path_factory):
    folder = tmp_path_factory.mktemp("words")
    save(stacked, folder / "model.tops")
    table[0][:20].write_csv(folder / "rows.csv")
    return folder


def run(capsys, *words):
    assert main(list(map(str, words))) == 0
    return capsys.readouterr().out


def test_commands_are_seen(files, capsys):
    model, rows = files / "model.tops", files / "rows.csv"
    for words in (
        ["show", model],
        ["show", model, "--json"],
        ["explain", model, rows, "--row", 1],
        ["explain", model, rows, "--row", 1, "--json"],
        ["predict", model, rows],
    ):
        out = run(capsys, *words)
        assert STEERS.findall(out) == []
        assert re.search(r"x1b\[2J|u001b\[2J", out)


def test_no_spreadsheet_runs_an_answer_unless_one_asks_for_the_raw_text(files, capsys, stacked):
    model, rows = files / "model.tops", files / "rows.csv"
    for how, opens in (([], "'"), (["--raw-text"], "")):
        for name in ("answers.csv", "answers.csv.gz"):
            run(capsys, "predict", model, rows, "-o", files / name, *how)
            frame = pl.read_csv(files / name)
            found = set(frame["prediction"])
            assert {word[: len(opens) + 1] for word in found} <= {f"{opens}=", f"{opens}@"}
            assert (found == set(stacked.predict(pl.read_csv(rows)))) == (not opens)
    run(capsys, "predict", model, rows, "-o", files / "answers.parquet")
    raw = set(pl.read_parquet(files / "answers.parquet")["prediction"])
    assert raw == set(stacked.predict(pl.read_csv(rows)))


@pytest.mark.parametrize("start", list("=+-@\t\r\n＝＋－＠"))
def test_cells_that_look_like_formulas(start):
    assert cell(f"{start}cmd|' /C calc'!A0")[0] == "'"


@pytest.mark.parametrize("word", ["-1", "+1.5e-3", "a=b", "", " =1", "-.5", "été", "a\nb"])
def test_cells_that_are_none(word):
    assert cell(word) == word


def test_a_type_that_nobody_trusts_is_named_so_that_no_shell_runs_it(files, capsys, monkeypatch):
    def refuse(*given, **more):
        raise UntrustedTypeError([f"a; rm -rf {CLEAR_SCREEN}"])

    monkeypatch.setattr("predictree.load", refuse)
    assert main(["explain", str(files / "model.tops"), str(files / "rows.csv"), "--row=1"]) == 1
    err = capsys.readouterr().err
    assert is_seen(err)
    assert "--trust 'a; rm -rf" in err


def test_what_a_file_says_of_itself_is_seen(files):
    from security.test_model_files import HEADER, changed, members

    header = json.loads(members()[HEADER]) | {"protocol": 99, "predictree": HOSTILE}
    path = files / "newer.tops"
    path.write_bytes(changed(header=header))
    with pytest.raises(DamagedModelError) as caught:
        load(path)
    assert is_seen(str(caught.value))
    assert sys.stdout is not None
