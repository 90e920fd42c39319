"""Logistic regressions at their minima are scikit-learn's, had its solvers gone on."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from predictree import ToPsClassifier
from predictree.learners import adapt
from predictree.learners.forms import has_closed_form
from predictree.learners.forms.minimum import AtMinimum, at_minimum, is_narrow, penalty_of


def table(seed=0, n=500, k=2):
    """Columns of different size and place, a constant, and classes that they tell of."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4)) * [1, 10, 0.1, 1] + [0, 5, -3, 100]
    noisy = (X - X.mean(axis=0))[:, :k] / X.std(axis=0)[:k] + rng.gumbel(size=(n, k))
    return np.column_stack([X, np.full(n, 7.0)]), noisy.argmax(axis=1)


def learner(estimator, k=2, weight=None):
    name = "logisticregression__sample_weight" if hasattr(estimator, "steps") else "sample_weight"
    metadata = {} if weight is None else {name: weight}
    return at_minimum(adapt("a", estimator, "classification", k, metadata=metadata))


@pytest.mark.parametrize("scaled", [False, True])
@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
def test_the_model_is_that_of_a_solver_that_goes_on(scaled, k, weighted, C):
    X, y = table(k=k)
    weight = np.random.default_rng(1).uniform(0.2, 3, len(y)) if weighted else None

    def made(**params):
        estimator = LogisticRegression(C=C, **params)
        return make_pipeline(StandardScaler(), estimator) if scaled else estimator

    ours = learner(made(), k, weight)
    exact = adapt("a", made(solver="newton-cholesky", tol=1e-12), "classification", k)
    rows = np.arange(len(y))
    theirs = type(exact)(**{**vars(exact), "metadata": ours.metadata}).fit(X, y, rows, 0)
    mine = ours.fit(X, y, rows, 0)
    np.testing.assert_allclose(mine.scores(X), theirs.scores(X), atol=1e-8)
    last = (model.estimator[-1] if scaled else model.estimator for model in (mine, theirs))
    np.testing.assert_allclose(*(one.coef_ for one in last), atol=1e-8)


def test_without_a_penalty():
    X, y = table()
    X = (X - X.mean(axis=0))[:, :4] / X.std(axis=0)[:4]
    mine = learner(LogisticRegression(C=np.inf)).fit(X, y, np.arange(len(y)), 0)
    theirs = LogisticRegression(C=np.inf, tol=1e-10, max_iter=10_000).fit(X, y)
    np.testing.assert_allclose(mine.scores(X), theirs.predict_proba(X), atol=1e-6)


def test_a_class_that_is_not_there_has_no_probability():
    X, y = table(k=3)
    ours = learner(LogisticRegression(), 3)
    for present in ([0, 2], [1]):
        scores = ours.fit(X, y, np.flatnonzero(np.isin(y, present)), 0).scores(X)
        assert (scores[:, np.setdiff1d([0, 1, 2], present)] == 0).all()
        np.testing.assert_allclose(scores.sum(axis=1), 1.0)


def test_missing_values_are_refused():
    X, y = table()
    X[3, 0] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        learner(LogisticRegression()).fit(X, y, np.arange(len(y)), 0)


@pytest.mark.parametrize(
    ("estimator", "goes"),
    [
        (LogisticRegression(), True),
        (LogisticRegression(solver="saga", max_iter=5), True),
        (LogisticRegression(C=np.inf), True),
        (make_pipeline(StandardScaler(), LogisticRegression(C=3)), True),
        (LogisticRegression(solver="liblinear"), False),  # penalises its intercept
        (LogisticRegression(l1_ratio=0.5, solver="saga"), False),
        (LogisticRegression(class_weight="balanced"), False),
        (LogisticRegression(fit_intercept=False), False),
        (LogisticRegression(warm_start=True), False),
        (LogisticRegression(C="much"), False),
        (make_pipeline(StandardScaler(with_mean=False), LogisticRegression()), False),
        (OneVsRestClassifier(LogisticRegression()), False),
    ],
)
def test_who_goes_to_the_minimum(estimator, goes):
    one = at_minimum(adapt("a", estimator, "classification", 2))
    assert isinstance(one, AtMinimum) is goes
    assert has_closed_form(one) is goes


def test_only_a_solver_that_converges_is_as_good():
    assert penalty_of(LogisticRegression(solver="newton-cholesky", tol=1e-8)).converges
    assert not penalty_of(LogisticRegression(solver="newton-cholesky")).converges
    assert not penalty_of(LogisticRegression(tol=1e-8)).converges


def test_many_columns_of_many_classes_are_left_to_their_solver():
    assert is_narrow(2, 5000)
    assert is_narrow(10, 20)
    assert not is_narrow(10, 64)


def test_the_paper_takes_estimators_as_they_are(regimes):
    X, y = regimes
    fit = {"max_depth": 0, "random_state": 0}
    stopped = LogisticRegression(tol=1e-1, max_iter=50)
    models = [
        make([("a", stopped)], loss="log_loss", **fit).fit(X, y > 0)
        for make in (ToPsClassifier.paper, ToPsClassifier)
    ]
    found = [model.tree_.predictors[0].models[0].estimator for model in models]
    rows = models[0].partition_ == 0
    alone = LogisticRegression(tol=1e-1, max_iter=50).fit(X[rows], (y > 0)[rows])
    np.testing.assert_array_equal(found[0].coef_, alone.coef_)
    fold = models[1].partition_ != 0
    exact = LogisticRegression(solver="newton-cholesky", tol=1e-12).fit(X[fold], (y > 0)[fold])
    np.testing.assert_allclose(found[1].coef_, exact.coef_, atol=1e-8)
