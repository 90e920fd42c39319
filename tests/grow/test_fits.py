"""Models of predictors: fitted, checked and kept."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression
from sklearn.tree import DecisionTreeRegressor

from growing import fits_of, held_out
from predictree.grow.fits import Chosen
from predictree.grow.rows import Rows


@pytest.mark.parametrize(
    ("estimator", "advice"),
    [
        (LinearRegression(), "may be nearly collinear"),
        (DecisionTreeRegressor(), "give it a random_state"),
    ],
    ids=["a closed form", "any learner"],
)
def test_a_model_that_does_not_answer_as_it_was_judged_is_refused_with_advice(
    regimes, estimator, advice
):
    fits = fits_of(*regimes, held_out(600), [estimator])
    rows = Rows.of(fits.problem)
    (candidate,) = fits.of_root(rows)
    other = replace(candidate, scores=candidate.scores + 1)
    refused, failure = fits.keep([Chosen(other, rows)])
    assert refused is other
    assert advice in failure.reason
    assert not fits.kept
    assert fits.keep([Chosen(candidate, rows)]) is None
    np.testing.assert_array_equal(
        fits.kept[candidate.key].v2,
        fits.problem.held_out(fits.kept[candidate.key].models, rows.v2),
    )
