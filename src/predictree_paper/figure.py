"""A dot plot of the losses, ours and the paper's."""

from pathlib import Path
from typing import Any

from predictree.errors import need
from predictree_paper.algorithms import ALGORITHMS
from predictree_paper.experiments import Experiment
from predictree_paper.lines import Results
from predictree_paper.tables import Row, Table, tables_of, title_of
from predictree_paper.work import LOSSES

HERE, THERE, LEAK = "#1b6ca8", "#b0482f", "#888888"
ROW, WIDTH = 0.28, 8.5  # inches
HIDDEN = ("svg.hashsalt", "predictree")  # the same file for the same numbers


def draw(experiment: Experiment, results: Results, path: Path) -> None:
    """Draw every algorithm's mean loss, with its spread, beside the published one, as SVG."""
    matplotlib = need("matplotlib", "paper", "the figure")
    tables = tables_of(experiment, results)
    height = sum(1.2 + ROW * len(table.rows) for table in tables)
    with matplotlib.rc_context({HIDDEN[0]: HIDDEN[1], "font.size": 9}):
        figure = need("matplotlib.figure", "paper", "the figure").Figure(
            (WIDTH, height), layout="constrained"
        )
        heights = [1.2 + ROW * len(table.rows) for table in tables]
        axes = figure.subplots(len(tables), 1, squeeze=False, height_ratios=heights)
        for axis, table in zip(axes[:, 0], tables, strict=True):
            _draw_table(axis, experiment, table)
        figure.savefig(path, format="svg", metadata={"Date": None})


def _draw_table(axis: Any, experiment: Experiment, table: Table) -> None:
    rows = table.rows[::-1]  # the first on top
    run = [(i, row) for i, row in enumerate(rows) if row.n]
    told = [(i, row.published.loss) for i, row in enumerate(rows) if row.published is not None]
    _draw_losses(axis, [pair for pair in run if not _leaks(pair[1])], "o", HERE, "here, ± 1 sd")
    _draw_losses(axis, [pair for pair in run if _leaks(pair[1])], "x", LEAK, "leak, not a result")
    if told:
        axis.plot([loss for _, loss in told], [i for i, _ in told], "D", mfc="none", c=THERE)
        axis.lines[-1].set_label("published")
    axis.set_yticks(range(len(rows)), [row.label for row in rows])
    axis.set_ylim(-0.7, len(rows) - 0.3)
    axis.set_xlabel(LOSSES[experiment.loss])
    axis.set_title(title_of(experiment, table))
    axis.grid(axis="x", alpha=0.3)
    axis.legend(loc="upper left", bbox_to_anchor=(1.01, 1.0))


def _draw_losses(
    axis: Any, rows: list[tuple[int, Row]], marker: str, colour: str, label: str
) -> None:
    if rows:
        axis.errorbar(
            [row.loss for _, row in rows],
            [i for i, _ in rows],
            xerr=[_spread(row) for _, row in rows],
            fmt=marker,
            color=colour,
            label=label,
        )


def _leaks(row: Row) -> bool:
    return row.algorithm in ALGORITHMS and ALGORITHMS[row.algorithm].leaks


def _spread(row: Row) -> float:
    return row.sd if row.sd == row.sd else 0.0
