"""A node while the tree grows: its name, what it is barred from, what its sides may take."""

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

from growing import fits_of, held_out
from predictree.grow.leaf import Candidate, Leaf, Lost, Trial, joined
from predictree.grow.rows import Rows
from predictree.model.tree import Split

X = np.arange(20.0)[:, None]
PATHS = [(1, "root", 0), (2, "L", 1), (0b1011, "LRR", 3)]


@pytest.fixture
def leaf():
    fits = fits_of(X, X[:, 0], held_out(20), [LinearRegression()] * 3)
    rows = Rows.of(fits.problem)
    pool = [Candidate(1, i, rows.train, np.full((len(rows.v1), 1), float(i))) for i in range(3)]
    return Leaf(1, rows, pool, pool[0], 1.0)


@pytest.mark.parametrize(
    ("path", "name", "depth"), [(1, "root", 0), (2, "L", 1), (0b1011, "LRR", 3)]
)
def test_a_path_is_a_name(leaf, path, name, depth):
    other = Leaf(path, leaf.rows, leaf.pool, leaf.answer, 1.0)
    assert (other.name, other.depth) == (name, depth)


def test_a_lost_predictor_is_barred_where_it_came_from(leaf):
    inherited, own = leaf.pool[1], Candidate(3, 2, leaf.rows.train, leaf.pool[0].scores)
    assert leaf.barring(Lost(own, by_form=True)).one_by_one == {2}
    assert leaf.barring(Lost(own, by_form=False)).barred == {2}
    rest = leaf.barring(Lost(inherited, by_form=False))
    assert [h.key for h in rest.pool] == [(1, 0), (1, 2)]
    assert leaf.barred == frozenset()


def test_sides_have_their_own_candidates_before_inherited_ones(leaf):
    split = Split(0, 10.0)
    left = leaf.rows.goes_left(split)
    own = np.where(left[:, None], 7.0, np.nan)  # the learner failed on the right
    sides = Trial(split, left, [own]).children(leaf)
    assert [h.key for h in sides[0].pool] == [(2, 0), (1, 0), (1, 1), (1, 2)]
    assert [h.key for h in sides[1].pool] == [(1, 0), (1, 1), (1, 2)]
    assert [len(h.scores) for h in sides[0].pool] == [left.sum()] * 4


def test_without_a_part_it_is_judged_on_the_others(leaf):
    rest = leaf.without(0)
    kept = leaf.rows.part != 0
    np.testing.assert_array_equal(rest.rows.v1, leaf.rows.v1[kept])
    assert [len(h.scores) for h in rest.pool] == [kept.sum()] * 3
    assert rest.loss == pytest.approx(np.mean(X[rest.rows.v1, 0] ** 2))


def test_scores_of_both_sides_are_joined_in_the_order_of_rows():
    left = np.array([True, False, True])
    found = joined(left, np.array([[1.0], [2.0]]), np.array([[9.0]]))
    assert found[:, 0].tolist() == [1.0, 9.0, 2.0]
