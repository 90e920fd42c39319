"""Exports: a fitted model in the words of something else.

An export is a function of a model, and of options, in a module of its own; by its name it is known
once it stands in `EXPORTS`. Those that answer for rows are tried out on a sample before anybody
gets them (`replay`).
"""

from collections.abc import Callable
from typing import Any

from predictree.errors import InvalidInputError
from predictree.explain.text import export_text
from predictree.model import model_of
from predictree.publish.export.json import to_json
from predictree.publish.export.onnx import to_onnx
from predictree.publish.export.plain import plain_json
from predictree.publish.export.python import to_python
from predictree.publish.export.scorecard import to_scorecard
from predictree.publish.export.sql import to_sql

EXPORTS: dict[str, Callable[..., Any]] = {
    "text": export_text,
    "json": plain_json,
    "scorer": to_json,
    "python": to_python,
    "sql": to_sql,
    "onnx": to_onnx,
    "scorecard": to_scorecard,
}


def export(fitted: Any, form: str, **options: Any) -> Any:
    """Return a fitted model in another form.

    Parameters
    ----------
    fitted : ToPsClassifier, ToPsRegressor or Model
    form : {"text", "json", "scorer", "python", "sql", "onnx", "scorecard"}
        Text is for reading (see `predictree.export_text`), JSON has what `summarise` has; the
        others answer for rows, and each is told of in the module of its name (``"scorer"``, which
        is what answers as JSON, in ``json``).
    **options
        Of the form.
    """
    if form not in EXPORTS:
        names = ", ".join(map(repr, EXPORTS))
        raise InvalidInputError(f"form={form!r} is no export: use one of {names}")
    return EXPORTS[form](model_of(fitted), **options)
