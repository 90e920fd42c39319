"""SMOTI: model trees with two kinds of nodes, those that split and those that regress.

From the paper [1]_: a regression node fits a straight line of the target on one variable and takes
the linear effect of that variable off the target and off all other variables below it; so
the lines of a path make a multiple regression, of which those near the root hold for many rows. A
split is judged by

    σ = n_L/n R(t_L) + n_R/n R(t_R),

where R is the root mean squared error of the best straight line on each side, after all lines
of the path; a regression on a variable by ρ = min(R, least σ of all splits after it), so that both
have looked one split ahead. The least of all wins. Growth ends by a partial F-test for a new
variable, the number of rows, when no variable is left, when the error is a small fraction of the
root's, or when the coefficient of determination is high.

Settled here: splits ask about the variables as they were given, at quantiles; all variables count
as continuous, with those of two values cut midway; the lines of the leaves must pass the F-test,
too, else a leaf adds its mean; a tie goes to the regression, to the first variable and to the
lowest threshold, and what differs by rounding alone is a tie; ``max_depth`` and all default values
are ours.

The scatter matrices of both sides of every split, taken once at a split's child, answer everything:
a regression on a variable is a linear map of them, so that looking one split ahead of each of d
regressions needs no further look at the rows.

References
----------
.. [1] D. Malerba, F. Esposito, M. Ceci and A. Appice, "Top-down induction of model trees with
   regression and splitting nodes", IEEE Transactions on Pattern Analysis and Machine Intelligence
   26(5), 2004.
"""

from dataclasses import dataclass, field, replace
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import f as f_distribution
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from predictree.model.tree import BoolArray, FloatArray, IntArray, Split
from predictree_paper.checks import check_at_least, check_share, check_size_of_tree
from predictree_paper.routing import answers, attach
from predictree_paper.side_kernels import regress, rss_after
from predictree_paper.sides import (
    Sides,
    rounding_of_sums,
    rounding_of_variance,
    scatter_of,
    with_ones,
)

# Errors this close, as a share of the target's standard deviation on the rows looked at, are equal.
# They are roots of what lines leave of its sum of squares, and that rounds by 1e-16 of the whole or
# some more: where little is left, the roots do by 1e-8 or some more. No sample tells these apart.
TIE = 1e-7


@dataclass(frozen=True)
class Lines:
    """What the regressions of a path have made of the variables and of the target.

    Attributes
    ----------
    residual : array of shape (1 + d, d)
        The residual of variable u is ``[1, x] @ residual[:, u]``.
    fitted : array of shape (1 + d,)
        The lines so far predict ``[1, x] @ fitted``.
    used : array of shape (d,)
        Which variables have been regressed on.
    """

    residual: FloatArray
    fitted: FloatArray
    used: BoolArray

    @classmethod
    def none(cls, d: int) -> "Lines":
        """Return variables as they were given."""
        return cls(np.eye(1 + d, d, -1), np.zeros(1 + d), np.zeros(d, dtype=bool))

    def regress(self, i: int, mean: FloatArray, slope: FloatArray) -> "Lines":
        """Take the line on variable i off all others and off the target.

        ``mean`` and ``slope`` are those of the residuals of all variables and, last, of the target.
        """
        d = len(self.used)
        line = self.residual[:, i] - mean[i] * np.eye(1, 1 + d)[0]  # of mean zero on these rows
        off = mean * np.eye(1 + d, 1) + np.outer(line, slope)
        residual = np.where(self.used, self.residual, self.residual - off[:, :d])
        fitted = self.fitted + off[:, d]
        return Lines(residual, fitted, self.used | (np.arange(d) == i))

    def constant(self, mean: float) -> "Lines":
        """Take the mean off the target."""
        return replace(self, fitted=self.fitted + mean * np.eye(1, len(self.fitted))[0])

    def of(self, X: FloatArray, y: FloatArray) -> FloatArray:
        """Return the residuals of all variables and, last, of the target."""
        rows = np.column_stack([np.ones(len(X)), X])
        return np.column_stack([rows @ self.residual, y - rows @ self.fitted])

    def rounding(self, X: FloatArray) -> FloatArray:
        """Return the variances up to which the residuals of variables vary by rounding alone.

        The variance of the variable itself says little: it may be constant on these rows, while
        what has been taken off it is not, or is so only because its parts cancel.
        """
        return rounding_of_sums(X, self.residual)


@dataclass(frozen=True)
class Scan:
    """The sums of a node and of the sides of all its splits, for residuals and target.

    Attributes
    ----------
    n : int
        Rows.
    mean : array of shape (d + 1,)
        Of the residuals of the variables and, last, of the target.
    scatter : array of shape (d + 1, d + 1)
    sides : Sides
        With the sums of free variables and, last, of the target.
    free : array of shape (d,)
        Variables that vary and have not been regressed on.
    floor : array of shape (d,)
        Sums of squares up to which a variable does not vary but for rounding.
    tie : float
        The most by which two errors differ that are equal but for rounding.
    ahead : array of shape (2 q, f)
        Sums of squares on each side about the best line that follows a regression on each of the f
        free variables.
    """

    n: int
    mean: FloatArray
    scatter: FloatArray
    sides: Sides
    free: BoolArray
    floor: FloatArray
    tie: float
    ahead: FloatArray

    @classmethod
    def of(
        cls,
        residuals: FloatArray,
        X: FloatArray,
        used: BoolArray,
        n_thresholds: int,
        least: int,
        rounding: FloatArray | None = None,
    ) -> "Scan":
        """Sum over the rows of a node.

        ``rounding`` is that of `Lines`; None takes the one of variables as they were given.
        """
        table = with_ones(residuals)
        total = table.T @ table
        scatter = scatter_of(total)
        floor = len(X) * (rounding_of_variance(X) if rounding is None else rounding)
        free = ~used & (np.diag(scatter)[:-1] > floor)
        of_sides = np.concatenate([[True], free, [True]])
        sides = Sides.of(
            np.compress(of_sides, table, axis=1),
            total[np.ix_(of_sides, of_sides)],
            X,
            n_thresholds,
            least,
        )
        q, _, p, _ = sides.scatter.shape
        slopes = _slopes(scatter, free)
        ahead = rss_after(sides.scatter.reshape(2 * q, p, p), slopes, floor[free])
        tie = TIE * float(residuals[:, -1].std())
        return cls(len(X), residuals.mean(axis=0), scatter, sides, free, floor, tie, ahead)

    def slope(self, i: int) -> FloatArray:
        """Return the slopes of all variables and the target in variable i."""
        return np.asarray(self.scatter[i] / self.scatter[i, i])

    def regress(self, i: int) -> "Scan":
        """Return the sums after a regression on variable i.

        Those of the sides take the place of the old ones, as they may fill much of the memory: this
        scan is of no use afterwards.
        """
        slope = self.slope(i)
        scatter = self.scatter - np.outer(self.scatter[i], slope)
        free = self.free & (np.diag(scatter)[:-1] > self.floor)
        free[i] = False
        columns = np.flatnonzero(np.append(self.free, True))
        kept = np.flatnonzero(np.append(free, True)[columns])
        place = int(np.searchsorted(columns, i))
        memory, slopes = self.sides.scatter.reshape(-1), _slopes(scatter, free)
        p, floor = len(columns), self.floor[free]
        ahead = regress(memory, p, place, slope[columns], kept, slopes, floor)
        new = (len(self.sides.splits), 2, len(kept), len(kept))
        sides = replace(self.sides, scatter=memory[: np.prod(new)].reshape(new))
        return replace(
            self,
            mean=np.zeros_like(self.mean),
            scatter=scatter,
            sides=sides,
            free=free,
            ahead=ahead,
        )

    def line_rss(self) -> FloatArray:
        """Return the sum of squares about the line on each variable; infinite where not free."""
        return np.where(self.free, _rss(self.scatter, self.floor), np.inf)

    def errors(self) -> FloatArray:
        """Return R of the straight line on each variable; infinite where it is not free."""
        return np.sqrt(self.line_rss() / self.n)

    def sigma(self) -> FloatArray:
        """Return σ of every split."""
        C = self.sides.scatter
        without = np.maximum(C[..., -1, -1], 0.0)
        best = _rss(C, self.floor[self.free]).min(axis=-1, initial=np.inf)
        return self._joined(np.minimum(best, without))

    def rho(self) -> FloatArray:
        """Return ρ of the regression on each variable; infinite where it is not free."""
        rho = self.errors()
        q, f = len(self.sides.splits), self.ahead.shape[1]
        sigma = self._joined(self.ahead.reshape(q, 2, f))
        rho[self.free] = np.minimum(rho[self.free], sigma.min(axis=0, initial=np.inf))
        return rho

    def first_least(self, errors: FloatArray) -> int:
        """Return the place of the first error that no other is below by more than a tie."""
        return int(np.argmax(errors <= errors.min() + self.tie))

    def _joined(self, rss: FloatArray) -> FloatArray:
        """Return the mean of the sides' root mean squared errors, by their rows."""
        by_rows = np.sqrt(self.sides.count)
        return np.asarray(np.einsum("qs...,qs->q...", np.sqrt(rss), by_rows) / self.n)


def _slopes(scatter: FloatArray, free: BoolArray) -> FloatArray:
    """Return the slopes of the free variables and the target in each free variable: (f + 1, f)."""
    columns = np.append(free, True)
    mine = scatter[np.ix_(columns, columns)]
    return np.asarray(mine[:, :-1] / np.diag(mine)[:-1])


def _rss(C: FloatArray, floor: FloatArray) -> FloatArray:
    """Return Syy - Sxy² / Sxx of each variable; one that does not vary gives Syy."""
    own = np.diagonal(C, axis1=-2, axis2=-1)[..., :-1]
    explained = np.square(C[..., -1, :-1]) / np.where(own > floor, own, np.inf)
    return np.maximum(C[..., -1, -1:] - explained, 0.0)


@dataclass(frozen=True)
class SmotiNode:
    """A node of the tree.

    Attributes
    ----------
    kind : {"split", "regression", "leaf"}
    n : int
        Training rows.
    depth : int
    split : Split or None
        Of a splitting node.
    variable : int or None
        That a regression node, or the line of a leaf, regresses on.
    value : float or None
        σ or ρ of an inner node.
    children : tuple of int
        Two of a split, one of a regression.
    coefficients : array of shape (1 + d,)
        The lines from the root to this node, with its own: intercept and slopes.
    """

    kind: str
    n: int
    depth: int
    split: Split | None
    variable: int | None
    value: float | None
    children: tuple[int, ...]
    coefficients: FloatArray


@dataclass(frozen=True)
class Rules:
    """When to stop, as in `SMOTIRegressor`; ``least_error`` is in units of the target."""

    n_thresholds: int
    max_depth: float
    least: int
    alpha: float
    least_error: float
    max_r2: float

    def ends(self, scan: Scan, depth: int, total: float) -> bool:
        """Tell whether a node becomes a leaf; ``total`` is the sum of squares of y there."""
        rss = max(scan.scatter[-1, -1], 0.0)
        return bool(
            depth >= self.max_depth
            or not scan.free.any()
            or np.sqrt(rss / scan.n) <= self.least_error
            or rss <= (1 - self.max_r2) * total
        )

    def significant(self, scan: Scan, n_used: int) -> BoolArray:
        """Tell for each variable whether its line passes the partial F-test."""
        total = scan.scatter[-1, -1]
        rss = np.where(scan.free, scan.line_rss(), total)
        rest = scan.n - n_used - 2
        if rest < 1:
            return np.zeros(len(rss), dtype=bool)
        rounding = max(np.finfo(float).eps * total, np.finfo(float).tiny)
        statistic = (total - rss) / np.maximum(rss, rounding) * rest
        return np.asarray(scan.free & (f_distribution.sf(statistic, 1, rest) < self.alpha))


@dataclass(frozen=True)
class Place:
    """Where a node is to grow: its rows, the lines above it, its depth, and its parent's place.

    Below a regression the sums are known; below a split they need a look at the rows.
    """

    rows: IntArray
    lines: Lines
    depth: int
    parent: int | None = None
    scan: Scan | None = None


@dataclass
class Growth:
    """A tree that grows: rows, rules, and the nodes so far, parents before children."""

    X: FloatArray
    y: FloatArray
    rules: Rules
    nodes: list[SmotiNode] = field(default_factory=list)

    def grow(self) -> list[SmotiNode]:
        """Grow from all rows."""
        waiting = [Place(np.arange(len(self.y)), Lines.none(self.X.shape[1]), 0)]
        while waiting:
            place = waiting.pop()
            node, below = self._node(place, place.scan or self._look(place))
            attach(self.nodes, node, place.parent)
            waiting += reversed(below)
        return self.nodes

    def _look(self, place: Place) -> Scan:
        X, lines = self.X[place.rows], place.lines
        residuals = lines.of(X, self.y[place.rows])
        rules, rounding = self.rules, lines.rounding(X)
        return Scan.of(residuals, X, lines.used, rules.n_thresholds, rules.least, rounding)

    def _node(self, place: Place, scan: Scan) -> tuple[SmotiNode, list[Place]]:
        """Return the node of a place, and the places of its children."""
        y = self.y[place.rows]
        passes = self.rules.significant(scan, int(place.lines.used.sum()))
        if self.rules.ends(scan, place.depth, float(np.square(y - y.mean()).sum())):
            return self._leaf(place, scan, passes), []
        sigma, rho = scan.sigma(), np.where(passes, scan.rho(), np.inf)
        least_sigma, least_rho = sigma.min(initial=np.inf), rho.min()
        if min(least_sigma, least_rho) == np.inf:
            return self._leaf(place, scan, passes), []
        if least_rho <= least_sigma + scan.tie:
            return self._regression(place, scan, scan.first_least(rho), rho)
        return self._split(place, scan, scan.first_least(sigma), sigma)

    def _leaf(self, place: Place, scan: Scan, passes: BoolArray) -> SmotiNode:
        if passes.any():
            i = scan.first_least(np.where(passes, scan.errors(), np.inf))
            model = place.lines.regress(i, scan.mean, scan.slope(i))
        else:
            i, model = None, place.lines.constant(float(scan.mean[-1]))
        return SmotiNode("leaf", scan.n, place.depth, None, i, None, (), model.fitted)

    def _regression(
        self, place: Place, scan: Scan, i: int, rho: FloatArray
    ) -> tuple[SmotiNode, list[Place]]:
        lines = place.lines.regress(i, scan.mean, scan.slope(i))
        node = SmotiNode(
            "regression", scan.n, place.depth, None, i, float(rho[i]), (), lines.fitted
        )
        below = Place(place.rows, lines, place.depth + 1, len(self.nodes), scan.regress(i))
        return node, [below]

    def _split(
        self, place: Place, scan: Scan, cut: int, sigma: FloatArray
    ) -> tuple[SmotiNode, list[Place]]:
        split, lines = scan.sides.splits[cut], place.lines
        node = SmotiNode(
            "split", scan.n, place.depth, split, None, float(sigma[cut]), (), lines.fitted
        )
        left = split.goes_left(self.X[place.rows, split.feature])
        return node, [
            Place(place.rows[side], lines, place.depth + 1, len(self.nodes))
            for side in (left, ~left)
        ]


class SMOTIRegressor(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """Stepwise model tree induction: trees with splitting nodes and regression nodes.

    See the module for what is the paper's and what was settled. For classes, fit it on the 0/1
    indicator and rank by the prediction. The time of a node and its memory grow with the cube of
    the number of features: 400 with three splits each take 3 GB, and half a second a regression.

    Parameters
    ----------
    n_thresholds : int, default=9
        Quantiles of a feature that are tried as thresholds.
    max_depth : int or None, default=None
        Of the tree, with both kinds of nodes. As ρ has seen a line more than σ, a path often starts
        with a long chain of regressions, and a small depth would leave it at that.
    min_samples_leaf : int or None, default=None
        Rows that a side of a split must have. None takes the square root of the training rows.
    alpha : float, default=0.05
        Level of the partial F-test that a regression has to pass.
    min_error : float, default=0.01
        A node whose error is at most this fraction of the root's is a leaf.
    max_r2 : float, default=0.99
        A node whose coefficient of determination is at least this is a leaf.

    Attributes
    ----------
    nodes_ : list of SmotiNode
        Parents before children; the first is the root.
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-1, 1, size=(400, 2))
    >>> y = 5 * X[:, 0] + np.abs(X[:, 1]) + 0.1 * rng.normal(size=400)
    >>> model = SMOTIRegressor().fit(X, y)
    >>> model.nodes_[0].kind, model.nodes_[0].variable
    ('regression', 0)
    """

    def __init__(
        self,
        *,
        n_thresholds: int = 9,
        max_depth: int | None = None,
        min_samples_leaf: int | None = None,
        alpha: float = 0.05,
        min_error: float = 0.01,
        max_r2: float = 0.99,
    ) -> None:
        self.n_thresholds = n_thresholds
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.alpha = alpha
        self.min_error = min_error
        self.max_r2 = max_r2

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Grow the tree.

        Parameters
        ----------
        X : array-like of shape (n, d)
        y : array-like of shape (n,)
        """
        self._check_parameters()
        rows, target = validate_data(self, X, y, dtype=float, y_numeric=True)
        target = np.asarray(target, dtype=float)
        self.nodes_ = Growth(rows, target, self._rules(target)).grow()
        return self

    def _check_parameters(self) -> None:
        check_at_least("n_thresholds", self.n_thresholds, 1)
        for name in ("alpha", "min_error", "max_r2"):
            check_share(name, getattr(self, name))
        check_size_of_tree(self)

    def _rules(self, y: FloatArray) -> Rules:
        return Rules(
            self.n_thresholds,
            np.inf if self.max_depth is None else self.max_depth,
            self.min_samples_leaf or int(np.ceil(np.sqrt(len(y)))),
            self.alpha,
            self.min_error * float(y.std()),
            self.max_r2,
        )

    def predict(self, X: ArrayLike) -> FloatArray:
        """Return the value of the lines from the root to the leaf of every row."""
        check_is_fitted(self)
        rows = validate_data(self, X, reset=False, dtype=float)
        return answers(self.nodes_, rows)
