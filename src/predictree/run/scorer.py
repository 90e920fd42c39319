"""The compiled scorer of frozen trees. Imported when the first model is asked."""

import math

import numpy as np
from numba import njit

from predictree.model.additive import MOST, MOST_ODDS
from predictree.model.frozen.arrays import LEVELS, LINE
from predictree.model.frozen.functions import LINKS
from predictree.model.outputs import ROUNDING
from predictree.model.tree import NONE, FloatArray, IntArray

LOG, LOGIT, EXPIT, SOFTMAX = (LINKS.index(name) for name in ("log", "logit", "expit", "softmax"))
COMPLEMENT, SHARES = LINKS.index("complement"), LINKS.index("shares")
COMPLEMENT_SHARES, ODDS = LINKS.index("complement shares"), LINKS.index("odds")
SHARP = LINKS.index("sharp")


@njit(cache=True, nogil=True)
def _leaf_of(x: FloatArray, nodes: IntArray, thresholds: FloatArray) -> int:
    """Return C̄(x)."""
    at = 0
    while nodes[at, 0] != NONE:
        value = x[nodes[at, 0]]
        if math.isnan(value):
            left = nodes[at, 3] == 1
        elif nodes[at, 4] == 1:
            left = value == thresholds[at]
        else:
            left = value < thresholds[at]
        at = nodes[at, 1] if left else nodes[at, 2]
    return at


@njit(cache=True, nogil=True)
def _beyond(numbers: FloatArray, first: int, n: int, value: float) -> int:
    """Return how many of n rising numbers are at most a value."""
    low, high = 0, n
    while low < high:
        middle = (low + high) >> 1
        if numbers[first + middle] <= value:
            low = middle + 1
        else:
            high = middle
    return low


@njit(cache=True, nogil=True)
def _place(
    value: float, kind: int, first: int, n: int, numbers: FloatArray
) -> tuple[int, int, float]:
    """Return the two cells that a value lies between, and the share of the second."""
    if kind == LEVELS:
        if math.isnan(value):
            return n + 1, n + 1, 0.0
        at = _beyond(numbers, first, n, value) - 1
        if at < 0 or numbers[first + at] != value:
            at = n
        return at, at, 0.0
    if kind == LINE:
        return (2, 2, 0.0) if math.isnan(value) else (0, 1, value - numbers[first])
    if math.isnan(value):
        return n, n, 0.0
    if value <= numbers[first]:
        return 0, min(1, n - 1), 0.0
    if value >= numbers[first + n - 1]:
        return max(n - 2, 0), n - 1, 1.0 if n > 1 else 0.0
    left = _beyond(numbers, first, n, value) - 1
    low = numbers[first + left]
    return left, left + 1, (value - low) / (numbers[first + left + 1] - low)


@njit(cache=True, nogil=True)
def _odds(f: float) -> float:
    return 1.0 / (1.0 + math.exp(-f)) if f >= 0 else math.exp(f) / (1.0 + math.exp(f))


@njit(cache=True, nogil=True)
def _as_shares(s: FloatArray, k: int) -> None:
    """Clip at zero and let the sum be one; nothing at all is uniform."""
    total = 0.0
    for j in range(k):
        if s[j] <= ROUNDING:
            s[j] = 0.0
        total += s[j]
    for j in range(k):
        s[j] = s[j] / total if total > 0 else 1.0 / k


@njit(cache=True, nogil=True)
def _as_softmax(s: FloatArray, k: int) -> None:
    most = s[:k].max()
    total = 0.0
    for j in range(k):
        s[j] = math.exp(s[j] - most)
        total += s[j]
    for j in range(k):
        s[j] /= total


@njit(cache=True, nogil=True)
def _divide(s: FloatArray, k: int) -> None:
    total = s[:k].sum()
    for j in range(k):
        s[j] = s[j] / total if total != 0 else s[j]


@njit(cache=True, nogil=True)
def _as_odds(s: FloatArray, k: int) -> None:
    for j in range(k):
        s[j] = _odds(s[j])
    _divide(s, k)


@njit(cache=True, nogil=True)
def _link(s: FloatArray, k: int, link: int, exponent: float) -> None:
    """Turn sums into scores, in place."""
    if link == LOG:
        s[0] = math.exp(min(max(s[0], -MOST), MOST))
    elif link == LOGIT:
        s[1] = 1.0 / (1.0 + math.exp(-min(max(s[0], -MOST_ODDS), MOST_ODDS)))
        s[0] = 1.0 - s[1]
    elif link == EXPIT:
        s[1] = _odds(s[0])
        s[0] = 1.0 - s[1]
    elif link == SOFTMAX:
        _as_softmax(s, k)
    elif link in (COMPLEMENT, COMPLEMENT_SHARES):
        s[1] = s[0]
        s[0] = 1.0 - s[1]
    elif link == ODDS:
        _as_odds(s, k)
    elif link == SHARP:
        for j in range(k):
            s[j] = s[j] ** exponent
        _divide(s, k)
    if link in (SHARES, COMPLEMENT_SHARES):
        _as_shares(s, max(k, 2))


@njit(cache=True, nogil=True)
def _add_term(
    s: FloatArray, k: int, term: IntArray, cells: IntArray, shares: FloatArray,
    axes: IntArray, numbers: FloatArray,
) -> None:  # fmt: skip
    """Add what a term says to the k sums, given where its axes' values lie."""
    a, b, first, width = term[0], term[1], term[2], term[3]
    if b == NONE:
        low, high = first + cells[a, 0] * k, first + cells[a, 1] * k
        for j in range(k):
            s[j] += numbers[low + j] * (1 - shares[a]) + numbers[high + j] * shares[a]
        return
    for i in range(2):
        row = first + min(cells[a, i], axes[a, 3]) * width * k
        of_row = shares[a] if i else 1 - shares[a]
        for h in range(2):
            weight = of_row * (shares[b] if h else 1 - shares[b])
            at = row + min(cells[b, h], axes[b, 3]) * k
            for j in range(k):
                s[j] += numbers[at + j] * weight


@njit(cache=True, nogil=True)
def _add_trees(
    s: FloatArray, k: int, x: FloatArray, term: IntArray, roots: IntArray, branches: IntArray,
    bounds: FloatArray, ways: IntArray, numbers: FloatArray,
) -> None:  # fmt: skip
    """Add what every tree says at the leaf of a row."""
    for t in range(term[1], term[1] + term[3]):
        at = roots[t]
        while branches[at, 0] != NONE:
            value = x[branches[at, 0]]
            if math.isnan(value):
                left = ways[at] & 1 == 1
            elif ways[at] & 2 == 2:
                left = value == bounds[at]
            else:
                left = value < bounds[at]
            at = branches[at, 1] if left else branches[at, 2]
        first = term[2] + branches[at, 1] * k
        for j in range(k):
            s[j] += numbers[first + j]


@njit(cache=True, nogil=True)
def _find(
    axis: int, x: FloatArray, cells: IntArray, shares: FloatArray, axes: IntArray,
    numbers: FloatArray,
) -> None:  # fmt: skip
    """Look up where the value of an axis lies."""
    kind, feature, first, n = axes[axis]
    cells[axis, 0], cells[axis, 1], shares[axis] = _place(x[feature], kind, first, n, numbers)


@njit(cache=True, nogil=True)
def add_scores(
    X: FloatArray, out: FloatArray, nodes: IntArray, thresholds: FloatArray, weights: FloatArray,
    function_of: IntArray, functions: IntArray, terms: IntArray, axes: IntArray,
    outputs: IntArray, numbers: FloatArray, roots: IntArray, branches: IntArray,
    bounds: FloatArray, ways: IntArray, n_outputs: int,
) -> None:  # fmt: skip
    """Add to ``out`` what the functions of each row's leaf answer."""
    cells, shares = np.zeros((len(axes), 2), dtype=np.int64), np.zeros(len(axes))
    found = np.full(len(axes), -1)  # the row for which an axis was looked up
    s = np.empty(n_outputs + 1)
    for i in range(len(X)):
        leaf = _leaf_of(X[i], nodes, thresholds)
        for entry in range(nodes[leaf, 5], nodes[leaf, 6]):
            first, last, k, constant, link, span, place, m = functions[function_of[entry]]
            s[:k] = numbers[constant : constant + k]
            for t in range(first, last):
                if terms[t, 0] == NONE:
                    _add_trees(s, k, X[i], terms[t], roots, branches, bounds, ways, numbers)
                    continue
                for axis in terms[t, :2]:
                    if axis != NONE and found[axis] != i:
                        _find(axis, X[i], cells, shares, axes, numbers)
                        found[axis] = i
                _add_term(s, k, terms[t], cells, shares, axes, numbers)
            _link(s, k, link, numbers[span + 2])
            for j in range(m):
                score = min(max(s[j], numbers[span]), numbers[span + 1])
                out[i, outputs[place + j]] += weights[entry] * score
