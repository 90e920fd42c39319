"""Intervals and sets as users ask for them."""

from dataclasses import replace

import numpy as np
import pytest

from predictree import ToPsClassifier, ToPsRegressor, load, save
from predictree.errors import InvalidInputError


def noisy(n, seed=0):
    """Two regions that differ in how much labels vary, which grows with what is expected."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(0, 1, (n, 3))
    mean = np.where(X[:, 0] < 0.5, 4 * X[:, 1], -4 * X[:, 1])
    return X, mean + np.where(X[:, 0] < 0.5, 1.0, 0.1) * rng.normal(size=n)


@pytest.fixture(scope="module", params=["additive", "lr", "paper"])
def regression(request):
    X, y = noisy(1200)
    if request.param == "paper":  # a tenth of the rows tell how far off it is
        X, y = noisy(8000)
        return ToPsRegressor.paper("lr", min_samples_leaf=100, random_state=0).fit(X, y)
    return ToPsRegressor(request.param, random_state=0).fit(X, y)


def test_intervals_hold_their_share_in_every_region(regression):
    X, y = noisy(6000, seed=1)
    low, high = regression.predict_interval(X, 0.9).T
    inside = (low <= y) & (y <= high)
    assert inside.mean() == pytest.approx(0.9, abs=0.04)
    loud = X[:, 0] < 0.5
    assert inside[loud].mean() == pytest.approx(0.9, abs=0.06)
    assert inside[~loud].mean() == pytest.approx(0.9, abs=0.06)
    assert (high - low)[loud].mean() > 3 * (high - low)[~loud].mean()


def test_quantiles_rise(regression):
    X, y = noisy(3000, seed=2)
    found = regression.predict_quantiles(X, [0.1, 0.3, 0.5, 0.7, 0.9])
    assert (np.diff(found, axis=1) >= 0).all()
    assert (y[:, None] < found).mean(axis=0) == pytest.approx([0.1, 0.3, 0.5, 0.7, 0.9], abs=0.05)


def test_larger_shares_need_wider_intervals(regression):
    X, _ = noisy(50, seed=3)
    width = [np.ptp(regression.predict_interval(X, c), axis=1) for c in (0.5, 0.8, 0.95)]
    assert (width[0] <= width[1]).all()
    assert (width[1] <= width[2]).all()
    assert np.isinf(regression.predict_interval(X, 0.99999)).all()


@pytest.mark.parametrize("k", [2, 3])
def test_sets_hold_the_true_class(k):
    X, y = noisy(4000, seed=4)
    y = np.digitize(y, np.quantile(y, np.arange(1, k) / k))
    model = ToPsClassifier(random_state=0).fit(X[:1500], y[:1500])
    for coverage in (0.8, 0.95):
        found = model.predict_set(X[1500:], coverage)
        held = found[np.arange(2500), y[1500:]].mean()
        assert coverage - 0.04 <= held
        assert found.shape == (2500, k)
        assert (found.sum(axis=1) >= 1).all()
    assert found[np.arange(2500), model.predict(X[1500:])].all()


def test_counts_are_never_below_zero():
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(400, 2))
    model = ToPsRegressor(loss="poisson", random_state=0).fit(X, rng.poisson(np.exp(X[:, 0])))
    assert model.predict_interval(X, 0.95).min() >= 0


def test_a_saved_model_has_the_same_intervals(tmp_path, regression):
    X, _ = noisy(20, seed=5)
    save(regression, tmp_path / "m.tops")
    again = load(tmp_path / "m.tops").predict_interval(X)
    assert np.array_equal(again, regression.predict_interval(X))


def test_no_rows_have_no_intervals(regression):
    X, _ = noisy(5)
    assert regression.predict_interval(X[:0]).shape == (0, 2)
    assert regression.predict_quantiles(X[:0], [0.2, 0.5, 0.8]).shape == (0, 3)


def test_a_share_is_any_real_number(regression):
    X, _ = noisy(5)
    told = regression.predict_interval(X, np.float32(0.5))
    assert np.array_equal(told, regression.predict_interval(X, 0.5))


@pytest.mark.parametrize("coverage", [0, 1, 90, "0.9", None, np.nan])
def test_a_share_is_asked_for(regression, coverage):
    with pytest.raises(InvalidInputError, match="share between 0 and 1"):
        regression.predict_interval(noisy(5)[0], coverage)


def test_levels_are_probabilities(regression):
    with pytest.raises(InvalidInputError, match="levels"):
        regression.predict_quantiles(noisy(5)[0], [0.5, 1.0])


def test_an_older_model_says_that_it_has_none(regression):
    model = regression.model_
    old = ToPsRegressor()
    old._take(replace(model, account=replace(model.account, residuals=None)))
    with pytest.raises(InvalidInputError, match="fit it again"):
        old.predict_interval(noisy(5)[0])
