"""The figure of a tree in points: boxes, texts, edges and a legend, each at its place."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from predictree.explain.boxes import Box, shortened
from predictree.explain.layout import ROOT, bands, spread

HEAD, SMALL = 9.0, 8.0  # size of the first line of a box, and of all other text
LEADING = 1.3  # of a line, to its size
LINE = SMALL * LEADING
PAD = 5.0  # around the text of a box
MARGIN = 12.0
WIDE = 1150.0  # points across that a tree from top to bottom may take
LEGEND = 320.0  # points that a legend may always take
SWATCH = 11.0  # the width of a colour in the legend

Point = tuple[float, float]


@dataclass(frozen=True)
class Label:
    """A text: where its line begins, has its middle or ends, half-way up its capitals.

    ``is_clear`` keeps what is behind it from showing.
    """

    x: float
    y: float
    text: str
    size: float = SMALL
    bold: bool = False
    align: str = "center"
    is_faint: bool = False
    is_clear: bool = False

    @property
    def rectangle(self) -> "Rectangle":
        """The room that it takes."""
        width, height = width_of(self.text, self.size, self.bold), self.size * LEADING
        before = {"left": 0.0, "center": width / 2, "right": width}[self.align]
        return Rectangle(self.x - before, self.y - height / 2, width, height)


@dataclass(frozen=True)
class Rectangle:
    """A place for a box; y grows downwards."""

    x: float
    y: float
    width: float
    height: float

    @property
    def middle(self) -> Point:
        """Its centre."""
        return self.x + self.width / 2, self.y + self.height / 2


@dataclass(frozen=True)
class Edge:
    """A line from box to box, with right angles."""

    points: tuple[Point, ...]
    is_lit: bool


@dataclass
class Drawing:
    """All that is to be drawn, in points from the upper left corner."""

    width: float
    height: float
    boxes: list[tuple[Rectangle, Box]] = field(default_factory=list)
    swatches: list[tuple[Rectangle, str]] = field(default_factory=list)
    labels: list[Label] = field(default_factory=list)
    edges: list[Edge] = field(default_factory=list)

    def add(self, at: Rectangle, box: Box, lines: Sequence[tuple[str, bool]]) -> None:
        """Add a box and its lines of text."""
        self.boxes.append((at, box))
        y = at.y + PAD
        for text, bold in lines:
            size = _size(bold)
            y += size * LEADING
            middle = y - size * LEADING / 2
            faint = box.learner is None
            self.labels.append(Label(at.middle[0], middle, text, size, bold, is_faint=faint))


class Direction(Protocol):
    """Which way a tree grows, and so where rules and edges go."""

    apart: float  # the least distance of boxes side by side
    between: float  # the distance of levels

    def lines(self, box: Box) -> list[tuple[str, bool]]:
        """Return the text of a box, and which lines are bold."""

    def cell(self, size: Point, rule: float) -> Point:
        """Return the room of a box and a rule: across the tree, and along."""

    def place(self, size: Point, rule: float, across: float, begin: float) -> Rectangle:
        """Return where the box goes in its cell."""

    def rule(self, at: Rectangle, box: Box) -> Label:
        """Return the rule beside its box."""

    def edge(self, parent: Rectangle, child: Rectangle, turn: float) -> tuple[Point, ...]:
        """Return the line between two boxes, which turns at a place between their levels."""

    def canvas(self, across: float, along: float) -> Point:
        """Return width and height."""


class Down:
    """From top to bottom: facts one a line, the rule above its box, upon the edge."""

    apart, between = 14.0, 22.0

    def lines(self, box: Box) -> list[tuple[str, bool]]:
        """Return the text of a box, and which lines are bold."""
        return _heads(box) + [(fact, False) for fact in box.facts]

    def cell(self, size: Point, rule: float) -> Point:
        """Return the room of a box and a rule: across the tree, and along."""
        return max(size[0], rule), size[1] + self._above(rule)

    def _above(self, rule: float) -> float:
        return LINE + 8.0 if rule else 0.0

    def place(self, size: Point, rule: float, across: float, begin: float) -> Rectangle:
        """Return where the box goes in its cell."""
        return Rectangle(across - size[0] / 2, begin + self._above(rule), *size)

    def rule(self, at: Rectangle, box: Box) -> Label:
        """Return the rule beside its box."""
        y = at.y - 4.0 - LINE / 2
        return Label(at.middle[0], y, box.rule, bold=box.is_lit, is_clear=True)

    def edge(self, parent: Rectangle, child: Rectangle, turn: float) -> tuple[Point, ...]:
        """Return the line between two boxes, which turns at a place between their levels."""
        x, end = parent.middle[0], child.middle[0]
        return (x, parent.y + parent.height), (x, turn), (end, turn), (end, child.y)

    def canvas(self, across: float, along: float) -> Point:
        """Return width and height."""
        return across, along


class Right:
    """From left to right: facts in one line, the rule left of its box, above the edge."""

    apart, between = 7.0, 20.0

    def lines(self, box: Box) -> list[tuple[str, bool]]:
        """Return the text of a box, and which lines are bold."""
        return _heads(box) + ([("   ".join(box.facts), False)] if box.facts else [])

    def cell(self, size: Point, rule: float) -> Point:
        """Return the room of a box and a rule: across the tree, and along."""
        return max(size[1], 2 * LINE if rule else 0.0), size[0] + self._before(rule)

    def _before(self, rule: float) -> float:
        return rule + 10.0 if rule else 0.0

    def place(self, size: Point, rule: float, across: float, begin: float) -> Rectangle:
        """Return where the box goes in its cell."""
        return Rectangle(begin + self._before(rule), across - size[1] / 2, *size)

    def rule(self, at: Rectangle, box: Box) -> Label:
        """Return the rule beside its box."""
        y = at.middle[1] - 1.0 - LINE / 2
        return Label(at.x - 5.0, y, box.rule, bold=box.is_lit, align="right")

    def edge(self, parent: Rectangle, child: Rectangle, turn: float) -> tuple[Point, ...]:
        """Return the line between two boxes, which turns at a place between their levels."""
        y, end = parent.middle[1], child.middle[1]
        return (parent.x + parent.width, y), (turn, y), (turn, end), (child.x, end)

    def canvas(self, across: float, along: float) -> Point:
        """Return width and height."""
        return along, across


DIRECTIONS: dict[str, Direction] = {"down": Down(), "right": Right()}


def _heads(box: Box) -> list[tuple[str, bool]]:
    return [(text, n == 0 and box.learner is not None) for n, text in enumerate(box.head)]


def draw(boxes: Mapping[int, Box], direction: str, key: Sequence[str]) -> Drawing:
    """Lay out a tree and its legend.

    Parameters
    ----------
    boxes : mapping of int to Box
        By id; box 0 is the root.
    direction : {"auto", "down", "right"}
    key : sequence of str
        What the signs in the boxes mean.
    """
    drawing = _grown(boxes, DIRECTIONS["right" if direction == "right" else "down"])
    if direction == "auto" and drawing.width > WIDE:
        drawing = _grown(boxes, DIRECTIONS["right"])
    if drawing.width < LEGEND:
        drawing = _moved(drawing, (LEGEND - drawing.width) / 2)
    _add_legend(drawing, _learners(boxes.values()), key)
    return drawing


def _grown(boxes: Mapping[int, Box], direction: Direction) -> Drawing:
    """Place boxes, with room for the rule of each, and join them."""
    lines = {i: direction.lines(box) for i, box in boxes.items()}
    size = {i: _extent(text) for i, text in lines.items()}
    rule = {i: width_of(box.rule, SMALL, box.is_lit) for i, box in boxes.items()}
    across, along = ({i: direction.cell(size[i], rule[i])[a] for i in boxes} for a in (0, 1))
    children = {i: box.children for i, box in boxes.items()}
    depth = _depths(children)
    begin = [MARGIN + at for at in bands(along, depth, direction.between)]
    middle = spread(children, across, direction.apart)
    shift = MARGIN - min(middle[i] - across[i] / 2 for i in boxes)
    at = {i: direction.place(size[i], rule[i], middle[i] + shift, begin[depth[i]]) for i in boxes}
    widest = max(middle[i] + shift + across[i] / 2 for i in boxes) + MARGIN
    deepest = max(begin[depth[i]] + along[i] for i in boxes) + MARGIN
    drawing = Drawing(*direction.canvas(widest, deepest))
    for i, box in boxes.items():
        drawing.add(at[i], box, lines[i])
        drawing.labels += [direction.rule(at[i], box)] if box.rule else []
        for child in box.children:
            turn = begin[depth[child]] - direction.between / 2
            points = direction.edge(at[i], at[child], turn)
            drawing.edges.append(Edge(points, boxes[child].is_lit))
    return drawing


def _moved(drawing: Drawing, by: float) -> Drawing:
    """Return the tree with so much more room on both sides."""
    moved = Drawing(drawing.width + 2 * by, drawing.height)
    moved.boxes = [(replace(at, x=at.x + by), box) for at, box in drawing.boxes]
    moved.labels = [replace(label, x=label.x + by) for label in drawing.labels]
    for edge in drawing.edges:
        points = tuple((x + by, y) for x, y in edge.points)
        moved.edges.append(replace(edge, points=points))
    return moved


def _extent(lines: Iterable[tuple[str, bool]]) -> Point:
    """Return width and height of a box with these lines."""
    sizes = [(width_of(text, _size(bold), bold), _size(bold) * LEADING) for text, bold in lines]
    return 2 * PAD + max(w for w, _ in sizes), 2 * PAD + sum(h for _, h in sizes)


def _size(bold: bool) -> float:
    return HEAD if bold else SMALL


def _depths(children: Mapping[int, Sequence[int]]) -> dict[int, int]:
    depth, pending = {ROOT: 0}, [ROOT]
    for i in pending:
        depth.update(dict.fromkeys(children[i], depth[i] + 1))
        pending.extend(children[i])
    return depth


def _learners(boxes: Iterable[Box]) -> list[str]:
    return list(dict.fromkeys(box.learner for box in boxes if box.learner is not None))


def _add_legend(drawing: Drawing, learners: Sequence[str], key: Sequence[str]) -> None:
    """Add colours and signs below the tree, in as many lines as they need."""
    items = [*((name, True) for name in learners), *((text, False) for text in key)]
    limit = max(drawing.width, LEGEND)
    x, y, widest = MARGIN, drawing.height + LINE / 2, drawing.width
    for name, is_learner in items:
        text, before = shortened(name, 80), SWATCH + 5.0 if is_learner else 0.0
        end = x + before + width_of(text, SMALL)
        if x > MARGIN and end > limit - MARGIN:
            x, y, end = MARGIN, y + LINE + 3.0, end - x + MARGIN
        if is_learner:
            drawing.swatches.append((Rectangle(x, y - 4.5, SWATCH, 9.0), name))
        drawing.labels.append(Label(x + before, y, text, align="left", is_faint=not is_learner))
        x, widest = end + 18.0, max(widest, end + MARGIN)
    drawing.height = y + LINE / 2 + MARGIN
    drawing.width = widest


def width_of(text: str, size: float, bold: bool = False) -> float:
    """Return how wide a text is in points, in the font that matplotlib is set to."""
    if not text:
        return 0.0
    from matplotlib.font_manager import FontProperties  # noqa: PLC0415 -- an extra
    from matplotlib.textpath import text_to_path  # noqa: PLC0415 -- an extra

    font = FontProperties(weight="bold" if bold else "normal", size=size)
    measure: Any = text_to_path.get_text_width_height_descent
    return float(measure(text, font, ismath=False)[0])
