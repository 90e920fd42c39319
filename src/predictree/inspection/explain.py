"""One prediction taken apart: the rules of its path, and what each predictor adds."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from predictree.exceptions import InvalidInputError
from predictree.inspection.text import rules
from predictree.schema import Column
from predictree.tree import FloatArray, Node, Tree


@dataclass(frozen=True, slots=True)
class Step:
    """One node of the path and the rule that leads to it, ``"all rows"`` at the root.

    ``column`` is the name of the column that the rule is about, None at the root.
    """

    node: int
    rule: str
    column: str | None
    n_train: int


@dataclass(frozen=True, slots=True)
class Part:
    """What one predictor adds.

    Attributes
    ----------
    learner : str
    trained_on : int
        The node whose rows trained it.
    weight : float
        Its weight at the leaf.
    answer : array of shape (k,)
        Its scores, one a class; a single one in a regression.
    share : array of shape (k,)
        Weight times answer.
    """

    learner: str
    trained_on: int
    weight: float
    answer: FloatArray
    share: FloatArray


@dataclass(frozen=True, slots=True)
class Path:
    """The way of one row through one tree: shares, in their order, sum to the scores."""

    steps: tuple[Step, ...]
    parts: tuple[Part, ...]
    scores: FloatArray

    @property
    def leaf(self) -> int:
        """The leaf where the path ends."""
        return self.steps[-1].node


@dataclass(frozen=True, slots=True)
class Explanation:
    """Paths through all trees of a model; H(x) is the mean of their scores."""

    paths: tuple[Path, ...]
    scores: FloatArray


def explain(model: Any, X: Any) -> Explanation:
    """Take the prediction of one row apart.

    Parameters
    ----------
    model : ToPsClassifier or ToPsRegressor
        A fitted estimator.
    X : table with a single row

    Returns
    -------
    Explanation
        With a path for every tree: its rules, and its predictors with their answers, weights and
        shares.

    Examples
    --------
    >>> from predictree import ToPsClassifier
    >>> from predictree.datasets import load_toy
    >>> from predictree.inspection import explain
    >>> X, y = load_toy()
    >>> model = ToPsClassifier("lr", random_state=0).fit(X, y)
    >>> path = explain(model, X[:1]).paths[0]
    >>> [step.rule for step in path.steps]
    ['all rows']
    """
    features = model._features(X)
    if len(features) != 1:
        raise InvalidInputError(
            f"explain takes one row, and got {len(features)}: give X[i : i + 1]"
        )
    drawn = [imputation(features) for imputation in model.imputations_] or [features]
    columns = model.schema_.columns
    paths = tuple(
        _follow(tree, drawn[i % len(drawn)], columns) for i, tree in enumerate(model.trees_)
    )
    return Explanation(paths, np.asarray(np.mean([path.scores for path in paths], axis=0)))


def _follow(tree: Tree, x: FloatArray, columns: Sequence[Column]) -> Path:
    """Return the path of a row through one tree; sums are made as in `Tree.scores`."""
    leaf = int(tree.apply(x)[0])
    total, parts = np.zeros(tree.n_outputs), []
    for i, predictor in enumerate(tree.predictors):
        weight = float(tree.weight_by_leaf(i)[leaf])
        if not weight:
            continue
        answer = predictor.scores(x)[0]
        total = total + weight * answer
        parts.append(Part(predictor.learner, predictor.trained_on, weight, answer, weight * answer))
    return Path(_steps(tree, leaf, columns), tuple(parts), total)


def _steps(tree: Tree, leaf: int, columns: Sequence[Column]) -> tuple[Step, ...]:
    nodes = [tree[i] for i in tree.path(leaf)]
    below = [_step(parent, child, columns) for parent, child in pairwise(nodes)]
    return (Step(0, "all rows", None, nodes[0].n_train), *below)


def _step(parent: Node, child: Node, columns: Sequence[Column]) -> Step:
    assert parent.split is not None
    assert parent.children is not None
    side = parent.children.index(child.id)
    rule = rules(parent.split, columns, decimals=4)[side]
    return Step(child.id, rule, columns[parent.split.feature].name, child.n_train)
