"""Models as Python that needs nothing but Python."""

import inspect
from typing import Any

from predictree.model import Model
from predictree.publish.export import scorer
from predictree.publish.export.document import document
from predictree.publish.export.replay import replay, sample

PREDICT = '''

def predict(row):
    """Return the answer for a row, a dict by column: {what}."""
    return answer(MODEL, row)
'''


def to_python(model: Model) -> str:
    """Return the source of a module whose function ``predict(row)`` answers for a dict by column.

    Parameters
    ----------
    model : Model

    Returns
    -------
    str
        It imports nothing but the standard library's ``bisect``, ``math`` and ``typing``.
    """
    found = document(model)
    classes = found["classes"]
    what = "a number" if classes is None else f"the probabilities of {', '.join(classes)}"
    source = f"{inspect.getsource(scorer)}\n\nMODEL: Any = {found!r}\n{PREDICT.format(what=what)}"
    made: dict[str, Any] = {}
    exec(compile(source, "<the exported module>", "exec"), made)
    replay("Python", sample(model), lambda tried: list(map(made["predict"], tried.rows)))
    return source
