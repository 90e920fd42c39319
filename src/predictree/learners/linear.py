"""Linear and ridge regression at all splits of a node, from the Gram matrices of bins."""

from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
import sklearn
from scipy.linalg import lstsq
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
from predictree.tree import BoolArray, FloatArray, IntArray

TRUNCATES = tuple(map(int, sklearn.__version__.split(".")[:2])) >= (1, 9)
"""Whether LinearRegression takes singular values below its ``tol`` for zero."""
NOISE = 1e-11  # squared length of a centred column, relative to before, that may be rounding


@dataclass(frozen=True)
class LinearForm:
    """Least squares with an intercept and, for ridge regression, a penalty."""

    design: Design
    root_weight: FloatArray | None
    alpha: float
    cutoff: float
    proper: bool
    total: FloatArray
    coarse: BoolArray  # columns whose values are so far apart that a Gram matrix tells them

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
        alpha = _penalty(learner.estimator) or 0.0
        cutoff = learner.estimator.tol if alpha == 0 and TRUNCATES else 0.0
        return cls(design, root, alpha, cutoff, learner.proper, total, _coarse(design, root))

    def fit_splits(self, bins: Bins) -> FloatArray:
        """Return the scores of the judged rows for every split."""
        cells = cell_grams(self.design.train, self.root_weight, bins, self.total)
        sums = training_sums(cells, bins.n_folds)
        shape = sums.shape[:3]  # splits, sides, folds
        coefficients, intercepts, certain, dropped = self._solve(
            sums.reshape(-1, *self.total.shape)
        )
        doubtful = dropped & ~self.coarse
        for i in np.flatnonzero(~certain | doubtful.any(axis=1)):
            split, right, fold = np.unravel_index(i, shape)
            rows = bins.side(int(split), bool(right))
            rows = rows[self.design.train_fold[rows] != fold]
            if not (certain[i] and self._constant(rows, doubtful[i])):
                coefficients[i], intercepts[i] = self._solve_directly(rows)
        answers = self._answers(
            bins,
            coefficients.reshape(*shape, *coefficients.shape[1:]),
            intercepts.reshape(*shape, -1),
        )
        scores = self.design.as_scores(answers)
        if self.proper:
            return probabilities(scores.reshape(-1, scores.shape[-1])).reshape(scores.shape)
        return scores

    def _constant(self, rows: IntArray, columns: BoolArray) -> bool:
        """Whether these columns have one value each on these rows."""
        block = self.design.train[np.ix_(rows, 1 + np.flatnonzero(columns))]
        return bool((block == block[:1]).all())

    def _solve_directly(self, rows: IntArray) -> tuple[FloatArray, FloatArray]:
        """Solve one problem from its rows as the estimator does: a Gram matrix is too coarse."""
        d, scale = self.design.n_features, self.design.scale
        n_targets = len(self.total) - 1 - d
        if len(rows) == 0:
            return np.full((d, n_targets), np.nan), np.full(n_targets, np.nan)
        block = self.design.train[rows]
        root = np.ones(len(rows)) if self.root_weight is None else self.root_weight[rows]
        mean = np.average(block[:, 1:], axis=0, weights=root**2)
        centred = (block[:, 1:] - mean) * root[:, None]
        columns, targets = centred[:, :d] * scale, centred[:, d:]
        if self.alpha:
            columns = np.vstack([columns, np.sqrt(self.alpha) * np.eye(d)])
            targets = np.vstack([targets, np.zeros((d, targets.shape[1]))])
        cutoff = max(self.cutoff, max(columns.shape) * np.finfo(float).eps)
        coefficients = lstsq(columns, targets, cond=cutoff)[0] * scale[:, None]
        return coefficients, mean[d:] - mean[:d] @ coefficients

    def _solve(self, sums: FloatArray) -> tuple[FloatArray, FloatArray, BoolArray, BoolArray]:
        """Return coefficients, intercepts, certainty and dropped columns of every training set."""
        from predictree.kernels import solve_least_squares

        d, scale = self.design.n_features, self.design.scale
        count = np.maximum(sums[:, 0, 0], np.finfo(float).tiny)[:, None]
        mean = sums[:, 0, 1:] / count
        centred = sums[:, 1:, 1:] - count[:, :, None] * mean[:, :, None] * mean[:, None, :]
        own, all_rows = np.diagonal(sums, axis1=1, axis2=2)[:, 1:], np.diagonal(self.total)[1:]
        noise = NOISE * (own + 1e-2 * all_rows)  # a sum that was got as a difference rounds more
        constant = np.diagonal(centred[:, d:, d:], axis1=1, axis2=2) <= noise[:, d:]
        # In the units of the columns as they were: so is the norm that an estimator minimises.
        coefficients, certain, dropped = solve_least_squares(
            centred[:, :d, :d] * scale[:, None] * scale,
            centred[:, :d, d:] * scale[:, None] * ~constant[:, None, :],
            noise[:, :d] * scale**2,
            self.alpha,
            self.cutoff,
        )
        coefficients *= scale[:, None]
        intercepts = mean[:, d:] - np.einsum("bd,bdt->bt", mean[:, :d], coefficients)
        return coefficients, intercepts, certain & (sums[:, 0, 0] > 0), dropped

    def _answers(self, bins: Bins, coefficients: FloatArray, intercepts: FloatArray) -> FloatArray:
        """Answer for every judged row with the model of its side and its fold: (q, v, t)."""
        q, v = bins.goes_left.shape
        t = intercepts.shape[-1]
        answers = np.empty((q, v, t))
        for f in range(bins.n_folds):
            held = self.design.judged_fold == f
            rows = slice(None) if held.all() else np.flatnonzero(held)
            flat = np.moveaxis(coefficients[:, :, f], 2, 0).reshape(self.design.n_features, -1)
            by_side = (self.design.judged[rows] @ flat).reshape(-1, q, 2, t)
            by_side += intercepts[:, :, f]
            left = bins.goes_left[:, rows].T[:, :, None]
            chosen = np.where(left, by_side[:, :, 0], by_side[:, :, 1])
            answers[:, rows] = np.moveaxis(chosen, 1, 0)
        return answers


def _coarse(design: Design, root_weight: FloatArray | None) -> BoolArray:
    """Tell the columns in which a single different value is more than noise.

    One value that differs by g from all others has a squared length of at least g² / 2.
    """
    enough = 4 * NOISE * len(design.train)
    if root_weight is not None:
        enough *= float(root_weight.max() / root_weight.min()) ** 2
    features = design.train.T[1 : 1 + design.n_features]
    return np.array([_gap(column) ** 2 > enough for column in features])


def _gap(column: FloatArray) -> float:
    """Return the least difference between different values; infinite if all are the same."""
    low, high = column.min(), column.max()
    if ((column == low) | (column == high)).all():
        return float(high - low) or np.inf
    steps = np.diff(np.sort(column))
    return float(steps[steps > 0].min())


def _penalty(estimator: Any) -> float | None:
    """Return the ridge penalty of an estimator that this form reproduces, None for any other."""
    if type(estimator) is LinearRegression and estimator.fit_intercept and not estimator.positive:
        return 0.0 if isinstance(estimator.tol, Real) and float(estimator.tol) >= 0 else None
    if type(estimator) is Ridge and estimator.fit_intercept and not estimator.positive:
        alpha, solver = estimator.alpha, estimator.solver
        exact = isinstance(alpha, Real) and solver in ("auto", "cholesky", "svd")
        return float(alpha) if exact and 0 < alpha < np.inf else None
    return None
