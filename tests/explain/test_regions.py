"""Regions side by side: scores, importances and learners, leaf by leaf."""

import json
import sys
from dataclasses import replace

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression

from conftest import HELD_OUT
from predictree import ToPsClassifier, ToPsRegressor
from predictree.errors import InvalidInputError, MissingExtraError
from predictree.explain import importances, learner_map, scorecard
from predictree.explain.regions import root_scores
from predictree.explain.rows import Rows


def make(n, seed):
    """Two regions: a slope by x1 in one of them, by x2 in the other; x3 is noise."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.integers(0, 2, n).astype(float), rng.normal(size=(n, 3))])
    y = np.where(X[:, 0] == 1, 2 * X[:, 1], -2 * X[:, 2]) + 0.3 * rng.normal(size=n)
    return X, y


X, y = make(500, 0)
X_new, y_new = make(300, 1)
label, label_new = np.where(y > 0, "up", "down"), np.where(y_new > 0, "up", "down")


@pytest.fixture(scope="module")
def value():
    return ToPsRegressor("lr", max_depth=1, random_state=0).fit(X, y)


@pytest.fixture(scope="module")
def classes():
    return ToPsClassifier("lr", max_depth=1, random_state=0).fit(X, label)


def test_rules_in_one_line(value):
    assert [value.model_.rule(node) for node in range(3)] == ["all rows", "x0 < 0.5", "x0 ≥ 0.5"]


def test_losses_are_those_of_the_rows_of_a_leaf(value):
    card = scorecard(value, X_new, y_new, n_bootstrap=50)
    alone = LinearRegression().fit(X, y).predict(X_new)
    assert [region.leaf for region in card.regions] == [1, 2]
    for region in card.regions:
        here = X_new[:, 0] == (region.leaf == 2)
        residual = y_new[here] - value.predict(X_new[here])
        assert region.n == here.sum()
        assert region.base_rate[0] == pytest.approx(y_new[here].mean())
        assert region.predicted[0] == pytest.approx(value.predict(X_new[here]).mean())
        assert region.loss == pytest.approx(np.mean(residual**2))
        assert region.root_loss == pytest.approx(np.mean((y_new - alone)[here] ** 2), rel=0.05)
        assert region.gain == pytest.approx(region.root_loss - region.loss)


def test_intervals_hold_their_value_and_shrink_with_rows(value):
    wide = scorecard(value, X_new[:40], y_new[:40]).regions[0]
    narrow = scorecard(value, X_new, y_new).regions[0]
    for name in ("loss", "root", "gain"):
        few, many = (getattr(region, f"{name}_interval") for region in (wide, narrow))
        assert many[1] - many[0] < few[1] - few[0]
    assert narrow.gain_interval[0] > 0
    assert narrow.loss_interval[0] < narrow.loss < narrow.loss_interval[1]


def test_the_same_seed_gives_the_same_card(value):
    first, again = (scorecard(value, X_new, y_new, random_state=3) for _ in range(2))
    assert first == again != scorecard(value, X_new, y_new, random_state=4)


def test_without_data_the_held_out_rows_judge(value):
    card = scorecard(value)
    assert card.held_out
    for region, segment in zip(card.regions, value.segments_, strict=True):
        assert (region.n, region.loss, region.gain) == (segment.n, segment.loss, segment.gain)
        assert region.predicted == (segment.calibration[0][0],)
        low, high = region.gain_interval
        assert high - low == pytest.approx(2 * 1.96 * segment.error)


def test_undefined_losses_and_empty_leaves(classes):
    auc = ToPsClassifier("lr", loss="auc").fit(X, label).loss_
    one_class = (X_new[:, 0] == 1) & (label_new == "up")
    card = scorecard(replace(classes.model_, loss=auc), X_new[one_class], label_new[one_class])
    empty, some = card.regions
    assert (empty.n, empty.base_rate, empty.loss, empty.gain_interval) == (0, None, None, None)
    assert (some.n, some.base_rate, some.loss) == (one_class.sum(), (0.0, 1.0), None)
    assert "–" in str(card)


def test_classes_are_compared_by_name(classes):
    card = scorecard(classes, X_new, label_new, n_bootstrap=5)
    assert card.classes == ("down", "up")
    here = X_new[:, 0] == 0
    assert card.regions[0].base_rate[1] == pytest.approx((label_new[here] == "up").mean())
    with pytest.raises(InvalidInputError, match="'odd', which is no class of the model"):
        scorecard(classes, X_new[:2], ["up", "odd"])


def test_one_of_x_and_y_is_not_enough(value):
    with pytest.raises(InvalidInputError, match="give both, or neither"):
        scorecard(value, X_new)


def test_scores_of_the_model_are_its_predictions(classes):
    model = classes.model_
    codes = Rows.of(model, X_new, label_new).codes
    assert (model.scores(codes)[:, 1] - 0.5 == classes.decision_function(X_new)).all()


def test_the_root_of_a_tree_of_single_predictors():
    model = ToPsRegressor("lr", **HELD_OUT, max_depth=1, random_state=0).fit(X, y)
    trained = model.partition_ == 0
    alone = LinearRegression().fit(X[trained], y[trained])
    np.testing.assert_allclose(root_scores(model.model_, X_new)[:, 0], alone.predict(X_new))


def test_a_lone_root_is_its_own_root():
    learners = [("linear", LinearRegression()), ("logistic", LogisticRegression())]
    model = ToPsClassifier(learners, max_depth=0, validation=2, random_state=0).fit(X, label)
    np.testing.assert_allclose(root_scores(model.model_, X_new), model.model_.scores(X_new))
    assert learner_map(model).by_learner.sum() == pytest.approx(1)


def test_features_matter_where_they_act(value):
    found = importances(value, X_new, y_new)
    assert found.features == ("x0", "x1", "x2", "x3")
    left, right = found.mean
    assert left.argmax() == 2
    assert right.argmax() == 1
    assert left[0] == right[0] == 0  # it has done its work above
    assert abs(left[3]) < 0.1 * left[2]
    assert (found.spread >= 0).all()


def test_shuffled_rows_stay_in_their_region(value):
    rows = Rows.of(value.model_, X_new, y_new)
    changed = rows.shuffled(1, np.random.default_rng(0))
    assert (changed != rows.codes).any(axis=0).tolist() == [False, True, False, False]
    for leaf in (1, 2):
        here = rows.region == leaf
        assert sorted(changed[here, 1]) == sorted(rows.codes[here, 1])


def test_of_many_rows_some_are_drawn(value):
    some = Rows.of(value.model_, X_new, y_new).drawn(50, np.random.default_rng(0))
    assert (len(some.codes), len(some.y), len(some.region)) == (50, 50, 50)
    assert importances(value, X_new, y_new, max_rows=50, n_repeats=1).mean.shape == (2, 4)


@pytest.mark.parametrize("wrong", [{"n_repeats": 0}, {"max_rows": 0}], ids=str)
def test_nothing_comes_of_nothing(value, wrong):
    with pytest.raises(InvalidInputError, match="at least 1"):
        importances(value, X_new, y_new, **wrong)


def test_ignored_columns_are_left_out():
    model = ToPsRegressor("lr", feature_roles={3: "ignore"}, max_depth=0, random_state=0).fit(X, y)
    assert importances(model, X_new, y_new, n_repeats=1).features == ("x0", "x1", "x2")


def test_who_answers_where(value):
    found = learner_map(value)
    assert found.leaves == (1, 2)
    assert found.learners == ("linear",)
    np.testing.assert_allclose(found.by_learner.sum(axis=1), 1)
    np.testing.assert_allclose(found.by_level.sum(axis=1), 1)
    own = [sum(w.weight for w in value.tree_[i].weights if w.trained_on == i) for i in (1, 2)]
    np.testing.assert_allclose(found.by_level[:, 1], own)


def test_several_trees_and_filled_gaps():
    gaps = X.copy()
    gaps[::7, 2] = np.nan
    model = ToPsRegressor(
        "lr", imputation="mice", n_imputations=2, max_depth=1, validation=2, random_state=0
    ).fit(gaps, y)
    codes = model.model_.encode(gaps)
    assert (model.model_.scores(codes)[:, 0] == model.predict(gaps)).all()
    assert sum(region.n for region in scorecard(model, gaps, y, n_bootstrap=2).regions) == len(X)


def test_words_plain_data_and_frames(value):
    card, who = scorecard(value), learner_map(value)
    matter = importances(value, X_new, y_new, n_repeats=1)
    for found in (card, who, matter):
        assert json.loads(json.dumps(found.to_dict()))
        assert len(str(found).splitlines()) == 3
        assert list(found.to_frame().index) == [1, 2]
    assert "x0 ≥ 0.5" in str(card)
    assert matter.to_frame().loc[1, "x2"] == matter.mean[0, 2]
    assert who.to_frame().loc[2, "linear"] == pytest.approx(1)


def test_frames_need_pandas(value, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(MissingExtraError, match=r"predictree\[frames\]"):
        learner_map(value).to_frame()
