import pickle
import warnings
from unittest.mock import patch

import joblib
import numpy as np
import pytest
import sklearn
from sklearn.base import BaseEstimator, RegressorMixin, TransformerMixin
from sklearn.datasets import load_iris, make_classification, make_friedman1
from sklearn.dummy import DummyRegressor
from sklearn.ensemble import (
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.exceptions import NotFittedError
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.metrics import accuracy_score, log_loss, roc_auc_score
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler

from conftest import HELD_OUT, Raises, Spy
from predictree import ToPsClassifier, ToPsRegressor
from predictree.errors import (
    InvalidInputError,
    LearnerFailedWarning,
    NoPredictorError,
    SampleWeightError,
    UndefinedLossWarning,
)
from predictree.estimators.parameters import of_root_and_below, standard_errors
from predictree.grow import finish

PARTS = (0.75, 0.15, 0.10)


@pytest.fixture(scope="module")
def binary():
    return make_classification(400, 6, n_informative=4, flip_y=0.1, random_state=1)


def test_a_tree_finds_what_a_line_cannot(regimes):
    X, y = regimes
    line = LinearRegression().fit(X[:400], y[:400]).score(X[400:], y[400:])
    tops = ToPsRegressor("lr", random_state=0, **HELD_OUT).fit(X[:400], y[:400])
    assert line < 0.2
    assert tops.score(X[400:], y[400:]) > 0.95
    assert tops.tree_[0].split.feature == 0


def test_paper_is_the_paper():
    classifier, regressor = ToPsClassifier.paper(), ToPsRegressor.paper("lr", max_depth=3)
    expected = {
        "learners": "paper",
        "loss": "auc",
        "validation": PARTS,
        "weights": "path",
        "search": "exhaustive",
        "n_thresholds": 9,
        "max_depth": None,
        "min_samples_leaf": 1,
        "min_samples_val": 1,
        "min_gain": 0.0,
    }
    assert expected.items() <= classifier.get_params().items()
    assert (regressor.learners, regressor.loss, regressor.max_depth) == ("lr", "mae", 3)


@pytest.mark.parametrize(
    ("learner", "loss"),
    [(LogisticRegression(), "auc"), (RandomForestClassifier(5, random_state=3), "auto")],
)
def test_depth_zero_with_one_classifier_is_that_classifier(binary, learner, loss):
    X, y = binary
    labels = np.array(["no", "yes"])[y]
    tops = ToPsClassifier([("a", learner)], loss=loss, max_depth=0, random_state=0, **HELD_OUT).fit(
        X, labels
    )
    S = tops.partition_ == 0
    alone = learner.fit(X[S], labels[S])
    np.testing.assert_allclose(tops.predict_proba(X), alone.predict_proba(X), rtol=0, atol=1e-15)
    np.testing.assert_array_equal(tops.predict(X), alone.predict(X))


def test_depth_zero_with_one_regressor_is_that_regressor(regimes):
    X, y = regimes
    tops = ToPsRegressor([("a", Ridge())], max_depth=0, random_state=0, **HELD_OUT).fit(X, y)
    S = tops.partition_ == 0
    np.testing.assert_allclose(tops.predict(X), Ridge().fit(X[S], y[S]).predict(X), atol=1e-9)


def test_no_row_of_v1_or_v2_reaches_a_fit(regimes, spy):
    X, y = regimes
    model = ToPsRegressor([("spy", spy)], random_state=0, max_depth=3, **HELD_OUT).fit(X, y)
    assert len(model.tree_) > 3
    training = {row.tobytes() for row in X[model.partition_ == 0]}
    for rows, labels, _ in Spy.seen:
        assert {row.tobytes() for row in rows} <= training
        assert len(rows) == len(labels)


def test_a_users_own_partition_is_kept(regimes, spy):
    X, y = regimes
    part = np.arange(len(X)) % 3
    model = ToPsRegressor([("spy", spy)], max_depth=1, **HELD_OUT).fit(X, y, partition=part)
    assert (model.partition_ == part).all()
    assert max(len(rows) for rows, _, _ in Spy.seen) == (part == 0).sum()


def test_groups_share_a_part(regimes):
    X, y = regimes
    groups = np.arange(len(X)) // 6
    model = ToPsRegressor("lr", max_depth=1, random_state=0).fit(X, y, groups=groups)
    assert all(len(set(model.partition_[groups == g])) == 1 for g in range(100))


@pytest.mark.parametrize("loss", ["auc", "log_loss", "brier", "error"])
def test_three_classes(loss):
    X, y = load_iris(return_X_y=True)
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    model = ToPsClassifier.paper(
        [("logistic", LogisticRegression(max_iter=1000))], loss=loss, max_depth=1, random_state=0
    )
    model.fit(X, names)
    assert model.predict_proba(X).shape == (150, 3)
    assert model.decision_function(X).shape == (150, 3)
    assert accuracy_score(names, model.predict(X)) > 0.9


def test_auto_is_log_loss_or_brier_where_scores_are_not_probabilities(binary):
    X, y = binary
    by = {
        "brier": [("linear", LinearRegression())],
        "log_loss": [("linear", LinearRegression()), ("logistic", LogisticRegression())],
    }
    for name, learners in by.items():
        assert ToPsClassifier(learners, max_depth=0).fit(X, y).loss_.name == name
    assert ToPsRegressor("lr", max_depth=0).fit(X, y).loss_.name == "mse"


def test_a_callable_loss_grows_the_tree_of_its_namesake(binary):
    X, y = binary

    def one_minus_auc(y_true, y_score, sample_weight=None):
        return 1 - roc_auc_score(y_true, y_score, sample_weight=sample_weight)

    w = np.random.default_rng(0).uniform(0.5, 2, len(y))
    trees = [
        list(
            ToPsClassifier("lr", loss=loss, random_state=0, max_depth=2, **HELD_OUT)
            .fit(X, y, w)
            .tree_
        )
        for loss in ("auc", one_minus_auc)
    ]
    assert len(trees[0]) > 1
    for a, b in zip(*trees):
        assert (a.split, a.trained_on) == (b.split, b.trained_on)
        assert a.loss == pytest.approx(b.loss, nan_ok=True)


def test_probabilities_are_usable_by_scikit_learns_metrics(binary):
    X, y = binary
    model = ToPsClassifier("lr", loss="log_loss", random_state=0, max_depth=1, **HELD_OUT).fit(X, y)
    V1 = model.partition_ == 1
    root = model.tree_.predictors[0].scores(X[V1])[:, 1].clip(0, 1)
    assert model.tree_[0].loss == pytest.approx(log_loss(y[V1], root))


def forest():
    return [("forest", RandomForestRegressor(3, max_depth=3)), ("linear", LinearRegression())]


def test_the_tree_is_the_same_for_any_number_of_jobs(regimes):
    X, y = regimes
    settings = {"max_depth": 2, "n_thresholds": 3, "random_state": 4}
    one, two = (ToPsRegressor(forest(), n_jobs=n_jobs, **settings).fit(X, y) for n_jobs in (1, 2))
    assert list(one.tree_) == list(two.tree_)
    np.testing.assert_array_equal(one.predict(X), two.predict(X))


def test_a_random_state_repeats_and_another_differs(regimes):
    X, y = regimes

    def fit(seed):
        model = ToPsRegressor(forest(), max_depth=1, n_thresholds=2, random_state=seed)
        return model.fit(X, y).predict(X)

    np.testing.assert_array_equal(fit(1), fit(1))
    assert (fit(1) != fit(2)).any()


def test_what_a_learner_does_depends_on_no_other(regimes):
    """Seeds come from the learner's name and the node, not from the order of fits."""
    X, y = regimes
    alone = ToPsRegressor(forest()[:1], max_depth=0, random_state=0).fit(X, y)
    beside = ToPsRegressor(
        [("bad", KNeighborsRegressor(400)), *forest()[:1]], max_depth=0, random_state=0
    )
    np.testing.assert_array_equal(alone.predict(X), beside.fit(X, y).predict(X))


def test_weights_are_repetitions_in_a_grown_tree(regimes):
    X, y = regimes
    times = np.random.default_rng(0).integers(0, 3, len(y))
    settings = {"random_state": 0, "max_depth": 3, "min_samples_leaf": 1, "min_samples_val": 1}
    settings |= HELD_OUT
    again = np.repeat(np.arange(len(y)), times)
    with patch.object(finish, "ROWS_A_WEIGHT", 0):  # limits count rows, whatever their weights
        weighted = ToPsRegressor("lr", **settings).fit(X, y, sample_weight=times)
        repeated = ToPsRegressor("lr", **settings).fit(X[again], y[again])
    assert len(weighted.tree_) > 3
    assert [n.split for n in weighted.tree_] == [n.split for n in repeated.tree_]
    np.testing.assert_allclose(weighted.predict(X), repeated.predict(X))
    assert set(weighted.partition_[times == 0]) == {-1}


def test_missing_values_find_a_side(regimes):
    X, y = regimes
    X = X.copy()
    X[:, 0][X[:, 0] == 1] = np.nan  # being missing is the regime now
    X[::50, 0] = 1.0
    learners = [
        ("imputed", make_pipeline(SimpleImputer(keep_empty_features=True), LinearRegression()))
    ]
    model = ToPsRegressor(learners, random_state=0, max_depth=1).fit(X, y)
    split = model.tree_[0].split
    assert split.feature == 0
    assert not split.missing_left
    assert np.isfinite(model.predict(X)).all()


def test_learners_that_take_no_missing_values_get_them_filled(regimes):
    X, y = regimes
    X = X.copy()
    X[::7, 1] = np.nan
    model = ToPsRegressor([("linear", LinearRegression())], random_state=0).fit(X, y)
    assert model.fit_failures_ == []
    assert model.tree_[0].split.feature == 0
    assert model.score(X, y) > 0.7


def test_a_loss_may_warn_as_often_as_it_likes(binary):
    X, y = binary

    def loss(y_true, y_score):
        warnings.warn("hm", UserWarning, stacklevel=1)
        return float(np.mean((y_true - y_score) ** 2))

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = ToPsClassifier("lr", loss=loss, n_thresholds=30, random_state=0, max_depth=2)
        assert len(model.fit(X, y).tree_) > 1


def test_tiny_weights_are_weights(binary):
    X, y = binary
    plain, tiny = (
        ToPsClassifier("lr", loss="auc", max_depth=1, random_state=0).fit(X, y, sample_weight=w)
        for w in (None, 1e-200)
    )
    assert [n.split for n in plain.tree_] == [n.split for n in tiny.tree_]


def test_three_classes_and_features_far_from_zero(binary):
    X, _ = binary
    y = np.digitize(X[:, 0] + X[:, 1], [-1, 1])
    tops = ToPsClassifier("lr", max_depth=0, random_state=0, **HELD_OUT).fit(X + 50, y)
    S = tops.partition_ == 0
    raw = [LinearRegression().fit((X + 50)[S], y[S] == c).predict(X + 50) for c in range(3)]
    clipped = np.clip(np.column_stack(raw), 0, None)
    np.testing.assert_allclose(tops.predict_proba(X + 50), clipped / clipped.sum(axis=1)[:, None])


def test_a_fitted_model_pickles(binary):
    X, y = binary
    model = ToPsClassifier("lr", random_state=0, max_depth=2).fit(X, y)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(model.predict_proba(X), again.predict_proba(X))


def test_losing_models_are_not_kept(regimes):
    X, y = regimes
    learners = [
        ("linear", LinearRegression()),
        ("wrong", DummyRegressor(strategy="constant", constant=99)),
    ]
    model = ToPsRegressor(learners, random_state=0, max_depth=1, n_thresholds=1).fit(X, y)
    assert {node.learner for node in model.tree_} == {"linear"}
    assert b"Dummy" not in pickle.dumps(model.tree_)


def test_sizes_and_paths(regimes):
    X, y = regimes
    model = ToPsRegressor("lr", random_state=0, max_depth=2, **HELD_OUT).fit(X, y)
    assert (model.get_depth(), model.get_n_leaves()) == (2, sum(n.is_leaf for n in model.tree_))
    leaves = model.apply(X)
    paths = model.decision_path(X)
    assert paths.shape == (len(X), len(model.tree_))
    for i in (0, 17):
        assert paths[[i]].indices.tolist() == model.tree_.path(leaves[i])


# Learners that fail


class Nan(RegressorMixin, BaseEstimator):
    def fit(self, X, y):
        return self

    def predict(self, X):
        return np.full(len(X), np.nan)


class WrongShape(Nan):
    def predict(self, X):
        return np.zeros((len(X), 2))


class WarnsForEver(Nan):
    def fit(self, X, y):
        while True:
            warnings.warn("again", UserWarning, stacklevel=1)


class Fickle(Nan):
    """Answers otherwise every time it is fitted."""

    def fit(self, X, y):
        self.model_ = LinearRegression().fit(X, y + np.random.default_rng().normal(size=len(y)))
        return self

    def predict(self, X):
        return self.model_.predict(X)


class Picky(Nan):
    """Fails to predict rows with a large first feature."""

    def fit(self, X, y):
        self.model_ = LinearRegression().fit(X, y)
        return self

    def predict(self, X):
        return np.where(X[:, 0] > 50, np.nan, self.model_.predict(X))


class WarnsSometimes(Fickle):
    def fit(self, X, y):
        warnings.warn("hm", UserWarning, stacklevel=1)
        self.model_ = LinearRegression().fit(X, y)
        return self


class FramesOnly(TransformerMixin, BaseEstimator):
    """Fails if the configuration it was made under is not in force."""

    def __init__(self, transform_output="default", enable_metadata_routing=False):
        self.transform_output = transform_output
        self.enable_metadata_routing = enable_metadata_routing

    def fit(self, X, y=None):
        self.n_features_in_ = X.shape[1]
        return self

    def transform(self, X):
        assert sklearn.get_config()["transform_output"] == self.transform_output
        assert sklearn.get_config()["enable_metadata_routing"] == self.enable_metadata_routing
        return X

    def get_feature_names_out(self, names=None):
        return [f"x{i}" for i in range(self.n_features_in_)]


class Interrupted(Nan):
    """Interrupts the fit on small training sets."""

    def fit(self, X, y):
        if len(X) < 100:
            raise KeyboardInterrupt
        return self

    def predict(self, X):
        return X[:, 0]


class OnlyOnce(Nan):
    """Fits each training set once and never again: refitting a chosen one fails."""

    fitted: set = set()  # noqa: RUF012 -- shared on purpose

    def fit(self, X, y):
        if X.tobytes() in self.fitted:
            raise RuntimeError("once is enough")
        self.fitted.add(X.tobytes())
        self.model_ = LinearRegression().fit(X, y)
        return self

    def predict(self, X):
        return self.model_.predict(X)


@pytest.mark.parametrize(
    ("learner", "reason"),
    [
        (Raises(), "RuntimeError: no luck today"),
        (Nan(), "ValueError: returned NaN or infinite scores"),
        (WrongShape(), r"ValueError: returned predictions of shape \(n, 2\)"),
        (WarnsForEver(), "TooManyWarningsError: more than 1000 warnings in one fit"),
    ],
)
def test_a_failing_learner_loses_its_candidacy_and_the_fit_goes_on(binary, learner, reason):
    X, y = binary
    learners = [("bad", learner), ("linear", LinearRegression())]
    with pytest.warns(LearnerFailedWarning, match=f"bad .*{reason}") as caught:
        model = ToPsClassifier(
            learners, loss="auc", search="exhaustive", random_state=0, max_depth=1
        ).fit(X, y)
    assert len(caught) == 1
    without = ToPsClassifier(learners[1:], loss="auc", random_state=0, max_depth=1).fit(X, y)
    assert list(model.tree_) == list(without.tree_)
    assert {failure.learner for failure in model.fit_failures_} == {"bad"}
    assert sum(f.count for f in model.fit_failures_ if f.node == 0) > 10


def test_a_learner_may_fail_at_some_nodes_only(binary):
    X, y = binary
    learners, params = [("big", Raises(below=200))], {"search": "exhaustive", "max_depth": 2}
    with pytest.warns(LearnerFailedWarning):
        model = ToPsClassifier(learners, random_state=0, **params, **HELD_OUT).fit(X, y)
    assert len(model.tree_) > 1
    assert all(model.tree_[node.trained_on].n_train >= 200 for node in model.tree_)


def test_nothing_fits_at_the_root(binary):
    X, y = binary
    with pytest.raises(NoPredictorError, match="a: RuntimeError: no luck today; b: ValueError"):
        ToPsClassifier([("a", Raises()), ("b", Nan())]).fit(X, y)


def test_a_learner_that_cannot_repeat_its_fit_does_not_end_the_search(regimes):
    X, y = regimes
    OnlyOnce.fitted = set()
    learners = [("once", OnlyOnce()), ("ridge", Ridge(alpha=50))]
    with pytest.warns(LearnerFailedWarning, match="once is enough"):
        model = ToPsRegressor(
            learners, search="exhaustive", random_state=0, max_depth=1, n_thresholds=1, **HELD_OUT
        ).fit(X, y)
    assert len(model.tree_) == 3
    assert {node.learner for node in model.tree_} == {"ridge"}


def test_what_a_race_chose_is_not_fitted_again(regimes):
    X, y = regimes
    OnlyOnce.fitted = set()
    learners = [("once", OnlyOnce()), ("ridge", Ridge(alpha=50))]
    model = ToPsRegressor(
        learners, search="racing", random_state=0, max_depth=1, n_thresholds=1, **HELD_OUT
    ).fit(X, y)
    assert [node.learner for node in model.tree_][1:] == ["once", "once"]
    assert model.predict(X).shape == y.shape


def test_a_learner_that_is_not_reproducible_is_kept_at_the_root_only(regimes):
    X, y = regimes
    learners = [("fickle", Fickle()), ("ridge", Ridge(alpha=50))]
    with pytest.warns(LearnerFailedWarning, match="give it a random_state"):
        model = ToPsRegressor(
            learners, search="exhaustive", random_state=0, max_depth=1, n_thresholds=1, **HELD_OUT
        ).fit(X, y)
    assert [node.learner for node in model.tree_][1:] == ["ridge", "ridge"]


def test_a_learner_that_fails_on_v2_alone_loses_its_candidacy(regimes):
    X, y = regimes
    X, part = X.copy(), np.arange(len(X)) % 3
    X[part == 2, 0] += 100
    learners = [("picky", Picky()), ("ridge", Ridge(alpha=50))]
    with pytest.warns(LearnerFailedWarning, match="picky .*NaN"):
        model = ToPsRegressor(learners, max_depth=1, n_thresholds=1, **HELD_OUT).fit(
            X, y, partition=part
        )
    assert {node.learner for node in model.tree_} == {"ridge"}


def test_a_failing_loss_says_why(binary):
    X, y = binary
    with pytest.raises(InvalidInputError, match=r"'log_loss' failed on V1: .*y_prob"):
        ToPsClassifier("lr", loss=log_loss, random_state=0).fit(X, y)


@pytest.mark.parametrize(
    "config", [{"transform_output": "pandas"}, {"enable_metadata_routing": True}]
)
def test_scikit_learns_configuration_reaches_the_workers(binary, config):
    X, y = binary
    logistic = LogisticRegression()
    with sklearn.config_context(**config):
        if "enable_metadata_routing" in config:
            logistic.set_fit_request(sample_weight=True)
        learners = [("piped", make_pipeline(FramesOnly(**config), logistic))]
        trees = [
            list(
                ToPsClassifier(learners, random_state=0, max_depth=1, n_thresholds=1, n_jobs=n)
                .fit(X, y, sample_weight=np.ones(len(y)))
                .tree_
            )
            for n in (1, 2)
        ]
    assert trees[0] == trees[1]


def test_threads_leave_no_trace_in_the_warning_machinery(binary):
    X, y = binary
    before = warnings.showwarning
    with joblib.parallel_config(backend="threading", n_jobs=2):
        learners = [("warns", WarnsSometimes())]
        ToPsRegressor(learners, random_state=0, max_depth=1, n_thresholds=2, **HELD_OUT).fit(X, y)
    assert warnings.showwarning is before


def test_a_tie_is_the_learners_own(binary):
    X, y = binary
    learner = make_pipeline(MinMaxScaler(), KNeighborsClassifier(4))  # as it is prepared
    tops = ToPsClassifier([("near", learner[-1])], max_depth=0, random_state=0, **HELD_OUT).fit(
        X, y
    )
    S = tops.partition_ == 0
    assert (learner.fit(X[S], y[S]).predict_proba(X) == 0.5).any()
    np.testing.assert_array_equal(tops.predict(X), learner.predict(X))
    np.testing.assert_array_equal(tops.predict(X), tops.decision_function(X) > 0)


def test_warnings_as_errors_leave_the_old_state(regimes):
    X, y = regimes
    model = ToPsRegressor("lr", random_state=0, max_depth=1).fit(X, y)
    tree = model.tree_
    model.set_params(learners=[("linear", LinearRegression()), ("bad", Nan())])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(LearnerFailedWarning):
            model.fit(X, y)
    assert model.tree_ is tree


def test_one_class_in_v1_leaves_a_lone_root_under_auc(binary):
    X, y = binary
    part = np.where(y == 1, 0, np.arange(len(y)) % 3)
    part[np.flatnonzero(y == 1)[:5]] = 2
    with pytest.warns(UndefinedLossWarning, match="'auc' cannot be computed on the"):
        model = ToPsClassifier("lr", loss="auc", **HELD_OUT).fit(X, y, partition=part)
    assert len(model.tree_) == 1
    assert np.isnan(model.tree_[0].loss)


def test_an_interrupt_leaves_the_old_state(regimes):
    X, y = regimes
    model = ToPsRegressor("lr", random_state=0).fit(X, y)
    before = {key: value for key, value in vars(model).items() if key.endswith("_")}
    model.set_params(learners=[("cut", Interrupted())], search="exhaustive")
    with pytest.raises(KeyboardInterrupt):
        model.fit(X[:, :2], y)
    after = {key: value for key, value in vars(model).items() if key.endswith("_")}
    assert before.keys() == after.keys()
    assert all(before[key] is after[key] for key in before)
    assert np.isfinite(model.predict(X)).all()


# Bad input


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"loss": "gini"}, "loss='gini' is not a classification loss"),
        ({"learners": "best"}, "learners='best' is not a preset"),
        ({"validation": (0.5, 0.5)}, "validation="),
        ({"weights": "even"}, "weights='even': it must be 'shrunk' or 'path'"),
        ({"search": "lucky"}, "search='lucky': it must be 'auto' or 'exhaustive' or 'racing'"),
        ({"n_thresholds": 0}, "n_thresholds=0: it must be a whole number of at least 1"),
        ({"n_thresholds": 2.5}, "n_thresholds=2.5"),
        ({"max_depth": -1}, "max_depth=-1"),
        ({"min_samples_leaf": 0}, "min_samples_leaf=0"),
        ({"min_samples_val": True}, "min_samples_val=True"),
        ({"min_gain": -0.1}, "min_gain=-0.1: it must be a number of at least 0"),
        ({"min_gain": np.nan}, "min_gain=nan"),
        ({"min_gain_se": (1.0, -1)}, "min_gain_se=-1: it must be a number of at least 0"),
        ({"min_gain_se": (1.0,)}, r"min_gain_se=\(1.0,\): give one number, or two: of the root"),
        ({"min_gain_se": np.ones(3)}, r"min_gain_se=\[.*: give one number, or two: of the root"),
        ({"min_gain_se": "much"}, "min_gain_se='much': it must be 'auto'"),
        ({"refit": "yes"}, "refit='yes': it must be True or False"),
        ({"n_jobs": "two"}, "n_jobs='two'"),
        ({"loss": "mse"}, "loss='mse' is not a classification loss"),
    ],
)
def test_bad_parameters(binary, params, message):
    with pytest.raises(InvalidInputError, match=message):
        ToPsClassifier(**{"learners": "lr", **params}).fit(*binary)


@pytest.mark.parametrize("pair", [np.array([2.5, 1]), [2.5, 1], (np.float64(2.5), 1)], ids=repr)
def test_any_pair_of_numbers_is_a_pair(pair):
    assert of_root_and_below("min_gain_se", pair) == (2.5, 1)
    assert of_root_and_below("min_gain_se", np.array(2.5)) == (2.5, 2.5)


def test_left_to_us_the_demand_is_that_of_the_method():
    assert standard_errors("auto", auto=(2.5, 1.0)) == (2.5, 1.0)
    assert standard_errors(3, auto=(2.5, 1.0)) == (3, 3)


def test_trees_of_simple_learners_grow_further_if_they_are_averaged():
    X, y = make_friedman1(600, random_state=0)

    def leaves(learners="lr", n_repeats=2, **demand):
        model = ToPsRegressor(learners, n_repeats=n_repeats, random_state=0, **demand)
        return [tree.get_n_leaves() for tree in model.fit(X, y).trees_]

    large, small = leaves(min_gain_se=(2.5, 1)), leaves(min_gain_se=2.5)
    assert large[0] > small[0] > 1
    assert leaves() == large
    assert leaves(n_repeats=1) == small[:1]
    either = [("linear", LinearRegression()), ("forest", RandomForestRegressor(5))]
    assert leaves(either) == leaves(either, min_gain_se=2.5) != leaves(either, min_gain_se=(2.5, 0))


def change(X, index, value):
    X = X.copy()
    X[index] = value
    return X


@pytest.mark.parametrize(
    ("X", "fit", "message"),
    [
        (lambda X: X[:0], {}, "0 sample"),
        (lambda X: X[:, :0], {}, "0 feature"),
        (lambda X: X[:2], {}, "in 2 block.*too few for three parts"),
        (lambda X: X, {"groups": [1] * 400, "partition": [0] * 400}, "not both"),
        (
            lambda X: X,
            {"partition": np.arange(400) % 3, "sample_weight": np.arange(400) % 3 != 1},
            "leaves V1 empty",
        ),
        (lambda X: change(X, (3, 2), np.inf), {}, "inf: column 2 has it in 1 of 400 rows"),
        (lambda X: X, {"sample_weight": -np.ones(400)}, "sample_weight is negative in 400 rows"),
        (lambda X: X, {"sample_weight": np.zeros(400)}, "sample_weight is zero everywhere"),
        (lambda X: X, {"sample_weight": np.full(400, np.nan)}, "sample_weight contains NaN"),
        (lambda X: X, {"sample_weight": np.ones(3)}, "sample_weight has shape"),
        (lambda X: X, {"partition": np.full(400, 7)}, r"partition holds \[7\]"),
        (lambda X: X, {"groups": [1, 2]}, "groups has shape"),
    ],
)
def test_bad_data(binary, X, fit, message):
    rows = X(binary[0])
    y = binary[1][: len(rows)]
    with pytest.raises(ValueError, match=message):
        ToPsClassifier("lr", **HELD_OUT).fit(rows, y, **fit)


def test_one_class(binary):
    with pytest.raises(InvalidInputError, match="y has only one class"):
        ToPsClassifier("lr").fit(binary[0], np.zeros(400))


def test_a_learner_without_weights_is_named(binary):
    X, y = binary
    learners = [("linear", LinearRegression()), ("near", KNeighborsRegressor())]
    with pytest.raises(SampleWeightError, match="learner 'near'"):
        ToPsClassifier(learners).fit(X, y, sample_weight=np.ones(400))


@pytest.mark.parametrize(
    "method", ["predict", "predict_proba", "decision_function", "apply", "decision_path"]
)
def test_unfitted_use(binary, method):
    with pytest.raises(NotFittedError, match="fit"):
        getattr(ToPsClassifier("lr"), method)(binary[0])


@pytest.mark.parametrize("method", ["get_depth", "get_n_leaves", "export_text"])
def test_unfitted_inspection(method):
    with pytest.raises(NotFittedError, match="fit"):
        getattr(ToPsRegressor("lr"), method)()


def test_a_scalar_weight_is_every_rows(binary):
    X, y = binary
    models = [
        ToPsClassifier("lr", max_depth=1, random_state=0).fit(X, y, sample_weight=weight)
        for weight in (None, 2.0)
    ]
    assert [n.split for n in models[0].tree_] == [n.split for n in models[1].tree_]


def test_rows_of_weight_zero_may_hold_anything(binary):
    X, y = binary
    weight = (np.arange(400) > 9).astype(float)
    model = ToPsClassifier("lr", max_depth=1, random_state=0)
    plain = model.fit(X, y, weight).predict_proba(X)
    broken = model.fit(change(X, (3, 2), np.nan), y, weight).predict_proba(X)
    np.testing.assert_array_equal(plain, broken)


def test_missing_values_at_prediction_that_training_did_not_have(binary):
    X, y = binary
    model = ToPsClassifier("lr", max_depth=1, random_state=0).fit(X, y)
    with pytest.raises(InvalidInputError, match="column 0 has it in 1 of 400 rows"):
        model.predict(change(X, (0, 0), np.nan))
