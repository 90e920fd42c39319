"""What a model would tell of single rows though none of its answers needs it: rare levels."""

from dataclasses import replace
from itertools import chain

from predictree.model.additive import AdditiveFunction
from predictree.model.fitted import Constant, SeenBy
from predictree.model.model import Model
from predictree.model.schema import CROWD, Column
from predictree.model.tree import Fitted
from predictree.model.views import OneHot

RARE = "(rare)"  # stands for levels of few rows


def discreet(model: Model) -> Model:
    """Return a model with the same answers that names no level of few rows unless it has to.

    A level that no split, curve or learner tells from one that fit did not see needs no name.
    """
    columns = [_nameless(column, model, j) for j, column in enumerate(model.schema.columns)]
    return replace(model, schema=replace(model.schema, columns=tuple(columns)))


def _nameless(column: Column, model: Model, place: int) -> Column:
    """Return a column without the names of its rare levels, as far as no answer needs them."""
    told = told_apart(model, place) if column.is_category and column.counts else None
    if told is None:
        return column
    word = RARE
    while word in column.levels:
        word += "'"
    pairs = enumerate(zip(column.levels, column.counts, strict=True))
    kept = [level if n >= CROWD or code in told else word for code, (level, n) in pairs]
    return replace(column, levels=tuple(kept))


def told_apart(model: Model, place: int) -> set[float] | None:
    """Return the codes of a category that are told from an unknown level; None if all may be."""
    if model.imputations:
        return None
    found: set[float] = set()
    for tree in model.trees:
        found.update(tree.threshold[tree.is_level & (tree.feature == place)].tolist())
        for fitted in chain.from_iterable(p.models for p in tree.predictors):
            codes = _told_by(fitted, place)
            if codes is None:
                return None
            found |= codes
    return found


def _told_by(fitted: Fitted, place: int) -> set[float] | None:
    """Return the codes that one model of a predictor tells from an unknown level."""
    if isinstance(fitted, SeenBy):
        parts = [part for part in fitted.view.parts if part.place == place]
        codes = [part.codes for part in parts if isinstance(part, OneHot)]
        return set(chain.from_iterable(codes)) if len(codes) == len(parts) else None
    if isinstance(fitted, AdditiveFunction):
        axes = chain(fitted.axes, *(surface.axes for surface in fitted.surfaces))
        return set(chain.from_iterable(a.knots.tolist() for a in axes if a.feature == place))
    return set() if isinstance(fitted, Constant) else None
