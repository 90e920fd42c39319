"""Models of two classes as scorecards: points by value, region by region, to be added by hand."""

from math import exp, log
from typing import Any

import numpy as np

from predictree.errors import InvalidInputError
from predictree.model import Model
from predictree.publish.export.document import Json, document
from predictree.publish.export.replay import Sample, replay, sample
from predictree.publish.export.scorer import leaf_of, row_of

REGIONS = 8  # more are no table to work with
Row = dict[str, Any]


def to_scorecard(model: Model, double: float = 20.0) -> list[Row]:
    """Return the rows of a scorecard: the log odds of the second class, as points.

    Add up the points of a row's region: the ``base``, and for every column those of its value. The
    odds are 2 to the power of points / ``double``. Between two values of a number points go in
    proportion, and beyond the outermost they stay.

    Parameters
    ----------
    model : Model
        Additive, of two classes, with at most eight regions and no pairs of columns.
    double : float, default=20
        So many points double the odds.

    Returns
    -------
    list of dict
        Each with ``region``, ``rule``, ``column`` (None for the base), ``value`` (None for what is
        missing, "other" for a level that is not listed) and ``points``.
    """
    found = document(model)
    leaves = _leaves(found)
    card = [
        {"region": leaf, "rule": model.rule(leaf), **row}
        for leaf in leaves
        for row in _points(found, found["functions"][leaves[leaf]], double / log(2))
    ]
    replay("scorecard", sample(model), lambda tried: _added(found, card, double, tried))
    return card


def _leaves(found: Json) -> dict[int, int]:
    """Return the function of every leaf, if a table can tell them."""
    (tree, *more), functions = found["trees"], found["functions"]
    leaves = {at: node["answers"] for at, node in enumerate(tree) if "answers" in node}
    if any(f["link"] not in ("logit", "expit") or f["span"] for f in functions):
        raise InvalidInputError("a scorecard is for additive or logistic models of two classes")
    if more or any(len(answers) != 1 for answers in leaves.values()):
        raise InvalidInputError(
            "a scorecard is of one function a region: this model averages several"
        )
    if len(leaves) > REGIONS:
        raise InvalidInputError(
            f"the tree has {len(leaves)} regions, and a scorecard at most {REGIONS}: use max_depth"
        )
    if any("product" in term or "slope" in term for term in found["terms"]):
        raise InvalidInputError(
            "a scorecard has no room for pairs of columns, nor for lines without end: fit with "
            "learners='additive', interactions=0"
        )
    return {at: answers[0][1] for at, answers in leaves.items()}


def _points(found: Json, function: Json, each: float) -> list[Row]:
    """Return the points of one region."""
    rows = [{"column": None, "value": None, "points": each * function["constant"][0]}]
    for place in function["terms"]:
        term = found["terms"][place]
        column = found["columns"][term["column"]]
        at: list[Any] = term.get("knots") or [column["levels"][int(c)] for c in term["levels"]]
        values = [*zip(at, term["values"], strict=True), (None, term["missing"])]
        values += [("other", term["other"])] if "other" in term else []
        rows += [{"column": column["name"], "value": v, "points": each * p[0]} for v, p in values]
    return rows


def _added(found: Json, card: list[Row], double: float, tried: Sample) -> list[list[float]]:
    """Return the probabilities that the card gives, added up as a reader would."""
    by_region: dict[int, dict[Any, list[tuple[Any, float]]]] = {}
    for row in card:
        columns = by_region.setdefault(row["region"], {})
        columns.setdefault(row["column"], []).append((row["value"], row["points"]))
    tree, answers = found["trees"][0], []
    for row in tried.rows:
        node = leaf_of(tree, row_of(found, row))
        columns = by_region[tree.index(node)]
        points = sum(_read(values, row.get(name)) for name, values in columns.items())
        odds = exp(min(max(points / double * log(2), -35.0), 35.0))
        answers.append([1 / (1 + odds), odds / (1 + odds)])
    return answers


def _read(values: list[tuple[Any, float]], value: Any) -> float:
    """Return the points of one value of a column."""
    known: dict[Any, float] = dict(values)
    if value is None or isinstance(value, str):
        return known[value if value in known else "other"]
    at = sorted(v for v in known if v is not None)
    return float(np.interp(value, at, [known[v] for v in at]))
