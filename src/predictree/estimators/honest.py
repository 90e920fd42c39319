"""Regions of a fitted tree, told by rows that did not choose them: intervals that hold."""

import numpy as np
from numpy.typing import ArrayLike

from predictree.data.table import check_weights
from predictree.errors import InvalidInputError
from predictree.explain.additive import AdditiveTree
from predictree.explain.census import rows_by_node, taken
from predictree.explain.honest import Honest
from predictree.learners.forms.additive.alone import alone
from predictree.learners.forms.additive.basis import Sizes
from predictree.learners.forms.additive.family import family_of
from predictree.learners.forms.additive.ground import Ground
from predictree.model.additive import AdditiveFunction, Curve
from predictree.model.outputs import Labels
from predictree.model.tree import FloatArray

LEAST_ROWS = 20  # of a region that is told
SMOOTH_PARTS = 10  # of a feature


def told_by(
    read: AdditiveTree, X: FloatArray, y: Labels, sample_weight: ArrayLike | None
) -> Honest:
    """Return the regions of a tree with functions of coded rows, found from these alone.

    The pairs of the tree are taken as they are. A region with too few rows has no effects.
    """
    weight = check_weights(sample_weight, len(X))
    if weight is not None:
        X, y, weight = X[weight > 0], y[weight > 0], weight[weight > 0]
    if len(X) < LEAST_ROWS:
        raise InvalidInputError(
            f"{len(X)} rows are too few to tell effects by: give {LEAST_ROWS} or more"
        )
    ground, rows = _ground(read, X, y, weight), rows_by_node(read.tree, X)
    known = _of_pairs(read.root, X) / ground.unit
    whole = alone(ground, rows[0], known)
    below = [
        alone(ground, some, known) if len(some) >= LEAST_ROWS else _none(whole) for some in rows[1:]
    ]
    functions = (whole, *below)
    census = taken(read.tree, functions, X, ground.weight)
    return Honest(read.model, read.number, functions, census)


def _ground(read: AdditiveTree, X: FloatArray, y: Labels, weight: FloatArray | None) -> Ground:
    """Return the columns of some rows, without the finest."""
    model = read.model
    family = family_of(model.loss.name, 1 if model.classes is None else len(model.classes))
    fitted, categories = model.schema.fitted, model.schema.categories
    fold = np.full(len(X), -1)
    whole = Ground.of(X, y, weight, fold, family, fitted, categories, Sizes())
    return whole.coarse(SMOOTH_PARTS)


def _of_pairs(root: AdditiveFunction, X: FloatArray) -> FloatArray:
    """Return what the pairs of a function add to the scores of some rows."""
    effects = root.effects(X)[len(root.curves) :]
    return np.asarray(sum(effects, np.zeros((len(X), len(root.intercept)))))


def _none(like: AdditiveFunction) -> AdditiveFunction:
    """Return a function like another of which nothing is known."""
    curves = tuple(
        Curve(curve.axis, np.full_like(curve.values, np.nan), np.full_like(curve.variance, np.nan))
        for curve in like.curves
    )
    return AdditiveFunction(np.full_like(like.intercept, np.nan), curves, (), like.link, like.span)
