import json
import sys
from math import log, sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from predictree import ToPsClassifier, ToPsRegressor, load, save
from predictree.errors import InvalidInputError, MissingExtraError
from predictree.explain.bounds import empirical_bernstein, loss_bound
from predictree.losses import AdditiveLoss


def opposite_slopes(n, seed):
    """Two regions with opposite slopes; labels are in [-1.2, 1.2]."""
    rng = np.random.default_rng([seed, n])
    X = np.column_stack([rng.integers(0, 2, n), rng.uniform(-1, 1, (n, 2))])
    return X, np.where(X[:, 0] == 1, X[:, 1], -X[:, 1]) + rng.uniform(-0.2, 0.2, n)


def fitted(n=300, seed=0, learners="lr", **options):
    """A tree with one split, its training rows, and rows that it has not seen."""
    training = opposite_slopes(n, seed)
    model = ToPsRegressor(learners, loss="mae", max_depth=1, random_state=seed, **options)
    return model.fit(*training), training, opposite_slopes(n, seed + 1000)


def test_empirical_bernstein_by_hand():
    losses = np.array([0.0, 1.0, 0.0, 1.0])
    room = log(2 / 0.1)
    expected = 0.5 + sqrt(2 * (1 / 3) * room / 4) + 7 * 2 * room / (3 * 3)
    assert empirical_bernstein(losses, 2.0, 0.1) == pytest.approx(expected)
    assert empirical_bernstein(losses[:1], 2.0, 0.1) == np.inf


@given(arrays(float, 20, elements=st.floats(0, 1)), st.floats(0.01, 0.4), st.floats(0.1, 10))
def test_empirical_bernstein_knows_no_unit_and_grows_with_certainty(losses, delta, unit):
    bound = empirical_bernstein(losses, 1.0, delta)
    assert bound > losses.mean()
    assert bound < empirical_bernstein(losses, 1.0, delta / 2)
    assert empirical_bernstein(losses * unit, unit, delta) == pytest.approx(bound * unit)


def test_empirical_bernstein_holds_for_rare_losses():
    rng = np.random.default_rng(4)
    draws = (rng.random((400, 60)) < 0.05).astype(float)
    held = [empirical_bernstein(losses, 1.0, 0.1) >= 0.05 for losses in draws]
    assert np.mean(held) >= 0.9


def test_leaves_share_delta_and_an_empty_one_has_no_bound():
    model, _, (Z, z) = fitted()
    left = Z[:, 0] == 0
    bound = model.loss_bound(Z[left], z[left], delta=0.1, loss_range=2.4)
    losses = np.abs(model.predict(Z[left]) - z[left])
    assert bound.leaves[0].bound == empirical_bernstein(losses, 2.4, 0.05)
    assert bound.overall.bound == empirical_bernstein(losses, 2.4, 0.1)
    assert bound.leaves[1].n == 0
    assert bound.leaves[1].bound == np.inf


def test_bounds_hold_for_the_true_loss():
    fresh = opposite_slopes(20_000, 10**6)
    for seed in range(15):
        model, _, held_out = fitted(200, seed)
        true = np.abs(model.predict(fresh[0]) - fresh[1]).mean()
        assert model.loss_bound(*held_out, loss_range=2.4).overall.bound >= true


class Halved(AdditiveLoss):
    name = "halved"

    def per_row(self, y, scores):
        return np.abs(scores[:, 0] - y) / 2


@pytest.mark.parametrize("kind", ["error", "three classes", "repeats", "own"])
def test_classes_averages_and_losses_of_your_own(kind):
    (X, y), (Z, z) = opposite_slopes(200, 0), opposite_slopes(200, 1)
    options = {"loss_range": 4.0}
    if kind == "repeats":
        model = ToPsRegressor("lr", n_repeats=2, max_depth=0)
    elif kind == "own":
        model = ToPsRegressor("lr", loss=Halved(), max_depth=0)
    else:
        model = ToPsClassifier("lr", max_depth=0)
        options = {"loss": "error" if kind == "error" else "brier"}
        edges = [0.0] if kind == "error" else [-0.3, 0.3]
        y, z = np.digitize(y, edges), np.digitize(z, edges)
    found = model.set_params(random_state=0).fit(X, y).loss_bound(Z, z, **options).overall
    assert found.loss < found.bound < np.inf


# --- what is said


def test_losses_above_the_range_count_as_it():
    model, _, held_out = fitted()
    small = model.loss_bound(*held_out, loss_range=0.1)
    losses = np.abs(model.predict(held_out[0]) - held_out[1])
    assert small.n_capped == (losses > 0.1).sum() > 0
    assert small.overall.loss == pytest.approx(np.minimum(losses, 0.1).mean())
    assert f"{small.n_capped} rows had a loss above 0.1" in str(small)
    assert model.loss_bound(*held_out, loss_range=4.0).n_capped == 0


def test_a_vacuous_bound_says_so():
    model, _, held_out = fitted(200)
    bound = model.loss_bound(*(part[:3] for part in held_out), loss_range=0.5)
    assert bound.vacuous
    assert "held-out bound is vacuous" in str(bound)
    plenty = model.loss_bound(*opposite_slopes(3000, 5), loss_range=2.4)
    assert not plenty.vacuous
    assert "vacuous" not in str(plenty)


def test_the_same_numbers_in_print_dict_and_frame():
    model, _, held_out = fitted()
    bound = model.loss_bound(*held_out, loss_range=2.4)
    frame, record = bound.to_frame(), json.loads(json.dumps(bound.to_dict()))
    assert list(frame["rule"]) == ["x0 < 0.5", "x0 ≥ 0.5", "overall"]
    assert frame["bound"].iloc[-1] == bound.overall.bound
    assert record["overall"]["bound"] == bound.overall.bound
    assert [leaf["leaf"] for leaf in record["leaves"]] == [1, 2]
    for region in bound.regions:
        (line,) = [text for text in str(bound).splitlines() if text.endswith(region.rule)]
        assert f"{region.bound:.4g}" in line


def test_a_frame_needs_pandas(monkeypatch):
    model, _, held_out = fitted()
    bound = model.loss_bound(*held_out, loss_range=2.4)
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(MissingExtraError, match=r"predictree\[frames\]"):
        bound.to_frame()


def test_a_saved_model_has_the_same_bound(tmp_path):
    model, _, held_out = fitted()
    save(model, tmp_path / "model.tops")
    loaded = load(tmp_path / "model.tops").loss_bound(*held_out, loss_range=2.4)
    assert loaded == model.loss_bound(*held_out, loss_range=2.4)


# --- what is refused


def test_losses_that_are_no_mean_over_rows():
    X, y = opposite_slopes(200, 0)
    model = ToPsClassifier("lr", loss="auc", max_depth=0, random_state=0).fit(X, y > 0)
    with pytest.raises(InvalidInputError, match=r"1 − AUC is not a mean .* give loss='brier'"):
        model.loss_bound(X, y > 0)

    def worst(y_true, y_score):
        return np.abs(y_true - y_score).max()

    model = ToPsRegressor("lr", loss=worst, max_depth=0, random_state=0).fit(X, y)
    with pytest.raises(InvalidInputError, match=r"'worst' is not a mean .*'mse' or 'mae'"):
        model.loss_bound(X, y)


@pytest.mark.parametrize("loss", ["mse", "mae"])
def test_losses_without_largest_value(loss):
    model, _, held_out = fitted()
    with pytest.raises(InvalidInputError, match=f"{loss}.* no largest value.*loss_range="):
        model.loss_bound(*held_out, loss=loss)


def test_log_loss_without_largest_value_names_another():
    X, y = opposite_slopes(200, 0)
    model = ToPsClassifier("lr", loss="log_loss", max_depth=0, random_state=0).fit(X, y > 0)
    with pytest.raises(InvalidInputError, match="Or give loss='brier'"):
        model.loss_bound(X, y > 0)


@pytest.mark.parametrize(
    ("name", "value"),
    [("delta", 0), ("delta", 1), ("delta", "x"), ("loss_range", 0), ("loss_range", np.inf)],
)
def test_parameters_that_make_no_sense(name, value):
    model, _, held_out = fitted(60)
    with pytest.raises(InvalidInputError, match=f"{name}="):
        loss_bound(model, *held_out, **{"loss_range": 2.4, name: value})


def test_a_class_that_fit_has_not_seen():
    X, y = opposite_slopes(200, 0)
    model = ToPsClassifier("lr", max_depth=0, random_state=0).fit(X, np.where(y > 0, "a", "b"))
    with pytest.raises(InvalidInputError, match="y holds 'c', which is no class of the model"):
        model.loss_bound(X, np.where(y > 0, "a", "c"), loss="brier")
