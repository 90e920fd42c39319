"""What all additive models of one tree share: the columns of every row, labels, weights, folds."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from predictree.learners.forms.additive.basis import Basis, Sizes
from predictree.learners.forms.additive.correction import Sample
from predictree.learners.forms.additive.family import Family
from predictree.model.additive import LINKS, AdditiveFunction, Curve
from predictree.model.outputs import Labels
from predictree.model.tree import FloatArray, IntArray


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
        Class codes, or labels in units of ``unit``.
    weight : array of shape (n,)
        Mean 1.
    fold : array of shape (n,)
        -1 for a row that every model trains on.
    n_folds : int
    family : Family
    unit : float
        The size of the labels of a regression; 1 elsewhere.
    span : (float, float)
        Answers are kept within.
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
    span: tuple[float, float]

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
        mass = np.ones(len(X)) if weight is None else weight / weight.mean()
        basis = Basis.of(X, mass, columns, categories, sizes)
        unit, span = 1.0, (-np.inf, np.inf)
        if family.is_quadratic:
            spread = np.average(np.square(y - np.average(y, weights=mass)), weights=mass)
            unit = float(np.sqrt(spread)) or 1.0
            y, span = y / unit, (float(y.min()), float(y.max()))
        return cls(
            X, basis, np.arange(basis.width), basis.design(X), y, mass, fold,
            int(fold.max(initial=0)) + 1, family, unit, span,
        )  # fmt: skip

    def among(self, columns: IntArray) -> "Ground":
        """Return the same rows with some of the columns."""
        B = np.ascontiguousarray(self.B[:, np.concatenate([[0], columns + 1])])
        return replace(self, B=B, columns=self.columns[columns])

    @cached_property
    def group(self) -> IntArray:
        """The groups of the columns in use: 0, 1, …."""
        return np.asarray(np.unique(self.basis.group[self.columns], return_inverse=True)[1])

    @cached_property
    def first(self) -> FloatArray:
        """The best constant of every model: (n_folds + 1, k)."""
        held = [0 if self.n_folds == 1 else f for f in range(self.n_folds + 1)]
        parts = [self.fold != f for f in held]
        return np.array([self.family.start(self.y[p], self.weight[p]) for p in parts])

    def sample(self, rows: IntArray, offset: FloatArray) -> Sample:
        """Return some rows, which must be in the order of their folds, with what is said so far."""
        ends = np.searchsorted(self.fold[rows], np.arange(self.n_folds + 1))
        return Sample(
            self.B[rows], self.y[rows], self.weight[rows], offset, ends, self.family, self.group
        )

    def scores(self, told: FloatArray) -> FloatArray:
        """Return the scores that sums (n, k) stand for."""
        return np.clip(LINKS[self.family.link](told * self.unit), *self.span)

    def function(self, intercept: FloatArray, coefficients: FloatArray) -> AdditiveFunction:
        """Return the additive function with these coefficients: (1 + p, k)."""
        b = np.zeros((1 + self.basis.width, coefficients.shape[1]))
        b[0] = coefficients[0] + intercept
        b[1 + self.columns] = coefficients[1 : 1 + len(self.columns)]
        b *= self.unit
        curves = tuple(
            Curve(one.axis, self.basis.curve(j, b[1:])) for j, one in enumerate(self.basis.features)
        )
        return AdditiveFunction(b[0], curves, (), self.family.link, self.span)
