"""Compiled Newton steps of logistic regressions: the slope at what they find is nothing."""

import numpy as np
import pytest
from scipy.special import expit, softmax

from predictree.learners.forms.newton import minima


def table(seed=0, n=400, d=5, k=2):
    rng = np.random.default_rng(seed)
    rows = np.column_stack([np.ones(n), rng.normal(size=(n, d)), rng.normal(size=n)])
    noisy = rows[:, 1 : 1 + k] + rng.gumbel(size=(n, k))
    return rows, noisy.argmax(axis=1), rng.uniform(0.2, 3, n)


def found(rows, label, weight, sets, ridge, start):
    beta = start.copy()
    ends = np.cumsum([len(some) for some in sets])
    minima(rows, label, weight, np.concatenate(sets), ends, ridge, beta)
    return beta


def slope(rows, label, weight, ridge, beta):
    """The gradient of the penalised log loss, written out."""
    margins = rows @ beta.T
    told = expit(margins) if len(beta) == 1 else softmax(margins, axis=1)
    hit = label[:, None] == (1 if len(beta) == 1 else np.arange(len(beta)))
    return ((told - hit) * weight[:, None]).T @ rows + ridge * beta


@pytest.mark.parametrize("c", [1, 3])
@pytest.mark.parametrize("far", [0.0, 30.0])
def test_the_slope_is_nothing_at_the_minimum_of_every_set(c, far):
    rows, label, weight = table(k=max(2, c))
    sets = [np.arange(400), np.arange(0, 400, 3), np.arange(150)]
    ridge = np.tile([0.0, 1.0, 2.0, 0.5, 1.0, 1.0], (3, 1))
    start = far * np.random.default_rng(1).normal(size=(3, c, 6))
    beta = found(rows, label, weight, sets, ridge, start)
    for mine, penalty, one in zip(sets, ridge, beta, strict=True):
        at = slope(rows[mine, :6], label[mine], weight[mine], penalty, one)
        assert np.abs(at).max() < 1e-8 * weight[mine].sum()


def test_separable_classes_without_a_penalty_are_told_apart():
    rows = np.column_stack([np.ones(100), np.linspace(-1, 1, 100)])
    label = (rows[:, 1] > 0).astype(np.int64)
    beta = found(rows, label, np.ones(100), [np.arange(100)], np.zeros((1, 2)), np.zeros((1, 1, 2)))
    p = expit(rows @ beta[0, 0])
    assert -np.log(np.where(label, p, 1 - p)).mean() < 1e-8


def test_columns_that_depend_on_others_leave_the_minimum_where_it_is():
    rows, label, weight = table()
    plain = np.ascontiguousarray(rows[:, :4])
    doubled = np.column_stack([plain, plain[:, 1] + plain[:, 2]])
    everything = [np.arange(400)]
    told = [
        x @ found(x, label, weight, everything, np.zeros((1, a)), np.zeros((1, 1, a)))[0, 0]
        for x, a in ((plain, 4), (doubled, 5))
    ]
    np.testing.assert_allclose(told[0], told[1], atol=1e-7)


def test_a_set_without_rows_stays_where_it_is():
    rows, label, weight = table()
    start = np.ones((1, 1, 6))
    none = [np.arange(0)]
    np.testing.assert_array_equal(found(rows, label, weight, none, np.zeros((1, 6)), start), start)
