"""The rows of a node: parted and written once, and what its children need of them."""

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression
from sklearn.tree import DecisionTreeClassifier

from conftest import HELD_OUT
from growing import fits_of, grown, held_out
from predictree import ToPsClassifier
from predictree.data.partition import Partition
from predictree.grow.methods import Recipe, paper
from predictree.grow.problem import ROOT_PATH, Problem, Seeds
from predictree.grow.rows import Limits, Rows
from predictree.learners import adapt
from predictree.losses import SquaredError
from predictree.model.tree import Split
from predictree.run.tasks import Executor

N = 30_000


def rows_of(partition):
    learner = adapt("linear", LinearRegression(), "regression", 1)
    X = np.arange(N, dtype=float)[:, None]
    return Rows.of(Problem(X, X[:, 0], None, partition, (learner,), SquaredError(), Seeds(0)))


FOLDED = Partition.from_folds(np.arange(N) % 2)
HELD = Partition.from_codes((np.arange(N) % 3).astype(np.int8))


class CountingSplit(Split):
    calls = 0

    def goes_left(self, column):
        type(self).calls += 1
        return super().goes_left(column)


@pytest.mark.parametrize(("partition", "times"), [(FOLDED, 1), (HELD, 3), (HELD.pooled(), 2)])
def test_parts_that_are_one_are_divided_once(partition, times):
    CountingSplit.calls = 0
    left, right = rows_of(partition).divide(CountingSplit(0, 10.0))
    assert CountingSplit.calls == times
    assert left.all.max() < 10 <= right.all.min()
    for side in (left, right):
        assert len({id(part) for part in side.parts}) == times


@pytest.mark.parametrize(("partition", "times"), [(FOLDED, 1), (HELD.pooled(), 2)])
def test_parts_that_are_one_are_one_file(partition, times, monkeypatch, tmp_path):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with Executor(n_jobs=2) as executor:
        rows = rows_of(partition).shared(executor)
        assert len(list(tmp_path.glob("*/*"))) == times
        assert len({id(part) for part in rows.parts}) == times
        np.testing.assert_array_equal(rows.v1, partition.v1)
        executor.unshare(rows.parts)
        assert list(tmp_path.glob("*/*")) == []


def test_children_have_the_rows_they_need(regimes):
    fits = fits_of(*regimes, held_out(600), [LinearRegression()])
    growth = grown(paper(fits, Recipe(Limits(9, None, 20, 30, 0.0))), fits)
    assert len(growth.nodes) > 3
    for path, node in growth.nodes.items():
        if path != ROOT_PATH:
            assert len(node.leaf.rows.train) >= 20
            assert len(node.leaf.rows.v1) >= 30


def test_a_perfect_node_is_not_searched():
    """With a loss that has a least value; of a callable nobody knows."""
    X = np.random.default_rng(0).normal(size=(200, 3))
    y = X[:, 0] > 0
    stump = [("stump", DecisionTreeClassifier(max_depth=1, random_state=0))]

    def wrong(y_true, y_score):
        return np.mean(y_true != (y_score > 0.5))

    known, unknown = (
        ToPsClassifier(stump, loss=loss, search="exhaustive", random_state=0, **HELD_OUT).fit(X, y)
        for loss in ("error", wrong)
    )
    assert known.tree_[0].loss == unknown.tree_[0].loss == 0
    assert known.fits_.exhaustive == 0 < unknown.fits_.exhaustive
