"""The trials of a leaf."""

from predictree.grow.search.trials import nested
from predictree.model.tree import Split


def test_missing_to_the_left_and_to_the_right_are_two_families():
    splits = [Split(0, t, left, True) for t in (1.0, 2.0) for left in (False, True)]
    assert nested(splits) == [[0, 2], [1, 3]]
    plain = [Split(0, 1.0, True), Split(0, 2.0, False)]  # no row of S is missing: one family
    assert nested(plain) == [[0, 1]]
