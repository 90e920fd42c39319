"""Small multiples: for every term that matters the root's curve, and those of regions that differ.

Numbers alone; `predictree.explain.display` draws them with matplotlib, a report as SVG.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from predictree.errors import InvalidInputError
from predictree.explain.additive import AdditiveTree, Shape
from predictree.model.tree import FloatArray, IntArray

NORMAL = 1.96  # standard errors on both sides of a 95 % interval
STRAIGHT = 0.004  # of the height of a panel: a knot nearer to the line is left out
MOST_LEVELS = 10
BINS = 40  # of the strip that shows where rows are
DIFFERENT = 0.05  # of the height of a panel: a region whose curve is nearer is not drawn


@dataclass(frozen=True, eq=False)
class PanelLine:
    """One curve of a panel: of all rows if ``node`` is 0, else of what is below a node.

    Attributes
    ----------
    node : int
        The highest node that has this curve.
    x, y, low, high : array
        Of bars x is the place of the level; low and high are the ends of 95 % intervals.
    missing : float or None
        What is added where the value is missing, if that occurs.
    """

    node: int
    x: FloatArray
    y: FloatArray
    low: FloatArray
    high: FloatArray
    missing: float | None


@dataclass(frozen=True, eq=False)
class Panel:
    """What is drawn of one term.

    Attributes
    ----------
    term : int
    name : str
    kind : {"line", "bars", "heat"}
    lines : tuple of Line
        First that of all rows; of a heat map none.
    n_others : int
        Further curves that differ and are not drawn.
    ends : (float, float)
        Of the x axis.
    words : tuple of str
        The levels of bars, by their place; the two ends of the axis of lines.
    rows : array
        The share of the rows by bin of the x axis, or by bar.
    grid : tuple of arrays or None
        Of a heat map: values of both axes, and the effect at each pair of them.
    grid_words : tuple of tuple of str
        The values of both axes in words.
    """

    term: int
    name: str
    kind: str
    lines: tuple[PanelLine, ...]
    n_others: int
    ends: tuple[float, float]
    words: tuple[str, ...]
    rows: FloatArray
    grid: FloatArray | None = None
    grid_words: tuple[tuple[str, ...], ...] = ()

    @property
    def height(self) -> tuple[float, float]:
        """The least and the largest value, zero among them."""
        parts = [self.grid.ravel()] if self.grid is not None else []
        parts += [end for line in self.lines for end in (line.low, line.high)]
        parts += [np.array([line.missing]) for line in self.lines if line.missing is not None]
        values = np.concatenate([np.zeros(1), *parts])
        return float(values.min()), float(values.max())


def panels_of(
    read: AdditiveTree, target: int, terms: Sequence[int], nodes: Sequence[int], most: int
) -> tuple[Panel, ...]:
    """Return a panel for each term, with at most so many of the regions."""
    return tuple(_panel(read, target, term, nodes, most) for term in terms)


def target_of(read: AdditiveTree, target: Any) -> int:
    """Return the place of a class among those that have scores; by default the one that varies."""
    if target is None:
        size = np.square(read.census.size[read.leaves]).sum(axis=1)
        return int((read.share[read.leaves] @ size).argmax())
    if target not in read.targets:
        known = ", ".join(map(repr, read.targets))
        raise InvalidInputError(f"target={target!r}: effects are told of {known}")
    return read.targets.index(target)


def simplified(x: FloatArray, y: FloatArray, tolerance: float, most: int | None = None) -> IntArray:
    """Return the places of few points between which lines are as near to a curve as wanted.

    The point that is farthest from the lines so far comes next, until none is too far, or there
    are as many as may be.
    """
    kept = [0, len(x) - 1] if len(x) > 1 else list(range(len(x)))
    while len(x) > 2 and (most is None or len(kept) < most):
        gap = np.abs(np.interp(x, x[kept], y[kept]) - y)
        farthest = int(gap.argmax())
        if gap[farthest] <= tolerance:
            break
        kept = sorted([*kept, farthest])
    return np.array(kept, dtype=np.int64)


def _panel(read: AdditiveTree, target: int, term: int, nodes: Sequence[int], most: int) -> Panel:
    if term >= len(read.root.curves):
        return _heat(read, target, term)
    sources = list(dict.fromkeys(read.source(node, term) for node in nodes))
    shapes = {node: read.shape(node, term) for node in (0, *sources)}
    height = _height([shape.effect[:, target] for shape in shapes.values()])
    shown = _differing(read, shapes, target, height)
    drawn = {node: shapes[node] for node in (0, *shown[:most])}
    axis = read.root.curves[term].axis
    as_bars = axis.is_category or read.model.schema.columns[axis.feature].kind == "ordered"
    draw = _bars if as_bars else _lines
    return draw(term, read.name(term), drawn, target, height, len(shown[most:]))


def _differing(
    read: AdditiveTree, shapes: dict[int, Shape], target: int, height: float
) -> list[int]:
    """Return the nodes whose curve differs so that it can be seen, the most different first."""
    apart = {}
    for node, shape in shapes.items():
        change = shape.change[:, target]
        if node and len(change) and np.ptp(np.append(change, 0.0)) > DIFFERENT * height:
            apart[node] = read.share[node] * (shape.share @ np.square(change))
    return sorted(apart, key=lambda node: -apart[node])


def _heat(read: AdditiveTree, target: int, term: int) -> Panel:
    shape = read.shape(0, term)
    sides = [list(dict.fromkeys(value[i] for value in shape.values)) for i in (0, 1)]
    grid = shape.effect[:, target].reshape(len(sides[0]), len(sides[1]))
    words = tuple(tuple(_word(value) for value in side) for side in sides)
    nothing = np.zeros(0)
    return Panel(term, read.name(term), "heat", (), 0, (0, 1), (), nothing, grid, words)


def _lines(
    term: int, name: str, shapes: dict[int, Shape], target: int, height: float, n_others: int
) -> Panel:
    root = shapes[0]
    lines = [_line(node, shape, target, STRAIGHT * height) for node, shape in shapes.items()]
    known = np.flatnonzero(~np.isnan(root.codes[:, 0]))
    codes = root.codes[known, 0]
    ends = (float(codes[0]), float(codes[-1])) if len(codes) else (0.0, 1.0)
    words = tuple(_word(root.values[i][0]) for i in known[[0, -1]]) if len(codes) else ("", "")
    bins = max(1, min(BINS, len(codes)))
    rows = np.histogram(codes, bins, ends, weights=root.share[known])[0]
    return Panel(term, name, "line", tuple(lines), n_others, ends, words, rows)


def _bars(
    term: int, name: str, shapes: dict[int, Shape], target: int, height: float, n_others: int
) -> Panel:
    """Return the bars of the most frequent levels, in the order of their codes."""
    root = shapes[0]
    frequent = np.sort(np.argsort(-root.share, kind="stable")[:MOST_LEVELS])
    place = {_key(root.codes[cell, 0]): i for i, cell in enumerate(frequent)}
    lines = [_bar_line(node, shape, target, place) for node, shape in shapes.items()]
    words = tuple(_word(root.values[cell][0]) for cell in frequent)
    ends, rows = (-0.5, len(frequent) - 0.5), root.share[frequent]
    return Panel(term, name, "bars", tuple(lines), n_others, ends, words, rows)


def _line(node: int, shape: Shape, target: int, tolerance: float) -> PanelLine:
    known = ~np.isnan(shape.codes[:, 0])
    x, y, error = shape.codes[known, 0], shape.effect[known, target], shape.error[known, target]
    kept = simplified(x, y, tolerance)
    both = np.union1d(kept, simplified(x, error, tolerance)) if len(x) else kept
    missing = float(shape.effect[~known, target][0]) if (~known).any() else None
    x, y, error = x[both], y[both], NORMAL * error[both]
    return PanelLine(node, x, y, y - error, y + error, missing)


def _bar_line(node: int, shape: Shape, target: int, place: dict[float, int]) -> PanelLine:
    at = [i for i in range(len(shape.codes)) if _key(shape.codes[i, 0]) in place]
    x = np.array([place[_key(shape.codes[i, 0])] for i in at], dtype=float)
    y, error = shape.effect[at, target], NORMAL * shape.error[at, target]
    return PanelLine(node, x, y, y - error, y + error, None)


def _key(code: float) -> float:
    return -1.0 if np.isnan(code) else float(code)


def _height(parts: Sequence[FloatArray]) -> float:
    values = np.concatenate([np.zeros(1), *parts])
    return float(np.ptp(values)) or 1.0


def _word(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
