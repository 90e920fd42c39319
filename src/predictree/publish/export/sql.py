"""Models as one SELECT: columns are coded, rows find their leaf, terms are added, links applied.

The layers of the query are named with WITH; each names in columns what the next one needs.
"""

import sqlite3
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, pairwise
from typing import Any

from predictree.errors import need
from predictree.model import Model
from predictree.publish.export.document import Json, document
from predictree.publish.export.replay import Sample, moment, replay, sample

MOST, MOST_ODDS = 700, 35  # of an exponent; of log odds
NOTHING = "1e-12"


@dataclass(frozen=True)
class Dialect:
    """What databases call differently."""

    double: str
    text: str
    moment: str
    most: str
    least: str
    days: str
    number: str
    layer: str  # SQLite would write what a layer names in full wherever it is used
    has_lists: bool


DUCKDB = Dialect(
    "DOUBLE", "VARCHAR", "TIMESTAMP", "GREATEST", "LEAST",
    "EPOCH_US(CAST({} AS TIMESTAMP)) / 86400e6",
    "NULLIF(CAST({} AS DOUBLE), CAST('NaN' AS DOUBLE))", "", True,
)  # fmt: skip
SQLITE = Dialect(
    "REAL", "TEXT", "TEXT", "MAX", "MIN", "CAST(STRFTIME('%s', {}) AS REAL) / 86400e0",
    "CAST({} AS REAL)", "MATERIALIZED ", False,
)  # fmt: skip
OTHERS = replace(DUCKDB, has_lists=False)  # as DuckDB, of what all databases have
GRID, STEPS = 512, 4  # cells of even width that knots are looked up by; knots in one, at most


def to_sql(
    model: Model, table: str = "t", dialect: str = "duckdb", keep: Sequence[str] = ()
) -> str:
    """Return a SELECT that answers for the rows of a table.

    A regression answers in the column ``prediction``, a classification in ``probability_<class>``
    for every class. NULL is missing; a level that fit did not see is one here, too.

    Parameters
    ----------
    model : Model
    table : str, default="t"
        Its columns are named as those of the fit.
    dialect : str, default="duckdb"
        "duckdb" and "sqlite" are written and tried out as they are; any other that sqlglot knows is
        translated from DuckDB's.
    keep : sequence of str
        Columns of the table that come along, such as a key.

    Returns
    -------
    str
    """
    found, tried = document(model), sample(model)
    if dialect == "sqlite":
        replay("SQL", tried, lambda t: _in_sqlite(t, Query(found, SQLITE).select("t", ())))
        return Query(found, SQLITE).select(table, keep)
    words = DUCKDB if dialect == "duckdb" else OTHERS
    replay("SQL", tried, lambda t: _in_duckdb(t, Query(found, words).select("t", ())))
    text = Query(found, words).select(table, keep)
    if dialect == "duckdb":
        return text
    sqlglot = need("sqlglot", "sql", f"SQL for {dialect}")
    return str(sqlglot.transpile(text, read="duckdb", write=dialect)[0])


@dataclass(frozen=True)
class Slot:
    """Functions of one kind, at most one a leaf: place → (weight, number of the function)."""

    name: str
    kind: Json
    at: dict[int, tuple[float, int]]


@dataclass(frozen=True)
class Query:
    """The layers of a query."""

    found: Json
    dialect: Dialect

    def select(self, table: str, keep: Sequence[str]) -> str:
        """Return the whole of it."""
        kept = [f"{quoted(name)} AS _k{i}" for i, name in enumerate(keep)]
        source = ".".join(map(quoted, table.split(".")))
        layers = [f"SELECT {', '.join([*kept, *self._columns()])} FROM {source}"]
        found_by = self._cells() if self._axes else []
        terms = (self._leaves_and_terms(), self._sums(), self._scores(), self._totals())
        for found in (*found_by, *terms):
            if found:
                layers.append(f"SELECT *, {', '.join(found)} FROM _q{len(layers) - 1}")
        named = [f"_k{i} AS {quoted(name)}" for i, name in enumerate(keep)]
        last = f"SELECT {', '.join([*named, *self._answers()])} FROM _q{len(layers) - 1}"
        parts = (f"_q{i} AS {self.dialect.layer}({text})" for i, text in enumerate(layers))
        return f"WITH {', '.join(parts)} {last}"

    def _columns(self) -> list[str]:
        coded = [f"{self._coded(c)} AS _x{i}" for i, c in enumerate(self.found["columns"])]
        return coded or ["1 AS _x"]

    def _coded(self, column: Json) -> str:
        """Return a column as the number that stands for its value."""
        name, kind = quoted(column["name"]), column["kind"]
        if kind == "number":
            return self.dialect.number.format(name)
        if kind == "date":
            return self.dialect.days.format(name)
        levels = " ".join(
            f"WHEN {_text(level)} THEN {i}e0" for i, level in enumerate(column["levels"])
        )
        unknown = "-1e0" if kind == "category" else "NULL"
        known = f"CASE {name} {levels} ELSE {unknown} END" if levels else unknown
        return f"CASE WHEN {name} IS NOT NULL THEN {known} END"

    @cached_property
    def _axes(self) -> dict[tuple[int, tuple[float, ...]], "Grid"]:
        """The knots that are looked up in lists, by column."""
        axes: dict[tuple[int, tuple[float, ...]], Grid] = {}
        for term in _single(self.found["terms"]) if self.dialect.has_lists else ():
            key = _axis(term)
            if key is not None and key not in axes:
                grid = Grid.of(f"{len(axes)}", key[1])
                if grid is not None:
                    axes[key] = grid
        return axes

    def _cells(self) -> Iterator[list[str]]:
        """Yield the layers that find the knot to the left of every value, and the share beyond."""
        grids = [(f"_x{column}", grid) for (column, _), grid in self._axes.items()]
        yield [grid.first(x, self._within) for x, grid in grids]
        for step in range(max(grid.steps for _, grid in grids)):
            yield [grid.next(x, step) for x, grid in grids if step < grid.steps]
        yield [grid.share(x, self._within) for x, grid in grids]

    def _leaves_and_terms(self) -> list[str]:
        """Return the leaf in every tree that has several, and terms that several functions have."""
        leaves = [
            f"{self._route(tree, 0)} AS _leaf{i}"
            for i, tree in enumerate(self.found["trees"])
            if len(tree) > 1
        ]
        return leaves + [
            f"{self._term(self.found['terms'][m], j)} AS _t{m}_{j}"
            for m in self._shared
            for j in range(self._width(m))
        ]

    def _route(self, tree: list[Json], at: int) -> str:
        node = tree[at]
        if "answers" in node:
            return str(at)
        x = f"_x{node['column']}"
        left, right = self._route(tree, node["left"]), self._route(tree, node["right"])
        bound = ("=", node["level"]) if "level" in node else ("<", node["below"])
        test = f"{x} {bound[0]} {_number(bound[1])}"  # which what is missing does not pass
        if node["missing"] == node["left"]:
            test = f"{x} IS NULL OR {test}"
        return f"CASE WHEN {test} THEN {left} ELSE {right} END"

    @cached_property
    def _shared(self) -> list[int]:
        count = Counter(m for function in self.found["functions"] for m in function["terms"])
        return sorted(m for m, n in count.items() if n > 1)

    def _width(self, m: int) -> int:
        term = self.found["terms"][m]
        return len((term["product"][0][1] if "product" in term else term)["missing"])

    @cached_property
    def _slots(self) -> list[tuple[int, Slot]]:
        """The functions of every tree, those that look alike in one column."""
        slots: dict[Any, tuple[int, Slot]] = {}
        for i, tree in enumerate(self.found["trees"]):
            for at, node in enumerate(tree):
                seen: Counter[str] = Counter()
                for weight, number in node.get("answers", ()):
                    f = self.found["functions"][number]
                    kind = {name: f[name] for name in ("link", "outputs", "span")}
                    kind["k"] = len(f["constant"])
                    key = (i, str(kind), seen[str(kind)])
                    seen[str(kind)] += 1
                    slot = slots.setdefault(key, (i, Slot(f"{len(slots)}", kind, {})))[1]
                    slot.at[at] = (weight, number)
        return list(slots.values())

    def _sums(self) -> list[str]:
        return [
            f"{self._by_leaf(i, {at: self._sum(f, j) for at, (_, f) in s.at.items()})} "
            f"AS _s{s.name}_{j}"
            for i, s in self._slots
            for j in range(s.kind["k"])
        ]

    def _by_leaf(self, tree: int, found: dict[int, str]) -> str:
        """Return an expression for each leaf; NULL at a leaf that has none."""
        nodes = self.found["trees"][tree]
        leaves = [at for at, node in enumerate(nodes) if "answers" in node]
        texts: dict[str, list[int]] = {}
        for at, text in found.items():
            texts.setdefault(text, []).append(at)
        if len(texts) == 1 and len(found) == len(leaves):
            return next(iter(texts))
        cases = (
            f"WHEN _leaf{tree} IN ({', '.join(map(str, places))}) THEN {text}"
            for text, places in texts.items()
        )
        return f"CASE {' '.join(cases)} END"

    def _sum(self, number: int, j: int) -> str:
        function = self.found["functions"][number]
        terms = [
            f"_t{m}_{j}" if m in self._shared else self._term(self.found["terms"][m], j)
            for m in function["terms"]
        ]
        return " + ".join([_number(function["constant"][j]), *terms])

    def _term(self, term: Json, j: int) -> str:
        """Return what a term adds to the sum numbered j."""
        if "product" in term:
            pairs = (f"{self._term(a, 0)} * {self._term(b, j)}" for a, b in term["product"])
            return f"({' + '.join(pairs)})"
        x, missing = f"_x{term['column']}", _number(term["missing"][j])
        if "slope" in term:
            known = f"{_number(term['slope'][j])} * ({x} - {_number(term['centre'])})"
        elif "levels" in term:
            levels = zip(term["levels"], term["values"], strict=True)
            cases = " ".join(f"WHEN {_number(c)} THEN {_number(v[j])}" for c, v in levels)
            other = _number(term["other"][j])
            known = f"CASE {x} {cases} ELSE {other} END" if cases else other
        else:
            values = [value[j] for value in term["values"]]
            grid = self._axes.get((term["column"], tuple(term["knots"])))
            known = _bend(x, term["knots"], values) if grid is None else grid.between(values)
        return f"CASE WHEN {x} IS NULL THEN {missing} ELSE {known} END"

    def _scores(self) -> list[str]:
        scores = []
        for _, slot in self._slots:
            sums = [f"_s{slot.name}_{j}" for j in range(slot.kind["k"])]
            for j, score in enumerate(self._link(slot.kind["link"], sums)):
                bounded = self._within(score, *(slot.kind["span"] or (None, None)))
                scores.append(f"{bounded} AS _o{slot.name}_{j}")
        return scores

    def _within(self, text: str, low: float | None, high: float | None) -> str:
        text = text if low is None else f"{self.dialect.most}({text}, {_number(low)})"
        return text if high is None else f"{self.dialect.least}({text}, {_number(high)})"

    def _link(self, link: str, sums: list[str]) -> list[str]:
        """Return scores of sums."""
        links: dict[str, Callable[[], list[str]]] = {
            "identity": lambda: sums,
            "log": lambda: [f"EXP({self._within(sums[0], -MOST, MOST)})"],
            "logit": lambda: self._two(self._odds(sums[0], MOST_ODDS)),
            "expit": lambda: self._two(self._odds(sums[0], MOST)),
            "softmax": lambda: self._softmax(sums),
            "complement": lambda: self._two(sums[0]),
            "shares": lambda: _shares(sums),
            "complement shares": lambda: _shares(self._two(sums[0])),
            "odds": lambda: _divided([self._odds(s, MOST) for s in sums]),
        }
        return links[link]()

    def _two(self, p: str) -> list[str]:
        return [f"(1e0 - {p})", p]

    def _odds(self, f: str, most: float) -> str:
        return f"(1e0 / (1e0 + EXP(-({self._within(f, -most, most)}))))"

    def _softmax(self, sums: list[str]) -> list[str]:
        most = f"{self.dialect.most}({', '.join(sums)})"
        return _divided([f"EXP({s} - {most})" for s in sums])

    def _totals(self) -> list[str]:
        """Return the scores of all trees, their mean."""
        n, m = len(self.found["classes"] or [0]), len(self.found["trees"])
        parts: list[list[str]] = [[] for _ in range(n)]
        for i, slot in self._slots:
            weight = self._by_leaf(i, {at: _number(w / m) for at, (w, _) in slot.at.items()})
            everywhere = not weight.startswith("CASE")
            for j, output in enumerate(slot.kind["outputs"]):
                part = f"{weight} * _o{slot.name}_{j}"
                parts[output].append(part if everywhere else f"COALESCE({part}, 0e0)")
        return [f"{' + '.join(part) or '0e0'} AS _y{k}" for k, part in enumerate(parts)]

    def _answers(self) -> list[str]:
        classes = self.found["classes"]
        if classes is None:
            return [f"{self._within('_y0', self.found['floor'], None)} AS prediction"]
        shares = _shares([f"_y{k}" for k in range(len(classes))])
        names = (quoted(f"probability_{name}") for name in classes)
        return [f"{share} AS {name}" for share, name in zip(shares, names, strict=True)]


@dataclass(frozen=True)
class Grid:
    """How the knots of an axis are found without going through them.

    A list tells for cells of even width which knots are below; a few steps then go to the last
    that is at most x. The borders of cells are moved a little, so that rounding does no harm.
    """

    name: str
    knots: tuple[float, ...]
    below: tuple[int, ...]
    steps: int

    @classmethod
    def of(cls, name: str, knots: tuple[float, ...]) -> "Grid | None":
        """Return the grid; None if too many knots are in one cell."""
        low, width = knots[0], (knots[-1] - knots[0]) / GRID
        edges = [low + width * (i + shift) for i in range(GRID) for shift in (-1e-6, 1 + 1e-6)]
        counts = [bisect_right(knots, edge) for edge in edges]
        below = [max(count, 1) for count in counts[::2]]
        steps = max(min(b, len(knots) - 1) - a for a, b in zip(below, counts[1::2], strict=True))
        return cls(name, knots, tuple(below), steps) if steps <= STEPS else None

    def first(self, x: str, within: Callable[..., str]) -> str:
        """Return the number of a knot that is below x, counted from one."""
        low, each = self.knots[0], GRID / (self.knots[-1] - self.knots[0])
        cell = within(f"({x} - {_number(low)}) * {_number(each)} - 5e-1", 0.0, GRID - 1.0)
        return f"{_list(self.below)}[1 + CAST({cell} AS INTEGER)] AS _g{self.name}_0"

    def next(self, x: str, step: int) -> str:
        """Return one more where the next knot is not above x; the last but one is the last."""
        at, last = f"_g{self.name}_{step}", len(self.knots) - 1
        further = f"{at} < {last} AND {x} >= {_list(self.knots)}[{at} + 1]"
        return f"CASE WHEN {further} THEN {at} + 1 ELSE {at} END AS _g{self.name}_{step + 1}"

    def share(self, x: str, within: Callable[..., str]) -> str:
        """Return how far x is on the way from its knot to the next."""
        at, knots = f"_g{self.name}_{self.steps}", self.knots
        widths = [b - a for a, b in pairwise(knots)]
        part = f"({x} - {_list(knots)}[{at}]) / {_list(widths)}[{at}]"
        return f"{within(part, 0.0, 1.0)} AS _r{self.name}"

    def between(self, values: Sequence[float]) -> str:
        """Return the value on the line between two knots."""
        if len(set(values)) == 1:
            return _number(values[0])
        at, share, table = f"_g{self.name}_{self.steps}", f"_r{self.name}", _list(values)
        return f"{table}[{at}] * (1e0 - {share}) + {table}[{at} + 1] * {share}"


def _single(terms: Sequence[Json]) -> Iterator[Json]:
    """Yield terms of one column, those of products, too."""
    for term in terms:
        if "product" in term:
            yield from chain.from_iterable(term["product"])
        else:
            yield term


def _axis(term: Json) -> tuple[int, tuple[float, ...]] | None:
    """Return the column and the knots of a term that has several."""
    knots = term.get("knots", ())
    return (term["column"], tuple(knots)) if len(knots) > 1 else None


def _list(values: Sequence[float]) -> str:
    if all(isinstance(value, int) for value in values):
        return f"[{', '.join(map(str, values))}]"
    return f"[{', '.join(map(_number, values))}]"


def _bend(x: str, knots: Sequence[float], values: Sequence[float]) -> str:
    """Return straight lines between knots, found by halving, and constants beyond them."""
    if len(knots) == 1 or len(set(values)) == 1:
        return _number(values[0])

    def between(low: int, high: int) -> str:
        if len(set(values[low : high + 1])) == 1:
            return _number(values[low])
        if high - low > 1:
            at = (low + high) // 2
            test = f"{x} < {_number(knots[at])}"
            return f"CASE WHEN {test} THEN {between(low, at)} ELSE {between(at, high)} END"
        slope = (values[high] - values[low]) / (knots[high] - knots[low])
        return f"({_number(values[low])} + {_number(slope)} * ({x} - {_number(knots[low])}))"

    ends = [f"WHEN {x} <= {_number(knots[0])} THEN {_number(values[0])}"]
    ends += [f"WHEN {x} >= {_number(knots[-1])} THEN {_number(values[-1])}"]
    return f"CASE {' '.join(ends)} ELSE {between(0, len(knots) - 1)} END"


def _shares(scores: list[str]) -> list[str]:
    """Clip at zero and divide by the sum; alike if there is nothing."""
    kept = [f"CASE WHEN {s} <= {NOTHING} THEN 0e0 ELSE {s} END" for s in scores]
    total = " + ".join(kept)
    none = f"{total} <= 0e0"
    return [f"CASE WHEN {none} THEN {1 / len(kept)!r}e0 ELSE ({k}) / ({total}) END" for k in kept]


def _divided(parts: list[str]) -> list[str]:
    return [f"({part} / ({' + '.join(parts)}))" for part in parts]


def _number(value: float | None) -> str:
    """Return a number as a literal in double precision: with an exponent, or it is a decimal."""
    if value is None:
        return "NULL"
    text = repr(float(value))
    text = text if "e" in text else f"{text}e0"
    return f"({text})" if text.startswith("-") else text


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


def quoted(name: str) -> str:
    """Return the name of a column or table in quotes."""
    return '"' + name.replace('"', '""') + '"'


def _in_duckdb(tried: Sample, query: str) -> list[Any]:
    duckdb = need("duckdb", "sql", "trying out SQL before it is written")
    with duckdb.connect() as connection:
        return _answers_of(connection, tried, query, DUCKDB)


def _in_sqlite(tried: Sample, query: str) -> list[Any]:
    connection = sqlite3.connect(":memory:")
    try:
        return _answers_of(connection, tried, query, SQLITE)
    finally:
        connection.close()


def _answers_of(connection: Any, tried: Sample, query: str, dialect: Dialect) -> list[Any]:
    """Return what a query answers for the rows of a sample, which are written into a table."""
    columns = tried.model.schema.columns
    kinds = {"number": dialect.double, "date": dialect.moment}
    told = (f"{quoted(c.name)} {kinds.get(c.kind, dialect.text)}" for c in columns)
    connection.execute(f"CREATE TABLE t ({', '.join(told)})")
    rows = [
        [moment(row[c.name]) if c.kind == "date" else row[c.name] for c in columns]
        for row in tried.rows
    ]
    if dialect is SQLITE:
        rows = [[str(v) if hasattr(v, "year") else v for v in row] for row in rows]
    connection.executemany(f"INSERT INTO t VALUES ({', '.join('?' * len(columns))})", rows)
    return list(connection.execute(query).fetchall())
