"""Plain data of a checkpoint is checked as it is read."""

import numpy as np
import pytest

from predictree.grow.plain import is_count, key_of, require, table


@pytest.mark.parametrize("value", [True, -1, 1.0, "1", None, np.int64(1)])
def test_a_count_is_a_whole_number_and_nothing_else(value):
    assert not is_count(value)
    with pytest.raises(ValueError, match="the name of a predictor"):
        key_of([1, value])
    assert key_of([1, 0]) == (1, 0)


@pytest.mark.parametrize(
    "given",
    [[1.0, 2.0], np.ones(3), np.ones(2, dtype=np.float32), np.array([1.0, np.nan]), None],
)
def test_an_array_has_its_shape_and_finite_numbers(given):
    with pytest.raises(ValueError, match="see an array"):
        table(given, (2,))
    np.testing.assert_array_equal(table(np.ones(2), (2,)), [1.0, 1.0])


def test_what_is_not_as_written_is_named():
    require(True, "its loss")
    with pytest.raises(ValueError, match="see its loss"):
        require(False, "its loss")
