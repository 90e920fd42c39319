"""One row, as a user hands it over, in the numbers that trees see."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from predictree.exceptions import InvalidInputError
from predictree.schema import is_frame
from predictree.tree import FloatArray


def as_table(x: Any) -> Any:
    """Return a row as a table with a single row: a sequence of numbers or a Series becomes one."""
    if is_frame(x):
        return x
    if isinstance(x, Mapping):
        raise InvalidInputError("a row is no dict: give a frame, such as pandas.DataFrame([row])")
    if hasattr(x, "to_frame") and hasattr(x, "index"):  # a row of a pandas frame
        return x.to_frame().T
    return np.asarray(x)[None] if np.ndim(x) == 1 else x


def one_row(model: Any, x: Any) -> FloatArray:
    """Return the row as the model's coded columns, or say that it is not one."""
    features: FloatArray = model._features(as_table(x))
    if len(features) != 1:
        raise InvalidInputError(
            f"one row is wanted, and there are {len(features)}: give X[i : i + 1]"
        )
    return features


def seen_by_tree(model: Any, features: FloatArray, number: int) -> FloatArray:
    """Return coded rows with their gaps filled as for one of the model's trees."""
    if not model.imputations_:
        return features
    filled: FloatArray = model.imputations_[number % len(model.imputations_)](features)
    return filled
