"""What all additive models of a tree share, and functions of coefficients."""

import numpy as np
import pytest

from predictree.learners.forms.additive.basis import SMOOTH, STEPS

from .samples import ground_of

RNG = np.random.default_rng(0)
X = np.column_stack([RNG.normal(size=120), RNG.integers(0, 4, 120)])
Y = RNG.normal(size=120)
ROWS = np.arange(120)


def test_a_function_is_its_columns_times_coefficients():
    ground = ground_of(X, Y, categories=[1])
    b = RNG.normal(size=(1 + len(ground.columns), 1))
    spread = np.zeros((1, len(b), len(b)))
    function = ground.function(b, spread, ROWS)
    np.testing.assert_allclose(function.sum(X), ground.B @ b * ground.unit)
    for effect in function.effects(X):
        np.testing.assert_allclose(effect.mean(axis=0), 0, atol=1e-9)


def test_beyond_its_rows_a_curve_is_constant():
    ground = ground_of(X, Y, categories=[1])
    b = np.ones((1 + len(ground.columns), 1))
    spread = np.zeros((1, len(b), len(b)))
    inner = np.flatnonzero(np.abs(X[:, 0]) < 0.5)
    curve = ground.function(b, spread, inner).curves[0]
    beyond = curve.values[:-1][np.abs(curve.axis.knots) > 0.8]
    assert len(np.unique(beyond.round(12))) == 2


def test_the_variance_of_a_curve_is_that_of_its_columns():
    ground = ground_of(X, Y, categories=[1])
    root = RNG.normal(size=(1 + len(ground.columns),) * 2)
    spread = (root @ root.T)[None]
    curve = ground.function(np.zeros((len(root), 1)), spread, ROWS).curves[1]
    mine = 1 + np.flatnonzero(ground.feature == 1)
    table = ground.basis.features[1].table - ground.B[:, mine].mean(axis=0)
    expected = np.diag(table @ spread[0][np.ix_(mine, mine)] @ table.T) * ground.unit**2
    np.testing.assert_allclose(curve.variance[:, 0], expected, atol=1e-12)


def test_coarse_leaves_steps_and_fine_parts():
    ground = ground_of(X, Y, categories=[1])
    few = ground.coarse(2)
    kinds = few.basis.kind[few.columns]
    assert STEPS not in kinds
    assert np.count_nonzero(kinds == SMOOTH) == 2
    np.testing.assert_array_equal(few.B[:, 1:], ground.B[:, 1 + few.columns])
    assert set(ground.coarse(2, frozenset([0])).feature.tolist()) == {1}
    assert few.group.tolist() == sorted(few.group.tolist())


def test_constants_are_found_without_each_fold():
    ground = ground_of(X, Y)
    held = [ground.y[ground.fold != f].mean() for f in range(3)]
    np.testing.assert_allclose(ground.first[:, 0], [*held, ground.y.mean()])
    single = ground_of(X, Y, n_folds=1)
    single.fold[::2] = -1
    np.testing.assert_allclose(single.first[:, 0], [single.y[::2].mean()] * 2)


def test_rows_of_a_sample_are_fold_after_fold():
    ground = ground_of(X, Y)
    rows = np.argsort(ground.fold, kind="stable")
    sample = ground.sample(rows, np.zeros((120, 4, 1)))
    assert sample.ends.tolist() == [0, 40, 80, 120]
    np.testing.assert_array_equal(sample.y, ground.y[rows])


def test_scores_are_in_the_users_units_and_within_their_range():
    ground = ground_of(X, 10 + 5 * Y)
    np.testing.assert_allclose(ground.scores(ground.y[:, None])[:, 0], 10 + 5 * Y)
    assert ground.scores(np.array([[1e9]]))[0, 0] == (10 + 5 * Y).max()


@pytest.mark.parametrize(
    ("weight", "expected"), [([1.0, 2, 3], [1, 2, 3]), ([0.5, 1, 1.5], [0.5, 1, 1.5])]
)
def test_whole_weights_are_rows_and_others_have_mean_one(weight, expected):
    few = np.arange(3.0)[:, None]
    assert ground_of(few, few[:, 0], weight=np.array(weight)).weight.tolist() == expected
    assert ground_of(
        few, few[:, 0], weight=np.array([0.1, 0.2, 0.3])
    ).weight.mean() == pytest.approx(1)
