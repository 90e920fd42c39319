import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics

from predictree.errors import InvalidInputError
from predictree.losses import AUC, LOSSES, Judged, resolve_loss, tolerance
from predictree.model.outputs import decide, probabilities
from reference import losses as naive

ALL = [(task, name) for task, losses in LOSSES.items() for name in losses]
CLASSES = np.array(["a", "b", "c"])


def make(task, name, n_classes=3):
    return resolve_loss(name, task, CLASSES[:n_classes])


def example(task, n_classes, n=30, seed=0, weighted=True, decimals=1):
    """Labels, weights and scores; few decimals make ties."""
    rng = np.random.default_rng(seed)
    k = 1 if task == "regression" else n_classes
    y = rng.gamma(2.0, size=n) if k == 1 else np.arange(n) % k
    scores = np.round(rng.normal(0.5, 0.5, size=(n, k)), decimals)
    if k == 1:
        scores = np.abs(scores) + 0.1
    if k == 2:
        scores[:, 0] = 1 - scores[:, 1]
    return Judged(y, rng.uniform(0.5, 2, n) if weighted else None), scores


@pytest.mark.parametrize(("task", "name"), ALL)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_value_is_the_definition(task, name, n_classes):
    rows, scores = example(task, n_classes, weighted=False)
    expected = naive.LOSSES[name](rows.y, scores)
    assert make(task, name).value(rows, scores) == pytest.approx(expected)


@pytest.mark.parametrize(("task", "name"), ALL)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_weight_is_a_repetition(task, name, n_classes):
    rows, scores = example(task, n_classes)
    times = np.arange(len(rows.y)) % 4
    weighted = Judged(rows.y, times / 3)
    again = np.repeat(np.arange(len(rows.y)), times)
    loss = make(task, name)
    repeated = loss.value(Judged(rows.y[again], None), scores[again])
    assert loss.value(weighted, scores) == pytest.approx(repeated)


@pytest.mark.parametrize(("task", "name"), ALL)
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("weighted", [True, False])
def test_pairs_are_the_losses_of_joined_predictions(task, name, n_classes, weighted):
    rows, _ = example(task, n_classes, weighted=weighted)
    candidates = [example(task, n_classes, seed=seed)[1] for seed in range(3)]
    left = np.random.default_rng(9).random(len(rows.y)) < 0.4
    loss = make(task, name)
    pairs = loss.judge(rows, candidates[1:]).pairs(left, candidates[:1])
    assert pairs.shape == (3, 3)
    for i in range(3):
        for j in range(3):
            joined = np.where(left[:, None], candidates[i], candidates[j])
            assert pairs[i, j] == pytest.approx(loss.value(rows, joined))


@pytest.mark.parametrize(("task", "name"), [*ALL, ("classification", metrics.log_loss)])
def test_a_learner_that_failed_on_one_side_is_no_candidate_there(task, name):
    rows, known = example(task, 2)
    known = probabilities(known) if known.shape[1] == 2 else known
    left = np.arange(len(rows.y)) % 3 == 0
    half = np.where(left[:, None], known, np.nan)
    pairs = make(task, name, 2).judge(rows, [known]).pairs(left, [half])
    assert np.isfinite(pairs[:, 1]).all()
    assert np.isnan(pairs[:, 0]).all()


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 5)), min_size=2, max_size=40))
def test_auc_counts_ties_as_halves(rows):
    y, score = (np.array(column) for column in zip(*rows))
    scores = np.column_stack([-score, score]).astype(float)
    value = AUC().value(Judged(y.astype(int), None), scores)
    if len(set(y)) == 1:
        assert np.isnan(value)
    else:
        assert value == pytest.approx(1 - metrics.roc_auc_score(y, score))


def test_auc_leaves_out_a_class_that_is_absent():
    y = np.array([0, 0, 1, 1])
    scores = np.array([[0.9, 0.1, 0.0], [0.2, 0.3, 0.5], [0.4, 0.6, 0.0], [0.1, 0.8, 0.1]])
    expected = 1 - np.mean([metrics.roc_auc_score(y == c, scores[:, c]) for c in (0, 1)])
    assert AUC().value(Judged(y, None), scores) == pytest.approx(expected)


def test_a_callable_gets_labels_and_scores_and_weights_if_it_names_them():
    rows, scores = example("classification", 2)
    seen = []

    def plain(y_true, y_score):
        seen.append((y_true, y_score))
        return 0.25

    def weighted(y_true, y_score, sample_weight=None):
        return sample_weight.sum()

    assert make("classification", plain, 2).value(rows, scores) == 0.25
    np.testing.assert_array_equal(seen[0][0], CLASSES[rows.y])
    np.testing.assert_array_equal(seen[0][1], scores[:, 1])
    assert make("classification", weighted, 2).value(rows, scores) == pytest.approx(
        rows.weight.sum()
    )
    assert make("classification", plain).name == "plain"


def test_a_callable_sees_all_columns_of_three_classes_and_one_of_a_regression():
    shapes = []
    watch = resolve_loss(lambda y, s: shapes.append(s.shape) or 0.0, "classification", CLASSES)
    watch.value(*example("classification", 3))
    resolve_loss(lambda y, s: shapes.append(s.shape) or 0.0, "regression", None).value(
        *example("regression", 1)
    )
    assert shapes == [(30, 3), (30,)]


def test_a_callable_that_cannot_answer_is_undefined():
    def refuse(y_true, y_score):
        raise ValueError("only one class")

    one_class = Judged(np.ones(4, dtype=int), None)
    scores = np.full((4, 2), 0.5)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for function in (refuse, metrics.roc_auc_score):
            loss = resolve_loss(function, "classification", np.array([0, 1]))
            assert np.isnan(loss.value(one_class, scores))


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_a_callable_that_is_not_finite_is_undefined(value):
    loss = resolve_loss(lambda y, s: value, "classification", CLASSES)
    assert np.isnan(loss.value(*example("classification", 3)))


def test_a_callable_with_a_bug_is_not_hidden():
    loss = resolve_loss(lambda y, s: y.no_such_thing, "classification", CLASSES)
    with pytest.raises(AttributeError):
        loss.value(*example("classification", 3))


@pytest.mark.parametrize(
    ("loss", "task"),
    [
        ("mse", "classification"),
        ("auc", "regression"),
        ("AUC", "classification"),
        (3, "regression"),
        (AUC, "classification"),
        (AUC(), "regression"),
    ],
)
def test_an_unknown_loss_is_an_error_that_lists_the_known(loss, task):
    with pytest.raises(InvalidInputError, match=r"use 'auto', one of '.*', or a callable"):
        resolve_loss(loss, task, CLASSES)


def test_probabilities_clip_and_sum_to_one():
    scores = np.array([[-0.3, 1.3], [0.2, 0.8], [-1.0, -1.0]])
    assert probabilities(scores).tolist() == [[0, 1], [0.2, 0.8], [0.5, 0.5]]
    assert scores[0, 0] == -0.3


def test_one_half_is_the_first_class_or_as_in_a_regression_the_second():
    almost = 0.5 - 1e-12
    scores = np.array([[1 - almost, almost], [0.5, 0.5], [0.5 + 1e-6, 0.5 - 1e-6]])
    assert decide(scores).tolist() == [0, 0, 0]
    assert decide(scores, half_is_second=True).tolist() == [1, 1, 0]


@pytest.mark.parametrize("name", ["poisson", "gamma"])
@pytest.mark.parametrize("weighted", [True, False])
def test_deviances_are_those_of_scikit_learn(name, weighted):
    rng = np.random.default_rng(0)
    y = rng.poisson(1.0, 60).astype(float) if name == "poisson" else rng.gamma(2.0, size=60)
    mean, weight = rng.uniform(0.1, 3, 60), rng.uniform(0.5, 2, 60) if weighted else None
    theirs = getattr(metrics, f"mean_{name}_deviance")(y, mean, sample_weight=weight)
    assert make("regression", name).value(Judged(y, weight), mean[:, None]) == pytest.approx(theirs)


@pytest.mark.parametrize("name", ["poisson", "gamma"])
def test_a_deviance_takes_an_answer_below_its_floor_for_the_floor(name):
    y = np.array([1.0, 2.0, 3.0, 6.0])
    loss = make("regression", name).of_labels(y, None)
    assert loss.floor == 1.0
    below, at = np.array([[-5.0], [0.0], [0.5], [4.0]]), np.array([[1.0], [1.0], [1.0], [4.0]])
    assert loss.value(Judged(y, None), below) == loss.value(Judged(y, None), at)
    assert np.isfinite(loss.value(Judged(y, None), below))


def test_where_counts_may_be_zero_the_floor_is_a_small_share_of_their_mean():
    y = np.array([0.0, 0.0, 4.0])
    assert make("regression", "poisson").of_labels(y, None).floor == pytest.approx(4e-6 / 3)
    assert make("regression", "poisson").of_labels(y, np.ones(3)).floor == pytest.approx(4e-6 / 3)


@given(st.lists(st.floats(0, 1e12), min_size=1, max_size=20), st.floats(-1e12, 1e12))
def test_a_deviance_is_never_negative_nor_infinite(labels, score):
    y = np.array(labels)
    for name in ("poisson", "gamma"):
        mine = y if name == "poisson" else y + 1e-3
        if mine.any():
            loss = make("regression", name).of_labels(mine, None)
            value = loss.value(Judged(mine, None), np.full((len(y), 1), score))
            assert 0 <= value < np.inf


@pytest.mark.parametrize(
    ("name", "y", "says"),
    [
        ("poisson", [1.0, -2.0, -3.0], "negative in 2 rows: give labels of zero or more, or"),
        ("poisson", [0.0, 0.0], "needs a label above zero"),
        ("gamma", [0.0, 1.0], "zero or less in 1 rows: leave these rows out"),
    ],
)
def test_labels_that_a_deviance_cannot_judge_are_an_error(name, y, says):
    with pytest.raises(InvalidInputError, match=says):
        make("regression", name).of_labels(np.array(y), None)


def test_other_losses_judge_all_labels():
    loss = make("regression", "mse")
    assert loss.of_labels(np.array([-1.0, 0.0]), None) is loss
    assert loss.floor == -np.inf


def test_tolerance_knows_the_size_of_the_labels():
    """A perfect fit has a loss of rounding errors; those must not count as gains."""
    y = 1e6 * np.arange(10.0)
    loss = make("regression", "mse")
    assert tolerance(loss, Judged(y, None), 1e-20) > 1
