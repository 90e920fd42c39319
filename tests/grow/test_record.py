"""Steps of a growing tree as plain data and back."""

import json
from functools import partial

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

from growing import fits_of, in_folds, root_of
from predictree.grow.algorithm import best_split
from predictree.grow.methods import Recipe, paper, stacked
from predictree.grow.record import Steps
from predictree.grow.rows import Limits

LIMITS = Limits(n_thresholds=3, max_depth=1, min_samples_leaf=5, min_samples_val=5, min_gain=0.0)


@pytest.fixture(params=[paper, stacked], ids=lambda make: make.__name__)
def step(request):
    """Steps, a leaf, the choice made for it, and what was written of that."""
    X = np.random.default_rng(0).random((200, 1))
    fits = fits_of(X, np.where(X[:, 0] < 0.5, 0.0, 5.0), in_folds(200, 4), [LinearRegression()])
    steps = Steps(request.param(fits, Recipe(LIMITS)), fits)
    leaf = root_of(steps.method, fits)
    begun = steps.begin()
    choice = partial(best_split, method=steps.method)(leaf)
    line, arrays = steps.written(choice, begun)
    return steps, leaf, choice, json.loads(json.dumps(line)), arrays


def test_a_choice_is_read_as_it_was_made(step):
    steps, leaf, choice, line, arrays = step
    again = steps.kept(steps.read(leaf, line, arrays), line)
    assert (again.split, again.loss) == (choice.split, choice.loss)
    for mine, its in zip(again.children, choice.children, strict=True):
        assert (mine.path, mine.loss, mine.answer.lead) == (its.path, its.loss, its.answer.lead)
        np.testing.assert_array_equal(mine.answer.scores, its.answer.scores)
        np.testing.assert_array_equal(mine.rows.v1, its.rows.v1)


def test_no_split_is_a_choice_too(step):
    steps, leaf, *_ = step
    line, arrays = steps.written(None, steps.begin())
    assert (line["split"], arrays) == (None, {})
    assert steps.read(leaf, line, arrays) is None


def test_leaves_are_told_by_their_rows_and_candidates(step):
    steps, leaf, choice, *_ = step
    assert steps.key(leaf) == steps.key(leaf)
    assert steps.key(leaf) != steps.key(leaf.without(0))
    assert steps.key(choice.children[0]) is None  # as deep as may be: nobody has to look


CHANGES = [
    ("loss", float("inf")), ("split", {"feature": 1}), ("split", {"threshold": float("nan")}),
    ("split", {"missing_left": 1}), ("split", {"threshold": 9.0}), ("lost", [[1, 2, "why", 1]]),
    ("fits", [1]), ("fits", [1, -1]),
]  # fmt: skip


@pytest.mark.parametrize(("name", "change"), CHANGES)
def test_lines_that_make_no_sense_are_refused(step, name, change):
    steps, leaf, _, line, arrays = step
    line[name] = line[name] | change if isinstance(change, dict) else change
    with pytest.raises(ValueError, match="see "):
        steps.read(leaf, line, arrays)
