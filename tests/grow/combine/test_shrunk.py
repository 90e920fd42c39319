"""Mixtures at the two sides of a split."""

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from growing import fits_of, in_folds, root_of
from predictree.grow.methods import Recipe, stacked
from predictree.grow.rows import Limits
from predictree.losses import LogLoss, SquaredError

ESTIMATORS = {
    "regression": [LinearRegression(), DecisionTreeRegressor(max_depth=2, random_state=0)],
    "classification": [
        LogisticRegression(solver="newton-cholesky", tol=1e-8),
        DecisionTreeClassifier(max_depth=2, random_state=0),
    ],
}


@pytest.mark.parametrize("loss", [SquaredError(), LogLoss()])
def test_a_sketch_is_near_the_exact_mixture(regimes, loss):
    X, y = regimes
    y = y if loss.task == "regression" else (y > 0).astype(int)
    fits = fits_of(X, y, in_folds(len(y), 4), ESTIMATORS[loss.task], loss)
    way = stacked(fits, Recipe(Limits(9, 1, 20, 10, 0.0), strength=30.0))
    root, worst = root_of(way, fits), 0.0
    for trial in way.search(root):
        sketch = way.combine.best(root, trial, np.inf)
        exact = way.combine.rehearsed(root, sketch)
        worst = max(worst, abs(sketch.loss / exact.loss - 1))
    assert 0 < worst < (1e-6 if loss.task == "regression" else 0.02)
