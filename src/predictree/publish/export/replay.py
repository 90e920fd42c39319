"""Rows on which an export must answer as its model, before anybody gets it."""

import datetime as dt
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from predictree.errors import ExportError
from predictree.model import Column, Model, Span, probabilities
from predictree.model.schema import UNSEEN
from predictree.model.tree import FloatArray

ROWS = 200
EXACT, SINGLE = 1e-9, 1e-5  # what answers may differ by, of themselves or of 1; in single precision
SECONDS = 86400.0
EPOCH = dt.datetime(1970, 1, 1)
GAP, FAR = 0.1, 0.05  # the share of rows with a missing value, and with one far outside


@dataclass(frozen=True)
class Sample:
    """Some rows: as codes of the model, and as dicts by the names of the columns.

    In these a missing value is None, a date a number of days.
    """

    model: Model
    codes: FloatArray
    rows: list[dict[str, Any]]


def sample(model: Model, n_rows: int = ROWS, seed: int = 0) -> Sample:
    """Draw rows as they may come: at and between thresholds, missing, unknown, far outside."""
    rng = np.random.default_rng(seed)
    codes = np.column_stack(
        [_drawn(model, j, column, n_rows, rng) for j, column in enumerate(model.schema.columns)]
    )
    columns = list(enumerate(model.schema.columns))
    rows = [{c.name: _plain(c, row[j]) for j, c in columns} for row in codes]
    return Sample(model, codes, rows)


def _drawn(
    model: Model, place: int, column: Column, n: int, rng: np.random.Generator
) -> FloatArray:
    """Draw values of a column."""
    if column.levels:
        unknown = [UNSEEN] if column.is_category else []
        values = rng.choice([*map(float, range(len(column.levels))), *unknown], n)
    else:
        values = _numbers(model, place, column.span or Span(-1.0, 0.0, 1.0, False), n, rng)
        if column.kind == "date":
            values = np.round(values * SECONDS) / SECONDS
    if place not in model.needed:
        values[rng.random(n) < GAP] = np.nan
    return values


def _numbers(model: Model, place: int, span: Span, n: int, rng: np.random.Generator) -> FloatArray:
    width = (span.high - span.low) or 1.0
    values = rng.uniform(span.low - 0.1 * width, span.high + 0.1 * width, n)
    values = np.where(span.whole & (rng.random(n) < 0.8), np.round(values), values)
    cuts = [tree.threshold[tree.feature == place] for tree in model.trees]
    cut = np.concatenate([np.array([span.low, span.high]), *cuts])
    at = rng.random(n) < GAP
    values[at] = rng.choice(cut[np.isfinite(cut)], at.sum())
    far = rng.random(n) < FAR
    values[far] = span.middle + width * rng.choice([-30.0, 30.0], far.sum())
    return np.asarray(values)


def _plain(column: Column, code: float) -> Any:
    if np.isnan(code):
        return None
    if not column.levels:
        return float(code)
    if code == UNSEEN:
        return "none of " + "".join(map(str, column.levels))  # longer than each, so it is none
    return str(column.levels[int(code)])


def moment(days: float | None) -> dt.datetime | None:
    """Return days since 1970 as a moment; None if it is missing."""
    return None if days is None else EPOCH + dt.timedelta(seconds=round(days * SECONDS))


def answers(model: Model, codes: FloatArray) -> FloatArray:
    """Return what the model itself answers, tree by tree: values (n, 1) or probabilities (n, k)."""
    scores = np.mean([tree.scores(codes) for tree in model.trees], axis=0)
    return np.maximum(scores, model.loss.floor) if model.classes is None else probabilities(scores)


def replay(
    what: str, tried: Sample, answered: Callable[[Sample], Any], bound: float = EXACT
) -> None:
    """Raise `ExportError` unless an export answers as its model, row by row."""
    expected = answers(tried.model, tried.codes)
    given = np.asarray(answered(tried), dtype=float).reshape(expected.shape)
    apart = np.abs(given - expected) / np.maximum(1.0, np.abs(expected))
    worst = int(np.nanargmax(apart.max(axis=1))) if apart.size else 0
    if not (apart <= bound).all():
        raise ExportError(
            f"the {what} answers {given[worst].tolist()} where the model answers "
            f"{expected[worst].tolist()}, so it is not written; the row is {tried.rows[worst]}"
        )
