"""What a model tells of few rows: everything in it that comes from fewer than so many."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np

from predictree.errors import InvalidInputError
from predictree.explain.census import functions_of
from predictree.model import Column, Model, SurvivalModel, model_of
from predictree.model.discretion import told_apart
from predictree.model.schema import BEYOND, CROWD
from predictree.model.tree import NONE, Tree
from predictree.model.words import words_of
from predictree.publish.files.compiled import reachable
from predictree.publish.files.records import to_record

KEEPS = (
    "_fit_X", "_y", "support_vectors_", "X_fit_", "X_train_", "y_train_", "centres_", "centers_",
    "cluster_centers_", "X_thresholds_", "y_thresholds_",
)  # fmt: skip
"""Attributes in which learners keep training rows, or single values of them."""


@dataclass(frozen=True, slots=True)
class Telling:
    """One thing in a model that tells of few rows.

    Attributes
    ----------
    where : str
        Such as a column, a node or a learner.
    what : str
    rows : int or None
        That it comes from, at most; None if that is not known.
    """

    where: str
    what: str
    rows: int | None


def audit(fitted: Any, k: int = CROWD) -> list[Telling]:
    """Return everything in a model that comes from fewer than ``k`` training rows.

    Parameters
    ----------
    fitted : estimator, Model or SurvivalModel
        A fitted estimator, or its ``model_``.
    k : int, default=5

    Returns
    -------
    list of Telling
        Levels, labels, knots, nodes, and what learners keep of their training rows. What a learner
        of another library computes of its rows in other ways, such as a coefficient, is not in it.
    """
    if type(k) is not int or k < 1:
        raise InvalidInputError(f"k={k!r}: give a number of rows, at least 1")
    found = getattr(fitted, "model_", fitted)
    models = found.models if isinstance(found, SurvivalModel) else [model_of(found)]
    tellings = chain.from_iterable(_of_model(model, k) for model in models)
    return [one for one in tellings if one.rows is None or one.rows < k]


def _of_model(model: Model, k: int) -> Iterator[Telling]:
    for place, column in enumerate(model.schema.columns):
        yield from _of_levels(model, column, place)
        yield from _of_span(model, column)
    yield from _of_classes(model)
    for number, tree in enumerate(model.trees):
        name = "" if len(model.trees) == 1 else f"tree {number}, "
        yield from _of_nodes(tree, name)
        yield from _of_functions(model, number, name, k)
        yield from _of_learners(tree, name, k)


def _of_levels(model: Model, column: Column, place: int) -> Iterator[Telling]:
    """Tell the levels; of those that are no category it is enough that there are any."""
    counts: Iterable[int | None] = column.counts or [None] * len(column.levels)
    told = told_apart(model, place) if column.is_category else None
    for code, (level, count) in enumerate(zip(column.levels, counts, strict=True)):
        few = CROWD - 1 if count == 0 else count
        nameless = count == 0 and told is not None and code not in told
        if not nameless:
            yield Telling(f"column {column.name}", f"the level {level}", few)


def _of_span(model: Model, column: Column) -> Iterator[Telling]:
    """Tell the ends of a span, beyond which so many rows lie."""
    if column.span is None or column.levels:
        return
    beyond = max(int(np.ceil(BEYOND * int(model.tree.n_rows[0, 0]))), CROWD)
    for word, value in (("lower", column.span.low), ("upper", column.span.high)):
        what = f"the {word} end of its span, about {words_of(column, value)}"
        yield Telling(f"column {column.name}", what, beyond)


def _of_classes(model: Model) -> Iterator[Telling]:
    """Tell the classes with the rows that judged them."""
    rates = [(s.n, s.base_rate) for s in model.account.segments if s.base_rate is not None]
    for place, word in enumerate(model.class_words or ()):
        n = round(sum(n * rate[place] for n, rate in rates)) if rates else None
        yield Telling("labels", f"the class {word}", n)


def _of_nodes(tree: Tree, name: str) -> Iterator[Telling]:
    for node in tree:
        kind = "leaf" if node.children is None else "node"
        yield Telling(f"{name}{kind} {node.id}", "its means, loss and predictors", node.n_train)


def _of_functions(model: Model, number: int, name: str, k: int) -> Iterator[Telling]:
    """Tell the ends of what an additive model answers, its knots, and where rows are at nodes."""
    functions = functions_of(model.trees[number])
    census = model.backgrounds[number].census if model.backgrounds else None
    if functions is None or census is None:
        return
    for word, value in zip(("least", "largest"), functions[0].span, strict=True):
        if np.isfinite(value):
            yield Telling("labels", f"the {word} label, {value:.6g}, which bounds the answers", 1)
    n_rows = model.trees[number].n_rows[:, 0]
    for axis, cells in zip(functions[0].axes, census.cells, strict=True):
        column = model.schema.columns[axis.feature]
        if not axis.is_category:
            for knot, share in zip(axis.knots.tolist(), cells[0].tolist(), strict=False):
                what = f"the knot {words_of(column, knot)} of its curve"
                yield Telling(f"{name}column {column.name}", what, int(share * n_rows[0]))
        counts = cells[1:] * n_rows[1:, None]
        few = int(((counts > 0) & (counts < k)).sum())
        if few:
            what = f"the shares of rows near {few} knots or levels, at nodes below the root"
            yield Telling(f"{name}column {column.name}", what, k - 1)


def _of_learners(tree: Tree, name: str, k: int) -> Iterator[Telling]:
    """Tell what fitted learners keep of their rows, one line for each kind of it."""
    for predictor in tree.predictors:
        where = f"{name}learner {predictor.learner}, trained on node {predictor.trained_on}"
        few: dict[str, int] = {}
        for thing in reachable(to_record(predictor.models)):
            for what, rows in _kept_by(thing, k):
                few[what] = min(few.get(what, rows), rows)
        for what, rows in few.items():
            yield Telling(where, what, rows)


def _kept_by(thing: Any, k: int) -> Iterator[tuple[str, int]]:
    """Yield what one object tells of few rows, and of how many."""
    kind = type(thing).__name__
    sizes = None
    if kind == "Tree":
        sizes = thing.n_node_samples[thing.children_left == NONE]
    elif kind == "TreePredictor":
        sizes = thing.nodes["count"][thing.nodes["is_leaf"] != 0]
    if sizes is not None and len(sizes) and sizes.min() < k:
        yield "leaves of trees", int(sizes.min())
    for attribute in KEEPS:
        if isinstance(getattr(thing, "__dict__", {}).get(attribute), np.ndarray):
            yield f"training rows, or values of them, in {attribute} of a {kind}", 1
