"""Corrections: who is outside a fold, what is gained, and how sure coefficients are."""

from dataclasses import replace

import numpy as np
import pytest

from predictree.learners.forms.additive.correction import Fit, covariance, fit, guess
from predictree.learners.forms.additive.evidence import Learned, Prior, Scales
from predictree.learners.forms.additive.family import TINY

from .samples import GROUP, sample_of

PRIOR = Prior(constant=0.5)
ALL = ["squares", "two classes", "classes", "poisson", "gamma"]


def test_who_is_in_a_fold_and_who_outside():
    sample = sample_of("squares", n=10, n_folds=2, free=4)
    assert sample.parts == [slice(4, 7), slice(7, 10)]
    assert sample.outside(0) == [slice(0, 4), slice(7, 10)]
    assert sample.outside(2) == [slice(0, 10)]
    assert sample.held == slice(4, 10)


def test_a_row_is_judged_by_the_model_without_its_fold():
    sample = sample_of("squares", n=6, n_folds=2, free=2)
    offset = np.arange(18.0).reshape(6, 3, 1)
    sample = replace(sample, offset=offset)
    assert sample.own[:, 0].tolist() == [2, 5, 6, 9, 13, 16]
    told = sample.losses(offset)
    expected = sample.weight[2:] * np.square(sample.y[2:] - sample.own[2:, 0])
    np.testing.assert_allclose(told, expected)


@pytest.mark.parametrize("name", ALL)
def test_all_models_find_what_is_there_without_their_fold(name):
    sample = sample_of(name, n=900)
    found = fit(sample, PRIOR)
    assert found.coefficients.shape == (4, 4, sample.family.n_scores)
    told = sample.told(found.coefficients)
    assert sample.losses(told).sum() < sample.losses(sample.offset).sum()
    last = found.last.coefficients
    np.testing.assert_allclose(found.coefficients[0], last, atol=0.6 * np.abs(last).max())


@pytest.mark.parametrize("name", ALL)
def test_a_held_out_part_is_judged_by_the_last_model(name):
    found = fit(sample_of(name, n_folds=1, free=160), PRIOR)
    assert found.models[0] is found.last


def test_a_correction_of_noise_is_nearly_nothing():
    sample = sample_of("squares")
    noise = replace(sample, y=np.random.default_rng(7).normal(size=240))
    found = fit(noise, PRIOR).last
    assert np.square(noise.B[:, 1:] @ found.coefficients[1:]).mean() < 0.02


def test_the_gain_in_squares_is_exact():
    sample = sample_of("squares", free=30)
    b = np.random.default_rng(1).normal(size=(4, 4, 1))
    before, after = sample.losses(sample.offset), sample.losses(sample.told(b))
    assert sample.quadratic.gain(b) == pytest.approx((before - after).sum())


def test_a_guess_is_a_ridge_by_the_scales_of_all_rows():
    sample = sample_of("squares")
    found = guess(sample, PRIOR)
    assert found.shape == (4, 4, 1)
    assert sample.quadratic.gain(found) > 0


def test_sums_leave_a_fold_out():
    sample = sample_of("squares", free=30)
    kept = np.ones(240, dtype=bool)
    kept[sample.parts[1]] = False
    B, w, r = sample.B[kept], sample.weight[kept], sample.y[kept]
    sums = sample.quadratic.sums(1)
    np.testing.assert_allclose(sums.gram, B.T @ (w[:, None] * B))
    np.testing.assert_allclose(sums.cross[:, 0], B.T @ (w * r))
    assert (sums.squares, sums.n) == pytest.approx((w @ np.square(r), w.sum()))


def test_errors_are_those_of_the_posterior():
    sample = sample_of("squares")
    last = fit(sample, PRIOR).last
    noise, variance = last.scales.noise, last.scales.variance
    used = np.append(True, variance[GROUP] > 0)
    B = sample.B[:, used]
    penalty = np.append(2.0, noise / variance[GROUP][used[1:]])
    expected = noise * np.linalg.inv(B.T @ (sample.weight[:, None] * B) + np.diag(penalty))
    found = covariance(sample, last, PRIOR)
    np.testing.assert_allclose(found[0][np.ix_(used, used)], expected, rtol=1e-5, atol=1e-12)
    assert not found[0][~used].any()


def test_errors_of_classes_are_by_the_information_of_each():
    sample = sample_of("classes")
    sample = replace(sample, y=np.digitize(sample.B[:, 1] + sample.B[:, 3], [-0.7, 0.7]))
    sample.y[::5] = 1
    last = fit(sample, PRIOR).last
    p = np.exp(sample.B @ last.coefficients)
    p /= p.sum(axis=1, keepdims=True)
    assert (last.scales.variance > 0).all()
    penalty = np.append(2.0, 1 / last.scales.variance[GROUP])
    found = covariance(sample, last, PRIOR)
    for k in range(3):
        weight = sample.weight * np.maximum(p[:, k] * (1 - p[:, k]), TINY)
        expected = np.linalg.inv(sample.B.T @ (weight[:, None] * sample.B) + np.diag(penalty))
        np.testing.assert_allclose(found[k], expected, rtol=1e-4, atol=1e-9)


def test_columns_come_beside_and_go():
    model = Learned(np.ones((4, 1)), Scales(np.array([1.0, 2.0]), 0.5), 3.0)
    more = Fit((model,)).beside(2, 1, 0.3).last
    assert more.coefficients[:, 0].tolist() == [1, 1, 1, 1, 0, 0]
    assert more.scales.variance.tolist() == [1.0, 2.0, 0.15]
    less = Fit((model,)).without(np.array([True, True, False]), GROUP).last
    assert less.coefficients[:, 0].tolist() == [1, 0, 0, 1]
    assert less.scales.variance.tolist() == [0.0, 2.0]


def test_some_columns_of_a_sample():
    sample = sample_of("squares")
    few = sample.among(np.array([2]), np.array([0]))
    np.testing.assert_array_equal(few.B, sample.B[:, [0, 3]])
    both = few.beside(sample.B[:, 1:3], np.array([0, 0]))
    assert both.group.tolist() == [0, 1, 1]


@pytest.mark.parametrize("name", ["squares", "two classes"])
def test_few_rows_of_large_weight_are_many(name):
    sample = replace(sample_of(name, n=24), weight=np.full(24, 2.0))
    twice = {one: np.repeat(getattr(sample, one), 2, axis=0) for one in ("B", "y", "offset")}
    rows = replace(sample, **twice, weight=np.ones(48), ends=2 * sample.ends)
    found, expected = (fit(one, PRIOR).coefficients for one in (sample, rows))
    np.testing.assert_allclose(found, expected, atol=1e-9)
