"""Segments: one record a leaf, from held-out rows, and kept in files."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

from conftest import HELD_OUT, remade
from predictree import ToPsClassifier, ToPsRegressor
from predictree.errors import DamagedModelError
from predictree.estimators.account import segments
from predictree.estimators.files import dumps, loads
from predictree.losses import AUC, Judged
from predictree.losses.judging import Evidence, error_on, loss_on
from predictree.model import Comparison, Verdict
from predictree.model.schema import Schema, Span
from predictree.publish.files.soundness import check_model


@pytest.fixture(scope="module")
def split():
    """A classification with two leaves."""
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(0, 2, 400), rng.normal(size=400)]).astype(float)
    y = np.where(X[:, 0] == 1, 1, -1) * X[:, 1] > 0
    return ToPsClassifier("lr", max_depth=1, random_state=0).fit(X, y)


def leaves_of(model):
    return [node.id for node in model.tree_ if node.is_leaf]


def test_a_leaf_each_and_every_row_once(regimes):
    X, y = regimes
    model = ToPsRegressor("lr", random_state=0).fit(X, y)
    assert [s.leaf for s in model.segments_] == leaves_of(model) == [1, 2]
    assert [s.n for s in model.segments_] == np.bincount(X[:, 0].astype(int)).tolist()
    means = [y[X[:, 0] == side].mean() for side in (0, 1)]
    assert [s.base_rate[0] for s in model.segments_] == pytest.approx(means)


def test_segments_add_up_to_the_verdict(regimes):
    X, y = regimes
    model = ToPsRegressor("lr", random_state=0).fit(X, y)
    n = np.array([s.n for s in model.segments_])
    of_tree, of_stack = (
        np.average([getattr(s, name) for s in model.segments_], weights=n)
        for name in ("loss", "root_loss")
    )
    assert of_tree == pytest.approx(model.verdict_.loss)
    assert of_stack == pytest.approx(model.verdict_.stack.loss)
    for s in model.segments_:
        assert s.gain == s.root_loss - s.loss
        assert s.gain > 2 * s.error > 0
        assert s.calibration[0] == pytest.approx((s.base_rate[0], s.base_rate[0]), abs=0.1)


def test_held_out_parts_judge_on_v2_alone(regimes):
    X, y = regimes
    model = ToPsRegressor("lr", **HELD_OUT, random_state=0, max_depth=1).fit(X, y)
    assert sum(s.n for s in model.segments_) == (model.partition_ == 2).sum()
    assert [s.n for s in model.segments_] == [model.tree_[i].n_v2 for i in leaves_of(model)]


def test_shares_of_classes_and_what_was_predicted(regimes):
    X, y = regimes
    label = np.array(["down", "flat", "up"])[np.digitize(y, [-1, 1])]
    model = ToPsClassifier("lr", random_state=0).fit(X, label)
    for s in model.segments_:
        assert sum(s.base_rate) == pytest.approx(1)
        assert [observed for _, observed in s.calibration] == list(s.base_rate)
        assert sum(predicted for predicted, _ in s.calibration) == pytest.approx(1)


def test_rows_count_by_weight(regimes):
    X, y = regimes
    weight = np.where(y > 0, 3.0, 1.0)
    model = ToPsRegressor("lr", max_depth=0, random_state=0).fit(X, y, weight)
    assert model.segments_[0].base_rate[0] == pytest.approx(np.average(y, weights=weight))


def test_what_is_undefined_is_none():
    one_class, scores = Judged(np.ones(4, dtype=int), None), np.full((4, 2), 0.5)
    assert loss_on(AUC(), one_class, scores) is None
    assert loss_on(AUC(), Judged(np.ones(0, dtype=int), None), scores[:0]) is None
    assert error_on(AUC(), one_class, scores, scores + 0.1) is None
    assert error_on(AUC(), one_class, scores, scores) == 0.0


class Problem:
    """As much of a problem as segments need."""

    class partition:  # noqa: N801
        v2 = np.arange(3)

    def __init__(self, X, y, loss):
        self.X, self.y, self.loss = X, y, loss

    def judged(self, rows):
        return Judged(self.y[rows], None)


def test_a_leaf_without_rows_or_with_one_class(split):
    there, even = np.array([[1.0, 0]] * 3), np.full((3, 2), 0.5)
    problem = Problem(there, np.array([1, 1, 1]), AUC())
    none, some = segments(split.tree_, problem, Evidence(even, even, {}))
    assert (none.n, none.base_rate, none.loss, none.calibration) == (0, None, None, None)
    assert (some.n, some.base_rate, some.loss, some.gain) == (3, (0.0, 1.0), None, None)
    assert some.calibration == ((0.5, 0.0), (0.5, 1.0))


def test_a_loss_that_fails_in_a_region_loses_no_fit(regimes):
    def fussy(y_true, y_score):
        if len(y_true) < 400:
            raise ZeroDivisionError
        return float(np.mean((y_true - y_score) ** 2))

    X, y = regimes
    model = ToPsRegressor(
        [("a", LinearRegression())], loss=fussy, min_gain_se=0.0, max_depth=0, random_state=0
    ).fit(X, y)
    assert model.segments_[0].loss is not None
    assert loss_on(model.loss_, Judged(y[:9], None), y[:9, None]) is None


def test_files_keep_segments_and_spans(regimes):
    X, y = regimes
    model = ToPsClassifier("lr", random_state=0).fit(X, y > 0)
    again = loads(dumps(model))
    assert again.segments_ == model.segments_
    assert [c.span for c in again.schema_.columns] == [c.span for c in model.schema_.columns]
    assert model.schema_.columns[0].span == Span(0.0, np.median(X[:, 0]), 1.0, True)


def test_a_model_from_before_there_were_segments(regimes):
    X, y = regimes
    model = ToPsRegressor("lr", random_state=0).fit(X, y)
    again = loads(dumps(remade(model, segments=())))
    assert again.segments_ == ()
    assert (again.predict(X) == model.predict(X)).all()


@pytest.mark.parametrize(
    "change",
    [
        {"loss": np.nan},
        {"error": np.inf},
        {"gain": "much"},
        {"n": -1},
        {"n": 1.5},
        {"leaf": 7},
        {"base_rate": (0.5,)},
        {"base_rate": (np.nan, 1.0)},
        {"calibration": ((0.1, 0.2),)},
        {"calibration": ((0.1, np.inf), (0.2, 0.3))},
    ],
    ids=str,
)
def test_segments_that_make_no_sense_are_refused(split, change):
    check_model(split.model_)
    first, *rest = split.segments_
    for found in ((replace(first, **change), *rest), (first,), 3, (first, "b")):
        with pytest.raises(DamagedModelError, match="segment"):
            check_model(remade(split, segments=found).model_)


@pytest.mark.parametrize(
    "span",
    [Span(2.0, 1.0, 3.0, True), Span(0.0, np.nan, 1.0, True), Span(0, 1, 2, 3), "wide"],
    ids=str,
)
def test_spans_that_make_no_sense_are_refused(split, span):
    columns = tuple(replace(c, span=span) for c in split.schema_.columns)
    model = remade(split, schema=replace(split.schema_, columns=columns))
    with pytest.raises(DamagedModelError, match="span"):
        check_model(model.model_)


def test_spans_of_columns():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(
        {"id": [7.5, 8, 9], "job": ["b", "b", "a"], "age": [3.5, np.nan, 1], "no": [np.nan] * 3}
    )
    schema = Schema.of(frame, {"id": "ignore"})
    columns = schema.spanning(schema.encode(frame)).columns
    assert columns == schema.columns
    assert [c.span for c in columns] == [
        None,
        Span(0.0, 1.0, 1.0, True),
        Span(1.0, 1.0, 3.5, False),
        None,
    ]


@pytest.mark.parametrize(
    ("stack", "best", "tried", "kind"),
    [
        (Comparison("one", 4.0, 1.0, 0.1), Comparison("two", 6.0, 3.0, 0.2), True, "earned"),
        (Comparison("one", 3.0, 0.0, 0.0), Comparison("two", 6.0, 3.0, 0.2), True, "lone"),
        (Comparison("one", 3.0, 0.0, 0.0), Comparison("two", 6.0, 3.0, 0.2), False, "untried"),
        (Comparison("one", 3.1, 0.1, 0.1), Comparison("two", 6.0, 3.0, 0.2), True, "unclear"),
        (Comparison("one", 2.0, -1.0, 0.1), Comparison("two", 6.0, 3.0, 0.2), True, "worse"),
    ],
)
def test_a_verdict_is_one_sentence_and_what_to_do_next(stack, best, tried, kind):
    verdict = Verdict("mse", 3.0, best, stack, tried)
    assert verdict.kind == kind
    sentence, _, advice = str(verdict).partition(". Next: ")
    assert "mean squared error of 3 (RMSE 1.732)" in sentence
    assert "50.0% below that of two (95% interval 43.5% to 56.5%)" in sentence
    assert advice.endswith(".")


def test_a_difference_that_may_be_chance_is_called_so():
    verdict = Verdict(
        "auc", 0.1, Comparison("x", 0.09, -0.01, 0.02), Comparison("y", 0.2, 0.1, 0.0)
    )
    assert "1 − AUC of 0.1 is" in str(verdict)
    assert "11.1% above that of x (95% interval −32.4% to 54.7%), which may be chance" in str(
        verdict
    )


def test_trees_of_additive_models_are_compared_with_simpler_ones_by_name(regimes):
    X, y = regimes
    model = ToPsRegressor(max_depth=1, random_state=0).fit(X[:300], y[:300])
    assert model.verdict_.stack.name == "one additive model for all rows"
    assert model.verdict_.best.name == "a linear model"
