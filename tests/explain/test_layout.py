"""The places of boxes, for any tree and any sizes."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from predictree.explain.layout import bands, spread

GAP = 3.0


@st.composite
def trees(draw):
    """Trees of up to 61 boxes: every inner one has one or two below it."""
    children, leaves = {0: ()}, [0]
    for _ in range(draw(st.integers(0, 30))):
        parent = leaves.pop(draw(st.integers(0, len(leaves) - 1)))
        n = draw(st.integers(1, 2))
        children[parent] = tuple(range(len(children), len(children) + n))
        children |= dict.fromkeys(children[parent], ())
        leaves += children[parent]
    breadth = {i: draw(st.floats(1, 50)) for i in children}
    return children, breadth


def depths(children):
    depth = {0: 0}
    for i in sorted(children):
        depth |= dict.fromkeys(children[i], depth[i] + 1)
    return depth


@given(trees())
def test_boxes_of_one_depth_keep_their_distance_and_order(tree):
    children, breadth = tree
    centre, depth = spread(children, breadth, GAP), depths(children)
    assert centre.keys() == children.keys()
    for a, b in combinations(children, 2):
        if depth[a] == depth[b]:
            needed = (breadth[a] + breadth[b]) / 2 + GAP
            assert abs(centre[a] - centre[b]) >= needed - 1e-9
    for below in children.values():
        assert [centre[i] for i in below] == sorted(centre[i] for i in below)


@given(trees())
def test_a_parent_is_amid_its_children(tree):
    children, breadth = tree
    centre = spread(children, breadth, GAP)
    for i, below in children.items():
        if below:
            assert centre[i] == pytest.approx((centre[below[0]] + centre[below[-1]]) / 2)


def test_subtrees_are_moved_together():
    children = {0: (1, 2), 1: (3, 4), 2: (), 3: (), 4: ()}
    centre = spread(children, dict.fromkeys(children, 10.0), 2.0)
    assert centre == {0: 0.0, 1: -6.0, 2: 6.0, 3: -12.0, 4: 0.0}


def test_bands_are_as_deep_as_their_deepest_box():
    begins = bands({0: 4.0, 1: 5.0, 2: 9.0, 3: 1.0}, {0: 0, 1: 1, 2: 1, 3: 2}, 1.0)
    assert np.array_equal(begins, [0.0, 5.0, 15.0])
