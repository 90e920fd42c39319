"""The candidate splits of a node: which features and thresholds the search looks at."""

import numpy as np

from predictree.model.tree import FloatArray, Split

MOST_LEVELS = 30  # of a category that are tried, the most frequent ones


def candidate_splits(
    feature: int,
    column: FloatArray,
    weight: FloatArray | None,
    n_thresholds: int,
    is_category: bool = False,
) -> list[Split]:
    """Return the splits of a node by one feature, in the order in which ties are broken.

    A feature with two values on S(C) is cut midway; any other at ``n_thresholds`` evenly
    spaced quantiles over S(C), each a value that occurs. A feature with missing values offers
    each cut twice, missing to the right and to the left, and the missing against the known;
    elsewhere a missing value, should one come at prediction, follows the larger side. A category
    offers its levels, each against the rest, missing values being part of the rest.

    Parameters
    ----------
    feature : int
    column : array of shape (n,)
        The feature on S(C); the codes of its levels, if it is a category.
    weight : array of shape (n,) or None
        Weights of the rows.
    n_thresholds : int
        Number of quantile levels; 9 gives the paper's 10 %, 20 %, …, 90 %.
    is_category : bool
    """
    any_missing = bool(np.isnan(column.min(initial=np.inf)))
    if not any_missing and not is_category:
        thresholds = _thresholds(column, weight, n_thresholds)
        return [Split(feature, t, _larger_left(column, weight, t)) for t in thresholds]
    missing = np.isnan(column)
    if is_category:
        splits = [Split(feature, c, False, any_missing, True) for c in _levels(column[~missing])]
    else:
        known = None if weight is None else weight[~missing]
        thresholds = _thresholds(column[~missing], known, n_thresholds)
        splits = [Split(feature, t, left, True) for t in thresholds for left in (False, True)]
    if any_missing and not missing.all():
        splits.append(Split(feature, np.inf, False, True))
    return splits


def _levels(codes: FloatArray) -> list[float]:
    """Return the codes to try against the rest; the second of two says what the first does."""
    present, count = np.unique(codes, return_counts=True)
    if len(present) == 2:
        return [float(present[0])]
    common = np.sort(np.argsort(-count, kind="stable")[:MOST_LEVELS])
    return [float(code) for code in present[common]] if len(present) > 1 else []


def _thresholds(values: FloatArray, weight: FloatArray | None, n_thresholds: int) -> list[float]:
    if values.size == 0:
        return []
    low, high = float(values.min()), float(values.max())
    if low == high:
        return []
    if np.count_nonzero(values == low) + np.count_nonzero(values == high) == len(values):
        return [_midpoint(low, high)]
    return [t for t in _quantiles(values, weight, n_thresholds) if t > low]


def _quantiles(values: FloatArray, weight: FloatArray | None, n_thresholds: int) -> list[float]:
    """Return the distinct values below or at which each level of the mass is reached."""
    levels = np.arange(1, n_thresholds + 1) / (n_thresholds + 1)
    if weight is None:
        ranked = np.sort(values)
        mass = np.arange(1.0, len(ranked) + 1)
    else:
        order = np.argsort(values, kind="stable")
        ranked, mass = values[order], np.cumsum(weight[order])
    # The level is shaved so that rounding in the sum of weights never moves the quantile.
    place = np.searchsorted(mass, levels * mass[-1] * (1 - 1e-12))
    return [float(t) for t in np.unique(ranked[place])]


def _midpoint(low: float, high: float) -> float:
    """Return a threshold that separates two values; ``high`` where rounding leaves no other."""
    middle = low / 2 + high / 2
    return middle if low < middle <= high else high


def _larger_left(values: FloatArray, weight: FloatArray | None, threshold: float) -> bool:
    left = values < threshold
    share = (
        np.count_nonzero(left) / len(left) if weight is None else weight[left].sum() / weight.sum()
    )
    return bool(share > 0.5 + 1e-12)
