"""Compiled logistic regression: Newton's method on many sets of rows of one table.

Of two classes the second has a margin; of more every class has one, and their softmax. Imported
only when it is needed. Loops are written out: so they compile in a fraction of the time.
"""

import numpy as np
from numba import njit

from predictree.model.tree import FloatArray, IntArray

BLOCK = 64  # rows in hand at a time
CLOSE = 1e-9  # what a step gains of the mean log loss when it is the last: it squares this
MOST = 200  # steps; without a penalty classes may be separable, and each step then gains 1 - 1/e
TRACE = 1e-12  # of the rows' mass, put on every diagonal element: what no row tells stays put
VECTOR = {"contract", "nsz", "reassoc"}


@njit(cache=True, nogil=True)
def minima(
    rows: FloatArray,
    label: IntArray,
    weight: FloatArray,
    members: IntArray,
    ends: IntArray,
    ridge: FloatArray,
    beta: FloatArray,
) -> None:
    """Minimise the penalised log loss of each set, in place of the coefficients.

    Parameters
    ----------
    rows : array of shape (n, a or more)
        A one, the features, and what is not looked at.
    label : array of shape (n,)
        0 or 1 where there is one margin, else which margin should be large.
    weight : array of shape (n,)
    members : array of shape (m,)
        The rows of all sets, one set after another.
    ends : array of shape (sets,)
        Where each set ends.
    ridge : array of shape (sets, a)
    beta : array of shape (sets, c, a)
        Where to start. A step that goes too far is cut back, so that anywhere will do.
    """
    n_sets, c, a = beta.shape
    size = c * a
    gradient, step, curvature = np.empty(size), np.empty(size), np.empty((size, size))
    for s in range(n_sets):
        begin, end = (ends[s - 1] if s else 0), ends[s]
        mass = _look(rows, label, weight, members, begin, end, ridge, s, beta, gradient, curvature)
        gain = _solve(curvature, gradient, step)
        for _ in range(MOST):
            for i in range(size):
                beta[s, i // a, i % a] -= step[i]
            if gain <= CLOSE * mass:
                break
            _look(rows, label, weight, members, begin, end, ridge, s, beta, gradient, curvature)
            beyond = 0.0
            for i in range(size):
                beyond -= gradient[i] * step[i]
            if beyond > 0.5 * gain:  # past the valley by too much: back, to where it may be
                short = max(gain / (gain + beyond), 0.1)
                for i in range(size):
                    beta[s, i // a, i % a] += step[i]
                    step[i] *= short
                gain *= short
                continue
            gain = _solve(curvature, gradient, step)


@njit(cache=True, nogil=True, fastmath=VECTOR)
def _look(
    rows: FloatArray,
    label: IntArray,
    weight: FloatArray,
    members: IntArray,
    begin: int,
    end: int,
    ridge: FloatArray,
    s: int,
    beta: FloatArray,
    gradient: FloatArray,
    curvature: FloatArray,
) -> float:
    """Write gradient and curvature of the penalised log loss of a set; return its mass."""
    c, a = beta.shape[1], beta.shape[2]
    for i in range(c * a):
        gradient[i] = ridge[s, i % a] * beta[s, i // a, i % a]
        for j in range(c * a):
            curvature[i, j] = 0.0
    x, p, heavy = np.zeros((BLOCK, c * a)), np.empty((c, BLOCK)), np.zeros((c + 1, BLOCK))
    mass = 0.0
    for first in range(begin, end, BLOCK):
        m = min(BLOCK, end - first)
        for i in range(m):
            r = members[first + i]
            for j in range(a):
                x[i, j] = rows[r, j]
        for k in range(c):
            for i in range(BLOCK):
                margin = 0.0
                for j in range(a):
                    margin += x[i, j] * beta[s, k, j]
                p[k, i] = margin
        _to_probabilities(p)
        for i in range(BLOCK):
            w = weight[members[first + i]] if i < m else 0.0
            mass += w
            hit = label[members[first + i]] if i < m else 0
            for k in range(c):
                heavy[k, i] = w * p[k, i] * (1.0 - p[k, i] if c == 1 else 1.0)
                residual = w * (p[k, i] - (1.0 if hit == (1 if c == 1 else k) else 0.0))
                for j in range(a):
                    gradient[k * a + j] += residual * x[i, j]
            heavy[c, i] = -w
        for k in range(c):
            _add_products(curvature, k * a, x, a, heavy[k])
        if c > 1:
            for i in range(BLOCK):
                for k in range(c - 1, -1, -1):  # the first last: the others are made of it
                    for j in range(a):
                        x[i, k * a + j] = p[k, i] * x[i, j]
            _add_products(curvature, 0, x, c * a, heavy[c])
    for i in range(c * a):
        curvature[i, i] += ridge[s, i % a] + TRACE * mass
    return mass


@njit(cache=True, nogil=True, fastmath=VECTOR)
def _add_products(
    gram: FloatArray, place: int, x: FloatArray, width: int, heavy: FloatArray
) -> None:
    """Add the weighted products of rows to a block on a diagonal, four rows at a time."""
    for s in range(0, len(x), 4):
        for i in range(width):
            c0, c1 = heavy[s] * x[s, i], heavy[s + 1] * x[s + 1, i]
            c2, c3 = heavy[s + 2] * x[s + 2, i], heavy[s + 3] * x[s + 3, i]
            for j in range(width):
                gram[place + i, place + j] += (
                    c0 * x[s, j] + c1 * x[s + 1, j] + c2 * x[s + 2, j] + c3 * x[s + 3, j]
                )


@njit(cache=True, nogil=True, fastmath=VECTOR)
def _to_probabilities(p: FloatArray) -> None:
    """Turn margins, one row a class, into probabilities in place."""
    c, m = p.shape
    for i in range(m):
        if c == 1:
            p[0, i] = 1.0 / (1.0 + np.exp(-p[0, i]))
    if c > 1:
        for i in range(m):
            largest, total = p[0, i], 0.0
            for k in range(1, c):
                largest = max(largest, p[k, i])
            for k in range(c):
                p[k, i] = np.exp(p[k, i] - largest)
                total += p[k, i]
            for k in range(c):
                p[k, i] /= total


@njit(cache=True, nogil=True, fastmath=VECTOR)
def _solve(L: FloatArray, b: FloatArray, x: FloatArray) -> float:
    """Solve L x = b with a definite matrix, which is used up; return b · x.

    A column that depends on others but for rounding has no say.
    """
    n = len(b)
    for j in range(n):
        before, left = L[j, j], L[j, j]
        for k in range(j):
            left -= L[j, k] * L[j, k]
        L[j, j] = np.sqrt(left) if left > 1e-15 * before else 1e150
        for i in range(j + 1, n):
            total = L[i, j]
            for k in range(j):
                total -= L[i, k] * L[j, k]
            L[i, j] = total / L[j, j]
    for i in range(n):
        total = b[i]
        for k in range(i):
            total -= L[i, k] * x[k]
        x[i] = total / L[i, i]
    gain = 0.0
    for i in range(n):
        gain += x[i] * x[i]
    for i in range(n - 1, -1, -1):
        x[i] /= L[i, i]
        for k in range(i):
            x[k] -= L[i, k] * x[i]
    return gain
