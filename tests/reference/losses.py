"""The losses, straight from their definitions."""

import numpy as np
from sklearn.metrics import log_loss, mean_gamma_deviance, mean_poisson_deviance


def proba(s):
    s = np.where(s <= 1e-12, 0, s)  # below that it is rounding
    return np.array([r / r.sum() if r.sum() > 0 else np.full(len(r), 1 / len(r)) for r in s])


def auc(y, s):
    curves = [1] if s.shape[1] == 2 else range(s.shape[1])
    areas = [area(s[y == c, c], s[y != c, c]) for c in curves if 0 < sum(y == c) < len(y)]
    return 1 - np.mean(areas) if areas else np.nan


def area(positive, negative):
    gap = positive[:, None] - negative[None, :]
    return np.mean(
        np.where(np.abs(gap) <= 1e-10 * (1e-3 + np.abs(positive[:, None])), 0.5, gap > 0)
    )


def decide(s):
    return np.round(s, 9).argmax(axis=1)


LOSSES = {
    "auc": auc,
    "error": lambda y, s: np.mean(decide(s) != y),
    "brier": lambda y, s: (
        np.sum((proba(s) - np.eye(s.shape[1])[y]) ** 2) / len(y) / (1 + (s.shape[1] == 2))
    ),
    "log_loss": lambda y, s: log_loss(y, proba(s), labels=range(s.shape[1])),
    "mse": lambda y, s: np.mean((s[:, 0] - y) ** 2),
    "mae": lambda y, s: np.mean(np.abs(s[:, 0] - y)),
    "poisson": lambda y, s: mean_poisson_deviance(y, s[:, 0]),
    "gamma": lambda y, s: mean_gamma_deviance(y, s[:, 0]),
}
