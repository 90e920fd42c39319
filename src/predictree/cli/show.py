"""``predictree show``: a model's tree as text."""

import argparse
from dataclasses import asdict
from textwrap import fill
from typing import Any

from predictree.cli.command import add_command, add_json
from predictree.cli.console import print_json, tell
from predictree.cli.models import add_model, read_model
from predictree.inspection.text import rules

WIDTH = 100

WORDS = """\
  predictree show model.tops
  predictree show model.tops --json | jq '.trees[0].nodes[0].split'"""


def add_to(commands: Any) -> None:
    """Add the command."""
    parser = add_command(commands, "show", "print the tree of a model and its verdict", WORDS, run)
    add_model(parser)
    add_json(parser)


def run(args: argparse.Namespace) -> None:
    """Print the tree."""
    model = read_model(args)
    if args.json:
        print_json(describe(model))
    else:
        print_tree(model)


def print_tree(model: Any) -> None:
    """Print the first tree of a model, and whether it is worth it."""
    print(f"{model.export_text()}\n\n{fill(str(model.verdict_), WIDTH)}")
    if len(model.trees_) > 1:
        tell(f"this is the first of {len(model.trees_)} trees, whose answers are averaged")


def describe(model: Any) -> dict[str, Any]:
    """Return trees, columns and verdict as plain data."""
    classes = getattr(model, "classes_", None)
    return {
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
        "trees": [{"nodes": _nodes(model, tree)} for tree in model.trees_],
    }


def _nodes(model: Any, tree: Any) -> list[dict[str, Any]]:
    """Return the nodes of a tree, each with the rule that leads to it."""
    rule = {0: "all rows"}
    for node in tree:
        if node.split is not None:
            rule.update(
                zip(node.children, rules(node.split, model.schema_.columns, 4), strict=True)
            )
    return [{"rule": rule[node.id], **asdict(node)} for node in tree]
