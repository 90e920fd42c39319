"""Families of labels: slopes and curvatures are those of the loss."""

import numpy as np
import pytest

from predictree.learners.forms.additive.family import (
    Amounts,
    Classes,
    Counts,
    Squares,
    TwoClasses,
    family_of,
)

RNG = np.random.default_rng(0)
LABELS = {
    Squares(): RNG.normal(size=20),
    TwoClasses(): RNG.integers(0, 2, 20),
    Classes(3): RNG.integers(0, 3, 20),
    Counts(): RNG.poisson(2.0, 20).astype(float),
    Amounts(): RNG.gamma(2.0, size=20),
}
each = pytest.mark.parametrize(
    ("family", "y"), LABELS.items(), ids=lambda x: getattr(x, "name", "")
)


@each
def test_the_slope_is_that_of_the_loss(family, y):
    f = RNG.normal(size=(20, family.n_scores))
    step = 1e-5
    for k in range(family.n_scores):
        up, down = f.copy(), f.copy()
        up[:, k] += step
        down[:, k] -= step
        slope = (family.loss(y, up) - family.loss(y, down)) / (2 * step)
        factor = 2 if isinstance(family, Squares) else 1  # the loss is the whole square
        np.testing.assert_allclose(-slope, factor * family.slope(y, f)[:, k], atol=1e-6)


@each
def test_the_start_is_the_best_constant(family, y):
    weight = RNG.integers(1, 4, len(y)).astype(float)
    start = family.start(y, weight)
    slope = weight @ family.slope(y, np.tile(start, (len(y), 1)))
    np.testing.assert_allclose(slope, 0, atol=1e-8)


def test_curvature_of_classes_is_above_that_of_every_direction():
    family, f = Classes(4), RNG.normal(size=(50, 4))
    p = np.exp(f) / np.exp(f).sum(axis=1, keepdims=True)
    bound = family.curvature(np.zeros(50, dtype=int), f)
    for row, its in zip(p, bound, strict=True):
        assert np.linalg.eigvalsh(np.diag(row) - np.outer(row, row)).max() <= its + 1e-12


def test_information_is_the_curvature_along_each_score():
    f = RNG.normal(size=(5, 3))
    p = np.exp(f) / np.exp(f).sum(axis=1, keepdims=True)
    found = Classes(3).information(np.zeros(5, dtype=int), f)
    np.testing.assert_allclose(found, p * (1 - p))


def test_curvature_is_never_nothing():
    far = np.array([[80.0]])
    assert TwoClasses().curvature(np.ones(1), far) > 0
    assert Counts().curvature(np.ones(1), -far) > 0
    assert (Classes(3).curvature(np.zeros(1, dtype=int), np.array([[99.0, 0, 0]])) > 0).all()
    assert np.isfinite(Classes(3).loss(np.ones(1, dtype=int), np.array([[999.0, 0, 0]]))).all()


def test_labels_have_a_unit_of_their_own():
    y = np.array([1.0, 3.0, 5.0])
    sized = Squares().sized(y * 1e200, np.ones(3))
    np.testing.assert_allclose(sized.y * sized.unit, y * 1e200)
    assert np.std(sized.y) == pytest.approx(1)
    assert sized.span == pytest.approx((1e200, 5e200))
    amounts = Counts().sized(y, np.ones(3))
    np.testing.assert_allclose(np.exp(np.log(amounts.y) * amounts.unit + amounts.shift), y)
    assert Squares().sized(np.zeros(3), np.ones(3)).unit == 1


def test_an_absent_class_is_half_a_row():
    assert TwoClasses().start(np.zeros(10), np.ones(10))[0] == pytest.approx(np.log(0.05 / 0.95))
    assert np.isfinite(Classes(3).start(np.array([0, 1]), np.ones(2))).all()


def test_families_by_loss_and_scores():
    assert family_of("log_loss", 2).name == "two classes"
    assert family_of("brier", 5).n_scores == 5
    assert family_of("poisson", 1).name == "poisson"
    assert family_of("mae", 1).name == "squares"
