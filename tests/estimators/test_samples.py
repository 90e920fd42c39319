"""What a fit costs, seen on a few of its rows."""

import pytest

from predictree.estimators.samples import Costs, OneCost, Tried, Work
from predictree.run.measuring import NOTHING, Cost


def costs(*rows, per_row=1.0):
    """Growths whose steps take one, two, five and ten fits, and as many seconds a row."""
    seen = [Tried(n, *(Work(k, k * per_row * n, k) for k in (1, 2, 5, 10))) for n in rows]
    single = OneCost("a", Cost((80, 800), (80.0, 3200.0)), NOTHING, Cost((80, 800), (1.0, 1.0)))
    return Costs(seen, [single], fold=0.8, parts=5)


def test_nodes_are_halved_level_by_level():
    seconds = [costs(100, 1000).tree(2000, depth, False).seconds for depth in range(4)]
    assert seconds == pytest.approx([2000, 2000 + 34_000, 2000 + 68_000, 2000 + 102_000])
    assert [costs(100).tree(2000, depth, False).fits for depth in range(3)] == [1, 18, 52]


def test_leaves_may_be_searched_in_vain():
    """Two of the five parts are rehearsed."""
    more = costs(100, 1000).tree(2000, 1, True) - costs(100, 1000).tree(2000, 1, False)
    assert more.seconds == pytest.approx(2 * (2 + 5 * 2 / 5) * 1000)
    assert more.fits == pytest.approx(2 * 4)


def test_what_was_seen_once_grows_as_single_fits_do():
    """Ten times the rows, forty times the seconds."""
    once = costs(100)
    assert once.tree(1000, 0, False).seconds == pytest.approx(40 * 100)
    assert once.tree(100, 0, False).seconds == pytest.approx(100)
