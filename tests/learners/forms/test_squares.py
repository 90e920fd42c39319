"""Linear learners from sums, against least squares on the rows."""

import numpy as np
import pytest
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from predictree.learners.forms.squares import (
    LARGE,
    Penalised,
    coefficients_of_sides,
    products_of_errors,
    solved,
)
from predictree.learners.forms.whitened import Whitened


def data(n=400, d=6, seed=0, **kind):
    """Columns as they come: plain, far off, or so that the last nearly is another one."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) @ rng.normal(size=(d, d))
    X[:, -1] = X[:, 0] + kind.get("apart", 1.0) * X[:, -1]
    y = X @ rng.normal(size=d) + rng.normal(size=n) + kind.get("slope", 0.0) * (X[:, -1] - X[:, 0])
    return X + kind.get("offset", 0.0), y


def whitened_rows(X, y, errors=()):
    """The columns that are summed, and how to come back from them."""
    features = X.copy()
    basis = Whitened.of(features)
    Z = features[:, : len(basis.columns)] @ basis.to
    before = Z.T @ y / len(y)
    return np.column_stack([np.ones(len(y)), Z, y - Z @ before, *errors]), basis, before


def fitted(sums, learner, basis, before):
    m = basis.rank + 1
    return coefficients_of_sides(
        sums[:, :m, :m].copy(), sums[:, :m, m].copy(), learner, basis, before
    )


def predicted(X, basis, before, found):
    standard = (X[:, basis.columns] - basis.center) / basis.scale
    return found[0] + standard @ (basis.to @ (found[1:] + before))


CASES = [
    ({}, 1e-9),
    ({"offset": 1e6}, 1e-6),
    ({"apart": 1e-6, "slope": 1e6}, 1e-6),
    ({"apart": 1e-3, "slope": 1e3, "offset": 1e6}, 1e-6),
]


@pytest.mark.parametrize(("kind", "tolerance"), CASES)
def test_answers_and_losses_are_those_of_least_squares_on_the_rows(kind, tolerance):
    X, y = data(**kind)
    rows, basis, before = whitened_rows(X, y)
    train = np.arange(len(y)) % 3 > 0
    gram = rows[train].T @ rows[train]
    found = fitted(gram[None], Penalised(0.0, False), basis, before)[0]
    center = X.mean(axis=0)
    A = np.column_stack([np.ones(len(y)), X - center])
    exact = A @ np.linalg.lstsq(A[train], y[train], rcond=1e-13)[0]
    np.testing.assert_allclose(
        predicted(X, basis, before, found), exact, atol=tolerance * np.abs(y).max()
    )
    held = rows[~train].T @ rows[~train]
    loss = products_of_errors(held[None], [found[None]], basis.rank + 2)[0, 0, 0]
    assert loss == pytest.approx(np.square(y - exact)[~train].sum(), rel=tolerance)


def test_slopes_are_those_of_least_squares_on_the_rows():
    X, y = data()
    rows, basis, before = whitened_rows(X, y)
    found = fitted((rows.T @ rows)[None], Penalised(0.0, False), basis, before)[0]
    A = np.column_stack([np.ones(len(y)), X])
    exact = np.linalg.lstsq(A, y)[0][1:]
    slopes = basis.slopes(found[None, 1:] + before)[0]
    np.testing.assert_allclose(slopes, exact, atol=1e-9 * np.abs(exact).max())


@pytest.mark.parametrize("d", [5, LARGE + 10])
@pytest.mark.parametrize("scales", [False, True])
def test_ridge_is_scikit_learns(scales, d):
    X, y = data(d=d)
    X[:, 1] *= 100
    rows, basis, before = whitened_rows(X, y)
    some = np.arange(len(y)) < 300
    gram = rows[some].T @ rows[some]
    found = fitted(gram[None], Penalised(3.0, scales), basis, before)[0]
    estimator = make_pipeline(StandardScaler(), Ridge(3.0)) if scales else Ridge(3.0)
    exact = estimator.fit(X[some], y[some]).predict(X)
    told = predicted(X, basis, before, found)
    np.testing.assert_allclose(told, exact, atol=1e-8 * np.abs(y).max())


def test_columns_that_say_the_same_are_one_direction():
    rng = np.random.default_rng(0)
    level = rng.integers(0, 3, 300)
    X = np.column_stack([level == c for c in range(3)] + [np.ones(300)]).astype(float)
    assert Whitened.of(X.copy()).rank == 2
    assert Whitened.of(np.hstack([X, 1e6 + 5 * X])).rank == 2


def test_what_is_constant_on_a_side_says_nothing_there():
    X, y = data()
    X[:, 2] = np.arange(len(y)) % 2
    rows, basis, before = whitened_rows(X, y)
    side = X[:, 2] == 1
    gram = rows[side].T @ rows[side]
    found = fitted(gram[None], Penalised(0.0, False), basis, before)[0]
    A = np.column_stack([np.ones(len(y)), np.delete(X, 2, axis=1)])
    exact = A @ np.linalg.lstsq(A[side], y[side])[0]
    np.testing.assert_allclose(predicted(X, basis, before, found)[side], exact[side], atol=1e-8)


def test_errors_that_are_columns_multiply_with_those_of_learners():
    X, y = data()
    error = np.random.default_rng(1).normal(size=len(y))
    rows, basis, before = whitened_rows(X, y, [error])
    gram = (rows.T @ rows)[None]
    own = fitted(gram[:, :-1, :-1], Penalised(0.0, False), basis, before)
    mine = y - predicted(X, basis, before, own[0])
    both = np.column_stack([mine, error])
    found = products_of_errors(gram, [own], basis.rank + 2)[0]
    np.testing.assert_allclose(found, both.T @ both, rtol=1e-8, atol=1e-8)


def test_no_rows_have_no_coefficients():
    X, y = data()
    rows, basis, before = whitened_rows(X, y)
    sums = np.stack([rows.T @ rows, np.zeros((basis.rank + 2,) * 2)])
    found = fitted(sums, Penalised(0.0, False), basis, before)
    assert np.isnan(found).all(axis=1).tolist() == [False, True]


def test_many_columns_are_solved_as_few():
    rng = np.random.default_rng(0)
    A = rng.normal(size=(3, 300, LARGE + 1))
    systems, targets = A.transpose(0, 2, 1) @ A, rng.normal(size=(3, LARGE + 1))
    exact = np.linalg.solve(systems, targets[..., None])[..., 0]
    np.testing.assert_allclose(solved(systems.copy(), targets.copy()), exact, rtol=1e-8)


def test_a_system_without_a_solution_is_told():
    found = solved(-np.eye(LARGE)[None], np.ones((1, LARGE)))
    assert np.isnan(found).all()
