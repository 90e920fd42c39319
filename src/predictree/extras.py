"""Optional libraries: imported when used, and asked for by the extra that brings them."""

from importlib import import_module
from typing import Any

from predictree.exceptions import MissingExtraError


def need(module: str, extra: str, purpose: str) -> Any:
    """Return a module of an optional library, or say how to get it."""
    try:
        return import_module(module)
    except ImportError as error:
        library = module.partition(".")[0]
        raise MissingExtraError(
            f"{purpose} needs {library}: pip install 'predictree[{extra}]'"
        ) from error
