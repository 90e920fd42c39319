"""What holds for every tree of predictors, on random data with several learners and losses."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from conftest import HELD_OUT
from predictree import ToPsClassifier, ToPsRegressor
from predictree.losses import Judged

CLASSIFIERS = [
    ("linear", LinearRegression()),
    ("logistic", LogisticRegression()),
    ("tree", DecisionTreeClassifier(max_depth=2)),
]
REGRESSORS = [("linear", LinearRegression()), ("tree", DecisionTreeRegressor(max_depth=2))]


@st.composite
def fitted(draw):
    """A fitted model with its data; sometimes weighted, sometimes with missing values."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, k = draw(st.integers(60, 200)), draw(st.integers(1, 3))
    X = np.column_stack([rng.normal(size=(n, 2)), rng.integers(0, 3, size=n)])
    signal = np.where(X[:, 2] > 0, X[:, 0], X[:, 1]) + 0.3 * rng.normal(size=n)
    weight = rng.uniform(0.2, 3, n) * rng.integers(0, 4, n) if draw(st.booleans()) else None
    settings_ = {
        "n_thresholds": 3,
        "max_depth": 3,
        "min_samples_leaf": 3,
        "min_samples_val": draw(st.integers(1, 4)),
        "random_state": draw(st.integers(0, 100)),
        **HELD_OUT,
    }
    if k == 1:
        loss = draw(st.sampled_from(["mse", "mae"]))
        return (
            ToPsRegressor(REGRESSORS, loss=loss, **settings_).fit(X, signal, weight),
            X,
            signal,
            weight,
        )
    loss = draw(st.sampled_from(["auc", "error", "log_loss", "brier"]))
    y = np.digitize(signal, [-0.4, 0.4][: k - 1])
    return ToPsClassifier(CLASSIFIERS, loss=loss, **settings_).fit(X, y, weight), X, y, weight


many = settings(max_examples=40, deadline=None)
pytestmark = pytest.mark.filterwarnings("ignore:loss 'auc' cannot be computed")


@many
@given(fitted())
def test_the_tree_is_sound(case):
    model = case[0]
    model.tree_.validate()
    for node in model.tree_:
        assert node.trained_on in model.tree_.path(node.id)
        if node.is_leaf:
            weights = [record.weight for record in node.weights]
            assert [record.node for record in node.weights] == model.tree_.path(node.id)
            assert min(weights) >= 0
            assert sum(weights) == pytest.approx(1)
        else:
            assert node.split_loss < node.loss


@many
@given(fitted())
def test_children_partition_their_parents(case):
    model, X, _, _ = case
    paths = model.decision_path(X).toarray().astype(bool)
    assert paths[:, 0].all()
    for node in model.tree_:
        rows = paths[:, node.id]
        for code, count in enumerate((node.n_train, node.n_v1, node.n_v2)):
            assert count == (rows & (model.partition_ == code)).sum()
        if not node.is_leaf:
            left, right = (paths[:, child] for child in node.children)
            assert ((left | right) == rows).all()
            assert not (left & right).any()
            assert (left[rows] == node.split.goes_left(X[rows, node.split.feature])).all()


@many
@given(fitted())
def test_losses_are_those_of_the_predictors_on_v1(case):
    model, X, y, weight = case
    codes = y if model.loss_.name in ("mse", "mae") else np.searchsorted(model.classes_, y)
    h = {(p.trained_on, p.learner): p for p in model.tree_.predictors}
    paths = model.decision_path(X).toarray().astype(bool)
    scores = {n.id: h[n.trained_on, n.learner].scores(X) for n in model.tree_}

    def loss(rows, s):
        return model.loss_.value(
            Judged(codes[rows], None if weight is None else weight[rows]), s[rows]
        )

    for node in model.tree_:
        rows = np.flatnonzero(paths[:, node.id] & (model.partition_ == 1))
        assert node.loss == pytest.approx(loss(rows, scores[node.id]), nan_ok=True)
        if not node.is_leaf:
            left, right = node.children
            joined = np.where(paths[:, [left]], scores[left], scores[right])
            assert node.split_loss == pytest.approx(loss(rows, joined))


@many
@given(fitted())
def test_predictions_recomputed_from_the_tree_equal_predict(case):
    model, X, _, _ = case
    h = {(p.trained_on, p.learner): p for p in model.tree_.predictors}
    H = np.zeros((len(X), model.tree_.n_outputs))
    for i, leaf in enumerate(model.apply(X)):
        for r in model.tree_[leaf].weights:
            H[i] += r.weight * h[r.trained_on, r.learner].scores(X[[i]])[0]
    if isinstance(model, ToPsRegressor):
        np.testing.assert_allclose(model.predict(X), H[:, 0])
    else:
        proba = np.clip(H, 0, None) / np.clip(H, 0, None).sum(axis=1, keepdims=True)
        np.testing.assert_allclose(model.predict_proba(X), proba, atol=1e-12)
        raw = H[:, 1] - 0.5 if H.shape[1] == 2 else H
        np.testing.assert_allclose(model.decision_function(X), raw, atol=1e-12)


@many
@given(fitted())
def test_only_predictors_in_use_are_kept_and_each_once(case):
    tree = case[0].tree_
    kept = [(p.trained_on, p.learner) for p in tree.predictors]
    assert len(kept) == len(set(kept))
    assert set(kept) == {(node.trained_on, node.learner) for node in tree}
