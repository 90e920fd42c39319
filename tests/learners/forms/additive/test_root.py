"""The root: one function, with pairs where they gain out of fold."""

import numpy as np
import pytest

from predictree.learners.forms.additive.evidence import Prior
from predictree.learners.forms.additive.root import Root

from .samples import family_named, ground_of, labels_of

RNG = np.random.default_rng(0)
X = RNG.uniform(-1, 1, (500, 3))


def root_of(y, name="squares", directions=None, X=X):
    return Root.of(ground_of(X, y, name), Prior(), directions)


@pytest.mark.parametrize("name", ["squares", "two classes", "classes", "poisson", "gamma"])
def test_its_function_is_its_last_model(name):
    y = labels_of(RNG, 2 * X[:, 0], family_named(name))
    root = root_of(y, name).with_pairs(2)
    told = np.empty_like(root.told)
    told[root.rows] = root.told
    ground, at = root.ground, root.function.sum(X)
    np.testing.assert_allclose(at, told[:, -1] * ground.unit + ground.shift, atol=1e-6)
    np.testing.assert_allclose(root.function.scores(X), ground.scores(told[:, -1]), atol=1e-6)


def test_a_pair_that_gains_is_kept_and_others_are_not():
    y = 2 * X[:, 0] * X[:, 1] + 0.1 * RNG.normal(size=500)
    root = root_of(y)
    paired = root.with_pairs(1)
    assert [{p.first, p.second} for p in paired.pairs] == [{0, 1}]
    assert len(paired.function.surfaces) == 1
    before, after = (one.sample.losses(one.told).sum() for one in (root, paired))
    assert after < 0.5 * before


def test_noise_and_nothing_asked_for_leave_it_as_it_is():
    root = root_of(X[:, 0] + RNG.normal(size=500))
    assert root.with_pairs(10) is root
    assert root.with_pairs(0) is root


def test_what_only_rises_is_barred_from_pairs_and_corrections():
    y = X[:, 0] * X[:, 1] + 0.1 * RNG.normal(size=500)
    root = root_of(y, directions={0: 1})
    assert root.barred == {0}
    values = root.function.curves[0].values[:-1, 0]
    assert (np.diff(values) >= 0).all()
    assert root.with_pairs(5) is root or all(
        0 not in (p.first, p.second) for p in root.with_pairs(5).pairs
    )


def test_effects_are_those_of_the_function():
    root = root_of(np.sin(3 * X[:, 0]) + X[:, 2])
    for (column, effect), expected in zip(root.effects(), root.function.effects(X), strict=True):
        np.testing.assert_allclose(effect * root.ground.unit, expected)
        assert 0 <= column < 3


def test_a_constant_label_has_a_constant_root():
    root = root_of(np.full(500, 7.0))
    np.testing.assert_allclose(root.function.scores(X), 7.0)
