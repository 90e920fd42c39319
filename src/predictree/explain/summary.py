"""A fitted model in plain data: what there is to read about it without any of its learners."""

from dataclasses import asdict
from typing import Any

from predictree.explain.text import export_text
from predictree.model import Model, SurvivalModel, model_of


def summarise(fitted: Any) -> dict[str, Any]:
    """Return trees, columns and verdict as plain data that JSON knows.

    Parameters
    ----------
    fitted : ToPsClassifier, ToPsRegressor or ToPsSurvival, or its ``model_``
        Of the last, ``models`` has a summary for every horizon that has its own.

    Returns
    -------
    dict
        Where ``text`` and ``verdict["text"]`` are what to print.
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
            "trees": [{"nodes": _nodes(model, number)} for number in range(len(model.trees))],
        }
    )
    return summary


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
