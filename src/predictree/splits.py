"""The candidate splits of a node: which features and thresholds the search looks at."""

from collections.abc import Iterator

import numpy as np

from predictree.tree import FloatArray, Split


def candidate_splits(
    X: FloatArray, weight: FloatArray | None, n_thresholds: int
) -> Iterator[Split]:
    """Yield the splits of a node, in the order in which ties are broken.

    A feature with two values on S(C) is cut midway; any other at ``n_thresholds`` evenly
    spaced quantiles over S(C), each a value that occurs. A feature with missing values offers
    each cut twice, missing to the right and to the left; elsewhere a missing value, should one
    come at prediction, follows the larger side.

    Parameters
    ----------
    X : array of shape (n, d)
        The rows of S(C).
    weight : array of shape (n,) or None
        Their weights.
    n_thresholds : int
        Number of quantile levels; 9 gives the paper's 10 %, 20 %, …, 90 %.
    """
    for feature, column in enumerate(X.T):
        missing = np.isnan(column)
        known = ~missing if missing.any() else slice(None)
        values = column[known]
        mass = None if weight is None else weight[known]
        for threshold in _thresholds(values, mass, n_thresholds):
            if missing.any():
                yield Split(feature, threshold, False)
                yield Split(feature, threshold, True)
            else:
                yield Split(feature, threshold, _larger_left(values, mass, threshold))


def _thresholds(values: FloatArray, weight: FloatArray | None, n_thresholds: int) -> list[float]:
    if values.size == 0:
        return []
    order = np.argsort(values, kind="stable")
    ranked = values[order]
    low, high = float(ranked[0]), float(ranked[-1])
    if low == high:
        return []
    if ((ranked == low) | (ranked == high)).all():
        return [_midpoint(low, high)]
    levels = np.arange(1, n_thresholds + 1) / (n_thresholds + 1)
    mass = np.arange(1, len(ranked) + 1) if weight is None else np.cumsum(weight[order])
    # The level is shaved so that rounding in the sum of weights never moves the quantile.
    place = np.searchsorted(mass, levels * mass[-1] * (1 - 1e-12))
    return [float(t) for t in np.unique(ranked[place]) if t > low]


def _midpoint(low: float, high: float) -> float:
    """Return a threshold that separates two values; ``high`` where rounding leaves no other."""
    middle = low / 2 + high / 2
    return middle if low < middle <= high else high


def _larger_left(values: FloatArray, weight: FloatArray | None, threshold: float) -> bool:
    left = values < threshold
    share = left.mean() if weight is None else weight[left].sum() / weight.sum()
    return bool(share > 0.5 + 1e-12)
