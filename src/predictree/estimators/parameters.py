"""Checks of an estimator's parameters, with errors that say what to give instead."""

from abc import ABCMeta
from collections.abc import Mapping
from inspect import Signature, signature
from numbers import Integral, Real
from os import PathLike
from threading import TIMEOUT_MAX
from typing import Any

import numpy as np

from predictree.data.partition import are_splits, check_fractions, is_splitter
from predictree.errors import InvalidInputError, nearest
from predictree.grow.methods import WAYS
from predictree.grow.rows import Limits
from predictree.model.schema import Column, Schema
from predictree.run.checkpoint import Checkpoint
from predictree.run.clock import seconds_of
from predictree.run.memory import bytes_of

PAPER: dict[str, Any] = {
    "validation": (0.75, 0.15, 0.10),
    "weights": "path",
    "search": "exhaustive",
    "n_thresholds": 9,
    "max_depth": None,
    "min_samples_leaf": 1,
    "min_samples_val": 1,
    "min_gain": 0.0,
    "min_gain_se": 0.0,
    "refit": False,
    "n_repeats": 1,
}
COUNTS = {
    "n_thresholds": 1,
    "min_samples_leaf": 1,
    "min_samples_val": 1,
    "interactions": 0,
    "n_repeats": 1,
}
# Standard errors that "auto" asks of a split: of any, and of those below the root where trees may
# be large. benchmarks/noise.py measures the first, benchmarks/weak.py the second.
PROOF, PROOF_BELOW = 2.5, 1.0


class Suggesting(ABCMeta):
    """Makes estimators that know which parameter was meant by a name that is none of theirs."""

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        """Make an estimator, or say which parameter there is."""
        known = list(cls.__signature__.parameters)
        for name in kwargs:
            if name not in known:
                hint = cls._hint(name, known)
                raise TypeError(f"{cls.__name__} has no parameter {name!r}: {hint}")
        return super().__call__(*args, **kwargs)

    @property
    def __signature__(cls) -> Signature:
        """What the estimator takes, for help and editors."""
        taken = signature(cls.__init__)  # type: ignore[misc]
        return taken.replace(parameters=[p for p in taken.parameters.values() if p.name != "self"])

    def _hint(cls, name: str, known: list[str]) -> str:
        """Return what to write instead."""
        return nearest(name, known)


def limits_of(model: Any) -> Limits:
    """Check the parameters that bear on how a tree grows; return its limits."""
    check_choice("weights", model.weights, tuple(WAYS))
    check_choice("search", model.search, ("auto", "exhaustive", "racing"))
    for name, least in COUNTS.items():
        check_number(name, getattr(model, name), Integral, least)
    for name in ("min_gain", "shrinkage"):
        check_number(name, getattr(model, name), Real, 0)
    if model.verbose is not None:
        check_number("verbose", model.verbose, Integral, 0)
    limit_of(model)
    timeout = timeout_of(model)
    if timeout is not None and not 0 < timeout <= TIMEOUT_MAX:
        raise InvalidInputError(
            f"learner_timeout={model.learner_timeout!r}: it must be a time above zero, or None for "
            "no limit"
        )
    if model.memory_limit is not None:
        bytes_of(model.memory_limit)
    if model.max_depth is not None:
        check_number("max_depth", model.max_depth, Integral, 0)
    if not isinstance(model.refit, bool | np.bool_):
        raise InvalidInputError(f"refit={model.refit!r}: it must be True or False")
    if not isinstance(model.checkpoint, str | PathLike | Checkpoint | None):
        raise InvalidInputError(
            f"checkpoint={model.checkpoint!r}: it must be a folder, a Checkpoint or None"
        )
    if not (model.n_jobs is None or (isinstance(model.n_jobs, Integral) and model.n_jobs != 0)):
        raise InvalidInputError(
            f"n_jobs={model.n_jobs!r}: it must be a whole number other than 0, or None"
        )
    standard_errors(model.min_gain_se)
    return Limits(
        n_thresholds=model.n_thresholds,
        max_depth=model.max_depth,
        min_samples_leaf=model.min_samples_leaf,
        min_samples_val=model.min_samples_val,
        min_gain=model.min_gain,
    )


def limit_of(model: Any) -> float | None:
    """Return the seconds that a fit may take; None for any."""
    return None if model.time_limit is None else seconds_of("time_limit", model.time_limit)


def timeout_of(model: Any) -> float | None:
    """Return the seconds that one fit of a slow learner may take; None for any."""
    given = model.learner_timeout
    return None if given is None else seconds_of("learner_timeout", given)


def check_choice(name: str, value: Any, choices: tuple[str, ...]) -> None:
    """Raise unless a value is one of some words."""
    if not (isinstance(value, str) and value in choices):
        allowed = " or ".join(repr(choice) for choice in choices)
        raise InvalidInputError(f"{name}={value!r}: it must be {allowed}")


def check_number(name: str, value: Any, kind: type, least: int) -> None:
    """Raise unless a value is a number of a kind, and large enough."""
    if not isinstance(value, kind) or isinstance(value, bool) or not value >= least:  # type: ignore[operator]
        what = "a whole number" if kind is Integral else "a number"
        raise InvalidInputError(f"{name}={value!r}: it must be {what} of at least {least}")


def check_validation(validation: Any) -> Any:
    """Return a number of folds, the tuple of three shares, a splitter, or a list of splits."""
    if isinstance(validation, type) and is_splitter(validation):
        name = validation.__name__
        raise InvalidInputError(f"validation={name}: it is a class; make one of it, {name}(...)")
    if isinstance(validation, Integral) and not isinstance(validation, bool):
        check_number("validation", validation, Integral, 2)
        return int(validation)
    if is_splitter(validation):
        return validation
    return list(validation) if are_splits(validation) else check_fractions(validation)


def standard_errors(value: Any, auto: tuple[float, float] = (PROOF, PROOF)) -> tuple[float, float]:
    """Return what ``min_gain_se`` asks of the root and of the nodes below it."""
    if isinstance(value, str):
        check_choice("min_gain_se", value, ("auto",))
        return auto
    return of_root_and_below("min_gain_se", value)


def of_root_and_below(name: str, value: Any) -> tuple[float, float]:
    """Return a pair of numbers as it is, and one number twice."""
    value = value.tolist() if hasattr(value, "tolist") else value  # an array
    pair = tuple(value) if isinstance(value, tuple | list) else (value, value)
    if len(pair) != 2:
        raise InvalidInputError(
            f"{name}={value!r}: give one number, or two: of the root and of the nodes below it"
        )
    for number in pair:
        check_number(name, number, Real, 0)
    return pair


def directions_of(value: Any, schema: Schema) -> dict[int, int]:
    """Return what ``monotonic_cst`` asks of columns by their places, without zeros."""
    if value is None:
        return {}
    names = [column.name for column in schema.columns]
    if isinstance(value, Mapping):
        if unknown := [name for name in value if name not in names]:
            raise InvalidInputError(f"monotonic_cst names {unknown[0]!r}, which X has not")
        found = {names.index(name): sign for name, sign in value.items()}
    else:
        signs = np.asarray(value, dtype=object)
        if signs.shape != (len(names),):
            raise InvalidInputError(
                f"monotonic_cst has the shape {signs.shape}: give -1, 0 or 1 for each of the "
                f"{len(names)} columns of X, or a dict by their names"
            )
        found = dict(enumerate(signs.tolist()))
    return {j: _direction(schema.columns[j], sign) for j, sign in found.items() if sign != 0}


def _direction(column: Column, sign: Any) -> int:
    if sign not in (-1, 1):
        raise InvalidInputError(
            f"monotonic_cst is {sign!r} for {column.name!r}: it must be 1 (answers only rise), "
            "-1 (they only fall) or 0"
        )
    if column.is_category:
        raise InvalidInputError(
            f"monotonic_cst asks for a direction along {column.name!r}, which is a category: its "
            "levels have no order"
        )
    if column.role == "split":
        raise InvalidInputError(
            f"monotonic_cst asks for a direction along {column.name!r}, but feature_roles lets "
            "the tree only split by it"
        )
    return int(sign)
