"""The terms of additive trees drawn with matplotlib: small multiples, in scikit-learn's manner."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil
from typing import Any, Self

import numpy as np

from predictree.errors import InvalidInputError, need
from predictree.explain.additive import AdditiveTree
from predictree.explain.boxes import shortened
from predictree.explain.figure import COLOURS, STROKES
from predictree.explain.panels import Panel, PanelLine, panels_of, target_of

ALL_ROWS = "#555555"
ACROSS = 3  # panels side by side
WIDTH, HEIGHT = 3.3, 2.5  # inches of a panel
STRIP = 0.08  # of a panel's height, for the rows
RULE = 60  # letters of a rule


@dataclass(eq=False)
class TermDisplay:
    """The terms of an additive tree, to be drawn.

    Attributes
    ----------
    panels : tuple of Panel
        One for each term that matters, the strongest first.
    labels : dict of int to str
        What the curves are of: 0 is all rows, others are regions.
    scale : str
        What the terms sum to.
    figure_ : Figure
    axes_ : array of Axes
        One for each panel. Both are there after `plot`.
    """

    panels: tuple[Panel, ...]
    labels: dict[int, str]
    scale: str
    figure_: Any = None
    axes_: Any = None

    @classmethod
    def from_estimator(
        cls,
        fitted: Any,
        features: Sequence[Any] | None = None,
        *,
        tree: int = 0,
        target: Any = None,
        max_terms: int = 12,
        max_regions: int = 5,
        figure: Any = None,
    ) -> Self:
        """Draw the terms of a fitted model; see `plot_terms`."""
        need("matplotlib", "plot", "a figure")
        read = AdditiveTree.of(fitted, tree)
        k = target_of(read, target)
        shown = _terms(read, features, max_terms)
        panels = panels_of(read, k, shown, read.leaves, max_regions)
        name = "" if read.targets[k] is None else f" of {shortened(str(read.targets[k]))}"
        return cls(panels, labels_of(read), f"{read.scale}{name}").plot(figure)

    def plot(self, figure: Any = None) -> Self:
        """Draw on a figure, or on a new one of the right size."""
        pyplot = need("matplotlib.pyplot", "plot", "a figure")
        across = min(ACROSS, len(self.panels))
        down = ceil(len(self.panels) / across)
        if figure is None:
            size = (WIDTH * across, HEIGHT * down + 0.3 * len(self._regions) + 0.5)
            figure = pyplot.figure(figsize=size, layout="constrained")
        grid = figure.subplots(down, across, squeeze=False)
        self.figure_, self.axes_ = figure, grid.ravel()[: len(self.panels)]
        for ax in grid.ravel()[len(self.panels) :]:
            ax.remove()
        for panel, ax in zip(self.panels, self.axes_, strict=True):
            _put(panel, ax, self.styles)
        self._key(figure)
        return self

    @property
    def _regions(self) -> list[int]:
        """All regions that some panel shows, in their order."""
        shown = {line.node for panel in self.panels for line in panel.lines}
        return [node for node in self.labels if node in shown]

    @property
    def styles(self) -> dict[int, tuple[str, str]]:
        """The colour and the stroke of every curve, those that are in most panels first."""
        shown = Counter(line.node for panel in self.panels for line in panel.lines if line.node)
        return {0: (ALL_ROWS, "-")} | {
            node: (COLOURS[i % len(COLOURS)], STROKES[i // len(COLOURS) % len(STROKES)])
            for i, (node, _) in enumerate(shown.most_common())
        }

    def _key(self, figure: Any) -> None:
        lines = need("matplotlib.lines", "plot", "a figure")
        styles = self.styles
        handles = [
            lines.Line2D([], [], color=styles[node][0], ls=styles[node][1], lw=2)
            for node in self._regions
        ]
        labels = [self.labels[node] for node in self._regions]
        if handles:
            figure.legend(handles, labels, loc="outside lower left", frameon=False, fontsize=8)
        figure.supylabel(f"adds to the {self.scale}", fontsize=9)


def plot_terms(fitted: Any, features: Sequence[Any] | None = None, **kwargs: Any) -> TermDisplay:
    """Draw the terms of an additive tree as small multiples.

    A panel for each term that matters: in grey its curve for all rows, in colour the others that
    some regions have in its place, with 95 % bands; the strip below tells where rows are. Levels
    are bars, and a pair is a heat map.

    Parameters
    ----------
    fitted : ToPsClassifier, ToPsRegressor or Model
        A fitted estimator of additive models, or its ``model_``.
    features : sequence of str or int, optional
        Columns, by name or place, of which all terms are drawn. By default the terms that matter.
    tree : int, default=0
        Which of the model's ``trees_``.
    target : class label, optional
        Whose log-odds are told if there are more than two classes; by default those that vary most.
    max_terms : int, default=12
    max_regions : int, default=5
        Curves in a panel beside that of all rows; those that differ most come first.
    figure : Figure, optional
        To draw on.

    Returns
    -------
    TermDisplay
        With ``figure_`` and ``axes_``.
    """
    return TermDisplay.from_estimator(fitted, features, **kwargs)


def labels_of(read: AdditiveTree) -> dict[int, str]:
    """Return what all rows and every group of rows are called in a key."""
    found = {0: "all rows"}
    for node in range(1, len(read.tree)):
        rule = shortened(read.rule(node), RULE)
        found[node] = f"{rule} ({read.share[node]:.0%} of rows)"
    return found


def _terms(read: AdditiveTree, features: Sequence[Any] | None, most: int) -> list[int]:
    """Return the terms to draw."""
    if features is None:
        found = read.ranked(most)
        if not found:
            raise InvalidInputError("no term adds anything: the model answers with a constant")
        return found
    names = read.model.names
    wanted = {_column(names, feature) for feature in features}
    strong = np.argsort(-read.strength, kind="stable").tolist()
    found = [t for t in strong if wanted.intersection(read.columns[t])]
    if not found:
        raise InvalidInputError(f"no term is of {', '.join(map(str, features))}: it was not used")
    return found[:most]


def _column(names: Sequence[str], feature: Any) -> int:
    if feature in names:
        return names.index(feature)
    if isinstance(feature, int | np.integer) and 0 <= feature < len(names):
        return int(feature)
    raise InvalidInputError(f"{feature!r} is no column: there are {', '.join(names)}")


def _put(panel: Panel, ax: Any, styles: dict[int, tuple[str, str]]) -> None:
    ax.set_title(shortened(panel.name, 34), fontsize=9, loc="left")
    ax.tick_params(labelsize=7)
    ax.spines[["top", "right"]].set_visible(False)
    if panel.kind == "heat":
        _put_heat(panel, ax)
        return
    ax.axhline(0, color="#bbbbbb", lw=0.8, zorder=0)
    put = _put_bars if panel.kind == "bars" else _put_line
    for i, line in enumerate(panel.lines):
        put(line, ax, styles[line.node], i, len(panel.lines))
    if panel.kind == "bars":
        words = [shortened(word, 10) for word in panel.words]
        ax.set_xticks(range(len(words)), words, rotation=30 if len(words) > 4 else 0)
    _put_rows(panel, ax)
    if panel.n_others:
        ax.annotate(f"and {panel.n_others} more", (0.98, 0.97), xycoords="axes fraction",
                    ha="right", va="top", fontsize=7, color=ALL_ROWS)  # fmt: skip


def _put_line(line: PanelLine, ax: Any, style: tuple[str, str], i: int, n: int) -> None:
    colour, stroke = style
    ax.fill_between(line.x, line.low, line.high, color=colour, alpha=0.18, lw=0)
    ax.plot(line.x, line.y, stroke, color=colour, lw=2.0 if line.node == 0 else 1.5)
    if line.missing is not None:
        ax.plot([1.04], [line.missing], "o", color=colour, ms=4, clip_on=False,
                transform=ax.get_yaxis_transform())  # fmt: skip


def _put_bars(line: PanelLine, ax: Any, style: tuple[str, str], i: int, n: int) -> None:
    width = 0.8 / n
    x = line.x + (i - (n - 1) / 2) * width
    ax.bar(x, line.y, 0.9 * width, color=style[0])
    ax.vlines(x, line.low, line.high, color="black", lw=0.7)


def _put_rows(panel: Panel, ax: Any) -> None:
    """Draw where rows are, as a strip along the lower edge."""
    n, (low, high) = len(panel.rows), panel.ends
    top = panel.rows.max() if n else 0
    if top > 0:
        edges = np.linspace(low, high, n + 1)
        ax.bar(edges[:-1], STRIP * panel.rows / top, np.diff(edges), align="edge", color="#999999",
               alpha=0.6, lw=0, transform=ax.get_xaxis_transform())  # fmt: skip


def _put_heat(panel: Panel, ax: Any) -> None:
    assert panel.grid is not None
    most = float(np.abs(panel.grid).max()) or 1.0
    image = ax.imshow(panel.grid.T, cmap="RdBu_r", vmin=-most, vmax=most, aspect="auto",
                      origin="lower")  # fmt: skip
    for side, words in zip((ax.xaxis, ax.yaxis), panel.grid_words, strict=True):
        at = np.unique(np.linspace(0, len(words) - 1, min(4, len(words))).round().astype(int))
        side.set_ticks(at, [shortened(words[i], 8) for i in at])
    first, second = panel.name.split(" × ", 1) if " × " in panel.name else (panel.name, "")
    ax.set_xlabel(shortened(first, 24), fontsize=7)
    ax.set_ylabel(shortened(second, 24), fontsize=7)
    bar = ax.figure.colorbar(image, ax=ax)
    bar.ax.tick_params(labelsize=7)
