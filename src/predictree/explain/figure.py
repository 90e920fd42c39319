"""The tree as a figure, in the manner of the paper's: boxes, rules on edges, one path in bold.

A drawing is made in points; the axes show so many points, and its texts grow and shrink with them.
"""

from collections.abc import Iterable, Sequence
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from itertools import chain
from numbers import Integral
from typing import Any

from predictree.errors import InvalidInputError, MissingExtraError
from predictree.explain.boxes import Box, Content, Lit, shortened
from predictree.explain.drawing import DIRECTIONS, Drawing, Label, Rectangle, draw
from predictree.explain.rows import one_row
from predictree.explain.text import named_columns
from predictree.model import Model, model_of
from predictree.model.tree import Tree

INK, FAINT, LINE = "#1a1a1a", "#666666", "#8c8c8c"
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442")
"""Those of Okabe and Ito, which the colour-blind tell apart."""
STROKES = ("-", "--", ":")  # of the borders, when the colours begin again
CAPITALS = 0.73  # the height of a capital, to the size of the font
SHADE = {True: 0.40, False: 0.10}  # how much colour a leaf has, and an inner node


def plot_tree(
    fitted: Any,
    x: Any = None,
    *,
    tree: int = 0,
    max_nodes: int = 200,
    max_depth: int | None = None,
    feature_names: Sequence[str] | None = None,
    direction: str = "auto",
    ax: Any = None,
) -> Any:
    """Draw a tree of predictors with matplotlib.

    Each box is a node: its learner, with one ``↑`` for every level up to the ancestor whose rows
    trained it; n, the rows that train; Δv, the loss that its split saves on V¹ or out of fold; at a
    leaf, which is shaded, Δt, the loss that the final predictor saves there against the root's,
    where the model knows it. A leaf that combines many predictors names the two with most weight.
    The rule that leads to a node is on its edge. Long names are shortened.

    Parameters
    ----------
    fitted : ToPsClassifier, ToPsRegressor, Model or Tree
        A fitted estimator, its ``model_``, or its ``tree_``.
    x : row or table with a single row, optional
        Its path is drawn in bold, with w, the weight of every node's predictors in its answer.
    tree : int, default=0
        Which of the model's ``trees_``.
    max_nodes : int, default=200
        Nodes to show: those on the path of ``x``, and then those with most rows.
    max_depth : int, optional
        Levels to show below the root.
    feature_names : sequence of str, optional
        Defaults to the column names seen in ``fit``, else ``x0``, ``x1``, ….
    direction : {"auto", "down", "right"}, default="auto"
        Whether the tree grows from top to bottom or from left to right; ``"auto"`` is down, unless
        that would be too wide.
    ax : Axes, optional
        To draw on. By default a new figure is made, as large as the tree.

    Returns
    -------
    Axes
        Save it with ``ax.figure.savefig("tree.svg")``, or as PDF: text stays text.
    """
    _check_count("max_nodes", max_nodes, 1)
    if max_depth is not None:
        _check_count("max_depth", max_depth, 0)
    if direction not in ("auto", *DIRECTIONS):
        raise InvalidInputError(f"direction={direction!r}: it must be 'auto', 'down' or 'right'")
    pyplot = _matplotlib("pyplot")
    content = _content(fitted, x, tree, feature_names)
    boxes = content.boxes(max_nodes, max_depth)
    loss = None if isinstance(fitted, Tree) else model_of(fitted).loss
    drawing = draw(boxes, direction, _key(list(boxes.values()), loss))
    if ax is None:
        figure = pyplot.figure(figsize=(drawing.width / 72, drawing.height / 72))
        ax = figure.add_axes((0.0, 0.0, 1.0, 1.0))
    _put(drawing, ax, _styles(content.tree))
    return ax


def _check_count(name: str, value: Any, least: int) -> None:
    if not isinstance(value, Integral) or isinstance(value, bool) or value < least:
        raise InvalidInputError(f"{name}={value!r}: it must be a whole number of at least {least}")


def _matplotlib(module: str) -> Any:
    """Return a module of matplotlib, or say how to get it."""
    if find_spec("matplotlib") is None:
        raise MissingExtraError(
            "figures are drawn with matplotlib, which is not here: pip install 'predictree[plot]'"
        )
    return import_module(f"matplotlib.{module}")


def _content(fitted: Any, x: Any, number: Any, names: Sequence[str] | None) -> Content:
    """Return what the figure says."""
    model = None if isinstance(fitted, Tree) else model_of(fitted)
    trees = (fitted,) if model is None else model.trees
    if not isinstance(number, Integral) or not 0 <= int(number) < len(trees):
        raise InvalidInputError(
            f"tree={number!r}: there are {len(trees)} trees, and the first is number 0"
        )
    number = int(number)
    segments = model.account.segments if model is not None and number == 0 else ()
    gains = {segment.leaf: segment.gain for segment in segments if segment.gain is not None}
    lit = Lit() if x is None else _lit(model, x, number)
    return Content(trees[number], named_columns(model, names), gains, lit)


def _lit(model: Model | None, x: Any, number: int) -> Lit:
    if model is None:
        raise InvalidInputError("the path of a row needs the fitted estimator, and this is a tree")
    return Lit.of(model.trees[number], int(model.leaves(one_row(model, x), number)[0]))


def _key(boxes: Sequence[Box], loss: Any) -> list[str]:
    """Return what the signs mean, of those that there are."""
    text = "\n".join(chain.from_iterable((*box.head, *box.facts) for box in boxes))
    of = "loss" if loss is None else f"loss ({shortened(loss.name)})"
    meanings = {
        "↑": "↑ trained one level up",
        "n =": "n rows that train",
        "Δv": f"Δv {of} that the split saves",
        "Δt": f"Δt {of} saved against the root's predictor",
        "w =": "bold: path of the row, w its weights",
    }
    return [meaning for sign, meaning in meanings.items() if sign in text]


def _styles(tree: Tree) -> dict[str, tuple[str, str]]:
    """Return colour and stroke of every learner."""
    names = dict.fromkeys(predictor.learner for predictor in tree.predictors)
    return {
        name: (COLOURS[i % len(COLOURS)], STROKES[i // len(COLOURS) % len(STROKES)])
        for i, name in enumerate(names)
    }


def _put(drawing: Drawing, ax: Any, styles: dict[str, tuple[str, str]]) -> None:
    """Draw on the axes, which then show the drawing and nothing else."""
    ax.set_axis_off()
    ax.set_xlim(0.0, drawing.width)
    ax.set_ylim(drawing.height, 0.0)
    ax.set_aspect("equal", adjustable="box")
    ax.add_collection(_edges(drawing, lit=False))
    ax.add_collection(_edges(drawing, lit=True))
    for at, box in drawing.boxes:
        ax.add_patch(_patch(at, styles.get(box.learner or ""), box.is_leaf, box.is_lit))
    for at, learner in drawing.swatches:
        ax.add_patch(_patch(at, styles[learner], True, False))
    for label in drawing.labels:
        if label.is_clear:
            ax.add_patch(_blank(label.rectangle))
    ax.apply_aspect()
    for label in drawing.labels:
        text = _text(label)
        ax.add_artist(text)
        text.set_clip_on(False)
        text.fit()


def _edges(drawing: Drawing, lit: bool) -> Any:
    lines = [edge.points for edge in drawing.edges if edge.is_lit == lit]
    look = {"colors": INK, "linewidths": 2.4} if lit else {"colors": LINE, "linewidths": 1.0}
    return _matplotlib("collections").LineCollection(lines, zorder=1, joinstyle="round", **look)


def _patch(at: Rectangle, style: tuple[str, str] | None, is_leaf: bool, is_lit: bool) -> Any:
    """Return a rounded box, shaded if it is a leaf; without a style it is a stub's."""
    patches = _matplotlib("patches")
    colour, stroke = (LINE, ":") if style is None else style
    return patches.FancyBboxPatch(
        (at.x, at.y), at.width, at.height,
        boxstyle="round,pad=0,rounding_size=3",
        facecolor=_tint(colour, SHADE[is_leaf]) if style else "white",
        edgecolor=INK if is_lit else colour, linestyle=stroke,
        linewidth=2.4 if is_lit else 1.2,
        zorder=2,
    )  # fmt: skip


def _blank(at: Rectangle) -> Any:
    """Return what covers the edge behind a rule."""
    patches = _matplotlib("patches")
    return patches.Rectangle(
        (at.x - 2.0, at.y), at.width + 4.0, at.height, color="white", linewidth=0.0, zorder=1.5
    )


def _tint(colour: str, share: float) -> tuple[float, ...]:
    """Return so much of a colour on white."""
    channels: Iterable[float] = _matplotlib("colors").to_rgb(colour)
    return tuple(1.0 - share * (1.0 - channel) for channel in channels)


def _text(label: Label) -> Any:
    return _scaled_text()(
        label.x,
        label.y + CAPITALS / 2 * label.size,
        label.text,
        points=label.size,
        horizontalalignment=label.align,
        color=FAINT if label.is_faint else INK,
        weight="bold" if label.bold else "normal",
    )


@cache
def _scaled_text() -> Any:
    """Return the class of texts whose size is in the units of their axes."""
    text, rc_context = _matplotlib("text"), import_module("matplotlib").rc_context

    class ScaledText(text.Text):  # type: ignore[misc, name-defined]
        """A text as it stands, without mathematics, that stays text in an SVG file."""

        def __init__(self, x: float, y: float, content: str, points: float, **look: Any) -> None:
            super().__init__(
                x, y, content, parse_math=False, usetex=False,
                verticalalignment="baseline", zorder=4, **look,
            )  # fmt: skip
            self.points = points

        def fit(self) -> None:
            """Take the size that the axes ask for."""
            (x, _), (end, _) = self.axes.transData.transform([(0.0, 0.0), (1.0, 0.0)])
            size = self.points * (end - x) * 72.0 / self.axes.figure.dpi
            if abs(size - self.get_fontsize()) > 1e-6:
                self.set_fontsize(size)

        def draw(self, renderer: Any) -> None:
            """Draw the text in the size of the moment."""
            self.fit()
            with rc_context({"svg.fonttype": "none"}):
                super().draw(renderer)

    return ScaledText
