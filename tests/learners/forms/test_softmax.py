"""Logistic regression of several classes at all splits of a node, against one by one."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from predictree.data.splits import candidate_splits
from predictree.learners import adapt
from predictree.learners.forms import closed_form, takes_steps
from predictree.learners.forms.design import Bins, Cuts, Design
from predictree.learners.forms.minimum import at_minimum

ESTIMATORS = [LogisticRegression(), make_pipeline(StandardScaler(), LogisticRegression(C=10.0))]


def table(n=400):
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=(n, 3)), rng.integers(0, 2, n)])
    turned = np.where(X[:, :1] < 0.3, X[:, :3], -X[:, :3])
    return X, (2 * turned + rng.gumbel(size=(n, 3))).argmax(axis=1)


def compare(X, y, estimator, feature, fold, n_folds):
    """Return the scores of the form and of fits one by one, where there are any."""
    rows = np.arange(len(X))
    learner = at_minimum(adapt("a", estimator, "classification", 3))
    design = Design.of(X, y, rows, rows, 3, fold, n_folds)
    splits = candidate_splits(feature, X[:, feature], None, 4)
    left = np.array([split.goes_left(X[:, feature]) for split in splits])
    cuts = Cuts((Bins.of(splits, X[:, feature], left, design),))
    scores = closed_form(learner, design).fit_splits(cuts)
    expected = np.empty_like(scores)
    for s in range(len(splits)):
        for side in (left[s], ~left[s]):
            for f in range(n_folds):
                mine = learner.fit(X, y, np.flatnonzero(side & (fold != f)), 0)
                asked = side & (fold == f)
                expected[s, asked] = mine.scores(X[asked])
    return scores, expected


@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize("feature", [0, 3])
def test_every_side_of_every_split(estimator, feature):
    X, y = table()
    scores, expected = compare(X, y, estimator, feature, np.arange(400) % 3, 3)
    np.testing.assert_allclose(scores, expected, atol=1e-7)


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_sides_without_some_class(estimator):
    X, y = table()
    y[(X[:, 0] < -0.8) & (y == 1)] = 0
    y[X[:, 0] > 0.9] = 2
    scores, expected = compare(X, y, estimator, 0, np.arange(400) % 3, 3)
    assert (expected == 0).any()
    np.testing.assert_allclose(scores, expected, atol=1e-7)


def test_only_at_the_minimum_are_several_classes_quick():
    given = adapt("a", LogisticRegression(), "classification", 3)
    assert not takes_steps(given)
    assert takes_steps(at_minimum(given))
