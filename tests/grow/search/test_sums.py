"""Search by sums: gains of splits against ridge regressions made one by one."""

import numpy as np
import pytest

from predictree.grow.search.sums import (
    OF_CONSTANT,
    PENALTIES,
    Cells,
    Working,
    binned,
    gains,
    lasts,
)
from predictree.model.tree import Split

N_FOLDS = 3


def work_of(n=90, k=1, n_folds=N_FOLDS, free=0, seed=0):
    """Three directions and a response that differs by fold; the last rows are in none."""
    rng = np.random.default_rng(seed)
    S = np.column_stack([np.ones(n), rng.normal(size=(n, 2))])
    fold = np.arange(n) % n_folds
    fold[n - free :] = n_folds
    response = rng.normal(size=(n, n_folds, k)) + S[:, 1, None, None]
    return Working(np.arange(n), S, rng.random(n) + 0.5, response, fold, n_folds)


def gain_of(work, rows, penalty):
    """What a ridge on some rows gains on each fold, found without it."""
    ridge = np.diag([OF_CONSTANT, penalty, penalty])
    found = []
    for f in range(work.n_folds):
        fit, held = rows & (work.fold != f), rows & (work.fold == f)
        S, w, r = work.S[fit], work.weight[fit, None], work.response[fit, f]
        b = np.linalg.solve(S.T @ (w * S) + ridge, S.T @ (w * r))
        r, w = work.response[held, f], work.weight[held, None]
        found.append((w * (np.square(r) - np.square(r - work.S[held] @ b))).sum())
    return np.array(found)


@pytest.mark.parametrize("k", [1, 3])
@pytest.mark.parametrize("free", [0, 20])
def test_a_split_gains_what_ridges_of_both_sides_gain(k, free):
    work = work_of(k=k, free=free)
    column = np.random.default_rng(1).normal(size=90)
    column[:9] = np.nan
    splits = [Split(0, -0.5), Split(0, 0.3, missing_left=True), Split(0, np.inf)]
    found = Cells.of(work, splits, column).gains(7.0)
    for split, mine in zip(splits, found, strict=True):
        left = split.goes_left(column)
        expected = gain_of(work, left, 7.0) + gain_of(work, ~left, 7.0)
        np.testing.assert_allclose(mine, expected, rtol=1e-8)


def test_the_best_split_is_best_by_any_penalty():
    work = work_of()
    column = work.S[:, 2]
    splits = [Split(2, cut) for cut in (-1.0, 0.0, 0.7)]
    gain, split = Cells.of(work, splits, column).best()
    by_hand = {
        (s, p): sum(
            gain_of(work, side, p).sum() for side in (column < s.threshold, column >= s.threshold)
        )
        for s in splits
        for p in PENALTIES
    }
    (expected, _), most = max(by_hand.items(), key=lambda one: one[1])
    assert split == expected
    assert gain == pytest.approx(most)


def test_levels_are_one_against_the_rest():
    column = np.array([2.0, 0, 1, 2, -1, np.nan, 5])
    splits = [Split(0, 2.0, is_level=True), Split(0, 0.0, missing_left=True, is_level=True)]
    bin_of, left = binned(splits, column)
    for split, goes in zip(splits, left, strict=True):
        assert goes[bin_of].tolist() == split.goes_left(column).tolist()


def test_bins_tell_apart_what_splits_do_and_no_more():
    column = np.array([0.0, 1, 2, 3, np.nan])
    splits = [Split(0, 1.0), Split(0, 3.0, missing_left=True)]
    bin_of, left = binned(splits, column)
    assert bin_of.tolist() == [0, 1, 1, 2, 3]
    for split, goes in zip(splits, left, strict=True):
        assert goes[bin_of].tolist() == split.goes_left(column).tolist()


def test_the_ridge_of_the_first_direction_is_its_own():
    gram, cross = np.ones((1, 2, 1, 1)), np.ones((1, 2, 1, 2, 1))
    # of each fold: b = 1 / (1 + 3), and 2 b − b²
    np.testing.assert_allclose(gains(gram, cross, np.array([3.0])), 7 / 16)


def test_a_choice_that_holds_without_each_fold_lasts():
    assert lasts(np.array([[3.0, 2, 4], [1, 1, 1]]))
    # each fold is gained by a split that the others would not have chosen
    assert not lasts(np.array([[9.0, -4, -4], [-4, 9, -4], [-4, -4, 9]]))
    assert not lasts(np.array([[-1.0, -1, -1]]))
    assert lasts(np.array([[1.0]]))
    assert not lasts(np.array([[-1.0]]))
