"""The ways to grow a tree are made of the same parts."""

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

from growing import fits_of, held_out
from predictree.grow.combine.best import Best
from predictree.grow.combine.shrunk import Shrunk
from predictree.grow.finish import AsGrown, PathWeights
from predictree.grow.methods import WAYS, WAYS_OF_LEARNERS, Recipe
from predictree.grow.proof import Rehearsed, any_gain
from predictree.grow.rows import Limits
from predictree.grow.search.exhaustive import Exhaustive
from predictree.grow.search.racing import Rounds, Scouts

LIMITS = Limits(n_thresholds=3, max_depth=1, min_samples_leaf=5, min_samples_val=5, min_gain=0.0)
X = np.arange(40.0)[:, None]


def made(name, **how):
    fits = fits_of(X, X[:, 0], held_out(40), [LinearRegression()])
    (way,) = WAYS[name].make(fits, Recipe(LIMITS, **how))
    return way


@pytest.mark.parametrize(
    ("name", "races", "search", "combine", "finish"),
    [
        ("path", False, Exhaustive, Best, PathWeights),
        ("path", True, Rounds, Best, PathWeights),
        ("shrunk", False, Exhaustive, Shrunk, AsGrown),
        ("shrunk", True, Scouts, Shrunk, AsGrown),
    ],
)
def test_parts_of_a_method(name, races, search, combine, finish):
    way = made(name, races=races)
    kinds = [type(part) for part in (way.search, way.combine, way.finish)]
    assert kinds == [search, combine, finish]
    assert way.limits is LIMITS


def test_the_paper_asks_for_any_gain_unless_told_otherwise():
    assert made("path").proof is any_gain
    assert isinstance(made("path", demand=(2.0, 2.0)).proof, Rehearsed)


def test_paths_have_a_part_of_their_own_to_be_weighed_on():
    assert not WAYS["path"].pools
    assert WAYS["shrunk"].pools
    assert WAYS_OF_LEARNERS["additive"].pools
