"""What is special in each region, in words, by two regions that are made by hand."""

from dataclasses import replace

import numpy as np
import pytest

from handmade import additive_model
from predictree import ToPsRegressor
from predictree.explain.additive import Shape
from predictree.explain.portraits import outline, portraits, remarks
from predictree.model import Segment


@pytest.fixture
def model():
    found = additive_model()
    seen = [Segment(1, 4, (7.25,), 1.0, 2.0, 1.0, 0.1, ((7.5, 7.25),))]
    seen.append(Segment(2, 0, None, None, None, None, None, None))
    return replace(found, account=replace(found.account, segments=tuple(seen)))


def test_regions_tell_their_share_and_what_was_observed(model):
    found = portraits(model)
    assert found.measure == "mean"
    told = {r.leaf: (r.rule, r.share, r.n, r.observed, r.predicted) for r in found.regions}
    assert told == {
        1: ("dose < 0.5", 0.5, 4, 7.25, 7.5),
        2: ("dose ≥ 0.5", 0.5, 4, None, None),
    }


def test_a_term_that_counts_for_more_is_told_by_how_much(model):
    more = next(region for region in portraits(model).regions if region.leaf == 2)
    remark = next(remark for remark in more.remarks if remark.term == "job")
    assert remark.ratio == pytest.approx(3)
    assert remark.words == "job matters 3.0 times as much"
    assert "job matters 3.0 times as much" in str(portraits(model))


def shape_of(here, there, error=0.0):
    """A term of four values, with as many rows each."""
    here, there = (np.array(values, dtype=float)[:, None] for values in (here, there))
    return Shape(
        columns=(0,),
        values=[(1.0,), (2.0,), (3.0,), (4.0,)],
        codes=np.arange(4.0)[:, None],
        effect=here,
        error=0 * here,
        change=here - there,
        change_error=np.full_like(here, error),
        share=np.full(4, 0.25),
    )


class Read:
    """Just enough of a tree: one term, which is this."""

    def __init__(self, shape):
        self.strength = np.array([1.0])
        self.root = type("Root", (), {"curves": [None]})
        self.shape = lambda node, term: shape
        self.reached = lambda node, term: np.arange(4)
        self.columns = [(0,)]
        self.functions = {1: type("Function", (), {"surfaces": ()})}
        self.name = lambda term: "age"


@pytest.mark.parametrize(
    ("here", "there", "words"),
    [
        ([2, 4, 6, 8], [1, 2, 3, 4], "age matters twice as much"),
        ([1, 2, 3, 4], [2, 4, 6, 8], "age matters half as much"),
        ([3, 6, 9, 12], [1, 2, 3, 4], "age matters 3.0 times as much"),
        ([0, 0, 0, 0], [1, 2, 3, 4], "age hardly matters"),
        ([4, 3, 2, 1], [1, 2, 3, 4], "age works the other way round"),
        ([1, 2, 3, 4], [0, 0, 0, 0], "age matters here and not elsewhere"),
        (
            [0, 2, 0, 0],
            [1, 2, 0, 0],
            "age adds 0.25 more at 2 and 0.75 less at 1 than for all rows",
        ),
        ([0, 0, 1, 2], [0, 1, 0, 2], "age adds 1 more at 3 and 1 less at 2 than for all rows"),
    ],
)
def test_every_difference_has_its_words(here, there, words):
    (remark,) = remarks(Read(shape_of(here, there)), 1, 0)
    assert remark.words == words


def test_what_may_be_chance_or_is_small_is_not_told():
    assert remarks(Read(shape_of([2, 4, 6, 8], [1, 2, 3, 4], error=3.0)), 1, 0) == ()
    assert remarks(Read(shape_of([1, 2, 3, 4.1], [1, 2, 3, 4])), 1, 0) == ()


def test_the_outline_has_a_line_for_every_node(model):
    assert outline(model).splitlines() == [
        "all rows: 8 rows",
        "├─ dose < 0.5: 50%, mean 7.25",
        "└─ dose ≥ 0.5: 50%, mean –",
    ]


def test_of_classes_shares_are_told():
    model = additive_model(1, "logit")
    told = Segment(1, 4, (0.75, 0.25), 1.0, 2.0, 1.0, 0.1, ((0.7, 0.75), (0.3, 0.25)))
    model = replace(model, account=replace(model.account, segments=(told,)))
    found = portraits(model)
    assert found.measure == "share of b"
    assert {r.leaf: r.observed for r in found.regions} == {1: 0.25, 2: None}
    assert "share of b 25.0%" in str(found)


def test_names_are_seen_and_not_obeyed():
    model = additive_model(1, "logit")
    columns = tuple(replace(c, name=f"{c.name}\x1b[31m") for c in model.schema.columns)
    classes = np.array(["a", "b\x1b[1m"])
    model = replace(model, schema=replace(model.schema, columns=columns), classes=classes)
    found = portraits(model)
    assert any(region.remarks for region in found.regions)
    assert "\x1b" not in str(found) + outline(model) + found.measure


def test_other_trees_have_regions_without_remarks():
    X = np.random.default_rng(0).random((200, 2))
    model = ToPsRegressor("lr", max_depth=1, random_state=0, min_gain_se=0)
    found = portraits(model.fit(X, np.where(X[:, 0] < 0.5, X[:, 1], -X[:, 1])))
    assert len(found.regions) == 2
    assert all(region.special == "" for region in found.regions)
    assert sum(region.share for region in found.regions) == pytest.approx(1)
