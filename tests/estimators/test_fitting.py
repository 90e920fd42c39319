"""Shrunk weights, cross-fitting, real splits, repeats and the verdict."""

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.ensemble import ExtraTreesRegressor
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    PredefinedSplit,
    RepeatedKFold,
    ShuffleSplit,
    TimeSeriesSplit,
)
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from conftest import Spy
from predictree import ToPsClassifier, ToPsRegressor
from predictree.data.partition import assign_folds
from predictree.errors import InvalidInputError
from predictree.losses import AUC, CallableLoss, Judged, LogLoss, SquaredError

LEARNERS = [("linear", LinearRegression(tol=1e-12)), ("tree", DecisionTreeRegressor(max_depth=3))]


def test_a_lone_root_is_the_stack_of_its_learners(regimes):
    X, y = regimes
    model = ToPsRegressor(LEARNERS, max_depth=0, random_state=0).fit(X, y)
    out_of_fold = np.empty((len(y), 2))
    for f in range(5):
        held = model.partition_ == f
        for j, (_, learner) in enumerate(LEARNERS):
            fitted = learner.fit(X[~held], y[~held])
            out_of_fold[held, j] = fitted.predict(X[held])

    def error(share):
        mixed = out_of_fold @ [share[0], 1 - share[0]]
        return np.mean((y - mixed) ** 2)

    best = minimize(error, [0.5], bounds=[(0, 1)])
    weights = {record.learner: record.weight for record in model.tree_[0].weights}
    assert weights.get("linear", 0.0) == pytest.approx(best.x[0], abs=1e-3)


@pytest.mark.parametrize("weights", ["shrunk", "path"])
@pytest.mark.parametrize("search", ["exhaustive", "racing"])
def test_no_row_is_judged_by_a_model_that_saw_it(regimes, spy, weights, search):
    """Every training set leaves out a fold, and a prediction that judges is of that fold alone."""
    X, y = regimes

    class Watched(Spy):
        asked: list = []  # noqa: RUF012 -- shared on purpose

        def predict(self, rows):
            type(self).asked.append((self.rows_, {row.tobytes() for row in rows}))
            return super().predict(rows)

        def fit(self, rows, labels):
            self.rows_ = {row.tobytes() for row in rows}
            return super().fit(rows, labels)

    Watched.seen, Watched.asked = [], []
    model = ToPsRegressor(
        [("spy", Watched())], weights=weights, search=search, max_depth=2, random_state=0
    ).fit(X, y)
    assert len(model.tree_) > 1
    fold = {row.tobytes(): f for row, f in zip(X, model.partition_)}
    assert len(Watched.asked) > 20
    for trained, judged in Watched.asked:
        assert not trained & judged
        assert not {fold[row] for row in trained} & {fold[row] for row in judged}


def test_a_tree_of_mixtures_finds_what_a_line_cannot(regimes):
    X, y = regimes
    model = ToPsRegressor("lr", random_state=0).fit(X[:400], y[:400])
    assert model.tree_[0].split.feature == 0
    assert model.verdict_.earned
    assert "earned its place" in str(model.verdict_)
    line = LinearRegression().fit(X[:400], y[:400])
    assert model.score(X[400:], y[400:]) > line.score(X[400:], y[400:]) + 0.5
    model.tree_.validate()


@pytest.mark.parametrize("loss", ["log_loss", "auc", "error", "brier"])
@pytest.mark.parametrize("k", [2, 3])
def test_mixtures_classify(regimes, loss, k):
    X, y = regimes
    codes = np.digitize(y, np.quantile(y, np.arange(1, k) / k))
    learners = [
        ("linear", LinearRegression(tol=1e-12)),
        ("tree", DecisionTreeClassifier(max_depth=3)),
    ]
    model = ToPsClassifier(learners, loss=loss, max_depth=2, random_state=0).fit(X, codes)
    model.tree_.validate()
    assert model.predict_proba(X).shape == (len(y), k)
    assert model.score(X, codes) > 0.8


def test_parts_may_be_held_out_with_shrunk_weights(regimes):
    X, y = regimes
    part = np.arange(len(y)) % 3
    model = ToPsRegressor("lr", random_state=0).fit(X, y, partition=part)
    assert (model.partition_ == part).all()
    assert model.tree_[0].split.feature == 0
    assert all(len(predictor.models) <= 1 for predictor in model.tree_.predictors)


def test_models_without_weight_are_not_kept(regimes):
    X, y = regimes
    model = ToPsRegressor(LEARNERS, max_depth=2, random_state=0).fit(X, y)
    used = {(w.learner, w.trained_on) for node in model.tree_ for w in node.weights or ()}
    for predictor in model.tree_.predictors:
        key = (predictor.learner, predictor.trained_on)
        assert len(predictor.models) == (5 if key in used else 0)


def test_refit_keeps_one_model_of_all_rows(regimes):
    X, y = regimes
    model = ToPsRegressor([("a", Ridge())], max_depth=0, refit=True, random_state=0).fit(X, y)
    assert [len(p.models) for p in model.tree_.predictors] == [1]
    np.testing.assert_allclose(model.predict(X), Ridge().fit(X, y).predict(X))


def test_repeats_are_averaged(regimes):
    X, y = regimes
    asked = {"min_gain_se": 2.5, "random_state": 0}  # by default, more of a tree that is alone
    model = ToPsRegressor("lr", n_repeats=3, **asked).fit(X, y)
    assert len(model.trees_) == 3
    assert model.tree_ is model.trees_[0]
    alone = ToPsRegressor("lr", **asked).fit(X, y)
    np.testing.assert_array_equal(alone.tree_.scores(X), model.tree_.scores(X))
    mean = np.mean([tree.scores(X)[:, 0] for tree in model.trees_], axis=0)
    np.testing.assert_allclose(model.predict(X), mean)
    assert len({tuple(tree.scores(X)[:5, 0]) for tree in model.trees_}) == 3


class Slow(RegressorMixin, BaseEstimator):
    """Works on training sets of all rows but one fold, at the root, and fails below."""

    def fit(self, X, y):
        if len(X) < 400:
            raise RuntimeError("too few")
        self.model_ = LinearRegression().fit(X, y)
        return self

    def predict(self, X):
        return self.model_.predict(X)


@pytest.mark.filterwarnings("ignore::predictree.errors.LearnerFailedWarning")
def test_a_learner_that_fails_below_is_left_out_of_the_mixtures_there(regimes):
    X, y = regimes
    learners = [("slow", Slow()), ("linear", LinearRegression(tol=1e-12))]
    model = ToPsRegressor(learners, search="exhaustive", max_depth=1, random_state=0).fit(X, y)
    assert len(model.tree_) == 3
    below = {w.learner for node in model.tree_ for w in node.weights or () if w.trained_on > 0}
    assert below == {"linear"}


def test_noise_grows_no_tree():
    """A few seeds here; benchmarks/noise.py has a hundred, with strong learners."""
    learners = [("linear", LinearRegression()), ("trees", ExtraTreesRegressor(10))]
    grown = 0
    for seed in range(10):
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(300, 5)), rng.normal(size=300)
        grown += len(ToPsRegressor(learners, random_state=seed).fit(X, y).tree_) > 1
    assert grown <= 2


@pytest.mark.parametrize("loss", [LogLoss(), AUC()])
def test_the_error_of_a_gain_is_that_of_fresh_samples(loss):
    """Against the spread of the gain over many samples of the same two predictors."""
    gains, errors = [], []
    for seed in range(300):
        rng = np.random.default_rng(seed)
        margin = rng.normal(size=300)
        y = (rng.random(300) < 1 / (1 + np.exp(-margin))).astype(int)
        p = [1 / (1 + np.exp(-(margin + s * rng.normal(size=300)))) for s in (1.5, 0.7)]
        scores = [np.column_stack([1 - q, q]) for q in p]
        rows = Judged(y, None)
        gains.append(loss.value(rows, scores[0]) - loss.value(rows, scores[1]))
        errors.append(loss.error_of_gain(rows, *scores))
    assert np.mean(errors) == pytest.approx(np.std(gains), rel=0.12)


def test_a_region_without_surprises_is_no_proof_that_there_are_none():
    """Forty rows of one class, to which two percent of the other were given, and then none."""
    rows = Judged(np.zeros(40, dtype=int), None)
    before, after = (np.tile([1 - p, p], (40, 1)) for p in (0.02, 1e-6))
    gain = LogLoss().value(rows, before) - LogLoss().value(rows, after)
    assert gain > 0
    assert LogLoss().error_of_gain(rows, before, after) > gain


def test_the_jackknife_of_a_callable_is_near_the_error_of_its_additive_twin():
    rng = np.random.default_rng(0)
    y = rng.normal(size=2000)
    before, after = y[:, None] + rng.normal(size=(2, 2000, 1)) * [[[1.0]], [[0.8]]]
    rows = Judged(y, None)
    mse = CallableLoss(lambda t, s: float(np.mean((t - s) ** 2)))
    exact = SquaredError().error_of_gain(rows, before, after)
    assert mse.error_of_gain(rows, before, after) == pytest.approx(exact, rel=0.6)


def test_folds_are_stratified_whole_and_even():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 400, size=(1000, 1)).astype(float)
    y = (rng.random(1000) < 0.1).astype(int)
    fold = assign_folds(X, y, None, 5, rng)
    for value in np.unique(X):
        assert len(set(fold[X[:, 0] == value])) == 1
    assert np.bincount(fold).min() > 150
    assert np.bincount(fold, y).min() > 10


def test_a_users_splitter_is_kept(regimes):
    X, y = regimes
    splitter = KFold(3, shuffle=True, random_state=1)
    model = ToPsRegressor("lr", validation=splitter, max_depth=1).fit(X, y)
    for f, (_, test) in enumerate(splitter.split(X)):
        assert (model.partition_[test] == f).all()
    groups = np.arange(len(y)) // 10
    grouped = ToPsRegressor("lr", validation=GroupKFold(4), max_depth=0).fit(X, y, groups=groups)
    assert all(len(set(grouped.partition_[groups == g])) == 1 for g in set(groups))
    twice = RepeatedKFold(n_splits=3, n_repeats=2, random_state=0)
    repeated = ToPsRegressor("lr", validation=twice, n_repeats=2, max_depth=0).fit(X, y)
    assert len(repeated.trees_) == 2
    some = PredefinedSplit(np.arange(len(y)) % 3 - 1)
    assert set(ToPsRegressor("lr", validation=some, max_depth=0).fit(X, y).partition_) == {-1, 0, 1}


@pytest.mark.parametrize("weights", ["shrunk", "path"])
def test_a_single_test_part_is_held_out_in_halves(regimes, weights):
    X, y = regimes
    test = np.random.default_rng(0).random(len(y)) < 0.3
    settings = {"weights": weights, "max_depth": 1, "random_state": 0}
    for validation in (PredefinedSplit(test - 1), [(~test, test)]):
        model = ToPsRegressor("lr", validation=validation, **settings).fit(X, y)
        assert len(model.tree_) == 3
        assert model.verdict_.earned
        assert set(model.partition_[~test]) == {0}
        assert np.ptp(np.bincount(model.partition_[test])[1:]) <= 1
        same = ToPsRegressor("lr", **settings).fit(X, y, partition=model.partition_)
        np.testing.assert_array_equal(model.predict(X), same.predict(X))
    shuffled = ToPsRegressor("lr", validation=ShuffleSplit(1, test_size=0.3), **settings)
    assert len(shuffled.fit(X, y).tree_) == 3


def test_equal_rows_and_groups_of_a_single_test_part_share_a_half(regimes):
    X, y = regimes
    test = np.arange(len(y)) < 200
    groups = np.arange(len(y)) // 10
    model = ToPsRegressor("lr", validation=[(~test, test)], max_depth=0).fit(X, y, groups=groups)
    assert all(len(set(model.partition_[groups == g])) == 1 for g in set(groups))
    assert set(model.partition_) == {0, 1, 2}
    with pytest.raises(InvalidInputError, match="one test part, which cannot be halved"):
        model.fit(X, y, groups=~test)


def test_a_splitter_that_repeats_itself_gives_a_tree_of_each_repetition(regimes):
    X, y = regimes
    twice = RepeatedKFold(n_splits=3, n_repeats=2, random_state=0)
    model = ToPsRegressor("lr", validation=twice, max_depth=1, random_state=0).fit(X, y)
    both = clone(model).set_params(n_repeats=2).fit(X, y)
    assert len(model.trees_) == len(both.trees_) == 2
    assert model.tree_ is model.trees_[0]
    mean = np.mean([tree.scores(X)[:, 0] for tree in model.trees_], axis=0)
    for same in (model, both):
        np.testing.assert_allclose(same.predict(X), mean)
    for f, (_, test) in zip(range(3), twice.split(X), strict=False):
        assert (model.partition_[test] == f).all()
    assert (model.trees_[0].scores(X) != model.trees_[1].scores(X)).any()
    with pytest.raises(InvalidInputError, match="has 2 repetitions, and n_repeats=4: leave"):
        model.set_params(n_repeats=4).fit(X, y)


@pytest.mark.parametrize(
    "splitter",
    [
        KFold(3, shuffle=True),
        KFold(3, shuffle=True, random_state=np.random.RandomState(0)),
        ShuffleSplit(1, test_size=0.4),
    ],
    ids=["unseeded", "random state", "one test part"],
)
def test_a_splitter_that_shuffles_is_called_for_every_repeat(regimes, splitter):
    X, y = regimes
    model = ToPsRegressor("lr", validation=splitter, n_repeats=3, max_depth=0).fit(X, y)
    assert len({tuple(tree.scores(X)[:5, 0]) for tree in model.trees_}) == 3


def test_repeats_of_the_same_folds_are_refused(regimes):
    X, y = regimes
    same = [KFold(3), KFold(3, shuffle=True, random_state=0), GroupKFold(3), [*KFold(3).split(X)]]
    for validation in same:
        model = ToPsRegressor("lr", validation=validation, n_repeats=3)
        groups = np.arange(len(y)) // 5 if isinstance(validation, GroupKFold) else None
        with pytest.raises(InvalidInputError, match=r"n_repeats=3.*the same again: give a number"):
            model.fit(X, y, groups=groups)
    model = ToPsRegressor("lr", validation=5, n_repeats=2)
    with pytest.raises(InvalidInputError, match="n_repeats=2 needs different parts each time"):
        model.fit(X, y, partition=np.arange(len(y)) % 3)


def test_a_plan_counts_the_repetitions_of_a_splitter(regimes):
    def planned(validation):
        model = ToPsRegressor([("tree", DecisionTreeRegressor())], validation=validation)
        return model.plan(*regimes).forecasts[0].fits

    assert planned(RepeatedKFold(n_splits=3, n_repeats=4)) == 4 * planned(KFold(3))


def test_every_imputation_meets_every_repetition(regimes):
    X, y = regimes
    X = np.where(np.arange(X.size).reshape(X.shape) % 7 == 3, np.nan, X)
    twice = RepeatedKFold(n_splits=2, n_repeats=2, random_state=0)
    model = ToPsRegressor(
        "lr", validation=twice, imputation="mice", n_imputations=2, max_depth=0, random_state=0
    ).fit(X, y)
    assert len({tuple(tree.scores(np.nan_to_num(X))[:5, 0]) for tree in model.trees_}) == 4


def test_a_list_of_splits_is_kept(regimes):
    X, y = regimes
    pairs = list(KFold(3).split(X))
    model = ToPsRegressor("lr", validation=pairs, max_depth=1, random_state=0).fit(X, y)
    same = ToPsRegressor("lr", validation=KFold(3), max_depth=1, random_state=0).fit(X, y)
    np.testing.assert_array_equal(model.partition_, same.partition_)
    np.testing.assert_array_equal(model.predict(X), same.predict(X))
    held = [np.isin(np.arange(len(y)), test) for _, test in pairs]
    masks = ToPsRegressor("lr", validation=[(~test, test) for test in held], max_depth=0)
    np.testing.assert_array_equal(masks.fit(X, y).partition_, same.partition_)


def test_rows_of_weight_zero_may_be_in_a_split(regimes):
    X, y = regimes
    weight, given = np.ones(len(y)), np.arange(len(y)) % 3
    weight[:50] = weight[given == 2] = 0
    expected = np.where(weight > 0, given, -1)
    splitter = PredefinedSplit(given)
    for validation in (splitter, list(splitter.split())):
        model = ToPsRegressor("lr", validation=validation, max_depth=0).fit(X, y, weight)
        np.testing.assert_array_equal(model.partition_, expected)


@pytest.mark.parametrize(
    ("validation", "message"),
    [
        (TimeSeriesSplit(3), "leaves rows out of a split"),
        (ShuffleSplit(3, test_size=0.3, random_state=0), "more than once"),
        (1, "validation=1: it must be a whole number of at least 2"),
        (0, "validation=0: it must be a whole number of at least 2"),
        (False, "validation=False: give a number of folds"),
        (KFold, r"validation=KFold: it is a class; make one of it, KFold\(...\)"),
        ([], r"validation=\[\] has no rows to test on"),
        ([(np.arange(300), np.arange(300, 700))], "does not fit the 600 rows of X"),
        ([(np.arange(300), np.arange(200, 600))], "or has some twice"),
        (PredefinedSplit(np.full(600, -1)), "has no rows to test on"),
        (PredefinedSplit(np.zeros(600)), "one test part, with all rows"),
        ((pair for pair in ()), r"give a .* list of \(train, test\) pairs"),
        (2000, "too few for 2000 folds"),
        ("five", "give a number of folds"),
    ],
)
def test_validation_that_cannot_be(regimes, validation, message):
    X, y = regimes
    with pytest.raises(InvalidInputError, match=message) as raised:
        ToPsRegressor("lr", validation=validation).fit(X, y)
    assert len(str(raised.value)) < 400


def test_a_verdict_without_a_tree_says_so(regimes):
    X, y = regimes
    noise = np.random.default_rng(0).normal(size=len(y))
    model = ToPsRegressor(LEARNERS, random_state=0).fit(X, noise)
    assert model.verdict_.stack.gain == 0
    assert not model.verdict_.earned
    assert "no tree to speak of, as no split that was tried" in str(model.verdict_)
    model.set_params(max_depth=0).fit(X, y)
    assert model.verdict_.stack.gain == 0
    assert not model.verdict_.earned
    assert "no tree, as max_depth=0 lets no split be tried" in str(model.verdict_)
    assert model.verdict_.best.gain >= 0


def test_the_verdict_of_path_weights(regimes):
    X, y = regimes
    for validation in ((0.6, 0.2, 0.2), 4):
        model = ToPsRegressor("lr", validation=validation, weights="path", random_state=0)
        verdict = model.fit(X, y).verdict_
        assert verdict.loss < verdict.stack.loss
        assert verdict.stack.gain == pytest.approx(verdict.stack.loss - verdict.loss)
