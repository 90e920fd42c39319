"""Functions of some rows by themselves, whose errors leave room for what was not found."""

import numpy as np

from predictree.learners.forms.additive.alone import UNSEEN, alone

from .samples import ground_of

RNG = np.random.default_rng(0)
X = RNG.uniform(-1, 1, (400, 2))
NOTHING = np.zeros((400, 1))


def test_other_rows_have_no_say():
    y = X[:, 0] + 0.1 * RNG.normal(size=400)
    some = np.arange(200)
    bent = np.where(np.arange(400) < 200, y, 50.0)
    told = []
    for labels in (y, bent):
        ground = ground_of(X, labels, n_folds=1)
        ground.fold[:] = -1
        told.append(alone(ground, some, NOTHING).curves[0].values)
    np.testing.assert_allclose(told[0], told[1], atol=1e-3)


def test_what_is_known_beforehand_is_taken_off():
    y = X[:, 0] + 3 * X[:, 1]
    ground = ground_of(X, y, n_folds=1)
    ground.fold[:] = -1
    known = 3 * X[:, 1:] / ground.unit
    found = alone(ground, np.arange(400), known)
    inside = np.abs(found.curves[1].axis.knots) < 0.9
    np.testing.assert_allclose(found.curves[1].values[:-1][inside], 0, atol=0.05)
    np.testing.assert_allclose(found.intercept, (y - 3 * X[:, 1]).mean(), atol=0.05)


def test_nothing_is_zero_for_sure():
    ground = ground_of(X, X[:, 0] + 0.3 * RNG.normal(size=400), n_folds=1)
    ground.fold[:] = -1
    error = np.sqrt(alone(ground, np.arange(400), NOTHING).curves[1].variance[:-1, 0])
    # a line of 400 rows alone has an error of 0.015 in the middle of either half
    assert 0.01 < np.median(error) < 0.06
    assert UNSEEN.least > 1
