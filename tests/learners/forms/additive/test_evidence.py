"""Variances and coefficients from sums, against dense formulas."""

import numpy as np
import pytest

from predictree.learners.forms.additive.evidence import (
    BLOCK,
    Prior,
    Scales,
    Sums,
    first_scales,
    gram_of,
    inverse,
    learn,
    solve,
)

GROUP = np.array([0, 0, 1, 2, 2, 2])
TRUE = np.array([1.0, -2.0, 0.5, 0.0, 0.0, 0.0])


def sums_of(B, y):
    return Sums(B.T @ B, B.T @ y[:, None], float(y @ y), float(len(y)))


@pytest.fixture
def drawn():
    rng = np.random.default_rng(0)
    B = np.column_stack([np.ones(300), rng.normal(size=(300, 6))])
    return B, 3 + B[:, 1:] @ TRUE + 0.5 * rng.normal(size=300)


def test_a_gram_matrix_by_blocks():
    rng = np.random.default_rng(0)
    B, weight = rng.normal(size=(BLOCK + 7, 3)), rng.random(BLOCK + 7)
    np.testing.assert_allclose(gram_of(B, weight), B.T @ (weight[:, None] * B))


def test_coefficients_of_known_scales_are_a_ridge(drawn):
    B, y = drawn
    variance, noise = np.array([2.0, 0.1, 0.01]), 0.25
    found = solve(sums_of(B, y), GROUP, Scales(variance, noise), Prior(constant=4.0))
    ridge = np.diag(np.append(1 / 4.0, noise / variance[GROUP]))
    np.testing.assert_allclose(found[:, 0], np.linalg.solve(B.T @ B + ridge, B.T @ y), rtol=1e-4)


def test_variances_are_a_fixed_point_of_the_evidence(drawn):
    B, y = drawn
    sums = sums_of(B, y)
    found = learn(sums, GROUP, first_scales(sums, 3, None), Prior(), 500, tolerance=1e-9)
    variance, noise = found.scales.variance, found.scales.noise
    used = variance[GROUP] > 0
    B = B[:, np.append(True, used)]
    group = GROUP[used]
    posterior = np.linalg.inv(B.T @ B + np.diag(np.append(0, noise / variance[group])))
    b = posterior @ B.T @ y
    free = 0.0
    for g in np.unique(group):
        mine = group == g
        its = mine.sum() - noise * np.trace(posterior[1:, 1:][np.ix_(mine, mine)]) / variance[g]
        assert variance[g] == pytest.approx(np.square(b[1:][mine]).sum() / its, rel=1e-3)
        free += its
    assert noise == pytest.approx(np.square(y - B @ b).sum() / (len(y) - free - 1), rel=1e-3)
    assert found.freedom == pytest.approx(free + 1, rel=1e-3)


def test_what_explains_nothing_drops_out(drawn):
    B, _ = drawn
    y = 3 + B[:, 1:3] @ TRUE[:2]
    noise = 0.5 * np.random.default_rng(1).normal(size=len(y))
    clean = noise - B[:, 3:] @ np.linalg.lstsq(B[:, 3:], noise, rcond=None)[0]
    sums = sums_of(B, y + clean)  # the last two groups explain exactly nothing
    found = learn(sums, GROUP, first_scales(sums, 3, None), Prior())
    assert found.scales.variance[0] > 0.5
    assert (found.scales.variance[1:] == 0).all()
    assert (found.coefficients[3:] == 0).all()


def test_a_floor_keeps_every_group(drawn):
    B, y = drawn
    sums, least = sums_of(B, y), 4.0
    found = learn(sums, GROUP, first_scales(sums, 3, None), Prior(least=least))
    spread = np.bincount(GROUP, np.diag(B.T @ B)[1:])
    assert (found.scales.variance * spread >= 0.99 * least * found.scales.noise).all()


def test_a_hold_makes_variances_smaller_and_most_bounds_them(drawn):
    B, y = drawn
    sums = sums_of(B, y)
    start = first_scales(sums, 3, None)
    free, held = (learn(sums, GROUP, start, Prior(hold)).scales.variance for hold in (0, 2))
    assert (held < free)[:2].all()
    bound = learn(sums, GROUP, start, Prior(most=0.1)).scales.variance
    spread = np.bincount(GROUP, np.diag(sums.gram)[1:])
    assert (bound * spread / sums.gram[0, 0] <= 0.1 + 1e-9).all()


def test_a_group_without_variance_stays_without(drawn):
    sums = sums_of(*drawn)
    found = learn(sums, GROUP, Scales(np.array([0.0, 1.0, 1.0]), 1.0), Prior())
    assert found.scales.variance[0] == 0
    assert (found.coefficients[1:3] == 0).all()


def test_known_noise_stays(drawn):
    sums = sums_of(*drawn)
    found = learn(sums, GROUP, Scales(np.ones(3), 1.0), Prior(), fixed_noise=True)
    assert found.scales.noise == 1.0


def test_a_bound_is_taken_for_the_information_that_it_is(drawn):
    B, y = drawn
    half = Sums(B.T @ B, B.T @ y[:, None], float(y @ y), 300.0, known=0.5)
    whole = sums_of(B, y)
    less, more = (
        learn(one, GROUP, Scales(np.ones(3), 1.0), Prior(), fixed_noise=True)
        for one in (half, whole)
    )
    assert less.freedom < more.freedom
    assert (less.scales.variance >= more.scales.variance).all()


def test_an_inverse_with_penalties():
    rng = np.random.default_rng(0)
    B, penalty = rng.normal(size=(20, 4)), np.array([0.0, 1.0, 2.0, 3.0])
    found = inverse(B.T @ B, penalty)
    np.testing.assert_allclose(found, np.linalg.inv(B.T @ B + np.diag(penalty)), rtol=1e-5)


def test_columns_that_are_the_same_share_what_they_say():
    rng = np.random.default_rng(0)
    x = rng.normal(size=100)
    B = np.column_stack([np.ones(100), x, x])
    sums = sums_of(B, 2 * x)
    found = learn(sums, np.array([0, 0]), first_scales(sums, 1, None), Prior())
    np.testing.assert_allclose(found.coefficients[1:, 0], [1, 1], rtol=1e-3)


def test_loosened_scales_leave_no_group_out():
    found = Scales(np.array([0.0, 5.0]), 2.0).loosened(0.1)
    assert found.variance.tolist() == [0.2, 5.0]
