"""Convex weights by brute force."""

from itertools import combinations

import numpy as np
from scipy.optimize import linprog, minimize


def square_weights(y, s):
    """Try every set of predictors that could have positive weight; keep the best feasible one."""
    R = (s - (y[:, None] if s.shape[1] == 1 else np.eye(s.shape[1])[y])[:, :, None]).reshape(
        -1, s.shape[2]
    )
    best, same = (np.inf, np.inf, None), 1e-12 * np.sum(R**2)
    for size in range(1, s.shape[2] + 1):
        for used in map(list, combinations(range(s.shape[2]), size)):
            kkt = np.block(
                [[R[:, used].T @ R[:, used], np.ones((size, 1))], [np.ones((1, size)), 0]]
            )
            w = np.zeros(s.shape[2])
            w[used] = np.linalg.lstsq(kkt, np.append(np.zeros(size), 1), rcond=None)[0][:-1]
            value, length = np.sum((R @ w) ** 2), np.sum(w**2)
            shorter = value <= best[0] + same and length < best[1]
            if w.min() >= -1e-12 and (value < best[0] - same or shorter):
                best = (value, length, w)
    return best[2]


def log_weights(y, s):
    p = np.maximum(s[range(len(y)), y], np.finfo(float).eps)
    start = np.full(p.shape[1], 1 / p.shape[1])
    simplex = {"type": "eq", "fun": lambda w: w.sum() - 1}
    bounds = [(0, 1)] * len(start)
    return minimize(
        lambda w: -np.mean(np.log(p @ w)), start, bounds=bounds, constraints=simplex, tol=1e-12
    ).x


def absolute_weights(y, s):
    """Minimise Σ t over w and t ≥ |h w − y|."""
    (n, _, k), h = s.shape, s[:, 0]
    A = np.block([[h, -np.eye(n)], [-h, -np.eye(n)]])
    one = np.append(np.ones(k), np.zeros(n))[None, :]
    return linprog(1 - one[0], A, np.append(y, -y), one, [1]).x[:k]


WEIGHTS = {"mse": square_weights, "log_loss": log_weights, "mae": absolute_weights}
