import json
import sys
from itertools import product
from math import exp, log, sqrt

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from conftest import HELD_OUT
from predictree import ToPsClassifier, ToPsRegressor, load, save
from predictree.errors import InvalidInputError, MissingExtraError
from predictree.learners.adapter import ClassModel, Constant, adapt
from predictree.losses import AdditiveLoss
from predictree.model.tree import Node, PathWeight, Predictor, Tree
from predictree_paper.complexity import (
    Randomness,
    Reference,
    ball_complexity,
    ball_on_grid,
    complexities,
    sampled_complexity,
)
from predictree_paper.theorem import paper_bound


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


def norm_of_signs(Z):
    """The mean of ‖Σ σᵢ zᵢ‖ / n over all signs."""
    signs = np.array(list(product([-1, 1], repeat=len(Z))))
    return np.linalg.norm(signs @ Z, axis=1).mean() / len(Z)


# --- Rademacher complexity


@given(arrays(float, (7, 2), elements=st.floats(-5, 5)), st.floats(0.1, 10))
def test_closed_form_is_near_the_exact_complexity_of_a_ball_and_never_below(Z, radius):
    exact = radius * norm_of_signs(Z)
    closed = ball_complexity(Z, radius)
    assert exact <= closed + 1e-9
    assert closed <= sqrt(2) * exact + 1e-9  # Khintchine and Kahane


def test_sampled_signs_agree_with_the_exact_complexity_of_a_ball():
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(12, 3))
    drawn = np.linalg.norm(rng.choice([-1, 1], (400, 12)) @ Z, axis=1) / 12
    error = drawn.std(ddof=1) / sqrt(400)
    assert abs(drawn.mean() - norm_of_signs(Z)) < 4 * error
    assert drawn.mean() - 4 * error <= ball_complexity(Z, 1.0)


def test_a_ridge_fitted_to_signs_stays_below_its_ball():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(80, 4))
    ridge = Ridge(alpha=50.0, fit_intercept=False)
    learner = adapt("ridge", ridge, "regression", 1)
    value, error = sampled_complexity(learner, X, Randomness(40, 0, 1.0))
    fits = [ridge.fit(X, rng.choice([-1.0, 1.0], 80)).coef_ for _ in range(200)]
    norms = np.linalg.norm(fits, axis=1)
    assert value > 4 * error
    assert value <= ball_complexity(X, max(norms))


def test_signs_have_a_stream_of_their_own():
    X = np.random.default_rng(0).integers(0, 2, (2000, 1)).astype(float)
    learner = adapt("tree", DecisionTreeClassifier(max_depth=1), "classification", 2)
    value, _ = sampled_complexity(learner, X, Randomness(2, 0, 0.0))
    assert value < 0.1


@given(st.floats(0, 1e12))
def test_the_ball_on_the_grid_holds_the_norm_and_little_more(norm):
    radius, share = ball_on_grid(norm)
    assert norm <= radius
    assert radius <= max(2 * norm, 2.0**-60)
    assert 0 < share <= 1 / 3


def test_the_shares_of_all_balls_sum_to_one():
    shares = [ball_on_grid(2.0**k)[1] for k in range(-60, 1000)]
    assert 0.98 < sum(shares) < 1


def test_a_learner_that_knows_more_functions_is_more_complex():
    X = np.random.default_rng(2).normal(size=(100, 2))
    learners = [adapt("k", KNeighborsRegressor(k), "regression", 1) for k in (1, 5, 50)]
    values = [sampled_complexity(learner, X, Randomness(5, 0, 1.0))[0] for learner in learners]
    assert values[0] == pytest.approx(1)  # every row is its own neighbour
    assert values[0] > values[1] > values[2]


def lone_root(*models):
    node = Node(
        id=0, parent=None, depth=0, children=None, split=None, learner="a", trained_on=0, loss=0.0,
        split_loss=None, n_train=200, n_v1=1, n_v2=1, weights=(PathWeight(0, "a", 0, 1.0),),
    )  # fmt: skip
    return Tree.from_nodes([node], [Predictor("a", 0, models)], 2)


def complexity_at_root(tree, X):
    label = Reference(X, 0.25)
    (found,) = complexities(tree, 0, X, label, Randomness(2, 0, 0.0), np.array([0, 1]))
    assert found.method == "closed form"
    return found


def test_logistic_regression_has_a_quarter_and_a_constant_adds_a_half():
    X = np.random.default_rng(3).normal(1.0, 2.0, (200, 2))
    fitted = LogisticRegression().fit(X, X[:, 1] > 0.3)
    line, constant = ClassModel(fitted, np.array([0, 1]), 2), Constant(np.array([1.0, 0.0]))
    mean, deviation, slope = X.mean(axis=0), X.std(axis=0), fitted.coef_[0]
    norm = np.linalg.norm([fitted.intercept_[0] + slope @ mean, *(slope * deviation)])
    Z = np.column_stack([np.ones(200), (X - mean) / deviation])
    radius, share = ball_on_grid(norm)
    alone = complexity_at_root(lone_root(line), X)
    assert alone.value == pytest.approx(ball_complexity(Z, radius) / 4)
    assert alone.share == share
    both = complexity_at_root(lone_root(line, constant), X)
    assert both.value == pytest.approx(alone.value + 0.5 / sqrt(200))


def test_a_constant_is_a_linear_function_without_slope():
    X = np.random.default_rng(3).normal(size=(50, 2))
    found = complexity_at_root(lone_root(Constant(np.array([0.0, 1.0]))), X)
    Z = np.column_stack([np.ones(50), (X - X.mean(axis=0)) / X.std(axis=0)])
    assert found.value == ball_complexity(Z, 1.0)  # 0.75 from the mean label, rounded up


# --- the theorem


def test_the_terms_by_hand():
    model, (X, y), (Z, z) = fitted(learners=[("linear", LinearRegression())], **HELD_OUT)
    bound = paper_bound(model, Z, z, delta=0.1, training=(X, y), loss_range=3.0)
    S = model.partition_ == 0
    assert len(bound.leaves) == 2
    totals, sizes = [], []
    for term, region in zip(bound.leaves, bound.held_out.leaves):
        here = S & (model.apply(X) == region.leaf)
        used = {record.trained_on for record in model.tree_[region.leaf].weights if record.weight}
        norms = []
        for node in used:
            trained = S if node == 0 else here
            line = LinearRegression().fit(X[trained], y[trained])
            at_mean = line.predict(Z.mean(axis=0)[None])[0] - z.mean()
            norms.append(np.linalg.norm([at_mean, *(line.coef_ * Z.std(axis=0))]))
        radius, share = ball_on_grid(max(norms))
        n = here.sum()
        standard = (X[here] - Z.mean(axis=0)) / Z.std(axis=0)
        complexity = radius * sqrt(n + np.square(standard).sum()) / n
        assert term.n == n
        assert term.empirical == pytest.approx(np.abs(model.predict(X[here]) - y[here]).mean())
        assert term.rademacher == pytest.approx(2 * complexity)
        assert term.confidence == pytest.approx(4 * 3 * sqrt(2 * log(4 * 2 / (0.1 * share)) / n))
        totals.append(term.empirical + term.rademacher + term.confidence)
        sizes.append(n)
    assert bound.overall.n == S.sum()
    assert bound.overall.total == pytest.approx(np.average(totals, weights=sizes))


def test_the_slope_of_each_loss():
    model, training, held_out = fitted()
    found = {
        loss: paper_bound(model, *held_out, training=training, loss=loss, loss_range=4.0)
        for loss in ("mae", "mse")
    }
    rademacher = {loss: bound.overall.rademacher for loss, bound in found.items()}
    assert rademacher["mse"] == pytest.approx(4 * rademacher["mae"])
    (X, y), (Z, z) = training, held_out
    model = ToPsClassifier("lr", max_depth=0, random_state=0).fit(X, y > 0)
    found = {
        loss: paper_bound(model, Z, z > 0, training=(X, y > 0), loss=loss, loss_range=c)
        for loss, c in (("brier", None), ("log_loss", 3.0))
    }
    rademacher = {loss: bound.overall.rademacher for loss, bound in found.items()}
    assert rademacher["log_loss"] == pytest.approx(exp(3) / 2 * rademacher["brier"])


def test_the_price_falls_with_the_root_of_the_rows():
    price, rows = [], (250, 1000, 4000)
    for n in rows:
        model, training, held_out = fitted(n)
        theorem = paper_bound(model, *held_out, training=training, loss_range=2.4).overall
        price.append(theorem.total - theorem.empirical)
    slope = np.polyfit(np.log(rows), np.log(price), 1)[0]
    assert slope == pytest.approx(-0.5, abs=0.05)


def test_a_learner_without_closed_form_is_sampled():
    learners = [
        ("linear", make_pipeline(StandardScaler(), LinearRegression())),
        ("tree", DecisionTreeRegressor(max_depth=4)),
    ]
    model, training, held_out = fitted(learners=learners, refit=True)
    bound = paper_bound(model, *held_out, training=training, loss_range=2.4, n_draws=3)
    again = paper_bound(model, *held_out, training=training, loss_range=2.4, n_draws=3)
    other = paper_bound(
        model,
        *held_out,
        training=training,
        loss_range=2.4,
        n_draws=3,
        random_state=1,
    )
    assert bound == again
    assert "Monte Carlo" in bound.overall.method
    assert "estimate from below" in str(bound)
    sampled = [region for region in bound.leaves if region.learner == "tree"]
    assert sampled
    assert all(term.rademacher_error > 0 for term in sampled)
    assert other.overall.rademacher != bound.overall.rademacher


def test_a_leaf_of_one_class_and_columns_with_gaps():
    X, y = opposite_slopes(400, 0)
    X[::9, 2] = np.nan
    label = np.where(y > 0, "up", "down")
    model = ToPsClassifier([("l", LogisticRegression())], max_depth=1, random_state=0)
    model.fit(X[:250], label[:250])
    bound = paper_bound(
        model,
        X[250:],
        label[250:],
        training=(X[:250], label[:250]),
        loss="brier",
        n_draws=2,
    )
    assert bound.overall.method == "Monte Carlo"  # gaps are filled: not linear
    assert np.isfinite(bound.overall.total)


def test_units_of_columns_do_not_matter():
    (X, y), (Z, z) = opposite_slopes(300, 0), opposite_slopes(300, 1)
    unit, shift = np.array([1.0, 1000.0, 0.01]), np.array([0.0, -5e4, 3.0])
    found = []
    for scale, move in ((1.0, 0.0), (unit, shift)):
        model = ToPsRegressor("lr", loss="mae", max_depth=1, random_state=0)
        training = (X * scale + move, y)
        bound = paper_bound(
            model.fit(*training),
            Z * scale + move,
            z,
            training=training,
            loss_range=2.4,
        )
        found.append([bound.overall.rademacher, bound.overall.confidence])
    assert found[0] == pytest.approx(found[1])  # the folds, and with them the losses, differ a bit


def test_categories_of_a_frame_are_linear_columns():
    (X, y), (Z, z) = opposite_slopes(300, 0), opposite_slopes(300, 1)
    frames = [
        pd.DataFrame({"kind": np.where(rows[:, 0] == 1, "a", "b"), "dose": rows[:, 1]})
        for rows in (X, Z)
    ]
    model = ToPsRegressor("lr", loss="mae", max_depth=1, random_state=0).fit(frames[0], y)
    bound = paper_bound(model, frames[1], z, training=(frames[0], y), loss_range=2.4)
    assert [region.rule for region in bound.held_out.leaves] == ['kind = "a"', 'kind = "b"']
    assert bound.overall.method == "closed form"
    assert np.isfinite(bound.overall.total)


def test_zero_weight_rows_are_no_part_of_s():
    X, y = opposite_slopes(300, 0)
    weight = np.r_[np.zeros(40), np.ones(260)]
    model = ToPsRegressor("lr", max_depth=1, random_state=0).fit(X, y, weight)
    bound = paper_bound(model, *opposite_slopes(200, 1), training=(X, y), loss_range=4.0)
    assert bound.overall.n == 260


def test_bounds_hold_for_the_true_loss():
    fresh = opposite_slopes(20_000, 10**6)
    for seed in range(15):
        model, training, held_out = fitted(200, seed)
        true = np.abs(model.predict(fresh[0]) - fresh[1]).mean()
        found = paper_bound(model, *held_out, training=training, loss_range=2.4)
        assert found.overall.total >= true


def test_beside_it_stands_the_librarys_own_bound():
    model, training, held_out = fitted()
    found = paper_bound(model, *held_out, training=training, loss_range=2.4)
    assert found.held_out == model.loss_bound(*held_out, loss_range=2.4)


# --- what is said


def test_losses_above_the_range_count_as_it():
    model, (X, y), held_out = fitted()
    small = paper_bound(model, *held_out, training=(X, y), loss_range=0.1)
    losses = np.abs(model.predict(X) - y)
    assert small.n_capped == (losses > 0.1).sum() > 0
    assert small.overall.empirical == pytest.approx(np.minimum(losses, 0.1).mean())
    assert f"{small.n_capped} rows of S had a loss above 0.1" in str(small)
    assert f"{small.held_out.n_capped} rows had a loss above 0.1" in str(small)
    assert paper_bound(model, *held_out, training=(X, y), loss_range=4.0).n_capped == 0


def test_a_vacuous_bound_says_so():
    model, training, held_out = fitted(200)
    bound = paper_bound(model, *(part[:3] for part in held_out), training=training, loss_range=0.5)
    assert bound.vacuous
    assert "Theorem 1 is vacuous" in str(bound)
    assert "held-out bound is vacuous" in str(bound)
    wide = paper_bound(model, *held_out, training=training, loss_range=2.4)
    assert wide.vacuous == (wide.overall.total >= 2.4)


def test_the_same_numbers_in_print_dict_and_frame():
    model, training, held_out = fitted()
    bound = paper_bound(model, *held_out, training=training, loss_range=2.4)
    frame, record = bound.to_frame(), json.loads(json.dumps(bound.to_dict()))
    assert list(frame["rule"]) == ["x0 < 0.5", "x0 ≥ 0.5", "overall"]
    assert frame["total"].iloc[-1] == bound.overall.total
    assert frame["bound"].iloc[0] == bound.held_out.leaves[0].bound
    assert frame["n_held_out"].iloc[-1] == len(held_out[1])
    assert record["overall"]["total"] == bound.overall.total
    assert record["held_out"]["overall"]["bound"] == bound.held_out.overall.bound
    for terms, region in zip((*bound.leaves, bound.overall), bound.held_out.regions):
        (line,) = [text for text in str(bound).splitlines() if text.endswith(region.rule)]
        assert f"{terms.total:.4g}" in line
        assert f"{region.bound:.4g}" in line


def test_a_frame_needs_pandas(monkeypatch):
    model, training, held_out = fitted()
    bound = paper_bound(model, *held_out, training=training, loss_range=2.4)
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(MissingExtraError, match=r"predictree\[paper\]"):
        bound.to_frame()


# --- what is refused


def test_training_rows_must_be_those_of_fit():
    model, (X, y), held_out = fitted()
    options = {"loss_range": 2.4}
    with pytest.raises(InvalidInputError, match="299 rows, and fit had 300"):
        paper_bound(model, *held_out, training=(X[1:], y[1:]), **options)
    with pytest.raises(InvalidInputError, match="rows of S at leaf 1, and fit had"):
        paper_bound(model, *held_out, training=opposite_slopes(300, 9), **options)
    with pytest.raises(InvalidInputError, match="hold the same rows"):
        paper_bound(model, X, y, training=(X, y), **options)


class Halved(AdditiveLoss):
    name = "halved"

    def per_row(self, y, scores):
        return np.abs(scores[:, 0] - y) / 2


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        ("error", "convex function"),
        ("three classes", "3 classes"),
        ("repeats", "averages 2"),
        ("own", "convex function"),
    ],
)
def test_what_the_theorem_does_not_cover(kind, reason):
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
    model.set_params(random_state=0).fit(X, y)
    with pytest.raises(InvalidInputError, match=reason):
        paper_bound(model, Z, z, training=(X, y), **options)


def test_a_loaded_model_knows_nothing_of_its_training_rows(tmp_path):
    model, training, held_out = fitted()
    save(model, tmp_path / "model.tops")
    loaded = load(tmp_path / "model.tops")
    with pytest.raises(InvalidInputError, match="loaded from a file"):
        paper_bound(loaded, *held_out, training=training, loss_range=2.4)


@pytest.mark.parametrize(("name", "value"), [("delta", 0), ("loss_range", 0), ("n_draws", 1)])
def test_parameters_that_make_no_sense(name, value):
    model, training, held_out = fitted(60)
    options = {"training": training, "loss_range": 2.4, name: value}
    with pytest.raises(InvalidInputError, match=f"{name}="):
        paper_bound(model, *held_out, **options)
