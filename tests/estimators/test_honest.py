"""Regions told by fresh rows: their own functions, intervals that are not too small, few rows."""

import numpy as np
import pytest

from predictree import ToPsClassifier, ToPsRegressor
from predictree.errors import InvalidInputError
from predictree.explain import contrast, plot_terms, terms


def drawn(n, seed):
    """Two regions by a flag: in one the second column counts, in the other it does not."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.integers(0, 2, n), rng.uniform(-1, 1, (n, 2))])
    return X, np.where(X[:, 0] == 1, 3 * X[:, 1], 0.0) + X[:, 2] + 0.2 * rng.normal(size=n)


@pytest.fixture(scope="module")
def model():
    return ToPsRegressor(max_depth=1, interactions=0, random_state=0).fit(*drawn(400, 0))


def of(frame, name):
    return frame[frame.feature == name]


def test_every_region_has_the_function_of_its_own_fresh_rows(model):
    X, y = drawn(2000, 1)
    told = model.honest(X, y)
    slopes = {}
    for leaf in (1, 2):
        line = of(told.terms(leaf), "x1")
        slopes[leaf] = np.polyfit(line.value.astype(float), line.effect, 1)[0]
        assert line.error.between(1e-6, 0.1).all()
    np.testing.assert_allclose(sorted(slopes.values()), [0, 3], atol=0.1)


def test_other_regions_have_no_say(model):
    X, y = drawn(1000, 1)
    here = X[:, 0] == 0
    leaf = int(model.apply(X[here][:1])[0])
    moved = np.where(here, y, 100 - 5 * y)
    line, other = (of(model.honest(X, some).terms(leaf), "x1") for some in (y, moved))
    np.testing.assert_allclose(line.effect, other.effect, atol=0.02)


def test_errors_of_regions_without_common_rows_add_up(model):
    told = model.honest(*drawn(1000, 1))
    found = of(told.contrast(2, 1), "x1")
    both = [of(told.terms(leaf), "x1").set_index("value") for leaf in (1, 2)]
    expected = np.hypot(*(line.error.loc[found.value] for line in both))
    np.testing.assert_allclose(found.error, expected)
    assert abs(found.difference.iloc[-1] - 3) < 4 * found.error.iloc[-1]


def test_what_takes_a_model_takes_it(model):
    told = model.honest(*drawn(1000, 1))
    assert terms(told).equals(told.terms())
    assert contrast(told, 1, 2).equals(told.contrast(1, 2))
    assert plot_terms(told).panels


def test_it_says_so_more_surely_with_more_rows(model):
    few, many = (of(model.honest(*drawn(n, 1)).terms(1), "x2").error.mean() for n in (200, 3200))
    assert 3 < few / many < 6


def test_a_region_with_hardly_a_row_is_not_told(model):
    X, y = drawn(600, 1)
    right = int(model.apply(X[X[:, 0] == 1][:1])[0])
    kept = (X[:, 0] == 0) | (np.cumsum(X[:, 0] == 1) < 10)
    told = model.honest(X[kept], y[kept])
    assert of(told.terms(right), "x1").error.isna().all()
    assert of(told.terms(0), "x1").error.notna().all()


def test_a_weight_is_as_many_rows(model):
    X, y = drawn(300, 1)
    twice = np.repeat(np.arange(300), 1 + np.arange(300) % 3)
    found = model.honest(X, y, 1 + np.arange(300) % 3).terms()
    expected = model.honest(X[twice], y[twice]).terms()
    np.testing.assert_allclose(found.effect, expected.effect, atol=1e-6)
    np.testing.assert_allclose(found.error, expected.error, atol=1e-6)


def test_rows_of_weight_zero_are_absent(model):
    X, y = drawn(300, 1)
    weight = (np.arange(300) % 2).astype(float)
    found, expected = model.honest(X, y, weight), model.honest(X[1::2], y[1::2])
    np.testing.assert_allclose(found.terms().effect, expected.terms().effect)


def test_classes_have_log_odds():
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, (2000, 2))
    y = np.where(rng.random(2000) < 1 / (1 + np.exp(-1.5 * X[:, 0])), "yes", "no")
    model = ToPsClassifier(max_depth=0, random_state=0).fit(X[:400], y[:400])
    line = of(model.honest(X[400:], y[400:]).terms(), "x0")
    slope = np.polyfit(line.value.astype(float), line.effect, 1)[0]
    assert line.target.unique().tolist() == ["yes"]
    assert abs(slope - 1.5) < 0.3
    with pytest.raises(InvalidInputError, match="perhaps"):
        model.honest(X[:30], np.repeat("perhaps", 30))


def test_pairs_are_taken_as_they_are():
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, (2400, 3))
    y = X[:, 0] * X[:, 1] + X[:, 2] + 0.1 * rng.normal(size=2400)
    model = ToPsRegressor(max_depth=0, random_state=0).fit(X[:1200], y[:1200])
    assert model.model_.tree.predictors[0].models[0].surfaces
    found = of(model.honest(X[1200:], y[1200:]).terms(), "x2")
    assert found.error.max() < 0.1  # of the product, which has a variance of 1.8, little is left
    assert found.feature_2.isna().all()


def test_too_few_rows_are_refused(model):
    with pytest.raises(InvalidInputError, match="19 rows are too few"):
        model.honest(*drawn(19, 1))
