"""Models as JSON, with the scorers that read it: a hundred lines of Python, or of JavaScript."""

import json
from importlib.resources import files

from predictree.model import Model
from predictree.publish.export import scorer
from predictree.publish.export.document import document
from predictree.publish.export.replay import replay, sample


def to_json(model: Model) -> str:
    """Return a model as JSON; its schema is told in `predictree.publish.export.document`.

    `predictree.publish.export.scorer` answers from it in plain Python, `javascript` in a browser.

    Parameters
    ----------
    model : Model

    Returns
    -------
    str
    """
    text = json.dumps(document(model), allow_nan=False, separators=(",", ":"))
    read = json.loads(text)
    replay("JSON", sample(model), lambda tried: [scorer.answer(read, row) for row in tried.rows])
    return text


def javascript() -> str:
    """Return the scorer in JavaScript: ``answer(model, row)``."""
    home = files("predictree.publish.export")
    return home.joinpath("static", "scorer.js").read_text(encoding="utf-8")
