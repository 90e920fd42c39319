"""The rows of a node, who trains and judges and weighs, are parted and written once."""

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

from predictree.data.partition import Partition
from predictree.grow.problem import Problem, Seeds
from predictree.grow.rows import Rows
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
