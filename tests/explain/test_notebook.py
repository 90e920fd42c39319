"""What a notebook shows of a model, and the board of its rivals."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn import config_context

from handmade import additive_model
from predictree import ToPsRegressor
from predictree.explain.notebook import MOST_LINES, leaderboard, page_of
from predictree.model.schema import Column

MODEL = additive_model()


def test_the_board_has_the_best_first_and_by_how_much_the_tree_is_better():
    board = leaderboard(MODEL)
    assert board["model"].tolist() == ["this tree", "one more", "another"]
    assert board["mse"].tolist() == [1.0, 2.0, 2.0]
    rival = board.iloc[1]
    assert rival["above"] == 0.5
    assert (rival["low"], rival["high"]) == pytest.approx((0.5 - 0.098, 0.5 + 0.098))


def test_a_page_has_verdict_tree_and_the_strongest_effects():
    page = page_of(MODEL, "<b>parameters</b>")
    assert "The tree earned its place" in page
    assert "├─ dose &lt; 0.5: 50%" in page
    assert page.count("<svg") == 2  # of three features one adds nothing
    assert 'aria-label="heat, from ' in page
    assert "<summary>Parameters</summary><b>parameters</b>" in page


def test_names_are_seen_and_not_obeyed():
    columns = (Column("<script>\x1b[1m"), *MODEL.schema.columns[1:])
    named = replace(MODEL, schema=replace(MODEL.schema, columns=columns))
    page = page_of(named, "")
    assert "<script>" not in page
    assert "\x1b" not in page
    assert "&lt;script&gt;" in page


@pytest.fixture(scope="module")
def fitted():
    X = pd.DataFrame(np.random.default_rng(0).random((300, 2)), columns=["a", "b"])
    y = np.where(X["a"] < 0.5, X["b"], -X["b"])
    return ToPsRegressor("lr", random_state=0, max_depth=1).fit(X, y)


def test_a_fitted_estimator_shows_itself_in_a_notebook(fitted):
    shown = fitted._repr_mimebundle_()
    assert "The tree earned its place" in shown["text/html"]
    assert "random_state" in shown["text/html"]
    assert shown["text/plain"] == repr(fitted)
    assert "The tree earned its place" in fitted._repr_html_()
    assert fitted.leaderboard()["model"].tolist()[0] == "this tree"


def test_one_that_is_not_fitted_or_wants_text_is_as_in_scikit_learn(fitted):
    assert "earned" not in ToPsRegressor()._repr_mimebundle_()["text/html"]
    assert "earned" not in ToPsRegressor()._repr_html_()
    with config_context(display="text"):
        assert set(fitted._repr_mimebundle_()) == {"text/plain"}
        assert not hasattr(fitted, "_repr_html_")


def test_of_a_large_tree_the_first_lines_are_shown(monkeypatch):
    monkeypatch.setattr("predictree.explain.notebook.MOST_LINES", 2)
    page = page_of(MODEL, "")
    assert "… and 1 more nodes" in page
    assert "dose ≥ 0.5" not in page
    assert MOST_LINES > 2
