"""What the baselines check in common: their parameters, and labels of two classes."""

from collections.abc import Collection
from typing import Any

import numpy as np
from sklearn.utils.multiclass import check_classification_targets

from predictree.exceptions import InvalidInputError
from predictree.tree import IntArray


def check_choice(name: str, value: Any, choices: Collection[str]) -> None:
    """Raise unless a parameter is one of some words."""
    if value not in choices:
        raise InvalidInputError(f"{name}={value!r} is not one of {', '.join(map(repr, choices))}")


def check_at_least(name: str, value: Any, least: float) -> None:
    """Raise unless a parameter is a number that is large enough."""
    if not isinstance(value, int | float | np.number) or not value >= least:
        raise InvalidInputError(f"{name}={value!r} is not a number of at least {least}")


def encode_classes(y: Any, estimator: str) -> tuple[Any, IntArray]:
    """Return the classes and the place of every label among them."""
    check_classification_targets(y)
    classes, codes = np.unique(y, return_inverse=True)
    if len(classes) < 2:
        raise InvalidInputError(
            f"{estimator} needs at least two classes, and all labels are of one class: {classes[0]}"
        )
    return classes, codes
