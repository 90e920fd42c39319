"""The tree as text: for every node its rule, learner, training set, losses and gain."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from predictree.exceptions import InvalidInputError
from predictree.schema import Column
from predictree.tree import Node, Split, Tree

SHOWN = 0.005  # weights from here on are not 0.00


def export_text(
    model: Any, *, feature_names: Sequence[str] | None = None, decimals: int = 4
) -> str:
    """Draw a tree of predictors with characters.

    Each line is one node: the rule that leads to it, its learner with one ``↑`` for every level
    between the node and the ancestor that the learner was trained on, how many rows of S, V1 and V2
    it has, and its loss on V1. An inner node adds the joint loss of its children and Δv, the loss
    that its split saves; a leaf adds the weights of its path, from the root down. If there are
    several learners, each weight has its predictor's name; those below 0.005 are left out then.

    Parameters
    ----------
    model : ToPsClassifier, ToPsRegressor or Tree
        A fitted estimator, or its ``tree_``.
    feature_names : sequence of str, optional
        Defaults to the column names seen in ``fit``, else ``x0``, ``x1``, ….
    decimals : int, default=4
        Digits after the point.

    Returns
    -------
    str
    """
    tree: Tree = getattr(model, "tree_", model)
    columns = named_columns(model, feature_names)
    lines = []
    pending = [(0, "", "", "all rows")]  # node, its indent, its branch, its rule
    while pending:
        i, indent, branch, rule = pending.pop()
        node = tree[i]
        lines.append(f"{indent}{branch}{rule}: {_describe(tree, node, decimals)}")
        if node.children is not None and node.split is not None:
            deeper = indent + {"": "", "├─ ": "│  ", "└─ ": "   "}[branch]
            less, rest = rules(node.split, columns, decimals)
            pending.append((node.children[1], deeper, "└─ ", rest))
            pending.append((node.children[0], deeper, "├─ ", less))
    return "\n".join(lines)


def named_columns(model: Any, names: Sequence[str] | None) -> Sequence[Column] | None:
    """Return the columns of a model under these names; None if there are neither."""
    schema = getattr(model, "schema_", None)
    if schema is None:
        return None if names is None else [Column(name) for name in names]
    if names is None:
        names = [column.name for column in schema.columns]
    if len(names) < len(schema.columns):
        raise InvalidInputError(
            f"feature_names has {len(names)} names, and the model {len(schema.columns)} columns: "
            "give one a column"
        )
    return [replace(column, name=n) for column, n in zip(schema.columns, names, strict=False)]


def rules(split: Split, columns: Sequence[Column] | None, decimals: int) -> tuple[str, str]:
    """Return the conditions of the left and of the right side in words."""
    column = Column(f"x{split.feature}") if columns is None else columns[split.feature]
    name = column.name
    if np.isinf(split.threshold):
        return f"{name} is known", f"{name} is missing"
    if split.is_level:
        level = column.levels[int(split.threshold)]
        return f'{name} = "{level}"', f'{name} ≠ "{level}"'
    if column.kind == "ordered":
        first = int(np.ceil(split.threshold))
        sides = [
            f"{name} in {_set_of(side)}" for side in (column.levels[:first], column.levels[first:])
        ]
    elif column.kind == "date":
        day = date_of(split.threshold)
        sides = [f"{name} < {day}", f"{name} ≥ {day}"]
    else:
        threshold = f"{split.threshold:.{decimals + 2}g}"
        sides = [f"{name} < {threshold}", f"{name} ≥ {threshold}"]
    if split.had_missing:
        sides[0 if split.missing_left else 1] += " or missing"
    return sides[0], sides[1]


def _set_of(levels: Sequence[Any]) -> str:
    return "{" + ", ".join(map(str, levels)) + "}"


def date_of(days: float) -> str:
    """Return a moment, in days since 1970, as a date, with the time if it is not midnight."""
    moment = str(np.datetime64(0, "s") + np.timedelta64(round(days * 86400), "s"))
    return moment.removesuffix("T00:00:00")


def _describe(tree: Tree, node: Node, decimals: int) -> str:
    name = _name(tree, node, node.learner, node.trained_on)
    text = f"{name}  n={node.n_train}/{node.n_v1}/{node.n_v2}"
    text += f"  loss={node.loss:.{decimals}f}"
    if node.gain is not None:
        return f"{text}→{node.split_loss:.{decimals}f}  Δv={node.gain:.{decimals}f}"
    return f"{text}  w=[{', '.join(_weights(tree, node))}]"


def _name(tree: Tree, node: Node, learner: str, trained_on: int) -> str:
    """Return what a predictor is called at a node: ↑ is a level up to where it was trained."""
    return learner + "↑" * (node.depth - int(tree.depth[trained_on]))


def _weights(tree: Tree, leaf: Node) -> Iterator[str]:
    records = leaf.weights or ()
    if len({predictor.learner for predictor in tree.predictors}) == 1:
        yield from (f"{record.weight:.2f}" for record in records)
        return
    total: dict[tuple[str, int], float] = {}  # a predictor may stand for several nodes
    for record in records:
        predictor = record.learner, record.trained_on
        total[predictor] = total.get(predictor, 0.0) + record.weight
    for predictor, weight in total.items():
        if weight >= SHOWN:
            yield f"{_name(tree, leaf, *predictor)} {weight:.2f}"
