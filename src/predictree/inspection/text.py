"""The tree as text: for every node its rule, learner, training set, losses and gain."""

from collections.abc import Sequence
from typing import Any

from predictree.tree import Node, Split, Tree


def export_text(
    model: Any, *, feature_names: Sequence[str] | None = None, decimals: int = 4
) -> str:
    """Draw a tree of predictors with characters.

    Each line is one node: the rule that leads to it, its learner with one ``↑`` for every level
    between the node and the ancestor that the learner was trained on, how many rows of S, V1 and V2
    it has, and its loss on V1. An inner node adds the joint loss of its children and Δv, the loss
    that its split saves; a leaf adds the weights of its path, from the root down.

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
    names = feature_names if feature_names is not None else _names(model)
    lines = []
    pending = [(0, "", "", "all rows")]  # node, its indent, its branch, its rule
    while pending:
        i, indent, branch, rule = pending.pop()
        node = tree[i]
        lines.append(f"{indent}{branch}{rule}: {_describe(tree, node, decimals)}")
        if node.children is not None and node.split is not None:
            deeper = indent + {"": "", "├─ ": "│  ", "└─ ": "   "}[branch]
            less, rest = _rules(node.split, names, decimals)
            pending.append((node.children[1], deeper, "└─ ", rest))
            pending.append((node.children[0], deeper, "├─ ", less))
    return "\n".join(lines)


def _names(model: Any) -> Sequence[str] | None:
    names = getattr(model, "feature_names_in_", None)
    return None if names is None else [str(name) for name in names]


def _rules(split: Split, names: Sequence[str] | None, decimals: int) -> tuple[str, str]:
    name = f"x{split.feature}" if names is None else names[split.feature]
    threshold = f"{split.threshold:.{decimals + 2}g}"
    rules = [f"{name} < {threshold}", f"{name} ≥ {threshold}"]
    if split.had_missing:
        rules[0 if split.missing_left else 1] += " or missing"
    return rules[0], rules[1]


def _describe(tree: Tree, node: Node, decimals: int) -> str:
    arrows = "↑" * (node.depth - int(tree.depth[node.trained_on]))
    text = f"{node.learner}{arrows}  n={node.n_train}/{node.n_v1}/{node.n_v2}"
    text += f"  loss={node.loss:.{decimals}f}"
    if node.gain is not None:
        return f"{text}→{node.split_loss:.{decimals}f}  Δv={node.gain:.{decimals}f}"
    weights = ", ".join(f"{record.weight:.2f}" for record in node.weights or ())
    return f"{text}  w=[{weights}]"
