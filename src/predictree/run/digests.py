"""Digests of what a fit depends on: the same in every process."""

from collections.abc import Mapping
from types import CodeType, FunctionType
from typing import Any

import joblib
import numpy as np


def digest_of(*values: Any) -> str:
    """Return a digest of values: the same in every process, for arrays, parameters and views."""
    return str(joblib.hash([_plain(value) for value in values]))


def _plain(value: Any) -> Any:
    """Return what to take of a value for its digest: nothing that has an address."""
    if hasattr(value, "get_params") and not isinstance(value, type):
        params = sorted(value.get_params(deep=False).items())
        return [_name_of(type(value)), [(key, _plain(param)) for key, param in params]]
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, Mapping):
        return [(str(key), _plain(item)) for key, item in sorted(value.items(), key=str)]
    if isinstance(value, (set, frozenset)):
        return sorted(map(digest_of, value))
    if value is None or isinstance(value, (str, bytes, int, float, np.generic, np.ndarray)):
        return value
    if isinstance(value, FunctionType):
        return [_name_of(value), _plain(value.__code__), _plain(value.__defaults__), _held(value)]
    if isinstance(value, CodeType):
        return [value.co_code, value.co_names, _plain(value.co_consts)]
    try:
        return joblib.hash(value)
    except Exception:  # what cannot be pickled is known by its name alone
        return _name_of(value if callable(value) else type(value))


def _held(function: FunctionType) -> list[Any]:
    """Return what a function has from around it; functions by name, for one may hold itself."""
    held = [cell.cell_contents for cell in function.__closure__ or ()]
    return [_name_of(value) if isinstance(value, FunctionType) else _plain(value) for value in held]


def _name_of(kind: Any) -> str:
    return f"{getattr(kind, '__module__', '')}.{getattr(kind, '__qualname__', type(kind))}"
