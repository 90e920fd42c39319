"""A mixture without a fold does not know that fold: not its labels, and not by its unit either."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

from predictree.data.partition import Partition
from predictree.grow.combine.mixture import mixed
from predictree.grow.problem import Problem, Seeds
from predictree.grow.rows import Rows
from predictree.learners import adapt
from predictree.losses import SquaredError

N, FOLDS = 60, 3
KEYS = [(1, 0), (1, 1), (1, 2)]


def rows_of(y):
    learner = adapt("linear", LinearRegression(), "regression", 1)
    parts = Partition.from_folds(np.arange(N) % FOLDS)
    return Rows.of(Problem(np.zeros((N, 1)), y, None, parts, (learner,), SquaredError(), Seeds(0)))


def root_and_node(y, scores, strength=50.0):
    rows = rows_of(y)
    root = mixed(rows, KEYS, scores, None, 1e-9).measured(rows, scores)
    below = replace(rows, train=rows.train[:40], v1=rows.v1[:40], v2=rows.v2[:40])
    return root, mixed(below, KEYS, scores[:40], root, strength)


@pytest.fixture
def made():
    rng = np.random.default_rng(0)
    y = rng.normal(size=N)
    return y, y[:, None, None] + rng.normal(size=(N, 1, 3)) * [0.5, 0.6, 0.7]


@pytest.mark.parametrize("f", range(FOLDS))
def test_labels_of_a_fold_have_no_say_in_what_judges_it(made, f):
    y, scores = made
    other = np.where(np.arange(N) % FOLDS == f, -3.0 * y + 1.0, y)
    for before, after in zip(root_and_node(y, scores), root_and_node(other, scores), strict=True):
        assert before.by_fold[f] == after.by_fold[f]
        assert before.unit_by_fold[f] == after.unit_by_fold[f]
        assert before.weights != after.weights
        held = np.arange(len(before.scores)) % FOLDS == f
        np.testing.assert_array_equal(before.scores[held], after.scores[held])


def test_weights_do_not_depend_on_the_unit_of_the_labels(made):
    y, scores = made
    _, node = root_and_node(y, scores)
    _, large = root_and_node(1000.0 * y, 1000.0 * scores)
    assert list(node.weights.values()) == pytest.approx(list(large.weights.values()), abs=1e-6)


def test_without_a_fold_the_node_is_held_by_that_folds_unit(made):
    root, _ = root_and_node(*made)
    rest = root.without(1, np.arange(N) % FOLDS != 1)
    assert rest.unit == root.unit_by_fold[1]
    assert rest.weights == root.by_fold[1]
