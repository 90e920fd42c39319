"""Frozen trees: equal to the tree that asks its predictors one by one, for any rows."""

import pickle
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.linear_model import Ridge
from sklearn.neighbors import KNeighborsRegressor

from handmade import ROWS, additive_model, additive_tree
from predictree import ToPsClassifier, ToPsRegressor
from predictree.errors import PredictionError
from predictree.model.frozen import trees
from predictree.model.frozen.trees import FrozenTree, freeze

rng = np.random.default_rng(0)
X = rng.uniform(-2, 2, (400, 3))
Y = np.where(X[:, 0] < 0, X[:, 1], -X[:, 1]) + 0.1 * rng.normal(size=400)

VALUES = st.one_of(
    st.sampled_from([np.nan, -1.0, 0.0, 0.5, 1.0, 10.0, 20.0, np.inf, -np.inf, 1e300]),
    st.floats(-50, 50),
)


@pytest.mark.parametrize(("k", "link"), [(1, "identity"), (1, "log"), (1, "logit"), (3, "softmax")])
@settings(max_examples=60, deadline=None)
@given(rows=arrays(np.float64, (5, 3), elements=VALUES))
def test_additive_trees_answer_alike(k, link, rows):
    tree = additive_tree(k, link, (-3.0, 3.0) if link == "identity" else (-np.inf, np.inf))
    if link == "log":
        tree = replace(tree, n_outputs=1)
    frozen = FrozenTree.of(tree, 3)
    np.testing.assert_allclose(frozen.scores(rows), tree.scores(rows), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("weights", ["shrunk", "path"])
@pytest.mark.parametrize("estimator", [ToPsRegressor, ToPsClassifier])
def test_fitted_trees_of_linear_models_answer_alike(estimator, weights):
    y = Y if estimator is ToPsRegressor else np.digitize(Y, [-0.5, 0.5])
    model = estimator("lr", max_depth=1, weights=weights, n_repeats=2, random_state=0).fit(X, y)
    assert model.model_.frozen_.python == ()
    asked = np.mean([tree.scores(X) for tree in model.trees_], axis=0)
    np.testing.assert_allclose(model.model_.scores(X), asked, rtol=1e-12, atol=1e-12)


def test_learners_that_are_not_known_stay_python_and_are_named():
    learners = [("near", KNeighborsRegressor()), ("ridge", Ridge())]
    model = ToPsRegressor(learners, max_depth=1, random_state=0).fit(X, Y)
    frozen = model.model_.frozen_
    assert "near" in frozen.python
    assert "Python: near" in repr(frozen)
    asked = model.tree_.scores(X)
    np.testing.assert_allclose(model.predict(X), asked[:, 0], rtol=1e-12, atol=1e-12)


def test_threads_answer_as_one_does(monkeypatch):
    monkeypatch.setattr(trees, "AT_ONCE", 3)
    frozen = FrozenTree.of(additive_tree(), 3)
    assert np.array_equal(frozen.scores(ROWS, 3), frozen.scores(ROWS))


def test_without_rows_there_are_no_scores():
    assert FrozenTree.of(additive_tree(), 3).scores(np.empty((0, 3))).shape == (0, 1)


def test_leaves_of_one_predictor_share_its_function():
    model = ToPsRegressor("lr", max_depth=1, random_state=0).fit(X, Y).model_
    (frozen,) = freeze(model.trees, 3).trees
    functions = {id(function) for leaf in frozen.leaves.values() for _, function in leaf}
    assert len(frozen.arrays.functions) == len(functions)


def test_without_a_compiler_the_tree_answers(monkeypatch):
    model = additive_model()
    expected = model.scores(ROWS)
    monkeypatch.setattr(trees.COMPILER, "get", None)
    assert not model.frozen_.answers
    np.testing.assert_allclose(model.scores(ROWS), expected, rtol=1e-12)


def test_a_learner_that_cannot_answer_still_says_so():
    model = ToPsRegressor("lr", max_depth=0, random_state=0).fit(X, Y).model_
    with pytest.raises(PredictionError, match="linear"):
        model.scores(np.full((1, 3), np.nan))


def test_what_is_frozen_is_in_no_pickle():
    model = additive_model()
    before = len(pickle.dumps(model))
    model.scores(ROWS)
    assert len(pickle.dumps(model)) == before
    assert np.array_equal(pickle.loads(pickle.dumps(model)).scores(ROWS), model.scores(ROWS))
