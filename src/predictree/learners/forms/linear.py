"""Linear and ridge regression at all splits of a node, from the Gram matrices of bins."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from numbers import Real
from typing import Any, ClassVar

import numpy as np
import sklearn
from sklearn.base import clone
from sklearn.linear_model import LinearRegression, Ridge

from predictree.learners.adapter import (
    ClassIndicator,
    Learner,
    Value,
    indicator_row,
    weight_keyword,
)
from predictree.learners.forms.design import (
    AnyArray,
    Cuts,
    Design,
    answers_of_sides,
    cell_grams,
    gram_of,
    grams_of_sides,
    moments_of_sides,
    on_host,
    standardised,
    triangle_of,
    without_fold,
)
from predictree.learners.forms.least_squares import least_norm, solve_least_squares
from predictree.learners.forms.squares import Penalised
from predictree.model.fitted import Constant, IndicatorModel, ValueModel
from predictree.model.outputs import probabilities
from predictree.model.tree import BoolArray, Fitted, FloatArray, IntArray

TRUNCATES = tuple(map(int, sklearn.__version__.split(".")[:2])) >= (1, 9)
"""Whether LinearRegression takes singular values below its ``tol`` for zero."""
NOISE = 1e-11  # squared length of a centred column, relative to before, that may be rounding


@dataclass(frozen=True)
class LinearForm:
    """Least squares with an intercept and, for ridge regression, a penalty."""

    takes_steps: ClassVar[bool] = False

    design: Design
    learner: Learner
    root_weight: FloatArray | None
    alpha: float
    scaled: bool  # whether the penalty is on standardised features
    cutoff: float
    total: AnyArray

    @staticmethod
    def fits(learner: Learner) -> bool:
        """Whether this is the closed form of a learner."""
        regression = isinstance(learner, ClassIndicator | Value)
        if not regression or _penalty(learner.estimator) is None:
            return False
        return learner.metadata.keys() <= {weight_keyword(learner.name, learner.estimator)}

    @staticmethod
    def penalised(learner: Learner, weight: FloatArray | None) -> Penalised | None:
        """Return what sums over rows of these weights tell of a learner; None if they cannot.

        A scaler counts every row once, and so cannot have its moments from weighted sums.
        """
        if not isinstance(learner, Value) or not LinearForm.fits(learner):
            return None
        mine = next(iter(learner.metadata.values()), None)
        alpha, scaled = _penalty(learner.estimator) or (0.0, False)
        if (mine is None) != (weight is None) or (scaled and weight is not None):
            return None
        same = mine is None or np.array_equal(mine, np.asarray(weight))
        return Penalised(alpha, scaled) if same else None

    @staticmethod
    def makes_models(learner: Learner) -> bool:
        """Whether this form gives the learner's models, too: it does for a lone estimator."""
        return LinearForm.fits(learner) and hasattr(learner.estimator, "fit_intercept")

    @classmethod
    def of(cls, learner: Learner, design: Design) -> "LinearForm":
        """Return the closed form of a learner that it fits, on one node."""
        root = None
        for weight in learner.metadata.values():
            root = np.sqrt(np.asarray(weight, dtype=float)[design.rows])
        total = gram_of(design.train, root)
        alpha, scaled = _penalty(learner.estimator) or (0.0, False)
        cutoff = learner.estimator.tol if alpha == 0 and TRUNCATES else 0.0
        return cls(design, learner, root, alpha, scaled, cutoff, total)

    def fit_splits(self, cuts: Cuts) -> FloatArray:
        """Return the scores of the judged rows for every split."""
        sums = grams_of_sides(self.design.train, self.root_weight, cuts, self.total)
        shape = (len(cuts.places), 2, self.design.n_folds)
        penalty = np.full((*shape, self.design.n_features), self.alpha)
        if self.scaled:
            penalty *= _or_one(moments_of_sides(self.design, cuts)[1]) * self.design.scale**2
        triangle = lru_cache(None)(lambda bins, cell: self._triangle(bins.cells()[cell]))

        def triangles_at(i: int) -> FloatArray:
            cells = cuts.training_cells(np.unravel_index(i, shape))
            return np.vstack([triangle(*cell) for cell in cells])

        coefficients, intercepts = self._solve(
            sums.reshape(-1, *self.total.shape),
            penalty.reshape(-1, self.design.n_features),
            lambda i: cuts.training_set(np.unravel_index(i, shape), self.design),
            triangles_at,
        )
        answers = answers_of_sides(
            self.design,
            cuts,
            coefficients.reshape(*shape, *coefficients.shape[1:]),
            intercepts.reshape(*shape, -1),
        )
        scores = self.design.as_scores(answers)
        if self.learner.proper:
            return probabilities(scores.reshape(-1, scores.shape[-1])).reshape(scores.shape)
        return scores

    def models(self) -> tuple[Fitted, ...]:
        """Return the models of the node itself, one a fold, as fitted estimators."""
        fold, n_folds = self.design.train_fold, self.design.n_folds
        cells = [np.flatnonzero(fold == f) for f in range(-1, n_folds)]
        grams = cell_grams(self.design.train, self.root_weight, cells, self.total)
        coefficients, intercepts = self._solve(
            on_host(without_fold(grams, n_folds)),
            np.full((n_folds, self.design.n_features), self.alpha),
            lambda f: np.flatnonzero(fold != f),
            lambda f: self._triangle(np.flatnonzero(fold != f)),
        )
        slopes = coefficients / self.design.scale[:, None] * self.design.label_scale
        level = intercepts * self.design.label_scale + self.design.label_center
        level = level - np.einsum("d,fdt->ft", self.design.center, slopes)
        raw = np.zeros((n_folds, self.design.width, slopes.shape[-1]))
        raw[:, self.design.columns] = slopes
        labels = on_host(self.design.train[:, self.design.n_features + 1 :])
        return tuple(self._model(raw[f].T, level[f], labels[fold != f]) for f in range(n_folds))

    def _model(self, slopes: FloatArray, levels: FloatArray, labels: FloatArray) -> Fitted:
        """Return the learner's model with given coefficients of each target."""
        fitted = [
            with_coefficients(self.learner.estimator, slope, level)
            for slope, level in zip(slopes, levels, strict=True)
        ]
        k = self.design.n_outputs
        if k == 1:
            return ValueModel(fitted[0])
        present = np.flatnonzero(labels.any(axis=0))
        if k == 2:
            return (
                IndicatorModel({1: fitted[0]}, k, self.learner.proper)
                if len(present) and not labels.all()
                else Constant(indicator_row(len(present), k))
            )
        if len(present) == 1:
            return Constant(indicator_row(present[0], k))
        return IndicatorModel({int(c): fitted[c] for c in present}, k, self.learner.proper)

    def _solve(
        self,
        sums: FloatArray,
        penalty: FloatArray,
        rows_of: Callable[[int], IntArray],
        triangles_at: Callable[[int], FloatArray],
    ) -> tuple[FloatArray, FloatArray]:
        """Return coefficients and intercepts of training sets, from their Gram matrices.

        Where a matrix cannot tell, their triangular factors are asked, which are not squared.
        """
        coefficients, intercepts, certain, dropped = self._solve_grams(sums, penalty)
        doubtful = dropped & ~self._coarse(np.flatnonzero(dropped.any(axis=0)))
        for i in np.flatnonzero(~certain | doubtful.any(axis=1)).tolist():
            rows = rows_of(i)
            if not (certain[i] and self._constant(rows, doubtful[i])):
                coefficients[i], intercepts[i] = self._solve_triangles(
                    triangles_at(i), len(rows), penalty[i]
                )
        return coefficients, intercepts

    def _coarse(self, columns: IntArray) -> BoolArray:
        """Return which of some columns have values that differ by more than noise, if at all."""
        least = 4 * NOISE * len(self.design.rows)
        if self.root_weight is not None:
            least *= float(self.root_weight.max() / self.root_weight.min()) ** 2
        coarse = np.zeros(self.design.n_features, dtype=bool)
        coarse[columns] = self.design.gaps(columns) ** 2 > least
        return coarse

    def _constant(self, rows: IntArray, columns: BoolArray) -> bool:
        """Whether these columns have one value each on these rows."""
        block = on_host(self.design.train)[np.ix_(rows, 1 + np.flatnonzero(columns))]
        return bool((block == block[:1]).all())

    def _triangle(self, rows: IntArray) -> FloatArray:
        """Return the triangular factor of some rows of the design, weights and all."""
        block = on_host(self.design.train)[rows]
        return triangle_of(
            block if self.root_weight is None else block * self.root_weight[rows, None]
        )

    def _solve_triangles(
        self, triangles: FloatArray, n_rows: int, penalty: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Solve one problem from triangular factors of its parts as the estimator does from rows.

        The first column is of ones: below its own row, the others are centred.
        """
        d, scale = self.design.n_features, self.design.scale
        n_targets = self.total.shape[0] - 1 - d
        if n_rows == 0:
            return np.full((d, n_targets), np.nan), np.full(n_targets, np.nan)
        triangle = triangle_of(triangles)
        first, centred = triangle[0], triangle[1:]
        columns, targets = centred[:, 1 : 1 + d] * scale, centred[:, 1 + d :]
        if self.alpha:
            columns = np.vstack([columns, np.diag(np.sqrt(penalty))])
            targets = np.vstack([targets, np.zeros((d, n_targets))])
        cutoff = max(self.cutoff, max(n_rows, d) * np.finfo(float).eps)
        coefficients = least_norm(columns, targets, cutoff) * scale[:, None]
        return coefficients, (first[1 + d :] - first[1 : 1 + d] @ coefficients) / first[0]

    def _solve_grams(
        self, sums: FloatArray, penalty: FloatArray
    ) -> tuple[FloatArray, FloatArray, BoolArray, BoolArray]:
        """Return coefficients, intercepts, certainty and dropped columns of every training set."""
        d, n_targets = self.design.n_features, self.total.shape[0] - 1 - self.design.n_features
        # In the units of the columns as they were: so is the norm that an estimator minimises.
        scale = np.append(self.design.scale, np.ones(n_targets))
        centred, mean = centred_grams(sums, scale)
        own, all_rows = (
            np.diagonal(sums, axis1=1, axis2=2)[:, 1:],
            np.diagonal(on_host(self.total))[1:],
        )
        noise = NOISE * (own + 1e-2 * all_rows)  # a sum that was got as a difference rounds more
        constant = np.diagonal(centred[:, d:, d:], axis1=1, axis2=2) <= noise[:, d:]
        coefficients, certain, dropped = solve_least_squares(
            centred[:, :d, :d],
            centred[:, :d, d:] * ~constant[:, None, :],
            noise[:, :d] * self.design.scale**2,
            penalty,
            self.cutoff,
        )
        coefficients *= self.design.scale[:, None]
        intercepts = mean[:, d:] - np.einsum("bd,bdt->bt", mean[:, :d], coefficients)
        return coefficients, intercepts, certain & (sums[:, 0, 0] > 0), dropped


def centred_grams(sums: FloatArray, unit: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Centre the Gram matrices, (b, 1 + m, 1 + m), of ones, or root weights, and m other columns.

    Returns them, (b, m, m), with columns in some unit, and the means before that, (b, m).
    """
    count = np.maximum(sums[:, 0, :1], np.finfo(float).tiny)
    mean = sums[:, 0, 1:] / count
    centred = sums[:, 1:, 1:] - (count * mean)[:, :, None] * mean[:, None]
    centred *= unit[:, None] * unit
    return centred, mean


def _or_one(variance: FloatArray) -> FloatArray:
    """Return a StandardScaler's squared scale: a constant feature keeps its own."""
    return np.where(variance > 0, variance, 1.0)


def with_coefficients(estimator: Any, slope: FloatArray, level: float) -> Any:
    """Return a linear estimator that is fitted to these coefficients."""
    fitted = clone(estimator)
    fitted.coef_, fitted.intercept_ = slope, float(level)
    fitted.n_features_in_ = len(slope)
    return fitted


def _penalty(estimator: Any) -> tuple[float, bool] | None:
    """Return the ridge penalty of an estimator that this form reproduces, None for any other.

    Also whether its features are standardised first, which makes a difference only to a penalty.
    """
    estimator, scaled = standardised(estimator)
    if type(estimator) is LinearRegression and not scaled:
        plain = estimator.fit_intercept and not estimator.positive
        return (0.0, False) if plain and _is_number(estimator.tol, 0.0) else None
    if type(estimator) is Ridge and estimator.fit_intercept and not estimator.positive:
        exact = estimator.solver in ("auto", "cholesky", "svd")
        known = exact and _is_number(estimator.alpha, np.finfo(float).tiny)
        return (float(estimator.alpha), scaled) if known else None
    return None


def _is_number(value: Any, least: float) -> bool:
    return isinstance(value, Real) and least <= float(value) < np.inf
