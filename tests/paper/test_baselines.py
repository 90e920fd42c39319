"""The algorithms that ToPs is compared with, and how they are tuned."""

import sys
from dataclasses import replace

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.tree import DecisionTreeClassifier

from paper.making import column
from predictree.errors import InvalidInputError, MissingExtraError
from predictree_paper.algorithms import ALGORITHMS, find
from predictree_paper.baselines import BASELINES, Baseline, IndicatorClassifier
from predictree_paper.work import Work, loss_of, scores_of

# These need no module but scikit-learn, and little time.
QUICK = ("dtree", "stump", "lasso", "lr", "logit", "svm")


def work(loss="auc", n=160):
    made = column(n + 60)
    return Work(made.X[:n], made.y[:n], made.X[n:], loss, 3), made.y[n:]


@pytest.mark.parametrize("loss", ["auc", "error"])
@pytest.mark.parametrize("name", QUICK)
def test_quick_baselines_answer(name, loss):
    w, y_test = work(loss)
    answer = ALGORITHMS[name].answer(w)
    assert answer.scores.shape == (60,)
    assert 0 <= loss_of(loss, y_test, answer.scores) < 0.6


def test_the_same_seed_gives_the_same_answer():
    w, _ = work()
    first, second = (ALGORITHMS["dtree"].answer(w).scores for _ in range(2))
    assert np.array_equal(first, second)


def test_linear_regression_is_fitted_on_the_indicator():
    w, _ = work()
    expected = LinearRegression().fit(w.X, w.y).predict(w.X_test) - 0.5
    assert ALGORITHMS["lr"].answer(w).scores == pytest.approx(expected)


def test_an_indicator_classifier_of_three_classes():
    X = np.array([[1.0, 0, 0], [0, 1, 0], [0, 0, 1]] * 4)
    y = np.array(["a", "b", "c"] * 4)
    model = IndicatorClassifier(Ridge(alpha=0.1)).fit(X, y)
    assert model.predict(X[:3]).tolist() == ["a", "b", "c"]
    assert model.decision_function(X).shape == (12, 3)


def test_one_half_is_the_second_class():
    X, y = np.array([[0.0], [0.0], [1.0]]), np.array([0, 1, 1])
    model = IndicatorClassifier(LinearRegression()).fit(X, y)
    assert loss_of("error", np.array([1]), scores_of(model, X[:1])) == 0


def test_scores_of_what_has_only_probabilities():
    X, y = np.array([[0.0], [1.0], [2.0]]), np.array([0, 1, 2])
    two, three = (DecisionTreeClassifier().fit(X, labels) for labels in (y > 0, y))
    assert scores_of(two, X).tolist() == [-0.5, 0.5, 0.5]
    assert loss_of("error", y, scores_of(three, X)) == 0


def test_tuning_takes_the_candidate_with_the_least_held_out_loss():
    w, _ = work()
    grid = {"max_depth": [1, 4]}
    answer = Baseline(lambda seed: DecisionTreeClassifier(random_state=seed), grid)(w)
    assert answer.settings["max_depth"] == 4  # one split cannot tell these classes apart
    assert answer.settings["tried"] == 2
    assert answer.settings["tuned_on"] == 160
    whole = DecisionTreeClassifier(max_depth=4, random_state=w.seed).fit(w.X, w.y)
    assert np.array_equal(answer.scores, scores_of(whole, w.X_test))


def test_tuning_on_few_rows_is_told_and_trains_on_all(monkeypatch):
    sizes = []

    class Counting(DecisionTreeClassifier):
        def fit(self, X, y):
            sizes.append(len(y))
            return super().fit(X, y)

    w, _ = work()
    make = Baseline(lambda seed: Counting(random_state=seed), {"max_depth": [1, 2]}, 50)
    assert make(w).settings["tuned_on"] == 50
    assert sizes == [40, 40, 160]


def test_rare_labels_are_shared_out_evenly_where_settings_are_chosen():
    shares = []

    class Counting(DecisionTreeClassifier):
        def fit(self, X, y):
            shares.append(y.mean())
            return super().fit(X, y)

    w, _ = work()
    rare = replace(w, y=np.r_[np.ones(20, dtype=int), np.zeros(140, dtype=int)])
    for seed in range(5):
        Baseline(lambda seed: Counting(), {"max_depth": [1, 2]}, 80)(replace(rare, seed=seed))
    assert set(shares) == {0.125}


@pytest.mark.parametrize("n_left", [0, 1, 2])
def test_tuning_when_hardly_any_row_is_left_out(n_left):
    w, _ = work()
    make = Baseline(lambda seed: DecisionTreeClassifier(), {"max_depth": [1, 2]}, 160 - n_left)
    assert make(w).settings["tuned_on"] == (158 if n_left == 2 else 160)


def test_rounding_does_not_decide_an_error():
    assert loss_of("error", np.array([1, 0]), np.array([-1e-12, -1e-8])) == 0


def test_settings_are_named_without_their_steps():
    w, _ = work()
    assert set(ALGORITHMS["logit"].answer(w).settings) == {
        "C",
        "held_out_loss",
        "tried",
        "tuned_on",
    }


def test_support_vectors_are_tuned_on_few_rows_and_say_so():
    assert BASELINES["svm"].tuning_rows == 4000
    assert "4,000" in ALGORITHMS["svm"].about


def test_without_xgboost_its_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "xgboost", None)
    with pytest.raises(MissingExtraError, match=r"predictree\[paper\]"):
        ALGORITHMS["xgboost"].check()


def test_an_unknown_algorithm_is_answered_with_the_nearest():
    with pytest.raises(InvalidInputError, match="no algorithm 'tops-l': use tops-lr"):
        find(["lr", "tops-l"])


def test_names_are_found_once_and_in_order():
    assert [a.name for a in find(["lr", "dtree", "lr"])] == ["lr", "dtree"]


@pytest.mark.parametrize("name", [name for name in ALGORITHMS if "xgboost" not in name])
def test_every_algorithm_is_there(name):
    ALGORITHMS[name].check()
