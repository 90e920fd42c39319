"""Exports: a fitted model in the words of something else.

An export is a function of a model, and of options, in a module of its own; by its name it is known
once it stands in `EXPORTS`.
"""

from collections.abc import Callable
from typing import Any

from predictree.errors import InvalidInputError
from predictree.explain.text import export_text
from predictree.model import model_of
from predictree.publish.export.plain import plain_json

EXPORTS: dict[str, Callable[..., Any]] = {"text": export_text, "json": plain_json}


def export(fitted: Any, form: str, **options: Any) -> Any:
    """Return a fitted model in another form.

    Parameters
    ----------
    fitted : ToPsClassifier, ToPsRegressor or Model
    form : {"text", "json"}
        Text is for reading (see `predictree.export_text`), JSON has what `summarise` has.
    **options
        Of the form.
    """
    if form not in EXPORTS:
        names = ", ".join(map(repr, EXPORTS))
        raise InvalidInputError(f"form={form!r} is no export: use one of {names}")
    return EXPORTS[form](model_of(fitted), **options)
