"""The few directions in which a region may differ: what the search for a split looks along.

They are a constant, a line for every feature, and the bent part of each of the root's curves: a
region where an effect is stronger, weaker or turned round differs along these.
"""

import numpy as np

from predictree.model.tree import FloatArray

MOST = 40  # columns; the strongest are kept
WIDE = 4.0  # standard deviations beyond which a line is level
STRAIGHT = 0.97  # a correlation with the line above which a curve is one


def directions(
    X: FloatArray,
    weight: FloatArray,
    curves: list[tuple[int, FloatArray]],
    categories: frozenset[int],
) -> FloatArray:
    """Return the directions of some rows, (n, m): each but the first with mean 0 and size 1.

    ``curves`` has of every feature its column and what the root says of the rows, (n, k).
    """
    found: list[tuple[float, FloatArray]] = []
    for feature, effects in curves:
        effect = _main(effects, weight)
        spread = _size(effect, weight)
        if feature in categories:
            found += [(spread, effect)]
            continue
        line = _line(X[:, feature], weight)
        if line is None:
            continue
        found.append((spread + 1e-9, line))
        bent = effect - line * _mean(line * effect, weight)
        share = abs(_mean(line * effect, weight)) / spread if spread > 0 else 1.0
        if share < STRAIGHT:
            found.append((_size(bent, weight), bent))
    order = sorted(range(len(found)), key=lambda i: -found[i][0])[: MOST - 1]
    columns = [_unit(found[i][1], weight) for i in order if found[i][0] > 0]
    return np.column_stack([np.ones(len(X)), *columns])


def _main(effects: FloatArray, weight: FloatArray) -> FloatArray:
    """Return the direction in which the effects on several scores vary most, centred."""
    centred = effects - np.average(effects, axis=0, weights=weight)
    if centred.shape[1] == 1:
        return np.asarray(centred[:, 0])
    _, vectors = np.linalg.eigh((centred * weight[:, None]).T @ centred)
    return np.asarray(centred @ vectors[:, -1])


def _line(x: FloatArray, weight: FloatArray) -> FloatArray | None:
    known = ~np.isnan(x)
    mean = np.average(x[known], weights=weight[known]) if known.any() else 0.0
    filled = np.where(known, x - mean, 0.0)
    size = _size(filled, weight)
    return np.clip(filled / size, -WIDE, WIDE) if size > 0 else None


def _unit(column: FloatArray, weight: FloatArray) -> FloatArray:
    column = column - _mean(column, weight)
    return np.asarray(column / (_size(column, weight) or 1.0))


def _mean(values: FloatArray, weight: FloatArray) -> float:
    return float(np.average(values, weights=weight))


def _size(values: FloatArray, weight: FloatArray) -> float:
    return float(np.sqrt(_mean(np.square(values), weight)))
