"""A fitted model in plain data: what there is to read about it without any of its learners."""

from dataclasses import asdict, replace
from typing import Any

from predictree.explain.census import functions_of
from predictree.explain.portraits import outline, portraits
from predictree.explain.text import export_text
from predictree.model import Model, SurvivalModel, model_of

TOLD = 8  # regions that are told in words


def summarise(fitted: Any) -> dict[str, Any]:
    """Return trees, columns and verdict as plain data that JSON knows.

    Parameters
    ----------
    fitted : ToPsClassifier, ToPsRegressor or ToPsSurvival, or its ``model_``
        Of the last, ``models`` has a summary for every horizon that has its own.

    Returns
    -------
    dict
        Where ``text`` and ``verdict["text"]`` are what to print, and ``words`` of trees of additive
        models, in place of ``text``.
    """
    fitted = getattr(fitted, "model_", fitted)
    if isinstance(fitted, SurvivalModel):
        return {
            "task": "survival",
            "horizons": fitted.horizons.tolist(),
            "models": [summarise(each) for each in fitted.models],
        }
    model = model_of(fitted)
    classes, verdict = model.classes, model.account.verdict
    summary: dict[str, Any] = as_json(
        {
            "task": model.task,
            "loss": model.loss.name,
            "classes": None if classes is None else classes.tolist(),
            "columns": [
                {"name": c.name, "kind": c.kind, "role": c.role} for c in model.schema.columns
            ],
            "verdict": {
                **asdict(verdict),
                "earned": verdict.earned,
                "text": str(verdict),
            },
            "text": export_text(model),
            "words": in_words(model),
            "trees": [{"nodes": _nodes(model, number)} for number in range(len(model.trees))],
        }
    )
    return summary


def in_words(model: Model) -> str | None:
    """Return a tree of additive models and its first regions in plain words; None of others."""
    seen = model.backgrounds[0].census if model.backgrounds else None
    if functions_of(model.tree) is None or seen is None:
        return None
    found = portraits(model)
    tree = outline(model, found=found)
    if len(found.regions) < 2:
        return tree
    told = replace(found, regions=found.regions[:TOLD])
    title = "What is special there, against one model for all rows"
    more = len(found.regions) - TOLD
    first = f", in the {TOLD} regions that depart most from it; {more} more" if more > 0 else ""
    return f"{tree}\n\n{title}{first}:\n{told}"


def as_json(content: Any) -> Any:
    """Return data with floats that JSON does not know replaced by None, and dates by text."""
    if isinstance(content, dict):
        return {str(key): as_json(value) for key, value in content.items()}
    if isinstance(content, list | tuple):
        return [as_json(value) for value in content]
    if isinstance(content, float) and not abs(content) < float("inf"):
        return None
    return content if content is None or isinstance(content, str | int | float) else str(content)


def _nodes(model: Model, number: int) -> list[dict[str, Any]]:
    """Return the nodes of a tree, each with the rule that leads to it."""
    return [
        {"rule": (model.rules(node.id, number) or ["all rows"])[-1], **asdict(node)}
        for node in model.trees[number]
    ]
