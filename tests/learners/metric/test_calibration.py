"""Scores of classes as probabilities."""

import numpy as np
import pytest
from scipy.special import softmax

from predictree.learners.metric.calibration import SURE, Calibration


def test_it_finds_how_timid_scores_are():
    rng = np.random.default_rng(0)
    scores = rng.dirichlet([2, 2, 2], 4000)
    p = softmax(3 * np.log(np.clip(scores, 0.02, 0.98)), axis=1)
    y = (rng.uniform(size=(4000, 1)) > p.cumsum(axis=1)).sum(axis=1)
    found = Calibration.of(scores, y, np.ones(4000))(scores)
    assert np.abs(found - p).mean() < 0.02
    assert np.abs(scores - p).mean() > 0.1


def test_weights_are_repetitions():
    rng = np.random.default_rng(1)
    scores, y = rng.dirichlet([1, 1], 200), rng.integers(0, 2, 200)
    weight = rng.integers(1, 4, 200)
    again = np.repeat(np.arange(200), weight)
    one = Calibration.of(scores, y, weight.astype(float))
    other = Calibration.of(scores[again], y[again], np.ones(len(again)))
    assert one(scores) == pytest.approx(other(scores), abs=1e-4)


def test_without_rows_scores_are_shares():
    p = Calibration.of(np.zeros((0, 2)), np.zeros(0, dtype=int), np.zeros(0))
    assert p(np.array([[0.3, 0.7]])) == pytest.approx(np.array([[0.3, 0.7]]))


def test_nothing_is_impossible():
    p = Calibration(np.array([0.0, 500.0]), 0.0, 1.0)(np.array([[0.5, 0.5]]))
    assert p[0, 0] == pytest.approx(SURE, rel=1e-3)
