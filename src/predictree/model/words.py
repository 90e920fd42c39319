"""Splits and values in words, as a user would write them."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from predictree.model.schema import Column
from predictree.model.tree import Split


def rules(split: Split, columns: Sequence[Column] | None, decimals: int) -> tuple[str, str]:
    """Return the conditions of the left and of the right side in words."""
    column = Column(f"x{split.feature}") if columns is None else columns[split.feature]
    name = column.name
    if np.isinf(split.threshold):
        return f"{name} is known", f"{name} is missing"
    if split.is_level:
        level = column.levels[int(split.threshold)]
        return f'{name} = "{level}"', f'{name} ≠ "{level}"'
    if column.kind == "ordered":
        first = int(np.ceil(split.threshold))
        sides = [
            f"{name} in {_set_of(side)}" for side in (column.levels[:first], column.levels[first:])
        ]
    elif column.kind == "date":
        day = date_of(split.threshold)
        sides = [f"{name} < {day}", f"{name} ≥ {day}"]
    else:
        threshold = f"{split.threshold:.{decimals + 2}g}"
        sides = [f"{name} < {threshold}", f"{name} ≥ {threshold}"]
    if split.had_missing:
        sides[0 if split.missing_left else 1] += " or missing"
    return sides[0], sides[1]


def _set_of(levels: Sequence[Any]) -> str:
    return "{" + ", ".join(map(str, levels)) + "}"


def date_of(days: float) -> str:
    """Return a moment, in days since 1970, as a date, with the time if it is not midnight."""
    moment = str(np.datetime64(0, "s") + np.timedelta64(round(days * 86400), "s"))
    return moment.removesuffix("T00:00:00")


def decoded(column: Column, code: float) -> Any:
    """Return a value of a column as the user knows it; None if it is missing."""
    if np.isnan(code):
        return None
    if column.levels:
        known = 0 <= code < len(column.levels)
        return str(column.levels[int(code)]) if known else "a level that fit did not see"
    return date_of(code) if column.kind == "date" else float(code)


def word(value: Any) -> str:
    """Return a value in words."""
    if value is None:
        return "missing"
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def words_of(column: Column, code: float) -> str:
    """Return the coded value of a column in words."""
    return word(decoded(column, code))
