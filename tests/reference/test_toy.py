"""The paper's Fig. 1, number by number."""

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression
from sklearn.tree import DecisionTreeClassifier

from predictree import ToPsClassifier
from predictree.data.datasets import load_toy

AGES = [20, 30, 40, 50]


@pytest.fixture
def tops():
    """The paper trains and judges on the same forty patients: here each part has all of them."""
    X, y = load_toy()
    model = ToPsClassifier.paper("lr", loss="error")
    return model.fit(np.tile(X, (3, 1)), np.tile(y, 3), partition=np.repeat([0, 1, 2], 40))


def test_the_counts():
    X, y = load_toy()
    assert X.shape == (40, 2)
    counts = {d: [int(y[([d, age] == X).all(axis=1)].sum()) for age in AGES] for d in (1, 0)}
    assert counts == {1: [1, 0, 4, 3], 0: [0, 2, 2, 3]}
    assert all(([d, age] == X).all(axis=1).sum() == 5 for d in (0, 1) for age in AGES)


def test_a_classification_tree_cuts_by_age_and_makes_11_errors():
    X, y = load_toy()
    tree = DecisionTreeClassifier(max_depth=1).fit(X, y)
    assert tree.tree_.feature[0] == 1
    assert tree.tree_.threshold[0] == 35
    assert (tree.predict(X) != y).sum() == 11


def test_linear_regression_makes_13_errors():
    X, y = load_toy()
    assert ((LinearRegression().fit(X, y).predict(X) >= 0.5) != y).sum() == 13


def test_tops_cuts_by_diabetes_and_makes_10_errors(tops):
    X, y = load_toy()
    root = tops.tree_[0]
    assert (root.split.feature, root.split.threshold) == (0, 0.5)
    assert len(tops.tree_) == 3
    assert (root.loss, root.split_loss) == (13 / 40, 10 / 40)
    assert (tops.predict(X) != y).sum() == 10


def test_tops_predicts_what_the_paper_describes(tops):
    assert tops.predict([[0, age] for age in AGES]).tolist() == [0, 0, 0, 1]
    assert tops.predict([[1, age] for age in AGES]).tolist() == [0, 0, 1, 1]
