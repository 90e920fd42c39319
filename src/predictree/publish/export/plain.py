"""A model as JSON: its columns, trees, rules and verdict in plain data."""

import json

from predictree.explain.summary import summarise
from predictree.model import Model


def plain_json(model: Model, *, indent: int | None = None) -> str:
    """Return what there is to read about a model, without its learners, as JSON."""
    return json.dumps(summarise(model), indent=indent, ensure_ascii=False, allow_nan=False)
