"""A kernel machine: rows that speak for their neighbourhood, by a metric of its own.

The kernel is exp(−(d / L)^q) with d² = Σ mⱼ (aⱼ − bⱼ)² and L = reach · √(2 · columns); coefficients
minimise squares with a ridge. Which columns matter is read off the machine itself: mⱼ is the mean
square of the slope of its answers along column j.
"""

from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from predictree.model.tree import FloatArray

LADDER = tuple(10.0**power for power in range(-6, 2))
"""Ridges to choose from, by their place."""

NOTHING = 1e-6  # of the mean weight in the metric: a column with less has none
NEAR = 1e-5  # distances below which rows are one and the same
BLOCK = 2000  # rows whose distances are held at once
JITTER = 1e-8  # of the mean diagonal, against rows that repeat each other


@dataclass(frozen=True, eq=False)
class Setting:
    """What a machine is to be like.

    Attributes
    ----------
    metric : array of shape (d,)
    reach, power : float
        b and q.
    rung : int
        The place of the ridge in `LADDER`.
    """

    metric: FloatArray
    reach: float
    power: float
    rung: int

    @property
    def length(self) -> float:
        """L: how far a row reaches."""
        return float(self.reach * np.sqrt(2.0 * len(self.metric)))

    @property
    def ridge(self) -> float:
        """λ."""
        return LADDER[self.rung]

    def distances(self, A: FloatArray, B: FloatArray) -> FloatArray:
        """Return d between all rows: (a, b)."""
        used = self.metric > 0
        root = np.sqrt(self.metric[used])
        left, right = A[:, used] * root, B[:, used] * root
        square = -2.0 * (left @ right.T)
        square += np.square(left).sum(axis=1)[:, None]
        square += np.square(right).sum(axis=1)
        return np.asarray(np.sqrt(np.maximum(square, 0.0, out=square), out=square))

    def kernel(self, distances: FloatArray) -> FloatArray:
        """Return exp(−(d / L)^q)."""
        scaled = distances / -self.length
        if self.power != 1:
            scaled = -((-scaled) ** self.power)
        return np.asarray(np.exp(scaled, out=scaled))


@dataclass(frozen=True, eq=False)
class Machine:
    """A fitted machine: rows (m, d) and their coefficients (m, k)."""

    setting: Setting
    rows: FloatArray
    coefficients: FloatArray

    def scores(self, Z: FloatArray) -> FloatArray:
        """Return what the machine says: (n, k)."""
        told = np.empty((len(Z), self.coefficients.shape[1]))
        for start in range(0, len(Z), BLOCK):
            some = slice(start, start + BLOCK)
            told[some] = (
                self.setting.kernel(self.setting.distances(Z[some], self.rows)) @ self.coefficients
            )
        return told

    def followed(self) -> Setting:
        """Return the setting whose metric follows from the slopes at the rows."""
        setting, Z = self.setting, self.rows
        squares = np.zeros(Z.shape[1])
        for start in range(0, len(Z), BLOCK):
            some = slice(start, start + BLOCK)
            squares += np.square(self._slopes(Z[some])).sum(axis=(0, 1))
        if not squares.sum() > 0:
            return setting
        metric = squares / squares.mean()
        return replace(setting, metric=np.where(metric < NOTHING, 0.0, metric))

    def _slopes(self, Z: FloatArray) -> FloatArray:
        """Return how steep the answers are along every column at some rows: (k, n, d)."""
        setting, q = self.setting, self.setting.power
        distances = setting.distances(Z, self.rows)
        steep = setting.kernel(distances) * (q / setting.length**q)
        near = distances < NEAR
        steep *= np.where(near, 1.0, distances) ** (q - 2)
        steep[near] = 0.0
        slopes = np.empty((self.coefficients.shape[1], *Z.shape))
        for slope, coefficients in zip(slopes, self.coefficients.T, strict=True):
            pull = steep * coefficients
            slope[:] = (pull @ self.rows - pull.sum(axis=1)[:, None] * Z) * setting.metric
        return slopes


def solved(setting: Setting, Z: FloatArray, Y: FloatArray, weight: FloatArray) -> Machine:
    """Fit a machine whose rows are all training rows."""
    K = setting.kernel(setting.distances(Z, Z))
    K.reshape(-1)[:: len(K) + 1] += setting.ridge / weight
    return Machine(setting, Z, _solve(K, Y))


def solved_by(
    centres: FloatArray, setting: Setting, Z: FloatArray, Y: FloatArray, weight: FloatArray
) -> Machine:
    """Fit a machine of fewer rows than it trains on."""
    gram = setting.ridge * setting.kernel(setting.distances(centres, centres))
    cross = np.zeros((len(centres), Y.shape[1]))
    for start in range(0, len(Z), BLOCK):
        some = slice(start, start + BLOCK)
        K = setting.kernel(setting.distances(Z[some], centres))
        heavy = K.T * weight[some]
        gram += heavy @ K
        cross += heavy @ Y[some]
    return Machine(setting, centres, _solve(gram, cross))


def _solve(A: FloatArray, Y: FloatArray) -> FloatArray:
    """Solve A x = Y for a symmetric A, which is overwritten."""
    A.reshape(-1)[:: len(A) + 1] += JITTER * np.trace(A) / len(A)
    factor = cho_factor(A, lower=True, overwrite_a=True, check_finite=False)
    return np.asarray(cho_solve(factor, Y, check_finite=False))
