"""What the baselines check in common: their parameters."""

from collections.abc import Collection
from typing import Any

import numpy as np

from predictree.errors import InvalidInputError


def check_choice(name: str, value: Any, choices: Collection[str]) -> None:
    """Raise unless a parameter is one of some words."""
    if value not in choices:
        raise InvalidInputError(f"{name}={value!r} is not one of {', '.join(map(repr, choices))}")


def check_at_least(name: str, value: Any, least: float) -> None:
    """Raise unless a parameter is a number that is large enough."""
    if not isinstance(value, int | float | np.number) or not value >= least:
        raise InvalidInputError(f"{name}={value!r} is not a number of at least {least}")


def check_share(name: str, value: Any) -> None:
    """Raise unless a parameter is between 0 and 1."""
    check_at_least(name, value, 0)
    if value > 1:
        raise InvalidInputError(f"{name}={value!r} is above 1: it is a share")


def check_size_of_tree(model: Any) -> None:
    """Raise unless the depth and the rows of a leaf are numbers, or None."""
    for name, least in (("max_depth", 0), ("min_samples_leaf", 1)):
        if getattr(model, name) is not None:
            check_at_least(name, getattr(model, name), least)
