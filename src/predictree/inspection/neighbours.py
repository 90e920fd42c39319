"""What would move a row to another leaf: for each step of its path, one value and its change."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from predictree.inspection.background import Background
from predictree.inspection.rows import seen_by_tree
from predictree.inspection.text import date_of, rules
from predictree.schema import Column
from predictree.tree import FloatArray, Split, Tree


@dataclass(frozen=True, slots=True)
class Neighbour:
    """Where a row would be if it took the other side of one split.

    Attributes
    ----------
    node : int
        The node of the path that is split.
    column : str
        The column that is split by.
    rule : str
        The rule of the other side.
    value : object
        The nearest value that fulfils it; of several levels, that which changes the prediction
        least. None stands for a missing value.
    is_below : bool
        Whether the value is just below that of the rule.
    leaf : int
        The leaf that the row is in then.
    scores : array of shape (k,)
        H(x) then.
    """

    node: int
    column: str
    rule: str
    value: Any
    is_below: bool
    leaf: int
    scores: FloatArray


@dataclass(frozen=True)
class _Turn:
    """One step of the path, and the codes that would take it to the other side."""

    node: int
    split: Split
    rule: str
    codes: list[float]


def neighbours(model: Any, number: int, features: FloatArray) -> tuple[Neighbour, ...]:
    """Return the neighbours of one coded row in one of the model's trees, from the root down."""
    tree, columns = model.trees_[number], model.schema_.columns
    leaf = int(tree.apply(seen_by_tree(model, features, number))[0])
    background = backgrounds_of(model)[number]
    now = _scores(model, features)[0]
    found = []
    for turn in _turns(tree, leaf, columns, background):
        if turn.codes:
            found += _nearest(model, number, features, turn, leaf, now)
    return tuple(found)


def backgrounds_of(model: Any) -> tuple[Background | None, ...]:
    """Return what is usual at the nodes of each tree; None where an older model does not know."""
    return getattr(model, "backgrounds_", None) or (None,) * len(model.trees_)


def _turns(
    tree: Tree, leaf: int, columns: Sequence[Column], background: Background | None
) -> Iterator[_Turn]:
    *inner, _ = path = tree.path(leaf)
    for i, child in zip(inner, path[1:], strict=True):
        node = tree[i]
        assert node.split is not None
        assert node.children is not None
        goes_left = node.children[0] == child
        place = node.split.feature
        usual = None if background is None else background.usual(i, place)
        rule = rules(node.split, columns, decimals=4)[1 if goes_left else 0]
        yield _Turn(i, node.split, rule, _other_side(node.split, columns[place], goes_left, usual))


def _other_side(split: Split, column: Column, is_left: bool, usual: float | None) -> list[float]:
    """Return the codes nearest to a row on one side of a split that are on the other."""
    levels = [float(code) for code in range(len(column.levels))]
    if np.isinf(split.threshold):  # the known are on the left
        known = levels if column.is_category else [] if usual is None else [usual]
        return [np.nan] if is_left else known
    if split.is_level:
        others = [code for code in levels if code != split.threshold]
        return others if is_left else [split.threshold]
    if column.kind == "ordered":
        first = float(np.ceil(split.threshold))
        return [first if is_left else first - 1.0]
    return [split.threshold if is_left else float(np.nextafter(split.threshold, -np.inf))]


def _nearest(
    model: Any, number: int, features: FloatArray, turn: _Turn, leaf: int, now: FloatArray
) -> list[Neighbour]:
    """Return the neighbour behind a turn, if one of its codes leads to another leaf."""
    place, tree = turn.split.feature, model.trees_[number]
    changed = np.repeat(features, len(turn.codes), axis=0)
    changed[:, place] = turn.codes
    leaves = tree.apply(seen_by_tree(model, changed, number))
    scores = _scores(model, changed)
    distance = np.where(leaves == leaf, np.inf, np.abs(scores - now).sum(axis=1))
    best = int(distance.argmin())
    if leaves[best] == leaf:
        return []
    column = model.schema_.columns[place]
    value = decoded(column, turn.codes[best])
    below = np.nextafter(turn.split.threshold, -np.inf) == turn.codes[best]
    return [
        Neighbour(
            turn.node, column.name, turn.rule, value, bool(below), int(leaves[best]), scores[best]
        )
    ]


def _scores(model: Any, features: FloatArray) -> FloatArray:
    """Return H(x) of coded rows."""
    by_tree = [
        tree.scores(seen_by_tree(model, features, number))
        for number, tree in enumerate(model.trees_)
    ]
    return np.asarray(np.mean(by_tree, axis=0))


def decoded(column: Column, code: float) -> Any:
    """Return a value of a column as the user knows it; None if it is missing."""
    if np.isnan(code):
        return None
    if column.levels:
        return str(column.levels[int(code)]) if code >= 0 else "a level that fit did not see"
    return date_of(code) if column.kind == "date" else float(code)
