"""Plain data of a checkpoint, checked as it is read: numbers, names and tables that make sense."""

from typing import Any

import numpy as np

from predictree.model.tree import FloatArray


def require(condition: bool, what: str) -> None:
    """Raise unless something is as it was written."""
    if not condition:
        raise ValueError(f"see {what}")


def key_of(given: Any) -> tuple[int, int]:
    """Return the name of a predictor: the path of its node, and its learner."""
    owner, learner = given
    require(is_count(owner) and is_count(learner), "the name of a predictor")
    return owner, learner


def is_count(value: Any) -> bool:
    """Whether this is a whole number that is not negative."""
    return type(value) is int and value >= 0


def table(given: Any, shape: tuple[int, ...]) -> FloatArray:
    """Return an array of numbers, of a shape."""
    sound = isinstance(given, np.ndarray) and given.dtype == np.float64 and given.shape == shape
    require(sound and bool(np.isfinite(given).all()), "an array")
    return np.asarray(given)
