"""Linear model trees by tests on residuals: split where two linear models beat one.

From the paper [1]_, its batch algorithm: every node has the least squares fit on its rows. For some
thresholds of every feature, two fits on the sides of a split are tested against the one,

    F = (RSS₀ - RSS₁ - RSS₂) / d  /  ((RSS₁ + RSS₂) / (N - 2 d)),

which has the distribution F(d, N - 2 d) if one linear model is right; d counts its parameters. The
split with the least p-value is made if that is below α. Growth ends, too, when a split lowers the
standard deviation of the residuals by less than δ₀.

Settled here: thresholds are quantiles; p-values are multiplied by the number of tests in the node
(Bonferroni), so that the F-tests split a linear function with normal noise with a probability of at
most α; δ₀ is in units of the standard deviation of the target; d is the rank of a fit, as a feature
may be constant on a side; the least number of rows of a side is twice the parameters. The paper's
second rule, which tests the signs of residuals and looks for no split, is left out, as are its
pruning, which belongs to its online algorithm, and its smoothing of predictions.

References
----------
.. [1] D. Potts and C. Sammut, "Incremental learning of linear model trees", Machine Learning 61,
   2005.
"""

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg.lapack import dpotrf
from scipy.stats import f as f_distribution
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from predictree.model.tree import BoolArray, FloatArray, IntArray, Split
from predictree_paper.checks import check_at_least, check_share, check_size_of_tree
from predictree_paper.routing import answers, attach
from predictree_paper.sides import all_bins, rounding_of_variance, scatter_of, with_ones

RIDGE = 1e-10  # of a standardised column's variance: keeps factors of singular matrices finite
DEPENDENT = 1e-7  # of it: a column with less of its own depends on those before it


@dataclass(frozen=True)
class Fits:
    """Least squares fits on sets of rows, with intercept.

    Attributes
    ----------
    rss : array
        Residual sums of squares.
    rank : array
        Numbers of parameters, with the intercept and without dependent features.
    """

    rss: FloatArray
    rank: IntArray

    @classmethod
    def of(cls, count: FloatArray, scatter: FloatArray) -> "Fits":
        """Fit the last column on the others, from sums about their means."""
        own, along = _orthogonal(np.asarray(count), scatter)
        counts = own > DEPENDENT * np.asarray(count)[..., None]
        explained = np.where(counts, along, 0.0).sum(axis=-1)
        rss = np.maximum(scatter[..., -1, -1] - explained, 0.0)
        return cls(rss, 1 + counts.sum(axis=-1))

    @property
    def joined(self) -> "Fits":
        """Return what the two sides are together; they are the last axis."""
        return Fits(self.rss.sum(axis=-1), self.rank.sum(axis=-1))

    def spread(self, n: int) -> FloatArray:
        """Return the standard deviation of the residuals."""
        return np.sqrt(self.rss / np.maximum(n - self.rank, 1))


def _orthogonal(count: FloatArray, scatter: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Make columns orthogonal one after the other: what each has of its own, and of the target.

    Both are sums of squares, and the Cholesky factor has them: the first on its diagonal, the
    second in the target's row. LAPACK is called for each matrix, as `numpy.linalg.cholesky` copies
    it to and fro and clears half of it, which takes as long as the factor.
    """
    own = np.empty(scatter.shape[:-1])
    along = np.empty_like(own)
    matrix = np.empty(scatter.shape[-2:], order="F")
    diagonal = np.arange(len(matrix))
    for at in np.ndindex(count.shape):
        matrix.T[...] = scatter[at]
        matrix[diagonal, diagonal] += RIDGE * count[at]
        factor, failed = dpotrf(matrix, lower=1, clean=0, overwrite_a=1)
        if failed:
            raise np.linalg.LinAlgError(f"a scatter matrix is not positive definite: {failed}")
        own[at] = np.square(factor[diagonal, diagonal])
        along[at] = np.square(factor[-1])
    return own[..., :-1], along[..., :-1]


def chow_test(one: Fits, two: Fits, n: int) -> FloatArray:
    """Return the p-values of one linear model against two; 1 where they cannot be told apart.

    Parameters
    ----------
    one : Fits
        On all rows of a node.
    two : Fits
        On the two sides of each split, joined.
    n : int
        Rows of the node.
    """
    more, rest = two.rank - one.rank, n - two.rank
    defined = (more > 0) & (rest > 0)
    more, rest = np.where(defined, more, 1), np.where(defined, rest, 1)
    gain = np.maximum(one.rss - two.rss, 0.0) / more
    noise = np.maximum(two.rss / rest, np.finfo(float).eps * one.rss / n)
    statistic = np.divide(gain, noise, out=np.zeros_like(gain), where=noise > 0)
    return np.where(defined, f_distribution.sf(statistic, more, rest), 1.0)


@dataclass(frozen=True)
class Tested:
    """A split with its p-value, and the number of tests it was the best of."""

    split: Split
    p_value: float
    n_tests: int


@dataclass(frozen=True)
class Rows:
    """The rows of a node, standardised.

    Attributes
    ----------
    X : array of shape (n, d)
        As they were given.
    table : array of shape (n, 2 + d)
        Ones, the features and the target, about their means and with variance one.
    scale : array of shape (d + 1,)
        What the features and the target were divided by.
    mean : array of shape (d + 1,)
    """

    X: FloatArray
    table: FloatArray
    scale: FloatArray
    mean: FloatArray

    @classmethod
    def of(cls, X: FloatArray, y: FloatArray) -> "Rows":
        """Standardise; a constant column becomes zero."""
        columns = np.column_stack([X, y])
        variance = columns.var(axis=0)
        constant = variance <= rounding_of_variance(columns)
        scale = np.sqrt(np.where(constant, 1.0, variance))
        table = with_ones(columns)
        table[:, 1:] /= scale
        table[:, 1:][:, constant] = 0.0
        return cls(X, table, scale, columns.mean(axis=0))

    @cached_property
    def gram(self) -> FloatArray:
        """Sums of products of the table's columns."""
        return np.asarray(self.table.T @ self.table)

    @cached_property
    def solution(self) -> FloatArray:
        """Slopes of the standardised least squares fit, the shortest if there are many."""
        scatter = scatter_of(self.gram)
        value, vector = np.linalg.eigh(scatter[:-1, :-1])
        kept = value > DEPENDENT * len(self.X)
        along = vector[:, kept]
        return np.asarray(along @ ((along.T @ scatter[:-1, -1]) / value[kept]))

    @property
    def one_fit(self) -> Fits:
        """The fit on all rows."""
        return Fits.of(self.gram[0, 0], scatter_of(self.gram))

    def two_fits(self, left: BoolArray) -> Fits:
        """Fit on both sides of a split."""
        part = self.table[left].T @ self.table[left]
        grams = np.stack([part, self.gram - part])
        return Fits.of(grams[:, 0, 0], scatter_of(grams)).joined

    def model(self) -> FloatArray:
        """Return intercept and slopes of the fit, for features as they were given."""
        slopes = self.solution * self.scale[-1] / self.scale[:-1]
        return np.append(self.mean[-1] - self.mean[:-1] @ slopes, slopes)


def best_split(rows: Rows, n_thresholds: int, least: int) -> Tested | None:
    """Return the split with the least p-value of the F-test, and of those the least RSS."""
    one = rows.one_fit
    found: list[tuple[float, float, Split]] = []
    for bins in all_bins(rows.X, n_thresholds, least):
        two = Fits.of(bins.count, bins.scatter(rows.table, rows.gram)).joined
        p_values = chow_test(one, two, len(rows.X))
        found += zip(p_values.tolist(), two.rss.tolist(), bins.splits, strict=True)
    if not found:
        return None
    p_value, _, split = min(found, key=lambda test: test[:2])
    return Tested(split, p_value, len(found))


@dataclass(frozen=True)
class ResidualNode:
    """A node of the tree.

    Attributes
    ----------
    n : int
        Training rows.
    depth : int
    split : Split or None
        None at a leaf.
    p_value : float
        The least one there, times the number of tests; 1 where none was made.
    children : tuple of int
    coefficients : array of shape (1 + d,)
        Intercept and slopes of the fit on the rows of this node.
    """

    n: int
    depth: int
    split: Split | None
    p_value: float
    children: tuple[int, ...]
    coefficients: FloatArray


@dataclass
class Growth:
    """A tree that grows: rows, rules, and the nodes so far, parents before children."""

    X: FloatArray
    y: FloatArray
    n_thresholds: int
    max_depth: float
    least: int
    alpha: float
    least_fall: float
    nodes: list[ResidualNode] = field(default_factory=list)

    def grow(self) -> list[ResidualNode]:
        """Grow from all rows."""
        waiting: list[tuple[IntArray, int, int | None]] = [(np.arange(len(self.y)), 0, None)]
        while waiting:
            chosen, depth, parent = waiting.pop()
            node, sides = self._node(Rows.of(self.X[chosen], self.y[chosen]), depth)
            waiting += [(chosen[side], depth + 1, len(self.nodes)) for side in reversed(sides)]
            attach(self.nodes, node, parent)
        return self.nodes

    def _node(self, rows: Rows, depth: int) -> tuple[ResidualNode, list[BoolArray]]:
        """Return the node of some rows, and which of them go to each of its children."""
        tested = self._tested(rows, depth)
        p_value = 1.0 if tested is None else min(1.0, tested.p_value * tested.n_tests)
        node = ResidualNode(len(rows.X), depth, None, p_value, (), rows.model())
        if tested is None or p_value >= self.alpha:
            return node, []
        left = tested.split.goes_left(rows.X[:, tested.split.feature])
        if self._fall(rows, left) < self.least_fall:
            return node, []
        return replace(node, split=tested.split), [left, ~left]

    def _tested(self, rows: Rows, depth: int) -> Tested | None:
        if depth >= self.max_depth or len(rows.X) < 2 * self.least:
            return None
        return best_split(rows, self.n_thresholds, self.least)

    def _fall(self, rows: Rows, left: BoolArray) -> float:
        """Return δ: by how much a split lowers the standard deviation of the residuals."""
        fall = rows.one_fit.spread(len(left)) - rows.two_fits(left).spread(len(left))
        return float(fall * rows.scale[-1])


class ResidualModelTreeRegressor(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """A tree of linear models, split where a test on residuals says that one is not enough.

    See the module for what is the paper's and what was settled. For classes, fit it on the 0/1
    indicator and rank by the prediction.

    Parameters
    ----------
    n_thresholds : int, default=9
        κ, quantiles of a feature that the F-test tries as thresholds.
    alpha : float, default=0.05
        Level of the tests of a node together.
    delta : float, default=0.0
        δ₀, by how much a split must lower the standard deviation of the residuals, in units
        of the standard deviation of the target.
    max_depth : int or None, default=None
    min_samples_leaf : int or None, default=None
        Rows that a side of a split must have. None takes twice the parameters of a model.

    Attributes
    ----------
    nodes_ : list of ResidualNode
        Parents before children; the first is the root.
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-1, 1, size=(300, 2))
    >>> y = np.where(X[:, 1] < 0, X[:, 0], -X[:, 0]) + 0.1 * rng.normal(size=300)
    >>> model = ResidualModelTreeRegressor(n_thresholds=19).fit(X, y)
    >>> split = model.nodes_[0].split
    >>> split.feature, abs(split.threshold) < 0.1
    (1, True)
    """

    def __init__(
        self,
        *,
        n_thresholds: int = 9,
        alpha: float = 0.05,
        delta: float = 0.0,
        max_depth: int | None = None,
        min_samples_leaf: int | None = None,
    ) -> None:
        self.n_thresholds = n_thresholds
        self.alpha = alpha
        self.delta = delta
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf

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
        self.nodes_ = Growth(
            rows,
            target,
            self.n_thresholds,
            np.inf if self.max_depth is None else self.max_depth,
            self.min_samples_leaf or 2 * (1 + rows.shape[1]),
            self.alpha,
            self.delta * float(target.std()),
        ).grow()
        return self

    def _check_parameters(self) -> None:
        check_at_least("n_thresholds", self.n_thresholds, 1)
        check_at_least("delta", self.delta, 0)
        check_share("alpha", self.alpha)
        check_size_of_tree(self)

    def predict(self, X: ArrayLike) -> FloatArray:
        """Return the value of the linear model of the leaf of every row."""
        check_is_fitted(self)
        return answers(self.nodes_, validate_data(self, X, reset=False, dtype=float))
