"""A frozen tree as flat arrays, which compiled code follows row by row."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from predictree.model.additive import Axis
from predictree.model.frozen.functions import (
    LINKS,
    Bend,
    Function,
    Levels,
    Line,
    Pair,
    Term,
    Trees,
)
from predictree.model.tree import NONE, FloatArray, Tree

NUMBER, LINE, LEVELS = 0, 1, 2  # how a column falls into cells


@dataclass
class Pages:
    """Arrays written one after the other, each once; a place is where one begins."""

    parts: list[Any] = field(default_factory=list)
    size: int = 0
    known: dict[Any, int] = field(default_factory=dict)

    def add(self, values: Any, key: Any = None) -> int:
        """Write an array, unless its key was written before, and return its place."""
        if key is not None and key in self.known:
            return self.known[key]
        place, flat = self.size, np.ravel(values)
        self.parts.append(flat)
        self.size += len(flat)
        if key is not None:
            self.known[key] = place
        return place

    def as_array(self) -> FloatArray:
        """Return all of it; never empty, so that it has one type."""
        return np.concatenate([*self.parts, np.zeros(1)]).astype(np.float64)


@dataclass
class Writer:
    """Writes functions into tables of whole numbers and of numbers."""

    numbers: Pages = field(default_factory=Pages)
    axes: list[tuple[int, ...]] = field(default_factory=list)
    axis_of: dict[Any, int] = field(default_factory=dict)
    terms: list[tuple[int, ...]] = field(default_factory=list)
    functions: list[tuple[int, ...]] = field(default_factory=list)
    outputs: list[int] = field(default_factory=list)
    forests: list[Trees] = field(default_factory=list)
    n_roots: int = 0
    n_nodes: int = 0

    def write(self, function: Function) -> int:
        """Write a function and return its number."""
        first = len(self.terms)
        self.terms += [self._term(term) for term in function.terms]
        self.functions.append(
            (
                first,
                len(self.terms),
                len(function.constant),
                self.numbers.add(function.constant),
                LINKS.index(function.link),
                self.numbers.add(np.array([*function.span, function.exponent])),
                len(self.outputs),
                len(function.outputs),
            )
        )
        self.outputs += function.outputs
        return len(self.functions) - 1

    def _term(self, term: Term) -> tuple[int, ...]:
        """Return its axes, the second or none, the place of its values, cells of the second.

        Of trees, which have no axes, the last are how many there are and the first of them.
        """
        if isinstance(term, Trees):
            return self._forest(term)
        if isinstance(term, Pair):
            first, second = (self._of_axis(axis) for axis in term.axes)
            place = self.numbers.add(term.values, id(term.values))
            return first, second, place, term.values.shape[1]
        axis, cells = CELLS[type(term).__name__](self, term)
        return axis, NONE, self.numbers.add(cells), 0

    def _forest(self, trees: Trees) -> tuple[int, ...]:
        """Write trees behind those that there are."""
        nodes = trees.nodes + np.where(
            trees.nodes[:, :1] == NONE, 0, [0, self.n_nodes, self.n_nodes]
        )
        self.forests.append(replace(trees, roots=trees.roots + self.n_nodes, nodes=nodes))
        first, count = self.n_roots, len(trees.roots)
        self.n_roots, self.n_nodes = first + count, self.n_nodes + len(nodes)
        return NONE, first, self.numbers.add(trees.values, id(trees.values)), count

    def _of_axis(self, axis: Axis) -> int:
        return self.axis(LEVELS if axis.is_category else NUMBER, axis.feature, axis.knots)

    def axis(self, kind: int, feature: int, knots: FloatArray) -> int:
        """Return the number of an axis, which is written once; unknown and missing share a cell."""
        key = (kind, feature, knots.tobytes())
        if key not in self.axis_of:
            self.axis_of[key] = len(self.axes)
            self.axes.append((kind, feature, self.numbers.add(knots), len(knots)))
        return self.axis_of[key]


def _line(to: Writer, term: Line) -> tuple[int, FloatArray]:
    """Write a line as that from 0 to its slope, one unit on, and beyond."""
    axis = to.axis(LINE, term.feature, np.array([term.centre]))
    return axis, np.stack([np.zeros_like(term.slope), term.slope, term.missing])


def _bend(to: Writer, term: Bend) -> tuple[int, FloatArray]:
    axis = to.axis(NUMBER, term.feature, term.knots)
    return axis, np.concatenate([term.values, term.missing[None]])


def _levels(to: Writer, term: Levels) -> tuple[int, FloatArray]:
    """Write a table with a cell for every level, for any other, and for what is missing."""
    axis = to.axis(LEVELS, term.feature, term.codes)
    return axis, np.concatenate([term.values, term.other[None], term.missing[None]])


CELLS: dict[str, Callable[[Writer, Any], tuple[int, FloatArray]]] = {
    "Line": _line,
    "Bend": _bend,
    "Levels": _levels,
}


@dataclass(frozen=True, eq=False)
class Arrays:
    """What the compiled scorer is given, in its order.

    Attributes
    ----------
    nodes : int array of shape (nodes, 7)
        Feature or -1, left, right, whether missing goes left, whether by level, and where a leaf's
        shares begin and end.
    thresholds : array of shape (nodes,)
    shares, share_of : arrays
        The weight of a function at a leaf, and the function's number.
    functions, terms, axes, outputs : int arrays
        What `Writer` writes.
    numbers : array
        Knots, tables, constants.
    roots, branches, bounds, ways : arrays
        Of trees that functions have as terms, one behind the other: see `Trees`.
    n_outputs : int
    """

    nodes: Any
    thresholds: FloatArray
    shares: FloatArray
    share_of: Any
    functions: Any
    terms: Any
    axes: Any
    outputs: Any
    numbers: FloatArray
    roots: Any
    branches: Any
    bounds: FloatArray
    ways: Any
    n_outputs: int

    @property
    def all(self) -> tuple[Any, ...]:
        """All of them, in the order of the scorer's parameters."""
        return (
            self.nodes, self.thresholds, self.shares, self.share_of, self.functions, self.terms,
            self.axes, self.outputs, self.numbers, self.roots, self.branches, self.bounds,
            self.ways, self.n_outputs,
        )  # fmt: skip


def arrays_of(tree: Tree, leaves: Mapping[int, Sequence[tuple[float, Function]]]) -> Arrays:
    """Return the arrays of a tree whose leaves answer with weighted functions."""
    writer, numbers = Writer(), {}
    shares: list[tuple[float, int]] = []
    ends = np.zeros((len(tree), 2), dtype=np.int64)
    for leaf, weighted in leaves.items():
        ends[leaf, 0] = len(shares)
        for weight, function in weighted:
            if id(function) not in numbers:
                numbers[id(function)] = writer.write(function)
            shares.append((weight, numbers[id(function)]))
        ends[leaf, 1] = len(shares)
    columns = (tree.feature, tree.left, tree.right, tree.missing_left, tree.is_level, *ends.T)
    return Arrays(
        nodes=np.ascontiguousarray(np.stack(columns, axis=1).astype(np.int64)),
        thresholds=np.array(tree.threshold),
        shares=np.array([weight for weight, _ in shares], dtype=np.float64),
        share_of=_table([number for _, number in shares]),
        functions=_table(writer.functions, 8),
        terms=_table(writer.terms, 4),
        axes=_table(writer.axes, 4),
        outputs=_table(writer.outputs),
        numbers=writer.numbers.as_array(),
        roots=_behind([f.roots for f in writer.forests], np.int64),
        branches=_behind([f.nodes for f in writer.forests], np.int32, (0, 3)),
        bounds=_behind([f.bounds for f in writer.forests], np.float64),
        ways=_behind([f.ways for f in writer.forests], np.int8),
        n_outputs=tree.n_outputs,
    )


def _behind(parts: Sequence[Any], kind: Any, empty: tuple[int, ...] = (0,)) -> Any:
    """Return arrays one behind the other."""
    return np.concatenate([np.empty(empty, kind), *parts]).astype(kind)


def _table(rows: Sequence[Any], width: int | None = None) -> Any:
    """Return whole numbers as an array, also where there are none."""
    table = np.array(rows, dtype=np.int64)
    return table if width is None else table.reshape(-1, width)
