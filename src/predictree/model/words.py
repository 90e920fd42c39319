"""Splits and values in words, as a user would write them."""

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from predictree.errors import shown
from predictree.model.schema import Column
from predictree.model.tree import Split

NOTHING = 1e-12  # a smaller number is what rounding leaves of zero
LOSS_WORDS = {
    "log_loss": "log loss",
    "auc": "1 − AUC",
    "error": "error rate",
    "brier": "Brier score",
    "mse": "mean squared error",
    "mae": "mean absolute error",
    "poisson": "Poisson deviance",
    "gamma": "gamma deviance",
}
TINY, HUGE = 1e-5, 1e15  # between them numbers are written out
FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
"""What a spreadsheet takes for the beginning of a formula."""
NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?")


def rules(split: Split, columns: Sequence[Column] | None, decimals: int) -> tuple[str, str]:
    """Return the conditions of the left and of the right side in words."""
    column = Column(f"x{split.feature}") if columns is None else columns[split.feature]
    name = shown(column.name)
    if np.isinf(split.threshold):
        return f"{name} is known", f"{name} is missing"
    if split.is_level:
        return _levels(split, column)
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


def _levels(split: Split, column: Column) -> tuple[str, str]:
    """Return the conditions of one level and of the rest; the other of two has a name."""
    level, name = column.levels[int(split.threshold)], shown(column.name)
    others = [shown(str(other)) for other in column.levels if other != level]
    mine = f'{name} = "{shown(str(level))}"'
    if len(others) == 1 and not split.had_missing:
        return mine, f'{name} = "{others[0]}"'
    return mine, f'{name} ≠ "{shown(str(level))}"'


def _set_of(levels: Sequence[Any]) -> str:
    return "{" + ", ".join(shown(str(level)) for level in levels) + "}"


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


def rounded(value: float | None, digits: int = 4) -> str:
    """Return a number with so many digits that count, without an exponent unless it needs one.

    A value that is none, or that is not known, is a dash; rounding errors are zero.
    """
    if value is None or not np.isfinite(value):
        return "–"
    if abs(value) < NOTHING:
        return "0"
    if not TINY <= abs(value) < HUGE:
        return f"{value:.{digits - 1}e}"
    decimals = digits - 1 - int(np.floor(np.log10(abs(value))))
    text = f"{value:,.{max(decimals, 0)}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def loss_word(name: str) -> str:
    """Return what a loss is called."""
    return LOSS_WORDS.get(name, name)


def loss_words(name: str, value: float) -> str:
    """Return a loss with its name; beside a squared one its root, which has the unit of labels."""
    told = f"{loss_word(name)} of {rounded(value)}"
    return f"{told} (RMSE {rounded(value**0.5)})" if name == "mse" else told


def percent(share: float) -> str:
    """Return a share in per cent, to a tenth of one."""
    return "–" if not np.isfinite(share) else f"{share:.1%}".replace("-", "−")


def word(value: Any) -> str:
    """Return a value in words."""
    if value is None:
        return "missing"
    return f"{value:.6g}" if isinstance(value, float) else shown(str(value))


def cell(text: str) -> str:
    """Return text for a cell of a CSV file, so that no spreadsheet takes it for a formula."""
    is_formula = text[:1] in FORMULA and not NUMBER.fullmatch(text)
    return ("'" if is_formula else "") + shown(text, keep="\n\t")


def words_of(column: Column, code: float) -> str:
    """Return the coded value of a column in words."""
    return word(decoded(column, code))
