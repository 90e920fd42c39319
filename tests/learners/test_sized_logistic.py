"""Logistic regression with a solver that suits its size."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.utils.estimator_checks import parametrize_with_checks

from predictree import ToPsClassifier, load, save
from predictree.learners.sized_logistic import SizedLogistic


def rows(n_features, n_classes):
    return make_classification(
        400, n_features, n_informative=10, n_classes=n_classes, random_state=0
    )


@pytest.mark.parametrize(("n_features", "n_classes", "wide"), [(20, 3, 0), (90, 6, 1), (600, 2, 0)])
def test_only_many_coefficients_of_several_classes_change_the_solver(n_features, n_classes, wide):
    X, y = rows(n_features, n_classes)
    sized = SizedLogistic(solver="newton-cholesky", tol=1e-8).fit(X, y)
    newton = LogisticRegression(solver="newton-cholesky", tol=1e-8).fit(X, y)
    assert (sized.n_iter_ > newton.n_iter_).all() == bool(wide)
    if not wide:
        np.testing.assert_array_equal(sized.coef_, newton.coef_)
    np.testing.assert_allclose(sized.predict_proba(X), newton.predict_proba(X), atol=5e-3)


def test_another_solver_is_left_to_do_its_work():
    X, y = rows(90, 6)
    options = {"solver": "saga", "max_iter": 5000, "random_state": 0, "l1_ratio": 1.0, "C": 0.1}
    sized, plain = (kind(**options).fit(X, y) for kind in (SizedLogistic, LogisticRegression))
    np.testing.assert_array_equal(sized.coef_, plain.coef_)


def test_what_it_was_given_stays_as_it_was():
    X, y = rows(90, 6)
    model = SizedLogistic(solver="newton-cholesky", tol=1e-8, C=0.5)
    given = model.get_params()
    weight = np.where(y == 0, 0.0, 1.0)
    fitted = model.fit(X, y, weight)
    assert fitted is model
    assert model.get_params() == given == clone(model).get_params()
    assert model.predict_proba(X)[:, 0].max() < 0.5  # nobody of weight is of class 0
    assert set(vars(LogisticRegression().fit(X, y))) == set(vars(model))


@parametrize_with_checks([SizedLogistic(solver="newton-cholesky")])
def test_it_is_a_classifier_like_others(estimator, check):
    check(estimator)


def test_a_saved_model_has_it_back(tmp_path):
    X, y = rows(90, 6)
    learner = SizedLogistic(solver="newton-cholesky", tol=1e-8)
    model = ToPsClassifier([("logistic", learner)], max_depth=0, random_state=0).fit(X, y)
    save(model, tmp_path / "model.tops")
    again = load(tmp_path / "model.tops")
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
