"""Digests: alike for what is alike, in whatever process, and different for the rest."""

import numpy as np
import pytest
from sklearn.linear_model import Ridge
from sklearn.svm import SVC

from predictree.run.digests import digest_of


def linear(slope):
    return lambda x: slope * x


ALIKE = [
    (Ridge(2.0), Ridge(alpha=2.0)),
    ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
    ({1, 2}, {2, 1}),
    ([1, 2], (1, 2)),
    (linear(2), linear(2)),
    (np.arange(3), np.arange(3)),
]
UNLIKE = [
    (Ridge(2.0), Ridge(1.0)),
    (Ridge(), SVC()),
    (linear(2), linear(3)),
    (np.arange(3), np.arange(3.0)),
    (None, 0),
    ("1", 1),
]


@pytest.mark.parametrize(("one", "other"), ALIKE)
def test_what_is_alike_has_one_digest(one, other):
    assert digest_of(one) == digest_of(other)


@pytest.mark.parametrize(("one", "other"), UNLIKE)
def test_what_differs_is_told_apart(one, other):
    assert digest_of(one) != digest_of(other)


def test_what_cannot_be_hashed_is_known_by_its_name(tmp_path):
    with (tmp_path / "a").open("w") as one, (tmp_path / "b").open("w") as other:
        assert digest_of(one) == digest_of(other) != digest_of(None)
