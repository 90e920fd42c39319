"""Newton's method ends where the penalised loss is least."""

import numpy as np
import pytest

from predictree.learners.forms.additive.correction import _first
from predictree.learners.forms.additive.evidence import Learned, Prior, Scales
from predictree.learners.forms.additive.newton import Around, active_columns, minimise

from .samples import GROUP, sample_of

PRIOR = Prior(0.5)
NAMES = ["two classes", "classes", "poisson", "gamma"]


def found_by(sample, fold, most=80, scales=None):
    start = np.zeros((sample.B.shape[1], sample.family.n_scores))
    return minimise(
        sample, fold, PRIOR, Learned(start, scales or _first(sample, 3), 0.0),
        Around(sample, sample.own, np.arange(sample.B.shape[1])), most,
    )  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("fold", [1, 3])
def test_the_slope_of_the_penalised_loss_is_zero(name, fold):
    sample = sample_of(name)
    found = found_by(sample, fold)
    weight = sample.weight.copy()
    if fold < 3:
        weight[sample.parts[fold]] = 0
    told = sample.offset[:, fold] + sample.B @ found.coefficients
    slope = sample.B.T @ (weight[:, None] * sample.family.slope(sample.y, told))
    used = np.append(True, found.scales.variance[GROUP] > 0)
    penalty = np.append(0.0, found.scales.noise / found.scales.variance[GROUP[used[1:]]])
    slope, b = slope[used], found.coefficients[used]
    scale = weight.sum() * 0.02  # a step that moves no score by more is the last
    assert np.abs(slope - penalty[:, None] * b).max() < scale
    assert np.abs(b[1:]).max() > 0.2


@pytest.mark.parametrize("name", NAMES)
def test_rows_of_the_fold_have_no_say(name):
    sample = sample_of(name)
    other = sample_of(name)
    other.y[sample.parts[1]] = other.y[sample.parts[1]][::-1]
    start = Scales(np.ones(2), 1.0)
    first, second = (found_by(one, 1, scales=start).coefficients for one in (sample, other))
    np.testing.assert_allclose(first, second, atol=0.02)


def test_far_labels_do_not_throw_it_off():
    sample = sample_of("poisson")
    sample.y[:3] = 1e4
    found = found_by(sample, 3)
    assert np.isfinite(found.coefficients).all()


def test_grams_by_fold_add_up():
    sample = sample_of("two classes", free=40)
    around = Around(sample, sample.own, np.arange(4))
    weight = sample.weight * 0.25
    np.testing.assert_allclose(around.gram(3), sample.B.T @ (weight[:, None] * sample.B))
    kept = np.ones(240, dtype=bool)
    kept[sample.parts[1]] = False
    B = sample.B[kept][:, [0, 2]]
    np.testing.assert_allclose(around.gram(1, np.array([0, 2])), B.T @ (weight[kept, None] * B))


def test_columns_of_groups_that_dropped_out_are_left():
    scales = Scales(np.array([0.0, 1.0]), 1.0)
    assert active_columns(scales, GROUP).tolist() == [0, 3]
