"""MetricKernelRegressor and MetricKernelClassifier as users see them."""

import numpy as np
import pytest
from sklearn.datasets import make_friedman1, make_moons
from sklearn.utils.estimator_checks import parametrize_with_checks

from predictree import ToPsRegressor, load, save
from predictree.learners.metric import MetricKernelClassifier, MetricKernelRegressor

DRAWN = {
    "check_sample_weight_equivalence_on_dense_data": "which rows judge is drawn at random, and "
    "another draw of repeated rows"
}


@parametrize_with_checks(
    [MetricKernelRegressor(), MetricKernelClassifier()],
    expected_failed_checks=lambda estimator: DRAWN,
)
def test_scikit_learn_accepts_them(estimator, check):
    check(estimator)


def test_columns_that_say_nothing_lose_their_weight():
    X, y = make_friedman1(600, 10, noise=0.3, random_state=0)
    model = MetricKernelRegressor(random_state=0).fit(X, y)
    assert model.metric_[:5].min() > 5 * model.metric_[5:].max()
    X, y = make_friedman1(600, 10, noise=0.0, random_state=1)
    assert model.score(X, y) > 0.97


def test_many_rows_are_told_by_fewer():
    X, y = make_friedman1(1500, 5, noise=0.3, random_state=0)
    model = MetricKernelRegressor(n_exact=1000, n_centres=300, random_state=0).fit(X, y)
    assert len(model.machine_.rows) == 300
    assert model.score(*make_friedman1(500, 5, random_state=1)) > 0.95


def test_no_answer_leaves_the_range_of_the_labels():
    X, y = make_friedman1(300, 5, random_state=0)
    model = MetricKernelRegressor(random_state=0).fit(X, y)
    told = model.predict(np.vstack([X, 1e12 * X, -1e12 * X]))
    assert y.min() <= told.min() <= told.max() <= y.max()


@pytest.mark.parametrize("names", [["no", "yes"], ["a", "b", "c"]])
def test_probabilities_are_those_of_the_classes(names):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 4))
    y = np.array(names)[np.digitize(X[:, 0], np.linspace(-1, 1, len(names) + 1)[1:-1])]
    model = MetricKernelClassifier(random_state=0).fit(X, y)
    p = model.predict_proba(X)
    assert p.sum(axis=1) == pytest.approx(np.ones(500))
    assert model.classes_.tolist() == names
    assert model.score(X, y) > 0.95


def test_probabilities_are_calibrated_on_moons():
    X, y = make_moons(1500, noise=0.3, random_state=0)
    p = MetricKernelClassifier(random_state=0).fit(X[:500], y[:500]).predict_proba(X[500:])[:, 1]
    for low, high in [(0, 0.3), (0.7, 1)]:
        inside = (p >= low) & (p < high)
        assert y[500:][inside].mean() == pytest.approx(p[inside].mean(), abs=0.05)


def test_rows_without_weight_are_as_good_as_absent():
    X, y = make_friedman1(200, 5, random_state=0)
    weight = (np.arange(200) < 150).astype(float)
    one = MetricKernelRegressor(random_state=0).fit(X, y, weight).predict(X)
    assert one == pytest.approx(
        MetricKernelRegressor(random_state=0).fit(X[:150], y[:150]).predict(X)
    )


def test_it_is_saved_without_code(tmp_path):
    X, y = make_friedman1(200, 5, random_state=0)
    model = ToPsRegressor([("kernel", MetricKernelRegressor())], max_depth=0, random_state=0)
    save(model.fit(X, y), tmp_path / "model.tops")
    assert load(tmp_path / "model.tops").predict(X) == pytest.approx(model.predict(X))
