"""A tree of additive models as it is read: of every node its terms, what they add and how sure.

A term is a curve of one feature or a surface of two. Frames, figures, formulas and the report are
made from it and from nothing else.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np

from predictree.errors import InvalidInputError
from predictree.explain.census import functions_of
from predictree.explain.coefficients import tree_with
from predictree.explain.effects import SCALES, columns_of_terms
from predictree.model import Census, Model, model_of
from predictree.model.additive import AdditiveFunction, Axis, Surface
from predictree.model.tree import NONE, FloatArray, IntArray, Tree
from predictree.model.words import decoded

LEAST = 0.02  # of the strongest term's size: what is less does not matter
GRID = 12  # cells of each axis of a surface that are shown


@dataclass(frozen=True, eq=False)
class Shape:
    """One term at one node, on the cells that the node's rows reach.

    Attributes
    ----------
    columns : tuple of int
        The column of a curve, or the two of a surface.
    values : list of tuple
        What the user knows the cells by, an entry a column.
    codes : array of shape (cells, columns)
        The cells' codes; NaN where rows are missing, or of rare levels.
    effect, error : array of shape (cells, k)
        What the term adds to the scores, and its standard error.
    change, change_error : array of shape (cells, k)
        By how much that is more than for all rows.
    share : array of shape (cells,)
        Of the node's rows; NaN for a surface, whose cells they were not counted in.
    """

    columns: tuple[int, ...]
    values: list[tuple[Any, ...]]
    codes: FloatArray
    effect: FloatArray
    error: FloatArray
    change: FloatArray
    change_error: FloatArray
    share: FloatArray


@dataclass(frozen=True, eq=False)
class AdditiveTree:
    """One tree of additive models, ready to be read.

    Attributes
    ----------
    model : Model
    number : int
        Of the tree in the model.
    functions : tuple of AdditiveFunction
        One a node.
    census : Census
    """

    model: Model
    number: int
    functions: tuple[AdditiveFunction, ...]
    census: Census

    @classmethod
    def of(cls, fitted: Any, tree: int = 0) -> Self:
        """Read a fitted estimator or model, or say that it cannot be read so."""
        if isinstance(fitted, cls):
            return fitted
        model = model_of(fitted)
        functions = functions_of(tree_with(model, tree, 0))
        census = model.backgrounds[tree].census if model.backgrounds else None
        if functions is None:
            raise InvalidInputError(
                "this is no tree of additive models, whose terms could be told: fit with "
                "learners='additive'"
            )
        if census is None:
            raise InvalidInputError(
                "the model is from a version that kept no shares of rows: fit it again"
            )
        return cls(model, int(tree), functions, census)

    @property
    def tree(self) -> Tree:
        """The tree itself."""
        return self.model.trees[self.number]

    @property
    def root(self) -> AdditiveFunction:
        """The function of all rows."""
        return self.functions[0]

    @property
    def scale(self) -> str:
        """What the terms sum to, in a word."""
        return SCALES[self.root.link]

    @cached_property
    def share(self) -> FloatArray:
        """The share of the training rows at every node."""
        rows = self.tree.n_rows[:, 0]
        return np.asarray(rows / max(rows[0], 1))

    @cached_property
    def targets(self) -> list[Any]:
        """Whose score each column of an effect is: a class, or None in a regression."""
        if self.model.classes is None:
            return [None]
        labels: list[Any] = self.model.classes.tolist()
        return labels[1:] if len(self.root.intercept) == 1 else labels

    @cached_property
    def leaves(self) -> list[int]:
        """The regions, first those that change most: by rows, and how far from all rows' answer."""
        leaves = np.flatnonzero(self.tree.feature == NONE)
        moved = self.share[leaves] * np.square(self.census.apart[leaves]).sum(axis=1)
        return [int(leaf) for leaf in leaves[np.argsort(-moved, kind="stable")]]

    @cached_property
    def columns(self) -> list[tuple[int, ...]]:
        """The column, or the two, of every term."""
        return columns_of_terms(self.root)

    @cached_property
    def strength(self) -> FloatArray:
        """How much every term adds: its size, over the rows of all regions."""
        mean = self.share[self.leaves] @ np.square(self.census.size[self.leaves]).sum(axis=2)
        return np.asarray(np.sqrt(mean))

    def name(self, term: int) -> str:
        """Return a term by the names of its columns."""
        return " × ".join(self.model.names[j] for j in self.columns[term])

    def rule(self, node: int) -> str:
        """Return who is at a node, without conditions that a later one on the path implies."""
        kept: dict[tuple[Any, ...], str] = {}
        path, rules = self.tree.path(node), self.model.rules(node, self.number)
        for parent, child, rule in zip(path, path[1:], rules, strict=False):
            feature, is_left = int(self.tree.feature[parent]), child == self.tree.left[parent]
            threshold = float(self.tree.threshold[parent])
            if self.tree.is_level[parent] and is_left:
                kept = {key: old for key, old in kept.items() if key[0] != feature}
            several = self.tree.is_level[parent] or np.isinf(threshold)
            key = (feature, is_left, threshold) if several else (feature, is_left)
            kept.pop(key, None)
            kept[key] = rule
        return " and ".join(kept.values()) or "all rows"

    def ranked(self, most: int | None = None) -> list[int]:
        """Return the terms that matter, the strongest first."""
        order = np.argsort(-self.strength, kind="stable")
        kept = [int(t) for t in order if self.strength[t] > LEAST * self.strength.max()]
        return kept[:most]

    def source(self, node: int, term: int) -> int:
        """Return the highest node of a node's path that has the same curve of a term."""
        if term >= len(self.root.curves):
            return 0
        mine = self.functions[node].curves[term].values
        path = self.tree.path(node)
        return next(n for n in path if np.array_equal(self.functions[n].curves[term].values, mine))

    def shape(self, node: int, term: int) -> Shape:
        """Return a term at a node."""
        n_curves = len(self.root.curves)
        if term < n_curves:
            return self._curve(node, term)
        return self._surface(node, self.functions[node].surfaces[term - n_curves])

    def difference(self, term: int, first: int, second: int) -> tuple[FloatArray, FloatArray]:
        """Return a curve of one node minus that of another, and the standard error.

        What both have from the nodes above them cancels out, with its errors.
        """
        a, b = (self.functions[node].curves[term] for node in (first, second))
        return a.values - b.values, _root(
            a.variance + b.variance - 2 * self.shared(term, first, second)
        )

    def shared(self, term: int, first: int, second: int) -> FloatArray:
        """Return the variance of what two nodes have in common: what is from the nodes above."""
        return self.functions[self.above(first, second)].curves[term].variance

    def above(self, first: int, second: int) -> int:
        """Return the deepest node that two nodes have above them, or are."""
        above = set(self.tree.path(first))
        return max(node for node in self.tree.path(second) if node in above)

    def reached(self, node: int, term: int) -> IntArray:
        """Return the cells of a curve between the node's least and largest value."""
        axis, share = self.root.curves[term].axis, self.census.cells[term][node]
        cells = np.flatnonzero(share)
        known = cells[cells < len(axis.knots)]
        if axis.is_category or not len(known):
            return cells
        return np.concatenate([np.arange(known[0], known[-1] + 1), cells[cells == len(axis.knots)]])

    def _curve(self, node: int, term: int) -> Shape:
        curve = self.functions[node].curves[term]
        cells, (change, change_error) = self.reached(node, term), self.difference(term, node, 0)
        return Shape(
            columns=self.columns[term],
            values=[(self.value(term, cell),) for cell in cells.tolist()],
            codes=_codes(curve.axis)[cells, None],
            effect=curve.values[cells],
            error=_root(curve.variance)[cells],
            change=change[cells],
            change_error=change_error[cells],
            share=self.census.cells[term][node, cells],
        )

    def _surface(self, node: int, surface: Surface) -> Shape:
        terms = [self._curve_of(axis) for axis in surface.axes]
        few = [_few(self.census.cells[t][node], self.reached(node, t)) for t in terms]
        i, j = (grid.ravel() for grid in np.meshgrid(*few, indexing="ij"))
        axes, nothing = surface.axes, np.zeros((len(i), surface.values.shape[2]))
        names = zip(i, j, strict=True)
        return Shape(
            columns=(axes[0].feature, axes[1].feature),
            values=[(self._value(axes[0], int(a)), self._value(axes[1], int(b))) for a, b in names],
            codes=np.column_stack([_codes(axes[0])[i], _codes(axes[1])[j]]),
            effect=surface.values[i, j],
            error=_root(surface.variance)[i, j],
            change=nothing,
            change_error=nothing,
            share=np.full(len(i), np.nan),
        )

    def _curve_of(self, axis: Axis) -> int:
        return self.columns.index((axis.feature,))

    def _value(self, axis: Axis, cell: int) -> Any:
        """Return what the user knows a cell by."""
        if cell == len(axis.knots):
            return "other or missing" if axis.is_category else "missing"
        return decoded(self.model.schema.columns[axis.feature], float(axis.knots[cell]))

    def value(self, term: int, cell: int) -> Any:
        """Return what the user knows a cell of a curve by."""
        return self._value(self.root.curves[term].axis, cell)


def _few(share: FloatArray, cells: IntArray) -> IntArray:
    """Return some cells of an axis, evenly far apart by the rows in them."""
    if len(cells) <= GRID:
        return cells
    mass = np.cumsum(share[cells]) - share[cells] / 2
    wanted = np.linspace(0, mass[-1], GRID)
    return np.asarray(cells[np.unique(np.searchsorted(mass, wanted).clip(0, len(cells) - 1))])


def _codes(axis: Axis) -> FloatArray:
    return np.append(axis.knots, np.nan)


def _root(variance: FloatArray) -> FloatArray:
    return np.asarray(np.sqrt(np.maximum(variance, 0.0)))


def importances_of(trees: Sequence[AdditiveTree]) -> FloatArray:
    """Return what every column of the table matters to the answers; the sum is one.

    That is the variance of what its terms add within regions, half of a surface's for each of its
    two columns; and, for every split by the column, the mean square of what the answers change by
    it, over all training rows.
    """
    total = np.zeros(len(trees[0].model.schema.columns))
    for tree in trees:
        for columns, strength in zip(tree.columns, np.square(tree.strength), strict=True):
            total[list(columns)] += strength / len(columns)
        moved = tree.share * np.square(tree.census.moved).sum(axis=1)
        below = np.flatnonzero(tree.tree.parent != NONE)
        np.add.at(total, tree.tree.feature[tree.tree.parent[below]], moved[below])
    return total / total.sum() if total.sum() > 0 else total
