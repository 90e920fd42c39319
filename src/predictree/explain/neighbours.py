"""What would move a row to another leaf: for each step of its path, one value and its change."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from predictree.model import Model
from predictree.model.schema import Column
from predictree.model.tree import FloatArray, Split
from predictree.model.words import decoded, rules


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


def neighbours(model: Model, number: int, codes: FloatArray) -> tuple[Neighbour, ...]:
    """Return the neighbours of one coded row in one of the model's trees, from the root down."""
    leaf = int(model.leaves(codes, number)[0])
    now = model.scores(codes)[0]
    found = []
    for turn in _turns(model, number, leaf):
        if turn.codes:
            found += _nearest(model, number, codes, turn, leaf, now)
    return tuple(found)


def _turns(model: Model, number: int, leaf: int) -> Iterator[_Turn]:
    tree, columns = model.trees[number], model.schema.columns
    background = model.backgrounds[number] if model.backgrounds else None
    for i, child in pairwise(model.path(leaf, number)):
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
    model: Model, number: int, codes: FloatArray, turn: _Turn, leaf: int, now: FloatArray
) -> list[Neighbour]:
    """Return the neighbour behind a turn, if one of its codes leads to another leaf."""
    place = turn.split.feature
    changed = np.repeat(codes, len(turn.codes), axis=0)
    changed[:, place] = turn.codes
    leaves, scores = model.leaves(changed, number), model.scores(changed)
    distance = np.where(leaves == leaf, np.inf, np.abs(scores - now).sum(axis=1))
    best = int(distance.argmin())
    if leaves[best] == leaf:
        return []
    column = model.schema.columns[place]
    value = decoded(column, turn.codes[best])
    below = np.nextafter(turn.split.threshold, -np.inf) == turn.codes[best]
    return [
        Neighbour(
            turn.node, column.name, turn.rule, value, bool(below), int(leaves[best]), scores[best]
        )
    ]
