"""Where the boxes of a drawn tree stand: the root left, a row for each leaf."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

WIDTH, HEIGHT, ACROSS, DOWN, MARGIN = 236, 66, 40, 14, 8  # of a box, and between boxes
LETTERS = 29  # of a rule that fit in a box


@dataclass(frozen=True, slots=True)
class Box:
    """One node: its place, and the curve that leads to it from its parent."""

    id: int
    x: float
    y: float
    edge: str | None


@dataclass(frozen=True, slots=True)
class Drawing:
    """All boxes, by the order of reading, and the size of the whole."""

    boxes: tuple[Box, ...]
    width: float
    height: float


def draw(nodes: Sequence[Mapping[str, Any]]) -> Drawing:
    """Place the nodes of a tree, which are listed by id."""
    order = _order(nodes)
    y: dict[int, float] = {}
    leaves = [i for i in order if nodes[i]["children"] is None]
    for row, leaf in enumerate(leaves):
        y[leaf] = MARGIN + row * (HEIGHT + DOWN)
    for i in reversed(range(len(nodes))):  # children come after their parents
        if nodes[i]["children"] is not None:
            y[i] = sum(y[child] for child in nodes[i]["children"]) / 2
    x = {i: MARGIN + nodes[i]["depth"] * (WIDTH + ACROSS) for i in order}
    boxes = tuple(Box(i, x[i], y[i], _edge(nodes[i]["parent"], i, x, y)) for i in order)
    depth = max(node["depth"] for node in nodes)
    width = 2 * MARGIN + (depth + 1) * WIDTH + depth * ACROSS
    return Drawing(boxes, width, 2 * MARGIN + len(leaves) * (HEIGHT + DOWN) - DOWN)


def _order(nodes: Sequence[Mapping[str, Any]]) -> list[int]:
    """Return the ids as they are read: a node, what is below its left side, its right side."""
    order, pending = [], [0]
    while pending:
        node = nodes[pending.pop()]
        order.append(node["id"])
        pending.extend(reversed(node["children"] or ()))
    return order


def _edge(
    parent: int | None, child: int, x: Mapping[int, float], y: Mapping[int, float]
) -> str | None:
    if parent is None:
        return None
    start, end = x[parent] + WIDTH, x[child]
    middle = (start + end) / 2
    above, below = y[parent] + HEIGHT / 2, y[child] + HEIGHT / 2
    return f"M{start:g} {above:g}C{middle:g} {above:g} {middle:g} {below:g} {end:g} {below:g}"


def shortened(text: str, letters: int = LETTERS) -> str:
    """Return a text that fits in a box; its end tells more than its middle."""
    if len(text) <= letters:
        return text
    tail = letters // 3
    return f"{text[: letters - tail - 1]}…{text[-tail:]}"
