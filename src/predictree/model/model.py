"""The fitted model: the one H(x), the one coding of labels, the one way through a path.

Estimators, files, explanations, reports and the server share it. It needs NumPy alone; a fitted
learner of another library brings that library along.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from predictree.errors import InvalidInputError
from predictree.model.account import Account, Background
from predictree.model.frozen.trees import Frozen, freeze
from predictree.model.imputation import Imputation
from predictree.model.outputs import Labels, code_labels, decide
from predictree.model.rows import Fast
from predictree.model.schema import Schema, is_frame
from predictree.model.tree import FloatArray, IntArray, Tree
from predictree.model.words import rules


@dataclass(frozen=True, slots=True)
class Settings:
    """The kind of an estimator and its parameters, as they were at its fit."""

    kind: str
    parameters: Mapping[str, Any]


@dataclass(frozen=True, eq=False)
class Model:
    """What a fit leaves; immutable.

    Rows come as a user's table and are coded once, by `encode`; all else takes these codes.

    Attributes
    ----------
    schema : Schema
        The columns of the table.
    named : bool
        Whether a table must have their names.
    needed : tuple of int
        The places of the columns that must not be missing.
    classes : array or None
        The sorted classes, whose places are their codes; None in a regression.
    trees : tuple of Tree
        H(x) is the mean of their scores.
    imputations : tuple of Imputation
        What fills the gaps for each tree, over and over; empty where gaps stay.
    backgrounds : tuple of Background
        What was usual at the nodes of each tree; empty if that is not known.
    loss : Loss
        What judged the fit, of `predictree.losses`.
    account : Account
        What the fit says of itself.
    settings : Settings
        Of the estimator, at the fit.
    """

    schema: Schema
    named: bool
    needed: tuple[int, ...]
    classes: Labels | None
    trees: tuple[Tree, ...]
    imputations: tuple[Imputation, ...]
    backgrounds: tuple[Background, ...]
    loss: Any
    account: Account
    settings: Settings

    def __getstate__(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @cached_property
    def frozen_(self) -> Frozen:
        """Its trees as flat arrays; print it to see which learners are compiled."""
        return freeze(self.trees, len(self.schema.columns))

    @cached_property
    def fast(self) -> Fast:
        """Answers for one row: a dict by column, or a frame of one row; see `Fast`."""
        return Fast(self)

    @property
    def task(self) -> str:
        """Either "classification" or "regression"."""
        return "regression" if self.classes is None else "classification"

    @property
    def tree(self) -> Tree:
        """The first tree, whose leaves are the regions that are told of."""
        return self.trees[0]

    @property
    def names(self) -> list[str]:
        """The names of the columns."""
        return [column.name for column in self.schema.columns]

    @property
    def used(self) -> list[int]:
        """The places of the columns that a tree or a learner may see."""
        return [j for j, c in enumerate(self.schema.columns) if c.splits or c.is_fitted]

    @property
    def class_words(self) -> tuple[str, ...] | None:
        """The classes in words, true and false in lower case; None in a regression."""
        if self.classes is None:
            return None
        labels = self.classes.tolist()
        return tuple(str(c).lower() if isinstance(c, bool) else str(c) for c in labels)

    def encode(self, X: Any) -> FloatArray:
        """Return a table as codes, a column each; raise for one that cannot be used."""
        if is_frame(X) and self.named:
            _check_names([str(name) for name in X.columns], self.names)
        codes = self.schema.encode(X)
        self.schema.refuse(codes, self.needed)
        return codes

    def code_labels(self, y: Any, n_rows: int) -> Labels:
        """Return one label a row as the codes of classes, or as numbers."""
        return code_labels(y, n_rows, self.classes)

    def seen(self, codes: FloatArray, tree: int = 0) -> FloatArray:
        """Return codes as one of the trees sees them: with gaps, or with these filled."""
        if not self.imputations:
            return codes
        return self.imputations[tree % len(self.imputations)](codes)

    def scores_by_tree(self, codes: FloatArray) -> list[FloatArray]:
        """Return the scores of every tree."""
        n_fillings = len(self.imputations) or 1
        seen = [self.seen(codes, i) for i in range(min(n_fillings, len(self.trees)))]
        return [self._answers(i, seen[i % n_fillings]) for i in range(len(self.trees))]

    def _answers(self, tree: int, X: FloatArray) -> FloatArray:
        """Return the scores of a tree: compiled, unless a learner has something to say."""
        if self.frozen_.answers:
            scores = self.frozen_.trees[tree].scores(X, self._n_threads)
            if np.isfinite(scores).all():
                return scores
        return self.trees[tree].scores(X)

    @property
    def _n_threads(self) -> int:
        """As many threads as the estimator may have jobs, as far as there are cores."""
        jobs, cores = self.settings.parameters.get("n_jobs") or 1, os.cpu_count() or 1
        return min(jobs, cores) if jobs > 0 else max(cores + 1 + jobs, 1)

    def scores(self, codes: FloatArray) -> FloatArray:
        """Return H(x), an (n, k) array."""
        return np.asarray(np.mean(self.scores_by_tree(codes), axis=0))

    def leaves(self, codes: FloatArray, tree: int = 0) -> IntArray:
        """Return the id of the leaf that each row falls in."""
        return self.trees[tree].apply(self.seen(codes, tree))

    def choose(self, scores: FloatArray) -> IntArray:
        """Return the code of the class that scores decide for."""
        return decide(scores, self.loss.half_is_second)

    def decide(self, scores: FloatArray) -> Labels:
        """Return what scores predict: a class, or a number that the loss allows."""
        if self.classes is None:
            return np.asarray(np.maximum(scores[:, 0], self.loss.floor))
        return np.asarray(self.classes[self.choose(scores)])

    def path(self, node: int, tree: int = 0) -> list[int]:
        """Return the ids of the nodes from the root down to this one."""
        return self.trees[tree].path(node)

    def rules(self, node: int, tree: int = 0) -> list[str]:
        """Return the conditions that lead to a node, from the root down."""
        nodes = self.trees[tree]
        found = []
        for parent, child in pairwise(self.path(node, tree)):
            split, children = nodes[parent].split, nodes[parent].children
            assert split is not None
            assert children is not None
            found.append(rules(split, self.schema.columns, 4)[children.index(child)])
        return found

    def rule(self, node: int, tree: int = 0) -> str:
        """Return the conditions that lead to a node in one line."""
        return " and ".join(self.rules(node, tree)) or "all rows"


@dataclass(frozen=True, eq=False)
class SurvivalModel:
    """What a fit to several horizons leaves; immutable.

    Attributes
    ----------
    horizons : array of shape (n_horizons,)
    causes : array of shape (n_causes,)
        The codes of the events that are told apart.
    models : tuple of Model
        One a horizon; or one for all, whose last column is the logarithm of the horizon.
    shared : bool
        Whether there is one for all.
    settings : Settings
        Of the estimator, at the fit.
    """

    horizons: FloatArray
    causes: IntArray
    models: tuple[Model, ...]
    shared: bool
    settings: Settings


def model_of(fitted: Any) -> Model:
    """Return a model itself, or that of a fitted estimator."""
    found = getattr(fitted, "model_", fitted)
    if isinstance(found, Model):
        return found
    if isinstance(found, SurvivalModel):
        raise InvalidInputError("a ToPsSurvival has several models: give one of its models_")
    what = f"this {type(fitted).__name__}"
    wanted = "is not fitted: call fit first" if hasattr(fitted, "fit") else "is no fitted model"
    raise InvalidInputError(f"{what} {wanted}")


def _check_names(given: list[str], known: list[str]) -> None:
    """Raise unless a table has the columns of the fit, in their order."""
    if given == known:
        return
    absent = [name for name in known if name not in given]
    more = [name for name in given if name not in known]
    what = f"lacks {absent[0]!r}" if absent else f"has a further {more[0]!r}" if more else ""
    raise InvalidInputError(
        f"X {what or 'has another order of columns'}: give the columns of the fit, in their order"
    )
