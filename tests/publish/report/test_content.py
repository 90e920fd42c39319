"""Reports: what they say, that they hold no row, and that their page is closed to the outside."""

import datetime as dt
import json
import re
import sys
import warnings
from base64 import b64encode
from copy import copy
from dataclasses import replace
from hashlib import sha256
from html.parser import HTMLParser
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression

from conftest import FILES, Raises, remade
from predictree import ToPsClassifier, ToPsRegressor
from predictree.errors import (
    InvalidInputError,
    LearnerFailedWarning,
    MissingExtraError,
    ModelVersionWarning,
)
from predictree.estimators.files import dumps, loads
from predictree.model.account import Comparison, Verdict
from predictree.model.schema import Column
from predictree.model.words import words_of
from predictree.publish.report import describe, render
from predictree.publish.report.content import verdict_kind
from predictree.publish.report.drawing import HEIGHT, LETTERS, draw, shortened
from predictree.publish.report.page import fixed, heat, mark, number, percent, rate, scale_of

DAY = dt.date(2020, 2, 29)
NASTY = '<script>alert("1")</script>'


def table(n=400, seed=0):
    rng = np.random.default_rng(seed)
    sex, dose = rng.choice(["f", "m"], n), rng.uniform(0, 10, n)
    effect = np.where(sex == "m", 2 * dose, -dose) + rng.normal(size=n)
    return pd.DataFrame({"sex": sex, "dose": dose}), effect


X, effect = table()
X_new, effect_new = table(150, 1)


@pytest.fixture(scope="module")
def value():
    return ToPsRegressor("lr", random_state=0).fit(X, effect)


@pytest.fixture(scope="module")
def three():
    """Three classes, without a split."""
    label = np.array(["down", NASTY, "up"])[np.digitize(effect, [-2, 2])]
    return ToPsClassifier("lr", max_depth=0, random_state=0).fit(X, label)


class Page(HTMLParser):
    """The tags and texts of a page."""

    def __init__(self, content):
        super().__init__()
        self.tags, self.texts = [], []
        self.feed(content)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data):
        self.texts.append(data)

    def of(self, tag):
        return [attrs for name, attrs in self.tags if name == tag]


# What it says

KEYS = {
    "schema", "date", "model", "verdict", "nodes", "scorecard", "importances", "learner_map",
    "portraits", "rows", "failures", "budget", "provenance", "title",
}  # fmt: skip


def test_the_dict_is_plain_and_complete(value):
    found = describe(value, X_new, effect_new, rows=X_new[:2], date=DAY)
    assert set(found) == KEYS
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    assert found["date"] == "2020-02-29"
    assert found["model"]["n_leaves"] == len(found["scorecard"]["regions"]) == 2
    assert [node["id"] for node in found["nodes"]] == [0, 1, 2]
    assert found["nodes"][1]["rules"] == ['sex = "f"']
    assert found["nodes"][1]["score"] == found["scorecard"]["regions"][0]
    assert found["provenance"]["parameters"]["random_state"] == "0"


def test_without_data_the_model_tells_what_it_knows(value):
    found = describe(value)
    assert found["importances"] is None
    assert found["scorecard"]["held_out"]
    assert [r["n"] for r in found["scorecard"]["regions"]] == [s.n for s in value.segments_]
    assert found["rows"] == []


def test_rows_are_taken_along_their_paths(value):
    found = describe(value, rows=X_new[:9])["rows"]
    for i, row in enumerate(found):
        assert row["path"] == value.tree_.path(value.apply(X_new[i : i + 1])[0])
        assert row["answer"] == f"{value.predict(X_new[i : i + 1])[0]:.6g}"
        assert row["values"][0] == {"name": "sex", "value": X_new["sex"].iloc[i]}
    with pytest.raises(InvalidInputError, match="up to 200"):
        describe(value, rows=pd.concat([X] * 2))


def verdict(stack, best):
    opponents = (Comparison("a", 1.0, *best), Comparison("b", 1.0, *stack))
    return Verdict("mse", 0.5, *opponents)


@pytest.mark.parametrize(
    ("stack", "best", "lone", "kind"),
    [
        ((0.5, 0.1), (0.5, 0.1), False, "earned"),
        ((0.5, 0.1), (0.1, 0.1), False, "unclear"),
        ((-0.1, 0.1), (0.5, 0.1), False, "unclear"),
        ((-0.5, 0.1), (0.5, 0.1), False, "worse"),
        ((0.0, 0.0), (0.5, 0.1), True, "lone"),
        ((np.nan, np.nan), (np.nan, np.nan), False, "unclear"),
    ],
)
def test_kinds_of_verdicts(value, stack, best, lone, kind):
    judged = verdict(stack, best)
    assert verdict_kind(judged, lone) == kind
    assert "Content-Security-Policy" in render(describe(remade(value, verdict=judged)))


def test_intervals_of_the_verdict(value):
    stack = describe(value)["verdict"]["opponents"][0]
    known = value.verdict_.stack
    assert stack["high"] - stack["low"] == pytest.approx(2 * 1.96 * known.error)
    assert stack["share"] == pytest.approx(known.gain / known.loss)


def test_failures_and_limits_are_told():
    learners = [("good", Raises(below=0)), ("bad", Raises())]
    with pytest.warns(LearnerFailedWarning):
        model = ToPsClassifier(learners, validation=2, time_limit=0, random_state=0).fit(
            X[["dose"]], (effect > 0).astype(int)
        )
    found = describe(model)
    assert found["budget"]["stopped"] == "time_limit"
    assert {f["learner"] for f in found["failures"]} == {"bad"}
    texts = " ".join(Page(render(found)).texts)
    assert "Growth was stopped by time_limit" in texts
    assert "Fits that were lost" in texts


def test_classes_and_a_lone_root(three):
    found = describe(three)
    assert found["verdict"]["kind"] == "lone"
    assert found["model"]["classes"] == [NASTY, "down", "up"]
    texts = Page(render(found)).texts
    assert "No tree was asked for" in texts
    assert texts.count(NASTY) >= 1


def test_the_dashed_line_is_told_of_where_there_is_one(value, regimes):
    alone = ToPsRegressor("lr", max_depth=0, random_state=0).fit(*regimes)
    for model, drawn in ((value, True), (alone, False)):
        texts = " ".join(Page(render(describe(model))).texts)
        assert ("dashed line" in texts) is drawn


def test_an_undefined_loss_is_a_dash(three):
    nothing = {"loss": None, "root_loss": None, "gain": None, "error": None}
    segments = tuple(replace(s, **nothing) for s in three.segments_)
    assert "undefined" in render(describe(remade(three, segments=segments)))


def test_a_model_without_segments(value):
    model = remade(loads(dumps(value)), segments=())
    assert "a version that did not keep them" in render(describe(model))


def test_a_model_from_an_older_file():
    content = (FILES / "protocol 1").read_bytes()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelVersionWarning)
        model = loads(content)
    assert describe(model)["scorecard"]["regions"] == []
    assert "a version that did not keep them" in render(describe(model))


def test_a_saved_model_has_the_same_report(value):
    again = loads(dumps(value))
    assert describe(again, date=DAY) == describe(value, date=DAY)


def test_parameters_have_no_addresses(value):
    def my_loss(y_true, y_score):
        return float(np.mean((y_true - y_score) ** 2))

    model = ToPsRegressor("lr", loss=my_loss, max_depth=0, random_state=0).fit(X[["dose"]], effect)
    assert describe(model)["provenance"]["parameters"]["loss"] == "my_loss"


def test_a_parameter_changed_after_the_fit_is_in_no_report(value):
    before, model = describe(value, X_new, effect_new, date=DAY), copy(value)
    model.set_params(max_depth=7, weights="path", loss="mae", learners="paper")
    assert describe(model, X_new, effect_new, date=DAY) == before
    learner = LinearRegression()
    model = ToPsRegressor([("a", learner)], max_depth=0, random_state=0).fit(X[["dose"]], effect)
    before = describe(model, date=DAY)
    learner.set_params(positive=True)
    assert describe(model, date=DAY) == before


# The page


def test_the_page_is_one_small_file(value, tmp_path):
    path = value.report(X_new, effect_new, tmp_path / "r.html")
    assert path == tmp_path / "r.html"
    content = path.read_text(encoding="utf-8")
    assert len(content) < 150_000
    page = Page(content)
    assert page.of("html") == [{"lang": "en"}]
    for tag in ("img", "iframe", "object", "embed", "form", "base"):
        assert not page.of(tag)
    addresses = [a[k] for _, a in page.tags for k in ("href", "src", "xlink:href") if k in a]
    assert addresses
    assert all(address.startswith(("#", "data:,")) for address in addresses)
    assert "style" not in {key for _, attrs in page.tags for key in attrs}
    assert not re.search(r"url\(|@import|https?://", content)


def test_the_policy_admits_these_very_texts(value):
    content = render(describe(value))
    policy = Page(content).of("meta")[1]["content"]
    assert policy.startswith("default-src 'none';")
    assert "unsafe" not in policy
    for tag in ("style", "script"):
        (text,) = re.findall(f"<{tag}>(.*?)</{tag}>", content, re.DOTALL)
        digest = b64encode(sha256(text.encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in policy


def test_no_row_is_in_the_file(value, tmp_path):
    content = value.report(X_new, effect_new, tmp_path / "r.html").read_text(encoding="utf-8")
    for number_of_a_row in [*X["dose"][:50], *X_new["dose"], *effect_new]:
        assert f"{number_of_a_row:.6g}" not in content
    shown = value.report(path=tmp_path / "r.html", rows=X_new[:1]).read_text(encoding="utf-8")
    assert f"{X_new['dose'][0]:.6g}" in shown


def test_names_are_text_and_nothing_else():
    names = {"sex": NASTY, "dose": '" onmouseover="alert(1)'}
    frame = X.rename(columns=names).replace({NASTY: {"f": "{{ 7 * 7 }}", "m": "</title><b>"}})
    model = ToPsRegressor("lr", max_depth=1, random_state=0).fit(frame, effect)
    page = Page(render(describe(model, frame, effect, rows=frame[:9])))
    assert len(page.of("script")) == 1
    assert not page.of("b")
    assert not any(key.startswith("on") for _, attrs in page.tags for key in attrs)
    texts = "".join(page.texts)
    for name in (*names.values(), "{{ 7 * 7 }}", "</title><b>"):
        assert name in texts


def test_the_same_report_twice(value):
    first, again = (render(describe(value, X_new, effect_new, date=DAY)) for _ in range(2))
    assert first == again


def test_jinja_is_asked_for_before_the_work(value, monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(MissingExtraError, match=r"predictree\[report\]"):
        value.report(path=tmp_path / "r.html")
    assert not (tmp_path / "r.html").exists()


# Its parts


def nodes(*children):
    parents = {c: i for i, pair in enumerate(children) if pair for c in pair}
    depth = {0: 0}
    for child, parent in sorted(parents.items()):
        depth[child] = depth[parent] + 1
    return [
        {"id": i, "parent": parents.get(i), "depth": depth[i], "children": pair}
        for i, pair in enumerate(children)
    ]


def test_boxes_do_not_overlap():
    drawing = draw(nodes([1, 2], None, [3, 4], [5, 6], None, None, None))
    assert [box.id for box in drawing.boxes] == [0, 1, 2, 3, 5, 6, 4]
    for column in {box.x for box in drawing.boxes}:
        ys = sorted(box.y for box in drawing.boxes if box.x == column)
        assert all(b - a >= HEIGHT for a, b in pairwise(ys))
    assert max(box.y for box in drawing.boxes) + HEIGHT < drawing.height
    assert [box.edge is None for box in drawing.boxes] == [True] + 6 * [False]


def test_long_rules_keep_both_ends():
    text = shortened("a very long name of a column indeed < 12345.6")
    assert len(text) == LETTERS
    assert text.startswith("a very long")
    assert text.endswith("12345.6")
    assert shortened("short") == "short"


def test_numbers_in_words():
    assert [number(v) for v in (None, 0.2, -1234.5, 1500.0)] == ["–", "0.2", "−1,234", "1,500"]
    assert [percent(v) for v in (None, 0.125, -0.5)] == ["–", "12.5%", "−50.0%"]
    assert [fixed(v, 0.26) for v in (None, 0.2555, -0.00001, -0.004)] == [
        "–",
        "0.256",
        "0",
        "−0.004",
    ]
    assert fixed(0.0, 0.0) == "0"
    assert rate(None, None) == "–"
    assert rate([3.25], None) == "3.25"
    assert rate([0.25, 0.75], ["a", "b"]) == "75.0%"
    assert rate([0.5, 0.3, 0.2], ["a", "b", "c"]) == "50.0%"
    assert rate([0.5, 0.3, 0.2], ["a", "b", "c"], 2) == "20.0%"


def test_shades_and_marks():
    assert [heat(v, 2.0) for v in (None, -1.0, 0.0, 1.0, 2.0, 9.0)] == [0, 0, 0, 4, 9, 9]
    assert heat(1.0, 0.0) == 0
    bounds = [None, (0.1, 0.2), (-0.2, -0.1), (-0.1, 0.1)]
    assert [mark({"gain_interval": b}) for b in bounds] == ["unknown", "better", "worse", "even"]
    low, high = scale_of([(0.1, 0.4), (0.2, 1.0)])
    assert low < 0 < 1 < high
    assert scale_of([]) == (-1.0, 1.0)


def test_values_in_words():
    level = Column("job", "category", ("a", "b"))
    assert words_of(level, 1.0) == "b"
    assert words_of(level, -1.0) == "a level that fit did not see"
    assert words_of(Column("x"), np.nan) == "missing"
    assert words_of(Column("x"), 1.5) == "1.5"
    assert words_of(Column("day", "date"), 1.0) == "1970-01-02"
    assert words_of(Column("day", "date"), 1.5) == "1970-01-02T12:00:00"
