"""Linear and ridge regression at all splits of a node, from the Gram matrices of bins."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.linear_model import LinearRegression, Ridge

from predictree.learners.adapter import ClassIndicator, Learner, Value
from predictree.learners.closed_form import (
    Bins,
    Design,
    cell_grams,
    gram_of,
    training_sums,
)
from predictree.losses import probabilities
from predictree.tree import BoolArray, FloatArray

NOISE = 1e-11  # squared length of a column, relative to that on the whole node, that is rounding


@dataclass(frozen=True)
class LinearForm:
    """Least squares with an intercept and, for ridge regression, a penalty."""

    design: Design
    root_weight: FloatArray | None
    alpha: float
    proper: bool
    total: FloatArray

    @staticmethod
    def fits(learner: Learner) -> bool:
        """Whether this is the closed form of a learner."""
        regression = isinstance(learner, ClassIndicator | Value)
        plain = learner.metadata.keys() <= {"sample_weight"}
        return regression and plain and _penalty(learner.estimator) is not None

    @classmethod
    def of(cls, learner: Learner, design: Design) -> "LinearForm":
        """Return the closed form of a learner that it fits, on one node."""
        weight = learner.metadata.get("sample_weight")
        root = None if weight is None else np.sqrt(np.asarray(weight, dtype=float)[design.rows])
        total = gram_of(design.train, root, np.arange(len(design.train)))
        return cls(design, root, _penalty(learner.estimator) or 0.0, learner.proper, total)

    def fit_splits(self, bins: Bins) -> tuple[FloatArray, BoolArray]:
        """Return the scores of the judged rows for every split, and which models are exact."""
        cells = cell_grams(self.design.train, self.root_weight, bins, self.total)
        sums = training_sums(cells, bins.n_folds)
        coefficients, intercepts, exact = self._solve(sums.reshape(-1, *self.total.shape))
        shape = sums.shape[:3]  # splits, sides, folds
        answers = self._answers(
            bins,
            coefficients.reshape(*shape, *coefficients.shape[1:]),
            intercepts.reshape(*shape, -1),
        )
        scores = self.design.as_scores(answers)
        if self.proper:
            scores = probabilities(scores.reshape(-1, scores.shape[-1])).reshape(scores.shape)
        return scores, np.all(exact.reshape(shape), axis=2)

    def _solve(self, sums: FloatArray) -> tuple[FloatArray, FloatArray, BoolArray]:
        """Return coefficients, intercepts and whether they are exact, of every training set."""
        from predictree.kernels import solve_least_squares

        d = self.design.n_features
        count = np.maximum(sums[:, 0, 0], np.finfo(float).tiny)[:, None]
        mean = sums[:, 0, 1:] / count
        centred = sums[:, 1:, 1:] - count[:, :, None] * mean[:, :, None] * mean[:, None, :]
        noise = NOISE * np.diagonal(self.total)[1:]
        target = centred[:, :d, d:].copy()
        constant = np.diagonal(centred[:, d:, d:], axis1=1, axis2=2) <= noise[d:]
        target *= ~constant[:, None, :]
        coefficients, certain = solve_least_squares(
            np.ascontiguousarray(centred[:, :d, :d]),
            target,
            self.alpha / self.design.scale**2,
            self.design.scale,
            noise[:d],
        )
        intercepts = mean[:, d:] - np.einsum("bd,bdt->bt", mean[:, :d], coefficients)
        return coefficients, intercepts, certain & (sums[:, 0, 0] > 0)

    def _answers(self, bins: Bins, coefficients: FloatArray, intercepts: FloatArray) -> FloatArray:
        """Answer for every judged row with the model of its side and its fold: (q, v, t)."""
        q, v = bins.goes_left.shape
        t = intercepts.shape[-1]
        answers = np.empty((q, v, t))
        for f in range(bins.n_folds):
            rows = np.flatnonzero(self.design.judged_fold == f)
            flat = np.moveaxis(coefficients[:, :, f], 2, 0).reshape(self.design.n_features, -1)
            by_side = (self.design.judged[rows] @ flat).reshape(len(rows), q, 2, t)
            by_side += intercepts[:, :, f]
            left = bins.goes_left[:, rows].T[:, :, None]
            chosen = np.where(left, by_side[:, :, 0], by_side[:, :, 1])
            answers[:, rows] = np.moveaxis(chosen, 1, 0)
        return answers


def _penalty(estimator: Any) -> float | None:
    """Return the ridge penalty of an estimator that this form reproduces, None for any other."""
    if type(estimator) is LinearRegression and estimator.fit_intercept and not estimator.positive:
        return 0.0
    if type(estimator) is Ridge and estimator.fit_intercept and not estimator.positive:
        return float(estimator.alpha) if np.ndim(estimator.alpha) == 0 else None
    return None
