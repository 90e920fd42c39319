"""The encoded values of a row, in words."""

import numpy as np

from predictree.schema import Column


def words_of(column: Column, value: float) -> str:
    """Return a value as a user wrote it: a number, a level, a date, or that it is missing."""
    if np.isnan(value):
        return "missing"
    if column.levels:
        known = 0 <= value < len(column.levels)
        return str(column.levels[int(value)]) if known else "a level that fit did not see"
    if column.kind == "date":
        moment = np.datetime64(0, "s") + np.timedelta64(round(value * 86400), "s")
        return str(moment).removesuffix("T00:00:00")
    return f"{value:.6g}"
