"""One predictor a node: the pair with the least joint loss, ties, and what cannot be kept."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.dummy import DummyRegressor
from sklearn.linear_model import LinearRegression

from growing import fits_of, held_out, root_of
from predictree.errors import NoPredictorError
from predictree.grow.combine.best import Best, least
from predictree.grow.leaf import Candidate, Choice, Leaf, Lost, Trial
from predictree.grow.methods import Recipe, paper
from predictree.grow.rows import Limits, Rows
from predictree.model.tree import Split

N = 40


class Breaks(RegressorMixin, BaseEstimator):
    """Is never fitted."""

    def fit(self, X, y):
        raise RuntimeError("not today")


X = np.arange(N, dtype=float)[:, None]
Y = np.where(X[:, 0] < 20, 0.0, 4.0)
LIMITS = Limits(n_thresholds=1, max_depth=1, min_samples_leaf=2, min_samples_val=2, min_gain=0.0)


@pytest.fixture
def fits():
    return fits_of(X, Y, held_out(N), [DummyRegressor(), LinearRegression()])


def told(value, n):
    return np.full((n, 1), float(value))


@pytest.fixture
def leaf(fits):
    """A node whose one inherited predictor says 2 everywhere."""
    rows = Rows.of(fits.problem)
    h = Candidate(1, 0, rows.train, told(2, len(rows.v1)))
    return Leaf(1, rows, [h], h, 4.0)


def trial_of(leaf, *own):
    """A split in the middle; learners say one thing left and another right."""
    split = Split(0, 20.0)
    left = leaf.rows.goes_left(split)
    return Trial(split, left, [np.where(left[:, None], a, b).astype(float) for a, b in own])


def test_the_root_takes_the_learner_with_the_least_loss(fits):
    root = root_of(paper(fits, Recipe(LIMITS)), fits)
    assert root.answer.learner == 1
    assert set(fits.kept) == {(1, 1)}


def test_each_side_takes_its_own_best(leaf, fits):
    found = Best(fits).best(leaf, trial_of(leaf, (0, 9), (9, 4)), np.inf)
    assert found.loss == 0.0
    assert [answer.key for answer in found.answers] == [(2, 0), (3, 1)]
    np.testing.assert_array_equal(found.scores[:, 0], Y[leaf.rows.v1])


def test_what_is_inherited_wins_where_it_is_better(leaf, fits):
    found = Best(fits).best(leaf, trial_of(leaf, (0, 9)), np.inf)
    assert [answer.key for answer in found.answers] == [(2, 0), (1, 0)]


def test_of_equals_the_first_is_taken(leaf, fits):
    found = Best(fits).best(leaf, trial_of(leaf, (0, 4), (0, 4)), np.inf)
    assert [answer.key for answer in found.answers] == [(2, 0), (3, 0)]


def test_what_is_not_below_the_bar_is_not_found(leaf, fits):
    assert Best(fits).best(leaf, trial_of(leaf, (1, 4)), 0.5) is None
    assert Best(fits).best(leaf, trial_of(leaf, (1, 4)), 0.51).loss == pytest.approx(0.5)


def test_a_learner_that_is_missing_on_a_side_is_no_candidate_there(leaf, fits):
    found = Best(fits).best(leaf, trial_of(leaf, (np.nan, 4)), np.inf)
    assert [answer.key for answer in found.answers] == [(1, 0), (3, 0)]


def test_a_split_is_settled_with_models(leaf, fits):
    combine = Best(fits)
    choice = combine.settle(leaf, combine.best(leaf, trial_of(leaf, (0, 4)), np.inf))
    assert isinstance(choice, Choice)
    assert [child.loss for child in choice.children] == [0.0, 0.0]
    assert {(2, 0), (3, 0)} <= set(fits.kept)


def test_what_cannot_be_kept_is_lost(leaf):
    fits = fits_of(X, Y, held_out(N), [Breaks()])
    combine = Best(fits)
    with pytest.raises(Lost) as lost:
        combine.settle(leaf, combine.best(leaf, trial_of(leaf, (0, 4)), np.inf))
    assert (lost.value.candidate.key, lost.value.by_form) == ((2, 0), False)
    assert fits.ledger.lost


def test_without_any_predictor_there_is_no_root():
    fits = fits_of(X, Y, held_out(N), [Breaks()])
    with pytest.raises(NoPredictorError, match="no learner could be fitted"):
        Best(fits).plant(Rows.of(fits.problem))


def test_splits_are_ranked_by_their_best_pair_first(leaf, fits):
    good, fair = trial_of(leaf, (0, 4)), trial_of(leaf, (1, 4))
    better = Trial(Split(0, 10.0), *(getattr(good, name) for name in ("goes_left", "own")))
    assert Best(fits).ranked(leaf, [fair, better]) == [better.split]  # no loss: nothing is better
    assert Best(fits).ranked(leaf, [fair]) == [fair.split]


def test_the_least_loss_is_the_first_within_rounding(leaf):
    rows = leaf.rows
    said = [told(value, len(rows.v1)) for value in (2 + 1e-14, 2)]
    pool = [Candidate(1, i, rows.train, scores) for i, scores in enumerate(said)]
    assert least(pool, rows)[0].learner == 0
