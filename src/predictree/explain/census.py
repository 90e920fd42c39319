"""The census of a tree of additive models: its training rows at every node, as the terms see them.

It is taken once, at the end of a fit, and is all that the model keeps of these rows' values.
"""

from collections.abc import Sequence

import numpy as np

from predictree.model.account import Census
from predictree.model.additive import AdditiveFunction, Axis
from predictree.model.tree import FloatArray, IntArray, Tree

MOST_ROWS = 20_000  # of a node that are looked at


def functions_of(tree: Tree) -> tuple[AdditiveFunction, ...] | None:
    """Return the additive function of every node; None if the tree is of another kind."""
    models = [tree.predictors[i].models for i in tree.predictor]
    found = [one[0] for one in models if len(one) == 1 and isinstance(one[0], AdditiveFunction)]
    return tuple(found) if len(found) == len(tree) else None


def census_of(tree: Tree, X: FloatArray, mass: FloatArray) -> Census | None:
    """Look at the training rows of every node; None if the tree is not of additive models."""
    functions = functions_of(tree)
    return None if functions is None else taken(tree, functions, X, mass)


def taken(
    tree: Tree, functions: Sequence[AdditiveFunction], X: FloatArray, mass: FloatArray
) -> Census:
    """Look at the rows of every node as its function sees them."""
    root, parents = functions[0], [max(int(parent), 0) for parent in tree.parent]
    cells = tuple(np.zeros((len(tree), axis.n_cells)) for axis in root.axes)
    n_terms, k = len(root.curves) + len(root.surfaces), len(root.intercept)
    size, moved, apart = np.zeros((len(tree), n_terms, k)), *np.zeros((2, len(tree), k))
    for node, every in enumerate(rows_by_node(tree, X)):
        if not len(every):
            continue
        rows = every[:: -(-len(every) // MOST_ROWS)]  # of very many, some that are evenly far apart
        here, weight = X[rows], mass[rows] / mass[rows].sum()
        for found, axis in zip(cells, root.axes, strict=True):
            found[node] = _shares(axis, here[:, axis.feature], weight)
        mine, says = functions[node], functions[node].sum(here)
        size[node] = [np.sqrt(_variance(one, weight)) for one in mine.effects(here)]
        moved[node] = np.sqrt(weight @ np.square(says - functions[parents[node]].sum(here)))
        apart[node] = np.sqrt(weight @ np.square(says - root.sum(here)))
    return Census(cells, size, moved, apart)


def rows_by_node(tree: Tree, X: FloatArray) -> list[IntArray]:
    """Return the rows of every node."""
    leaf = tree.apply(X)
    order = np.argsort(leaf, kind="stable")
    found = np.split(order, np.searchsorted(leaf[order], np.arange(1, len(tree))))
    for i in range(len(tree) - 1, 0, -1):
        parent = int(tree.parent[i])
        found[parent] = np.sort(np.concatenate([found[parent], found[i]]))
    return found


def _shares(axis: Axis, column: FloatArray, weight: FloatArray) -> FloatArray:
    left, right, share = axis.place(column)
    near = np.bincount(left, weight * (1 - share), axis.n_cells)
    return np.asarray(near + np.bincount(right, weight * share, axis.n_cells))


def _variance(effect: FloatArray, weight: FloatArray) -> FloatArray:
    return np.asarray(weight @ np.square(effect - weight @ effect))
