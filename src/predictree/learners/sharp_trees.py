"""Extra trees for class probabilities that dare to be certain."""

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import minimize_scalar
from scipy.special import logsumexp
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.utils import check_random_state

from predictree.model.outputs import Labels
from predictree.model.tree import BoolArray, FloatArray

HIGHEST = 5.0  # exponent


class SharpExtraTrees(ExtraTreesClassifier):  # type: ignore[misc]
    """Extra trees whose shares of votes are raised to a power that held-out rows ask for.

    Trees that follow every row disagree wherever classes meet, so that the shares of their votes
    are too even where labels are nearly certain, the more so the more classes there are. A convex
    combination can even out its members, not sharpen them: that is left to the learner. A
    forest on two thirds of the rows is asked about the others, and the exponent is the one with the
    least log loss there; it is at least one, since what comes after, an average over
    folds and learners, evens out already. The forest that answers is trained on all rows. Of groups
    nothing is known here: if rows repeat each other, the exponent may be too large, which the
    weights of a stack, found on whole folds, answer for.

    Parameters are those of scikit-learn's ``ExtraTreesClassifier``.

    Attributes
    ----------
    exponent_ : float
    """

    def fit(self, X: FloatArray, y: Labels, sample_weight: ArrayLike | None = None) -> Self:
        """Find the exponent, and grow the forest."""
        super().fit(X, y, sample_weight)
        self.exponent_ = self._exponent(X, y, sample_weight)
        return self

    def _exponent(self, X: FloatArray, y: Labels, sample_weight: ArrayLike | None) -> float:
        held = every_third(y, self.random_state)
        if not held.any():
            return 1.0
        weight = np.ones(len(y)) if sample_weight is None else np.asarray(sample_weight)
        trial = ExtraTreesClassifier(**self.get_params()).fit(X[~held], y[~held], weight[~held])
        p = trial.predict_proba(X[held])
        given = np.where(trial.classes_ == y[held][:, None], p, 0.0).sum(axis=1)
        return best_exponent(p, given, weight[held])

    def predict_proba(self, X: FloatArray) -> FloatArray:
        """Return the sharpened shares of the trees' votes."""
        raised = super().predict_proba(X) ** self.exponent_
        return np.asarray(raised / raised.sum(axis=1, keepdims=True))


def every_third(y: Labels, random_state: Any) -> BoolArray:
    """Mark a third of the rows, drawn at random, of every class as nearly as can be."""
    order = check_random_state(random_state).permutation(len(y))
    held = np.zeros(len(y), dtype=bool)
    held[order[np.argsort(y[order], kind="stable")][2::3]] = True
    return held


def best_exponent(p: FloatArray, given: FloatArray, weight: FloatArray) -> float:
    """Return the exponent of the probabilities p, one or more, with the least log loss.

    ``given`` is what the true class has of p. Where that is nothing, no exponent helps.
    """
    told = given > 0
    if not told.any():
        return 1.0
    with np.errstate(divide="ignore"):
        logs, true = np.log(p[told]), np.log(given[told])

    def loss(exponent: float) -> float:
        each = logsumexp(exponent * logs, axis=1) - exponent * true
        return float(np.average(each, weights=weight[told]))

    best = float(minimize_scalar(loss, bounds=(1.0, HIGHEST), method="bounded").x)
    return best if loss(best) < loss(1.0) else 1.0
