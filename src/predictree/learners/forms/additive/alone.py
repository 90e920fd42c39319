"""The additive function of some rows by themselves, for telling how sure its curves are.

Nothing is taken for zero because it was not found: every part may be as large as its own standard
error would let it pass unseen, so that intervals are right where an effect is small, too.
"""

from dataclasses import replace

import numpy as np

from predictree.learners.forms.additive.correction import covariance, fit
from predictree.learners.forms.additive.evidence import Prior
from predictree.learners.forms.additive.ground import Ground
from predictree.model.additive import AdditiveFunction
from predictree.model.tree import FloatArray, IntArray

UNSEEN = Prior(least=4.0)  # in units of the noise: an effect of two standard errors is not seen


def alone(ground: Ground, rows: IntArray, known: FloatArray) -> AdditiveFunction:
    """Return the function of some rows, found from nothing else.

    Parameters
    ----------
    ground : Ground
        Without folds.
    rows : array
    known : array of shape (n, k)
        What is known of the scores of all rows beforehand, in the ground's unit.
    """
    told = ground.first[-1] + known[rows]
    sample = ground.sample(rows, np.repeat(told[:, None], 2, axis=1))
    found = fit(sample, UNSEEN).last
    function = ground.function(found.coefficients, covariance(sample, found, UNSEEN), rows)
    level = function.intercept + ground.first[-1] * ground.unit + ground.shift
    return replace(function, intercept=level)
