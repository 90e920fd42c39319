"""The tree as text: for every node its rule, learner, training set, losses and gain."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from predictree.errors import InvalidInputError, shown
from predictree.explain.additive import AdditiveTree
from predictree.explain.census import functions_of
from predictree.explain.formulas import formulas as formulas_of
from predictree.model import Model, model_of
from predictree.model.schema import Column
from predictree.model.tree import Node, Tree
from predictree.model.words import rules as rules

SHOWN = 0.005  # weights from here on are not 0.00


def export_text(
    fitted: Any,
    *,
    feature_names: Sequence[str] | None = None,
    decimals: int = 4,
    formulas: bool = False,
) -> str:
    """Draw a tree of predictors with characters.

    Each line is one node: the rule that leads to it, its learner with one ``↑`` for every level
    between the node and the ancestor that the learner was trained on, how many rows of S, V1 and V2
    it has, and its loss on V1. An inner node adds the joint loss of its children and Δv, the loss
    that its split saves; a leaf adds the weights of its path, from the root down. If there are
    several learners, each weight has its predictor's name; those below 0.005 are left out then. A
    leaf of an additive tree has no weights: it answers with one function.

    Parameters
    ----------
    fitted : ToPsClassifier, ToPsRegressor, Model or Tree
        A fitted estimator, its ``model_``, or its ``tree_``.
    feature_names : sequence of str, optional
        Defaults to the column names seen in ``fit``, else ``x0``, ``x1``, ….
    decimals : int, default=4
        Digits after the point.
    formulas : bool, default=False
        Whether the additive functions follow, those of all rows and of every region: a line for
        each term that matters. Points of a curve are joined by lines, which are within 2 % of its
        height of the curve, or as near as eight points come. Of additive trees only.

    Returns
    -------
    str
    """
    model = None if isinstance(fitted, Tree) else model_of(fitted)
    tree: Tree = fitted if model is None else model.tree
    columns = named_columns(model, feature_names)
    lines, is_additive = [], functions_of(tree) is not None
    pending = [(0, "", "", "all rows")]  # node, its indent, its branch, its rule
    while pending:
        i, indent, branch, rule = pending.pop()
        node = tree[i]
        lines.append(f"{indent}{branch}{rule}: {_describe(tree, node, decimals, is_additive)}")
        if node.children is not None and node.split is not None:
            deeper = indent + {"": "", "├─ ": "│  ", "└─ ": "   "}[branch]
            less, rest = rules(node.split, columns, decimals)
            pending.append((node.children[1], deeper, "└─ ", rest))
            pending.append((node.children[0], deeper, "├─ ", less))
    if formulas:
        columns = () if columns is None else tuple(columns)
        lines += ["", formulas_of(_renamed(fitted, columns))]
    return "\n".join(lines)


def _renamed(fitted: Any, columns: tuple[Column, ...]) -> AdditiveTree:
    """Read a model under other names of its columns."""
    model = model_of(fitted)
    schema = replace(model.schema, columns=columns)
    return AdditiveTree.of(replace(model, schema=schema))


def named_columns(model: Model | None, names: Sequence[str] | None) -> Sequence[Column] | None:
    """Return the columns of a model under these names; None if there are neither."""
    if model is None:
        return None if names is None else [Column(name) for name in names]
    columns, names = model.schema.columns, model.names if names is None else names
    if len(names) < len(columns):
        raise InvalidInputError(
            f"feature_names has {len(names)} names, and the model {len(columns)} columns: "
            "give one a column"
        )
    return [replace(column, name=n) for column, n in zip(columns, names, strict=False)]


def _describe(tree: Tree, node: Node, decimals: int, is_additive: bool) -> str:
    name = _name(tree, node, node.learner, node.trained_on)
    text = f"{name}  n={node.n_train}/{node.n_v1}/{node.n_v2}"
    text += f"  loss={node.loss:.{decimals}f}"
    if node.gain is not None:
        return f"{text}→{node.split_loss:.{decimals}f}  Δv={node.gain:.{decimals}f}"
    if is_additive:
        return text
    return f"{text}  w=[{', '.join(_weights(tree, node))}]"


def _name(tree: Tree, node: Node, learner: str, trained_on: int) -> str:
    """Return what a predictor is called at a node: ↑ is a level up to where it was trained."""
    return shown(learner) + "↑" * (node.depth - int(tree.depth[trained_on]))


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
