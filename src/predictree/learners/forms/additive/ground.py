"""What all additive models of one tree share: the columns of every row, labels, weights, folds."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from predictree.learners.forms.additive.basis import (
    LEVELS,
    LINEAR,
    MISSING,
    SMOOTH,
    Basis,
    Sizes,
)
from predictree.learners.forms.additive.correction import Sample
from predictree.learners.forms.additive.family import Family
from predictree.learners.forms.additive.screen import screen
from predictree.model.additive import LINKS, AdditiveFunction, Curve
from predictree.model.outputs import Labels
from predictree.model.tree import BoolArray, FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class Ground:
    """The rows of a problem as additive models see them.

    Attributes
    ----------
    X : array of shape (n, d)
    basis : Basis
    columns : array of shape (p,)
        The columns of the basis that are in use.
    B : array of shape (n, 1 + p)
        A one and these columns.
    y : array of shape (n,)
        Class codes, or labels in a unit of their own.
    weight : array of shape (n,)
        So many rows as each stands for.
    fold : array of shape (n,)
        -1 for a row that every model trains on.
    n_folds : int
    family : Family
    unit, shift : float
        A score in that unit stands for ``unit * score + shift``.
    span : (float, float)
        Answers are kept within.
    allowed : array of shape (n_folds + 1, features)
        Which features of the basis each model may use.
    """

    X: FloatArray
    basis: Basis
    columns: IntArray
    B: FloatArray
    y: Labels
    weight: FloatArray
    fold: IntArray
    n_folds: int
    family: Family
    unit: float
    shift: float
    span: tuple[float, float]
    allowed: BoolArray

    @classmethod
    def of(
        cls,
        X: FloatArray,
        y: Labels,
        weight: FloatArray | None,
        fold: IntArray,
        family: Family,
        columns: tuple[int, ...],
        categories: frozenset[int],
        sizes: Sizes,
    ) -> "Ground":
        """Make the columns of some rows."""
        mass = np.ones(len(X)) if weight is None else _as_rows(weight)
        places = np.array(columns, dtype=np.int64)
        told = screen(X, y, mass, fold, places, max(family.n_scores, 1 + family.knows_noise))
        some = told.any(axis=0)
        basis = Basis.of(X, mass, tuple(places[some].tolist()), categories, sizes)
        kept = np.isin(places, [one.axis.feature for one in basis.features])
        sized = family.sized(y, mass)
        return cls(
            X, basis, np.arange(basis.width), basis.design(X), sized.y, mass, fold,
            int(fold.max(initial=0)) + 1, family, sized.unit, sized.shift, sized.span,
            told[:, kept],
        )  # fmt: skip

    def among(self, columns: IntArray) -> "Ground":
        """Return the same rows with some of the columns."""
        B = np.ascontiguousarray(self.B[:, np.concatenate([[0], columns + 1])])
        return replace(self, B=B, columns=self.columns[columns])

    def coarse(self, parts: int, barred: frozenset[int] = frozenset()) -> "Ground":
        """Return the same rows with lines, levels and so many smooth parts a feature.

        The columns of X in ``barred`` have none.
        """
        basis = self.basis
        place = np.array([one.axis.feature for one in basis.features], dtype=np.int64)
        few = (basis.kind == SMOOTH) & (basis.order < parts)
        kept = (np.isin(basis.kind, (LINEAR, LEVELS, MISSING)) | few) & ~np.isin(
            place[basis.feature], [*barred]
        )
        return self.among(np.flatnonzero(kept))

    @cached_property
    def group(self) -> IntArray:
        """The groups of the columns in use: 0, 1, …."""
        return np.asarray(np.unique(self.basis.group[self.columns], return_inverse=True)[1])

    @cached_property
    def feature(self) -> IntArray:
        """The place in the basis of each column's feature."""
        return self.basis.feature[self.columns]

    @cached_property
    def first(self) -> FloatArray:
        """The best constant of every model: (n_folds + 1, k)."""
        held = [0 if self.n_folds == 1 else f for f in range(self.n_folds + 1)]
        parts = [self.fold != f for f in held]
        return np.array([self.family.start(self.y[p], self.weight[p]) for p in parts])

    def sample(self, rows: IntArray, offset: FloatArray) -> Sample:
        """Return some rows, which must be in the order of their folds, with what is said so far."""
        ends = np.searchsorted(self.fold[rows], np.arange(self.n_folds + 1))
        allowed = self.allowed[:, self.feature[np.unique(self.group, return_index=True)[1]]]
        return Sample(
            self.B[rows], self.y[rows], self.weight[rows], offset, ends, self.family, self.group,
            None if allowed.all() else allowed,
        )  # fmt: skip

    def scores(self, told: FloatArray) -> FloatArray:
        """Return the scores that sums (n, k) stand for."""
        return np.clip(LINKS[self.family.link](told * self.unit + self.shift), *self.span)

    def function(
        self, coefficients: FloatArray, covariance: FloatArray, rows: IntArray
    ) -> AdditiveFunction:
        """Return the additive function with these coefficients, (1 + p, k), for some rows.

        Its curves are zero in the mean of the rows, and constant beyond the cells they fall in.
        """
        mean = np.average(self.B[rows, 1:], axis=0, weights=self.weight[rows])
        curves = tuple(
            self._curve(j, coefficients, covariance, rows, mean)
            for j in range(len(self.basis.features))
        )
        intercept = coefficients[0] + mean @ coefficients[1 : 1 + len(mean)]
        return AdditiveFunction(intercept * self.unit, curves, (), self.family.link, self.span)

    def _curve(
        self,
        j: int,
        coefficients: FloatArray,
        covariance: FloatArray,
        rows: IntArray,
        mean: FloatArray,
    ) -> Curve:
        one, mine = self.basis.features[j], np.flatnonzero(self.feature == j)
        start = int(np.searchsorted(self.basis.feature, j))
        table = one.table[:, self.columns[mine] - start] - mean[mine]
        table = table[one.axis.reached(self.X[rows, one.axis.feature])] * self.unit
        block = covariance[:, 1 + mine[:, None], 1 + mine]
        variance = np.einsum("cm,kmn,cn->ck", table, block, table, optimize=True)
        return Curve(one.axis, table @ coefficients[1 + mine], np.maximum(variance, 0.0))


def _as_rows(weight: FloatArray) -> FloatArray:
    """Return how many rows each row stands for: whole weights are counts, others have mean 1."""
    if (weight == np.round(weight)).all():
        return weight
    return np.asarray(weight / weight.mean())
