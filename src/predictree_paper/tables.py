"""The paper's tables from lines of results: as text, Markdown, LaTeX and plain data."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from math import isfinite, nan
from typing import Any

import numpy as np

from predictree.explain.summary import as_json
from predictree.explain.wording import table as laid_out
from predictree_paper.algorithms import ALGORITHMS
from predictree_paper.baselines import ABOUT_CHOICE
from predictree_paper.comparison import (
    Comparison,
    Losses,
    compare,
    experiments,
    standard_error,
)
from predictree_paper.experiments import Experiment
from predictree_paper.lines import Results
from predictree_paper.published import Published
from predictree_paper.work import LOSSES

OURS = "tops"
REFERENCES = ("tops-b", "tops-b-exhaustive", "tops-lr", "tops", "tops-lr-in-sample")
HEADINGS = (
    "algorithm", "n", "loss", "sd", "gain", "p", "p corrected", "gain of tops", "p of tops",
    "s/fit", "published", "difference", "published gain", "published p",
)  # fmt: skip
NOTHING = "–"


@dataclass(frozen=True)
class Row:
    """One algorithm in one column of a table; what is not known is NaN or None."""

    algorithm: str
    label: str
    n: int
    failed: int
    loss: float
    sd: float
    seconds: float
    comparison: Comparison | None
    ours: Comparison | None
    published: Published | None

    @property
    def difference(self) -> float:
        """The loss here minus that in the paper."""
        return nan if self.published is None else self.loss - self.published.loss


@dataclass(frozen=True)
class Table:
    """One column of the paper's table: all algorithms on one set of labels."""

    name: str
    reference: str | None
    rows: tuple[Row, ...]


def tables_of(experiment: Experiment, results: Results) -> list[Table]:
    """Return the tables of an experiment, one for every column that has lines."""
    names = dict.fromkeys(column for header in results.headers for column in header["data"])
    known = {column for column, *_ in results.lines}
    return [_table(experiment, results, name) for name in names if name in known]


def _table(experiment: Experiment, results: Results, column: str) -> Table:
    lines = [line for line in results.lines.values() if line["column"] == column]
    losses: dict[str, dict[tuple[int, int], float]] = {}
    for line in lines:
        by_fold = losses.setdefault(line["algorithm"], {})
        if line["loss"] is not None:
            by_fold[line["run"], line["fold"]] = line["loss"]
    reference = next((name for name in REFERENCES if losses.get(name)), None)
    published = {row.algorithm: row for row in experiment.published(column)}
    ratio = _ratio(lines) if experiment.folds is not None else None
    rows = []
    for name in _in_order(published, losses):
        mine = [line for line in lines if line["algorithm"] == name]
        against, ours = (_against(losses, first, name, ratio) for first in (reference, OURS))
        rows.append(_row(name, mine, losses.get(name, {}), against, ours, published.get(name)))
    return Table(column, reference, tuple(rows))


def _against(
    losses: Mapping[str, Losses], first: str | None, name: str, ratio: float | None
) -> Comparison | None:
    """Compare an algorithm with another, if both have been run."""
    if first is None or first == name or not (losses.get(first) and losses.get(name)):
        return None
    return compare(losses[first], losses[name], ratio)


def _in_order(published: Iterable[str], run: Iterable[str]) -> list[str]:
    """Return the paper's rows first, then ours in the order of the registry."""
    others = [name for name in ALGORITHMS if name in set(run)]
    return list(dict.fromkeys([*published, *others]))


def _row(
    name: str,
    lines: list[dict[str, Any]],
    losses: Losses,
    against: Comparison | None,
    ours: Comparison | None,
    published: Published | None,
) -> Row:
    label = ALGORITHMS[name].label if name in ALGORITHMS else name
    sample = experiments(losses) if losses else np.empty(0)
    return Row(
        algorithm=name,
        label=published.row if published is not None else label,
        n=len(losses),
        failed=len(lines) - len(losses),
        loss=float(np.mean(list(losses.values()))) if losses else nan,
        sd=float(sample.std(ddof=1)) if len(sample) > 1 else nan,
        seconds=float(np.mean([line["seconds"] for line in lines])) if lines else nan,
        comparison=against,
        ours=ours,
        published=published,
    )


def _ratio(lines: list[dict[str, Any]]) -> float:
    """Return test rows per training row."""
    return float(np.mean([line["n_test"] / line["n_train"] for line in lines])) if lines else nan


def cells_of(row: Row, minus: str = "−") -> list[str]:
    """Return a row as words."""
    c, ours, p = row.comparison, row.ours, row.published
    cells = [
        row.label + (f" ({row.failed} failed)" if row.failed else ""),
        str(row.n or NOTHING),
        _number(row.loss, "{:.4f}"),
        _number(row.sd, "{:.4f}"),
        _number(nan if c is None else c.gain, "{:.1%}"),
        _p_value(nan if c is None else c.p_value),
        _p_value(nan if c is None else c.corrected_p_value),
        _number(nan if ours is None else ours.gain, "{:.1%}"),
        _p_value(nan if ours is None else ours.corrected_p_value),
        _number(row.seconds, "{:.1f}"),
        NOTHING if p is None else f"{p.loss:.4f}",
        _number(row.difference, "{:+.4f}"),
        NOTHING if p is None or p.gain is None else f"{p.gain:.1f}%",
        NOTHING if p is None or p.p is None else p.p,
    ]
    return [cells[0], *(cell.replace("-", minus) for cell in cells[1:])]


def _number(value: float, form: str) -> str:
    return form.format(value) if isfinite(value) else NOTHING


def _p_value(p: float) -> str:
    return _number(p, "{:.3f}") if not p < 0.001 else "<0.001"


def notes_of(experiment: Experiment, results: Results, table: Table) -> list[str]:
    """Return what must be known to read a table."""
    first = results.headers[0]
    about = first["data"][table.name]
    rows = f"{about['rows']:,} rows, {about['features']} features"
    told = [f"{rows}; loss: {LOSSES[experiment.loss]}. {experiment.protocol}"]
    told[0] += f" Here: {_ran(results, table.name)}."
    if table.reference is not None:
        told.append(
            f"gain and p: {table.reference} against the row; p is the two-sample t-test of the "
            "paper, over runs (over folds if there is one run), p corrected Nadeau and Bengio's "
            "corrected resampled t-test over all runs and folds. Both are two-sided; all are of "
            "the folds that both rows have."
        )
    if any(row.ours is not None for row in table.rows):
        told.append("gain of tops, p of tops: the same for our default, p corrected.")
    told += _precision(experiment, results, table)
    ran = [row.algorithm for row in table.rows if row.n and row.algorithm in ALGORITHMS]
    told += [f"{name}: {ALGORITHMS[name].about}" for name in ran if ALGORITHMS[name].about]
    shapes = [f"{name} {shape}" for name in ran if (shape := _shapes(results, table, name))]
    if shapes:
        told.append(
            f"Leaves of the trees: {'; '.join(shapes)}. A lone root is one predictor, "
            "or of tops one weighting of all learners, everywhere."
        )
    chosen = [f"{name} {choices}" for name in ran if (choices := _choices(results, table, name))]
    if chosen:
        told.append(f"Chosen in the training folds, and how often: {'; '.join(chosen)}.")
    return [*told, _origin(results)]


def _origin(results: Results) -> str:
    """Return when and where the lines were made, and with the latest of which packages."""
    first, last = results.headers[0], results.headers[-1]
    dates = " to ".join(dict.fromkeys([first["date"], last["date"]]))
    latest = {name: told for header in results.headers for name, told in header["versions"].items()}
    versions = ", ".join(f"{name} {number}" for name, number in latest.items())
    return f"Seed {first['seed']}, {dates}, {last['cores']} cores; {versions}."


def _precision(experiment: Experiment, results: Results, table: Table) -> list[str]:
    """Return how exactly the one split of a table tells a loss, which no spread of runs does."""
    known = [header.get("tested", {}).get(table.name) for header in results.headers]
    tested = next(filter(None, known), None)
    losses = {row.algorithm: row.loss for row in table.rows if row.n}
    if tested is None or table.reference is None:
        return []
    error = standard_error(experiment.loss, losses[table.reference], **tested)
    cases = f", {tested['cases']:,} of them cases" if experiment.loss == "auc" else ""
    method = "Hanley and McNeil" if experiment.loss == "auc" else "binomial"
    return [
        f"One split, with {tested['rows']:,} test rows{cases}: on other rows the loss of "
        f"{table.reference} would differ by about {error:.4f} (its standard error, {method})."
    ]


def _settings(results: Results, table: Table, algorithm: str) -> Iterator[dict[str, Any]]:
    """Yield what the fits of an algorithm tell of themselves, draw by draw."""
    for line in results.lines.values():
        if (line["column"], line["algorithm"]) == (table.name, algorithm) and "settings" in line:
            settings = line["settings"]
            yield from settings if isinstance(settings, list) else [settings]


def _shapes(results: Results, table: Table, algorithm: str) -> str:
    """Return how many leaves an algorithm's trees have, and how many of them none but the root."""
    leaves = [one["leaves"] for one in _settings(results, table, algorithm) if "leaves" in one]
    if not leaves:
        return ""
    low, high, lone = min(leaves), max(leaves), leaves.count(1)
    sizes = f"{low}" if low == high else f"{low} to {high}"
    return sizes + (f" ({lone} of {len(leaves)} a lone root)" if lone else "")


def _choices(results: Results, table: Table, algorithm: str) -> str:
    """Return the hyper-parameters that were chosen for an algorithm, most frequent first."""
    told: Counter[str] = Counter()
    for one in _settings(results, table, algorithm):
        if "tried" in one:
            chosen = (f"{k}={v}" for k, v in one.items() if k not in ABOUT_CHOICE)
            told[" ".join(chosen)] += 1
    return ", ".join(f"{choice} ({count})" for choice, count in told.most_common())


def _ran(results: Results, column: str) -> str:
    """Return how many runs and folds there are."""
    places = {(key[1], key[2]) for key in results.done if key[0] == column}
    runs, folds = (len({place[i] for place in places}) for i in (0, 1))
    return f"{runs} run{'s' * (runs != 1)} of {folds} fold{'s' * (folds != 1)}"


def text(experiment: Experiment, results: Results) -> str:
    """Return the tables for a terminal."""
    parts = []
    for table in tables_of(experiment, results):
        grid, right = [HEADINGS, *map(cells_of, table.rows)], range(1, len(HEADINGS))
        notes = [f"  {note}" for note in notes_of(experiment, results, table)]
        parts.append("\n".join([title_of(experiment, table), laid_out(grid, right), *notes]))
    return "\n\n".join(parts)


def markdown(experiment: Experiment, results: Results) -> str:
    """Return the tables for a page."""
    parts = []
    for table in tables_of(experiment, results):
        lines = [f"## {title_of(experiment, table)}", "", _bar(HEADINGS)]
        lines += [_bar(["---", *["---:"] * (len(HEADINGS) - 1)])]
        lines += [_bar(cells_of(row)) for row in table.rows]
        notes = notes_of(experiment, results, table)
        parts.append("\n".join([*lines, "", *(f"- {note}" for note in notes)]))
    return "\n\n".join(parts) + "\n"


def _bar(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def latex(experiment: Experiment, results: Results) -> str:
    """Return the tables for a paper, with booktabs."""
    parts = []
    for table in tables_of(experiment, results):
        body = [" & ".join(map(_tex, cells_of(row, "-"))) + r" \\" for row in table.rows]
        head = " & ".join(map(_tex, HEADINGS)) + r" \\"
        columns = "l" + "r" * (len(HEADINGS) - 1)
        lines = [rf"\begin{{tabular}}{{{columns}}}", r"\toprule", head, r"\midrule", *body]
        notes = [f"% {note}" for note in notes_of(experiment, results, table)]
        title = f"% {title_of(experiment, table)}"
        parts.append("\n".join([title, *notes, *lines, r"\bottomrule", r"\end{tabular}"]))
    return "\n\n".join(parts) + "\n"


def _tex(cell: str) -> str:
    """Escape what LaTeX would take for its own."""
    for character, spelled in (("_", r"\_"), ("%", r"\%"), ("<", "$<$"), (NOTHING, "--")):
        cell = cell.replace(character, spelled)
    return f"${cell}$" if cell[:1] in "+-" and cell[1:2].isdigit() else cell


def plain(experiment: Experiment, results: Results) -> dict[str, Any]:
    """Return the tables as plain data, NaN as None."""
    tables = [
        {
            "column": table.name,
            "reference": table.reference,
            "notes": notes_of(experiment, results, table),
            "rows": [{**asdict(row), "difference": row.difference} for row in table.rows],
        }
        for table in tables_of(experiment, results)
    ]
    about = {"experiment": experiment.name, "title": experiment.title, "loss": experiment.loss}
    return {**about, "headers": results.headers, "tables": as_json(tables)}


def title_of(experiment: Experiment, table: Table) -> str:
    """Return the title of one column."""
    return f"{experiment.title}, {table.name}" if table.name else experiment.title
