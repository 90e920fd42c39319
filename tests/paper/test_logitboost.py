import numpy as np
import pytest
from sklearn.tree import DecisionTreeRegressor
from sklearn.utils.estimator_checks import parametrize_with_checks

from predictree.errors import InvalidInputError
from predictree_paper.logitboost import LogitBoostClassifier, centred, working_response


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 4))
    return X, X[:, 0] ** 2 + X[:, 1] + 0.5 * rng.normal(size=200)


A_TIE = "trees break ties by the order of rows; scikit-learn lists its own for this check, too"


@parametrize_with_checks(
    [LogitBoostClassifier(5), LogitBoostClassifier(5, max_depth=2)],
    expected_failed_checks=lambda _: {"check_sample_weight_equivalence_on_dense_data": A_TIE},
)
def test_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("max_depth", [1, 3])
def test_two_classes_by_a_naive_loop(data, max_depth):
    """Algorithm 3 of the paper, row by row, with p = exp(F) / (exp(F) + exp(-F))."""
    X, score = data
    y = score > 0.5
    model = LogitBoostClassifier(12, max_depth=max_depth, random_state=0).fit(X, y)
    random = np.random.RandomState(0)
    F = [0.0] * len(y)
    for _ in range(12):
        p = [np.exp(f) / (np.exp(f) + np.exp(-f)) for f in F]
        z = [min(1 / q, 4.0) if label else max(-1 / (1 - q), -4.0) for label, q in zip(y, p)]
        w = [(label - q) / bounded for label, q, bounded in zip(y, p, z)]
        tree = DecisionTreeRegressor(max_depth=max_depth, random_state=random)
        step = tree.fit(X, z, sample_weight=w).predict(X)
        F = [f + 0.5 * s for f, s in zip(F, step)]
    np.testing.assert_allclose(model.decision_function(X), F, rtol=1e-8)
    p = 1 / (1 + np.exp(-2 * np.array(F)))
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], p, rtol=1e-8)


def test_three_classes_by_a_naive_loop(data):
    """Algorithm 6 of the paper."""
    X, score = data
    y = np.digitize(score, [0.3, 1.2])
    model = LogitBoostClassifier(6, random_state=0).fit(X, y)
    random = np.random.RandomState(0)
    F = np.zeros((len(y), 3))
    for _ in range(6):
        p = np.exp(F) / np.exp(F).sum(axis=1)[:, None]
        f = np.zeros_like(F)
        for j in range(3):
            miss = (y == j) - p[:, j]
            z = np.clip(miss / (p[:, j] * (1 - p[:, j])), -4, 4)
            w = miss / z
            tree = DecisionTreeRegressor(max_depth=1, random_state=random)
            f[:, j] = tree.fit(X, z, sample_weight=w).predict(X)
        for j in range(3):
            F[:, j] += 2 / 3 * (f[:, j] - f.mean(axis=1))
    np.testing.assert_allclose(model.decision_function(X), F, rtol=1e-8)
    np.testing.assert_array_equal(model.predict(X), F.argmax(axis=1))


def test_the_likelihood_grows(data):
    X, score = data
    y = (score > 0.5).astype(int)
    likelihood = []
    for rounds in (1, 5, 25):
        proba = LogitBoostClassifier(rounds, random_state=0).fit(X, y).predict_proba(X)
        likelihood.append(np.log(proba[np.arange(len(y)), y]).sum())
    assert likelihood == sorted(likelihood)


def test_a_weight_counts_like_repetitions(data):
    X, score = data
    y = score > 0.5
    count = np.random.default_rng(1).integers(0, 3, len(y))
    model = LogitBoostClassifier(8, max_depth=2, random_state=0)
    weighted = model.fit(X, y, sample_weight=count).decision_function(X)
    repeated = model.fit(np.repeat(X, count, axis=0), np.repeat(y, count)).decision_function(X)
    np.testing.assert_allclose(weighted, repeated)


def test_working_responses_stay_bounded():
    z, w = working_response(np.array([True, False, True]), np.array([0.0, 1.0, 0.5]), 3.0)
    assert z.tolist() == [3, -3, 2]
    np.testing.assert_allclose(w, [1 / 3, 1 / 3, 0.25])


def test_a_rare_class_keeps_its_share():
    """One row in twenty, for which 1 / p is above its bound: the mean probability is right."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4000, 2))
    y = rng.random(4000) < 0.05 * np.exp(0.5 * X[:, 0])
    p = LogitBoostClassifier(60, random_state=0).fit(X, y).predict_proba(X)[:, 1]
    assert p.mean() == pytest.approx(y.mean(), rel=0.02)


def test_one_tree_for_two_classes_is_as_two_that_mirror_each_other():
    one = np.array([[0.5], [-2.0]])
    np.testing.assert_array_equal(centred(one), centred(np.column_stack([-one, one])))
    np.testing.assert_array_equal(centred(one)[:, 1], [0.25, -1.0])


def test_bad_parameters_are_named(data):
    X, score = data
    with pytest.raises(InvalidInputError, match=r"z_max=0\.5 is not a number of at least 1"):
        LogitBoostClassifier(z_max=0.5).fit(X, score > 0)
    with pytest.raises(InvalidInputError, match="y has only one class"):
        LogitBoostClassifier().fit(X, score > 99)
