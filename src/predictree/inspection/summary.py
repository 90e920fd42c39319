"""A fitted model in plain data: what there is to read about it without any of its learners."""

from dataclasses import asdict
from typing import Any

from predictree.inspection.text import export_text, rules


def summarise(model: Any) -> dict[str, Any]:
    """Return trees, columns and verdict as plain data that JSON knows.

    Parameters
    ----------
    model : ToPsClassifier, ToPsRegressor or ToPsSurvival
        A fitted model; of the last, ``models`` has a summary for every horizon that has its own.

    Returns
    -------
    dict
        Where ``text`` and ``verdict["text"]`` are what to print.
    """
    if hasattr(model, "models_"):
        return {
            "task": "survival",
            "horizons": model.horizons_.tolist(),
            "models": [summarise(each) for each in model.models_],
        }
    classes = getattr(model, "classes_", None)
    summary: dict[str, Any] = as_json(
        {
            "task": model._task,
            "loss": model.loss_.name,
            "classes": None if classes is None else classes.tolist(),
            "columns": [
                {"name": c.name, "kind": c.kind, "role": c.role} for c in model.schema_.columns
            ],
            "verdict": {
                **asdict(model.verdict_),
                "earned": model.verdict_.earned,
                "text": str(model.verdict_),
            },
            "text": export_text(model),
            "trees": [{"nodes": _nodes(model, tree)} for tree in model.trees_],
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


def _nodes(model: Any, tree: Any) -> list[dict[str, Any]]:
    """Return the nodes of a tree, each with the rule that leads to it."""
    rule = {0: "all rows"}
    for node in tree:
        if node.split is not None:
            rule.update(
                zip(node.children, rules(node.split, model.schema_.columns, 4), strict=True)
            )
    return [{"rule": rule[node.id], **asdict(node)} for node in tree]
