"""Corrections of nodes: a child is its parent and a little more, or nothing more."""

import numpy as np
import pytest

from predictree import ToPsClassifier, ToPsRegressor
from predictree.data.partition import Partition
from predictree.grow.combine.correction import (
    ADDITIVE,
    CONSTANT,
    LINEAR_LEARNER,
    Bed,
    Correction,
    caution_of,
    root_of,
)
from predictree.grow.leaf import Trial
from predictree.grow.problem import Problem, Seeds
from predictree.grow.rows import Rows
from predictree.learners import adapt, resolve_learners
from predictree.learners.forms.additive.basis import Sizes
from predictree.learners.forms.additive.family import Squares, TwoClasses
from predictree.losses import SquaredError
from predictree.model.tree import Split

FLAG = Split(0, 0.5)


def planted(below, seed=0, n=300):
    """The root of a table whose answers differ by ``below`` where a flag is 1."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([np.arange(n) % 2, rng.uniform(-1, 1, (n, 2))])
    y = X[:, 1] + np.where(X[:, 0] == 1, below(X), 0.0) + 0.1 * rng.normal(size=n)
    fold = np.random.default_rng(1).permutation(np.arange(n) % 5)
    learners = tuple(
        adapt(name, one, "regression", 1)
        for name, one in resolve_learners("additive", "regression")
    )
    problem = Problem(X, y, None, Partition.from_folds(fold), learners, SquaredError(), Seeds(0))
    combine = Correction(Bed.of(root_of(problem, Sizes(8, 10), {})))
    leaf = combine.plant(Rows.of(problem))
    return combine, leaf, Trial(FLAG, leaf.rows.goes_left(FLAG), [])


def found_by(below):
    combine, leaf, trial = planted(below)
    return leaf, combine.best(leaf, trial, np.inf)


@pytest.mark.parametrize(
    ("below", "form"),
    [
        (lambda X: 3 * X[:, 1], LINEAR_LEARNER),
        (lambda X: 3 * np.square(X[:, 2]), ADDITIVE),
    ],
)
def test_a_side_takes_the_form_that_it_needs(below, form):
    leaf, found = found_by(below)
    assert found.loss < leaf.loss / 4
    assert {answer.lead[1] for answer in found.answers} <= {form, ADDITIVE}
    assert [answer.lead[0] for answer in found.answers] == [2, 3]


def test_what_does_not_differ_takes_nothing():
    leaf, found = found_by(lambda X: 0 * X[:, 1])
    for answer in found.answers:
        if answer.lead == leaf.answer.lead:
            assert answer.function is leaf.answer.function
    assert found.loss > 0.97 * leaf.loss


def test_a_childs_function_is_what_its_last_model_says():
    combine, leaf, trial = planted(lambda X: 3 * X[:, 1])
    X, ground = leaf.rows.problem.X, combine.bed.small
    for side, answer in zip(
        trial.children(leaf), combine.best(leaf, trial, np.inf).answers, strict=True
    ):
        rows = side.rows.all
        told = answer.told[:, -1] * ground.unit + ground.shift
        np.testing.assert_allclose(answer.function.sum(X[rows]), told, atol=1e-6)


def test_scores_are_by_the_model_without_the_rows_fold():
    combine, leaf, trial = planted(lambda X: 3 * X[:, 1])
    ground = combine.bed.small
    for side, answer in zip(
        trial.children(leaf), combine.best(leaf, trial, np.inf).answers, strict=True
    ):
        rows = side.rows.v1
        place = np.searchsorted(side.rows.all, rows)
        own = answer.told[place, ground.fold[rows]]
        np.testing.assert_allclose(answer.scores, ground.scores(own))


def test_a_bar_is_kept():
    combine, leaf, trial = planted(lambda X: 3 * X[:, 1])
    loss = combine.best(leaf, trial, np.inf).loss
    assert combine.best(leaf, trial, loss) is None


def test_the_better_split_is_ranked_first():
    combine, leaf, trial = planted(lambda X: 3 * X[:, 1])
    other = Split(2, 0.0)
    worse = Trial(other, leaf.rows.goes_left(other), [])
    assert combine.ranked(leaf, [worse, trial])[0] is trial


def test_an_answer_comes_back_from_its_arrays():
    combine, leaf, trial = planted(lambda X: 3 * X[:, 1])
    for side, answer in zip(
        trial.children(leaf), combine.best(leaf, trial, np.inf).answers, strict=True
    ):
        back = combine.recalled(leaf, side, answer.lead, answer.arrays())
        np.testing.assert_array_equal(back.scores, answer.scores)
        X = leaf.rows.problem.X
        np.testing.assert_array_equal(back.function.sum(X), answer.function.sum(X))


def test_classes_are_held_more_than_squares():
    squares, classes = (caution_of(family) for family in (Squares(), TwoClasses()))
    assert classes.root.hold > squares.root.hold
    assert classes.most < squares.most


def test_a_linear_opponent_is_linear():
    combine, leaf, _ = planted(lambda X: 0 * X[:, 1])
    told, X = combine.bed.linear()[:, 0], leaf.rows.problem.X
    design = np.column_stack([np.ones(len(X)), X])
    for f in range(5):
        here = leaf.rows.problem.partition.fold == f
        b = np.linalg.lstsq(design[here], told[here], rcond=None)[0]
        np.testing.assert_allclose(design[here] @ b, told[here], atol=1e-2)


@pytest.mark.parametrize("make", [ToPsRegressor, ToPsClassifier])
def test_terms_of_every_node_sum_to_its_answer(make):
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(0, 2, 400), rng.uniform(-1, 1, (400, 2))])
    f = np.where(X[:, 0] == 1, 3 * X[:, 1], -3 * X[:, 1]) + X[:, 2]
    y = f if make is ToPsRegressor else (f + 0.3 * rng.normal(size=400) > 0).astype(int)
    model = make(interactions=0, random_state=0).fit(X, y)
    assert model.get_n_leaves() > 1
    names = {node.learner for node in model.tree_}
    assert names <= {"additive", "linear", "constant"}
    for leaf in np.unique(model.apply(X)):
        frame, here = model.terms(int(leaf)), X[model.apply(X) == leaf]
        told = np.full(len(here), frame.effect[frame.feature == "(baseline)"].sum())
        for j in range(3):
            line = frame[frame.feature == f"x{j}"]
            told += np.interp(here[:, j], line.value.astype(float), line.effect)
        if make is ToPsClassifier:
            np.testing.assert_allclose(
                model.predict_proba(here)[:, 1], 1 / (1 + np.exp(-told)), atol=1e-9
            )
        else:
            np.testing.assert_allclose(
                model.predict(here), np.clip(told, y.min(), y.max()), atol=1e-9
            )


def test_forms_are_the_learners_places():
    names = [name for name, _ in resolve_learners("additive", "regression")]
    assert [names[i] for i in (ADDITIVE, LINEAR_LEARNER, CONSTANT)] == [
        "additive",
        "linear",
        "constant",
    ]


def test_judged_on_fewer_rows_an_answer_is_the_same():
    _, leaf, _ = planted(lambda X: 0 * X[:, 1])
    kept = np.arange(300) % 2 == 0
    few = leaf.answer.without(0, kept)
    assert few.function is leaf.answer.function
    np.testing.assert_array_equal(few.scores, leaf.answer.scores[kept])
