"""Exhaustive trees equal the naive oracle, node by node, and so do their predictions."""

from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from predictree import ToPsClassifier, ToPsRegressor
from predictree.grow import finish
from reference.losses import LOSSES
from reference.naive import NaiveToPs

CLASSIFICATION = {
    "linear": LinearRegression(),
    "logistic": LogisticRegression(),
    "stump": DecisionTreeClassifier(max_depth=1, random_state=0),
    "neighbour": make_pipeline(KNeighborsRegressor(n_neighbors=1)),  # alone it would be scaled
}
REGRESSION = {
    "linear": LinearRegression(),
    "ridge": Ridge(),
    "stump": DecisionTreeRegressor(max_depth=1, random_state=0),
}


@st.composite
def problems(draw, n_classes):
    """Small data with regimes, ties and a binary column; n_classes=1 is a regression."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n = draw(st.integers(40, 90))
    columns = draw(st.lists(st.sampled_from(["real", "tied", "binary"]), min_size=1, max_size=3))
    make = {
        "real": lambda: rng.normal(size=n),
        "tied": lambda: rng.integers(0, 5, size=n).astype(float),
        "binary": lambda: rng.integers(0, 2, size=n).astype(float),
    }
    X = np.column_stack([make[kind]() for kind in columns])
    signal = np.where(X[:, 0] > 0.3, 1, -1) * X[:, -1] + 0.5 * rng.normal(size=n)
    y = signal if n_classes == 1 else np.digitize(signal, np.linspace(-1, 1, n_classes + 1)[1:-1])
    part = rng.choice(3, size=n, p=[0.5, 0.3, 0.2])
    part[:12] = np.repeat([0, 1, 2], 4)
    y[:12] = np.tile(y[:4], 3) if n_classes == 1 else np.tile(np.arange(4) % n_classes, 3)
    names = list(CLASSIFICATION if n_classes > 1 else REGRESSION)
    chosen = draw(st.lists(st.sampled_from(names), min_size=1, max_size=3, unique=True))
    limits = {
        "n_thresholds": draw(st.integers(1, 4)),
        "min_samples_leaf": draw(st.integers(1, 8)),
        "min_samples_val": draw(st.integers(1, 5)),
        "max_depth": draw(st.integers(0, 3)),
    }
    return X, y, part, chosen, limits, draw(st.sampled_from([0, finish.ROWS_A_WEIGHT, 5]))


def fit_both(problem, loss, n_classes):
    X, y, part, chosen, limits, rows_a_weight = problem
    portfolio = CLASSIFICATION if n_classes > 1 else REGRESSION
    estimator = ToPsClassifier if n_classes > 1 else ToPsRegressor
    if loss == "error" and n_classes == 2:  # the oracle takes the first class at ½, always
        chosen = [*chosen, "logistic"] if "logistic" not in chosen else chosen
    learners = [(name, portfolio[name]) for name in chosen]
    model = estimator(
        learners, loss=loss, search="exhaustive", weights="path", min_gain_se=0.0, **limits
    )
    with patch.object(finish, "ROWS_A_WEIGHT", rows_a_weight):
        model.fit(X, y, partition=part)
    oracle = NaiveToPs(
        [portfolio[name] for name in chosen],
        loss,
        limits["n_thresholds"],
        (limits["min_samples_leaf"], limits["min_samples_val"]),
        limits["max_depth"],
        rows_a_weight,
    ).fit(X, y, part)
    return model, oracle, chosen


def assert_same_tree(model, oracle, chosen):
    assert len(model.tree_) == len(oracle.nodes)
    for node, expected in zip(model.tree_, oracle.nodes):
        assert node.parent == expected["parent"]
        assert node.learner == chosen[expected["h"][0]]
        assert node.trained_on == expected["h"][1]
        np.testing.assert_allclose(node.loss, expected["loss"], atol=1e-12)
        assert node.is_leaf == ("children" not in expected)
        if not node.is_leaf:
            assert (node.split.feature, node.split.threshold) == expected["split"]
            assert list(node.children) == expected["children"]
            np.testing.assert_allclose(node.split_loss, expected["split_loss"], atol=1e-12)


@pytest.mark.filterwarnings("ignore:loss 'auc' cannot be computed")
@pytest.mark.parametrize(
    ("loss", "n_classes"),
    [(loss, k) for loss in ("auc", "error", "brier", "log_loss") for k in (2, 3)]
    + [("mse", 1), ("mae", 1)],
)
@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_equals_the_oracle(loss, n_classes, data):
    problem = data.draw(problems(n_classes))
    X = problem[0]
    model, oracle, chosen = fit_both(problem, loss, n_classes)
    assert_same_tree(model, oracle, chosen)
    H, expected = model.tree_.scores(X), np.array([oracle.H(x) for x in X])
    if loss not in ("mae", "log_loss"):
        np.testing.assert_allclose(H, expected, atol=1e-5)
        return
    y, leaves, V2 = problem[1], model.apply(X), problem[2] == 2
    for leaf in np.unique(leaves):  # their weights need not be unique, but their loss is
        rows = V2 & (leaves == leaf)
        if oracle.can_weigh(y[rows], problem[5] * len(model.tree_[leaf].weights)):
            found, least = (LOSSES[loss](y[rows], s[rows]) for s in (H, expected))
            assert found == pytest.approx(least, rel=1e-4, abs=1e-5)


def test_the_problems_grow_trees():
    """The comparison above is about trees, not about lone roots."""
    sizes = []

    @settings(max_examples=30, deadline=None, database=None, derandomize=True)
    @given(problem=problems(2))
    def collect(problem):
        sizes.append(len(fit_both(problem, "log_loss", 2)[0].tree_))

    collect()
    assert np.mean(np.array(sizes) > 1) > 0.3
    assert max(sizes) >= 5
