"""A model as one plain dict: what every export is written from, and JSON itself.

The schema, version 1. A value is a number, a text or None; k is how many sums a function has.

- ``format``, ``version``: "predictree scorer", 1.
- ``classes``: the names of the classes in the order of the answers; null in a regression.
- ``floor``: the least number that a regression answers; null without any.
- ``columns``: ``{"name", "kind", "levels", "needed"}`` of every column that matters. A value of
  kind "number" is a number, of "date" days since 1970-01-01, of "category" or "ordered" one of the
  levels. It becomes a number x: itself, the place of the level, or −1 for a level of a category
  that is not known. What is None, NaN or an unknown level of an ordered category is missing; where
  ``needed`` it must not be.
- ``terms``: what a column adds to the k sums, of four kinds:
  ``{"column", "slope", "centre", "missing"}`` is slope · (x − centre);
  ``{"column", "knots", "values", "missing"}`` has straight lines between rising knots and is
  constant beyond them; ``{"column", "levels", "values", "other", "missing"}`` is a table by x;
  ``{"product": [[first, second], …]}`` is the sum of products of two terms of these kinds, the
  first of one number, the second of k. ``missing`` stands in place of all that where x is missing.
- ``functions``: ``{"constant", "terms", "link", "outputs", "span"}``: the constants, the terms by
  their places, the name of a link, which scores these are, and null or the bounds that scores keep.
- ``trees``: the answer is the mean of the scores of the trees. A tree is a list of nodes; an inner
  one is ``{"column", "below" or "level", "left", "right", "missing"}``: go left if x < below, or if
  x = level, else right; ``missing`` is the node to go to where x is missing. A leaf is
  ``{"answers": [[weight, function], …]}``. The first node is the root.

A regression answers with its score, at least the floor. A classification with its scores, those of
at most 1e-12 taken for 0, divided by their sum; if there is none, all classes are alike.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from predictree.errors import InvalidInputError
from predictree.model import Model
from predictree.model.additive import Axis
from predictree.model.frozen import Bend, Function, Levels, Line, Pair, Term, Trees
from predictree.model.tree import FloatArray, Tree

FORMAT, VERSION = "predictree scorer", 1
BEYOND = 1e308  # all that is known is below
NOTHING = 1e-14  # of the largest part of a surface
Json = dict[str, Any]


def document(model: Model) -> Json:
    """Return a model as one plain dict; raise if a learner of it is no sum of terms."""
    if model.imputations:
        raise InvalidInputError(
            "this model fills gaps by regressions (imputation='mice'), which cannot be exported"
        )
    frozen = model.frozen_
    unknown = [*frozen.python, *frozen.forests]
    if unknown:
        raise InvalidInputError(
            f"{', '.join(map(repr, unknown))} cannot be exported: only linear and additive models "
            "are sums of terms"
        )
    book = Book([])
    trees = [book.tree(one.tree, one.leaves) for one in frozen.trees]
    return {
        "format": FORMAT,
        "version": VERSION,
        "classes": None if model.class_words is None else list(model.class_words),
        "floor": _finite(model.loss.floor),
        "columns": [_column(model, place) for place in book.columns],
        "terms": book.terms,
        "functions": book.functions,
        "trees": trees,
    }


def _column(model: Model, place: int) -> Json:
    column = model.schema.columns[place]
    return {
        "name": column.name,
        "kind": column.kind,
        "levels": [str(level) for level in column.levels],
        "needed": place in model.needed,
    }


def _finite(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


@dataclass
class Book:
    """Columns, terms and functions as they are written, each once."""

    columns: list[int]
    terms: list[Json] = field(default_factory=list)
    functions: list[Json] = field(default_factory=list)
    _terms: dict[str, int] = field(default_factory=dict)
    _functions: dict[int, int] = field(default_factory=dict)

    def tree(self, tree: Tree, leaves: dict[int, list[tuple[float, Function]]]) -> list[Json]:
        """Return the nodes of a tree."""
        return [
            self._split(tree, i)
            if tree.left[i] >= 0
            else {"answers": [[weight, self._function(f)] for weight, f in leaves[i]]}
            for i in range(len(tree))
        ]

    def _split(self, tree: Tree, i: int) -> Json:
        sides = {"left": int(tree.left[i]), "right": int(tree.right[i])}
        bound = float(tree.threshold[i])
        return {
            "column": self.column(int(tree.feature[i])),
            **({"level": bound} if tree.is_level[i] else {"below": min(bound, BEYOND)}),
            **sides,
            "missing": sides["left" if tree.missing_left[i] else "right"],
        }

    def column(self, feature: int) -> int:
        """Return the place of a column among those that matter."""
        if feature not in self.columns:
            self.columns.append(feature)
        return self.columns.index(feature)

    def _function(self, function: Function) -> int:
        if id(function) not in self._functions:
            self._functions[id(function)] = len(self.functions)
            bounded = any(np.isfinite(function.span))
            self.functions.append(
                {
                    "constant": function.constant.tolist(),
                    "terms": [self._term(term) for term in function.terms],
                    "link": function.link,
                    "outputs": list(function.outputs),
                    "span": [_finite(end) for end in function.span] if bounded else None,
                }
            )
        return self._functions[id(function)]

    def _term(self, term: Term) -> int:
        """Return the number of a term; what functions have in common is written once."""
        assert not isinstance(term, Trees)
        written = self._product(term) if isinstance(term, Pair) else self._plain(term)
        key = json.dumps(written)
        if key not in self._terms:
            self._terms[key] = len(self.terms)
            self.terms.append(written)
        return self._terms[key]

    def _plain(self, term: Line | Bend | Levels) -> Json:
        parts = {
            "column": self.column(term.feature),
            "missing": [_finite(value) for value in term.missing],
        }
        if isinstance(term, Line):
            return {**parts, "slope": term.slope.tolist(), "centre": term.centre}
        if isinstance(term, Bend):
            return {**parts, "knots": term.knots.tolist(), "values": term.values.tolist()}
        more = {"values": term.values.tolist(), "other": term.other.tolist()}
        return {**parts, "levels": term.codes.tolist(), **more}

    def _product(self, pair: Pair) -> Json:
        """Return a surface as a sum of products of curves, of which few are needed."""
        first, second = pair.axes
        return {
            "product": [
                [self._plain(_along(first, a)), self._plain(_along(second, b))]
                for a, b in factors(pair.values)
            ]
        }


def _along(axis: Axis, cells: FloatArray) -> Bend | Levels:
    """Return a curve along an axis, whose last cell is for what is missing or unknown."""
    if axis.is_category:
        return Levels(axis.feature, axis.knots, cells[:-1], cells[-1], cells[-1])
    return Bend(axis.feature, axis.knots, cells[:-1], cells[-1])


def factors(values: FloatArray) -> Iterable[tuple[FloatArray, FloatArray]]:
    """Yield arrays (a, 1) and (b, k) whose products add up to a table (a, b, k)."""
    n, m, k = values.shape
    left, size, right = np.linalg.svd(values.reshape(n, m * k), full_matrices=False)
    for i in np.flatnonzero(size > NOTHING * size.max()):
        yield left[:, i, None] * size[i], right[i].reshape(m, k)
