"""The small drawings of a report: which terms, their scales, and what they say in words."""

import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from handmade import FRAME, additive_model
from predictree.explain.additive import AdditiveTree
from predictree.explain.curves import HEIGHT, MARGIN, WIDTH, curves
from predictree.explain.marginal import marginal
from predictree.explain.portraits import portraits
from predictree.model import Segment, Settings
from predictree.publish.report import describe, render

MODEL = additive_model()
READ = AdditiveTree.of(MODEL)
DRAWN = curves(READ, 0, portraits(MODEL).regions)


def points(path):
    return np.array([[float(n) for n in pair.split()] for pair in re.split("[ML]", path)[1:]])


def test_every_region_has_the_terms_that_vary_in_it():
    names = {leaf: [small["name"] for small in smalls] for leaf, smalls in DRAWN.items()}
    assert {leaf: sorted(found) for leaf, found in names.items()} == {
        1: ["heat", "job"],
        2: ["heat", "job"],
    }


def test_a_curve_has_the_height_of_its_values():
    small = next(s for s in DRAWN[1] if s["name"] == "heat")
    shape = marginal(READ, 1, 0)
    known = ~np.isnan(shape.codes[:, 0])
    found = points(small["mine"])
    assert found[[0, -1], 0].tolist() == [MARGIN, WIDTH - MARGIN]
    values = shape.effect[known, 0]
    share = (values - values.min()) / np.ptp(values)
    told = (found[:, 1].max() - found[:, 1]) / np.ptp(found[:, 1])
    np.testing.assert_allclose(np.sort(told), np.sort(share), atol=0.02)
    assert small["words"].startswith("heat, from ")


def test_drawings_of_one_term_have_one_scale():
    ends = {(small["top"], small["bottom"]) for leaf in DRAWN for small in DRAWN[leaf]
            if small["name"] == "heat"}  # fmt: skip
    assert len(ends) == 1


def test_nothing_is_drawn_outside():
    for small in (small for smalls in DRAWN.values() for small in smalls):
        drawn = [small["mine"], small["every"]]
        for each in [points(d) if isinstance(d, str) else np.array(d) for d in drawn]:
            assert ((each >= 0) & (each <= [WIDTH, HEIGHT])).all()


def test_levels_are_dots_with_words():
    small = next(s for s in DRAWN[2] if s["name"] == "job")
    assert small["kind"] == "dots"
    assert {word for _, word in small["ends"]} <= {"cook", "poet", "other or missing"[:9]}
    assert len(small["mine"]) == len(small["every"])


@pytest.fixture
def model():
    seen = tuple(
        Segment(leaf, 4, (value,), 1.0, 2.0, 1.0, 0.1, ((value, value),))
        for leaf, value in ((1, 2.0), (2, 4.0))
    )
    settings = Settings("ToPsRegressor", {"random_state": 0})
    return replace(MODEL, account=replace(MODEL.account, segments=seen), settings=settings)


def test_boxes_tell_the_share_and_the_mean_of_what_is_below(model):
    told = [(node["share"], node["level"]) for node in describe(model)["nodes"]]
    assert told == [(1.0, "mean 3"), (0.5, "mean 2"), (0.5, "mean 4")]


def test_the_page_has_regions_in_words_with_curves_and_formulas(model):
    page = render(describe(model, title="Predicting <pain> from pains.csv"))
    assert "<h1>Predicting &lt;pain&gt; from pains.csv</h1>" in page
    assert page.count('class="region"') == 2
    assert page.count('role="img" aria-label="heat, from ') == 2
    assert "job matters 3.0 times as much" in page
    assert "As a formula" in page
    assert "Who answers where" not in page


def test_the_name_of_the_target_is_the_title(model):
    assert describe(model)["title"] is None
    y = pd.Series([1.0, 2.0, 3.0], name="pain")
    assert describe(model, FRAME[:3], y)["title"] == "Predicting pain"
