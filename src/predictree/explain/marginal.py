"""What a feature adds in a region, all told: its curve, and its part in pairs with others.

A pair of hour and working day says nothing of the hour where every row is of a working day: there
it is a curve of the hour. In general it is averaged over the other feature's values in the region,
so that regions can be compared by one curve a feature.
"""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from predictree.explain.additive import AdditiveTree, Shape
from predictree.model.tree import FloatArray


def marginal(read: AdditiveTree, node: int, term: int) -> Shape:
    """Return the curve of a term at a node, with the pairs that its feature is in averaged.

    Both it and what it differs by from all rows have the mean zero over the rows of the node.
    """
    shape, cells = read.shape(node, term), read.reached(node, term)
    effect, change = shape.effect, shape.change
    variance, change_variance = shape.error**2, shape.change_error**2
    for values, error, here, there in _pairs(read, node, term):
        effect = effect + np.einsum("ijk,j->ik", values, here)[cells]
        change = change + np.einsum("ijk,j->ik", values, here - there)[cells]
        variance = variance + np.einsum("ijk,j->ik", error, here**2)[cells]
        change_variance += np.einsum("ijk,j->ik", error, (here - there) ** 2)[cells]
    weight = shape.share / (shape.share.sum() or 1.0)
    return replace(
        shape,
        effect=effect - weight @ effect,
        error=np.sqrt(variance),
        change=change - weight @ change,
        change_error=np.sqrt(change_variance),
    )


def _pairs(
    read: AdditiveTree, node: int, term: int
) -> Iterator[tuple[FloatArray, FloatArray, FloatArray, FloatArray]]:
    """Yield of every pair with a feature its values and variances, by that feature first.

    And the shares of the other feature's cells among the rows of the node, and among all.
    """
    (column,) = read.columns[term]
    for surface in read.functions[node].surfaces:
        for side in (0, 1):
            if surface.axes[side].feature == column:
                other = read.columns.index((surface.axes[1 - side].feature,))
                shares = read.census.cells[other]
                values, variance = surface.values, np.maximum(surface.variance, 0.0)
                if side:
                    values, variance = values.swapaxes(0, 1), variance.swapaxes(0, 1)
                yield values, variance, shares[node], shares[0]
