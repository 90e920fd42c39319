"""What splits gain by the quadratic model ranks them as exact fits do."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import spearmanr
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from growing import fits_of, in_folds, root_of
from predictree.grow.methods import Recipe, stacked
from predictree.grow.rows import Limits
from predictree.grow.search.trials import Trials
from predictree.learners.forms.minimum import at_minimum
from predictree.losses import LogLoss

PLAIN = LogisticRegression(solver="newton-cholesky", tol=1e-8)
SCALED = make_pipeline(StandardScaler(), PLAIN)


def turned(k, n=1500):
    """Return rows whose slopes turn round where the third column passes a half."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 5))
    slopes = (
        np.where(X[:, 2:3] > 0.5, 2, -2) * X[:, :2].sum(axis=1)[:, None] * np.linspace(-1, 1, k)
    )
    return X, (slopes + rng.gumbel(size=(n, k))).argmax(axis=1)


def told(X, y, estimator):
    """Return the splits of the root, what they gain by sums, and their exact losses."""
    fits = fits_of(X, y, in_folds(len(y), 4), [estimator], LogLoss())
    learners = tuple(map(at_minimum, fits.problem.learners))
    fits.problem = replace(fits.problem, learners=learners)
    limits = Limits(9, 1, 20, 10, 0.0)
    root = root_of(stacked(fits, Recipe(limits)), fits)
    trials = Trials(root, limits, fits)
    exact = [
        root.rows.problem.loss.value(root.rows.judged, trial.own[0])
        for trial in trials.of_quick(trials.splits, *trials.closed)
    ]
    flat = [split for splits in trials.splits for split in splits]
    return flat, trials.gains()[0], np.array(exact)


@pytest.mark.parametrize("estimator", [PLAIN, SCALED])
@pytest.mark.parametrize("k", [2, 3])
def test_the_best_split_is_the_first_and_the_others_follow(estimator, k):
    flat, gains, exact = told(*turned(k), estimator)
    assert flat[gains.argmax()] == flat[exact.argmin()]
    assert flat[gains.argmax()].feature == 2
    assert spearmanr(gains, -exact).statistic > 0.97


def test_the_gain_is_that_of_the_log_loss_where_it_is_small():
    """With hardly a region to find, sides stay near the node, where its quadratic model holds."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4000, 3))
    y = (X[:, 0] + 0.3 * X[:, 1] * (X[:, 2] > 0) + rng.logistic(size=4000) > 0).astype(int)
    _, gains, exact = told(X, y, PLAIN)
    best = gains.argmax()
    whole = LogisticRegression(solver="newton-cholesky", tol=1e-8)
    fold = in_folds(4000, 4).fold
    held = np.empty(4000)
    for f in range(4):
        p = whole.fit(X[fold != f], y[fold != f]).predict_proba(X[fold == f])
        held[fold == f] = -np.log(p[np.arange(len(p)), y[fold == f]])
    gained = held.mean() - exact[best]
    assert gained > 0
    assert gains[best] / 4000 == pytest.approx(gained, rel=0.1)
