"""What every term of an additive function adds for one row, by the nodes of its path."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from predictree.explain.census import functions_of
from predictree.model import Model
from predictree.model.additive import AdditiveFunction
from predictree.model.tree import FloatArray

SCALES = {"identity": "score", "log": "logarithm", "logit": "log-odds", "softmax": "log-odds"}
"""What terms sum to, by the link."""


@dataclass(frozen=True, slots=True)
class Effect:
    """What one term adds.

    Attributes
    ----------
    columns : tuple of str
        One, or two of a pair.
    values : tuple
        What the row has there.
    amounts : array of shape (nodes, k)
        What the root's term adds, and what every further node of the path changes that by.
    """

    columns: tuple[str, ...]
    values: tuple[Any, ...]
    amounts: FloatArray


@dataclass(frozen=True, slots=True)
class Effects:
    """A score as the sum of a baseline and effects.

    Attributes
    ----------
    nodes : tuple of int
        The path, from the root down.
    scale : {"score", "log-odds", "logarithm"}
        What they sum to; of two classes the log-odds of the second.
    baseline : array of shape (nodes, k)
    terms : tuple of Effect
        In the order of the columns; pairs come last.
    cut : array of shape (k,)
        What was added to keep a prediction within the range of the training labels.
    """

    nodes: tuple[int, ...]
    scale: str
    baseline: FloatArray
    terms: tuple[Effect, ...]
    cut: FloatArray

    @property
    def total(self) -> FloatArray:
        """The sum of all: (k,)."""
        added = np.sum([term.amounts for term in self.terms], axis=0) + self.baseline
        return np.asarray(added.sum(axis=0) + self.cut)


def effects_of(
    model: Model, number: int, x: FloatArray, path: Sequence[int], values: Sequence[Any]
) -> Effects | None:
    """Take the answer for one coded row apart; None if the tree is not of additive models."""
    functions = functions_of(model.trees[number])
    if functions is None:
        return None
    mine = [functions[node] for node in path]
    told = [np.array([e[0] for e in function.effects(x)]) for function in mine]
    amounts = _changes(np.array(told).reshape(len(mine), -1, len(mine[0].intercept)))
    columns = columns_of_terms(mine[0])
    terms = [
        Effect(tuple(model.names[j] for j in js), tuple(values[j] for j in js), amounts[:, t])
        for t, js in enumerate(columns)
    ]
    baseline = _changes(np.array([function.intercept for function in mine]))
    leaf = mine[-1]
    cut = leaf.scores(x)[0] - leaf.sum(x)[0] if leaf.link == "identity" else 0 * baseline[0]
    return Effects(tuple(path), SCALES[leaf.link], baseline, tuple(terms), np.asarray(cut))


def columns_of_terms(function: AdditiveFunction) -> list[tuple[int, ...]]:
    """Return the column of every curve, and the two of every surface."""
    pairs = [(s.axes[0].feature, s.axes[1].feature) for s in function.surfaces]
    return [*((axis.feature,) for axis in function.axes), *pairs]


def _changes(told: FloatArray) -> FloatArray:
    """Return the first of some arrays, and by how much each other differs from the one before."""
    return np.concatenate([told[:1], np.diff(told, axis=0)])
