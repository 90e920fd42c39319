"""How large the coefficients of each group of columns are, learned from a Gram matrix alone.

A coefficient is a draw from a normal distribution whose variance its group shares. The variances
are those that make the labels most probable (MacKay's fixed point); a group that explains nothing
gets none and drops out.
"""

from dataclasses import dataclass

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotri, dpotrs, dtrtri

from predictree.model.tree import BoolArray, FloatArray, IntArray

JITTER = 1e-8  # of the mean diagonal, against columns that depend on each other
ROUGH = 1e-4  # the same, where that was too little (and all of it where that is, too)
GONE = 0.02  # share of the noise below which a group's variance counts for nothing
FIRST = 0.3  # of the noise: where the variances start
QUIET = 1e-7  # share of the variance that is noise, at least: what is left is rounding below that
LEAST = 1e-12
BLOCK = 4096  # rows that are multiplied at once


@dataclass(frozen=True, slots=True, eq=False)
class Sums:
    """What the rows come to: BᵀWB, BᵀWr, rᵀWr and their number.

    Attributes
    ----------
    gram : array of shape (1 + p, 1 + p)
        The first column is the intercept's, which is not held to zero.
    cross : array of shape (1 + p, k)
    squares : float
    n : float
    known : float
        Share of the Gram matrix that is information: less than all of it where it is a bound on
        the curvature along several scores.
    free : int
        Scores that are free: one less than there are where only differences count.
    """

    gram: FloatArray
    cross: FloatArray
    squares: float
    n: float
    known: float = 1.0
    free: int = 1


def gram_of(B: FloatArray, weight: FloatArray) -> FloatArray:
    """Return BᵀWB."""
    total = np.zeros((B.shape[1], B.shape[1]))
    for start in range(0, len(B), BLOCK):
        some = slice(start, start + BLOCK)
        root = B[some] * np.sqrt(weight[some])[:, None]
        total += root.T @ root
    return total


@dataclass(frozen=True, slots=True, eq=False)
class Scales:
    """The variance of every group, and that of the noise."""

    variance: FloatArray
    noise: float

    def loosened(self, least: float) -> "Scales":
        """Return the same where no group is out of reach: every variance is some of the noise."""
        return Scales(np.maximum(self.variance, least * self.noise), self.noise)


@dataclass(frozen=True, slots=True)
class Prior:
    """What is known of coefficients before any row is seen.

    Attributes
    ----------
    hold : float
        How strongly variances are held to zero: so many degrees of freedom more each group
        is taken to have.
    constant : float
        The variance of the intercept; infinite where it is free. In units of the noise.
    most : float
        The largest variance that a group may give to the scores.
    least : float
        The smallest that it may give to their sum over the rows, in units of the noise: none
        drops out then, and what was not found is not taken for sure to be zero.
    """

    hold: float = 0.0
    constant: float = np.inf
    most: float = np.inf
    least: float = 0.0

    @property
    def level(self) -> float:
        """The penalty of the intercept."""
        return 1.0 / self.constant


@dataclass(frozen=True, slots=True, eq=False)
class Learned:
    """Coefficients, (1 + p, k), their scales, and how many are free in effect."""

    coefficients: FloatArray
    scales: Scales
    freedom: float


def first_scales(sums: Sums, n_groups: int, noise: float | None) -> Scales:
    """Return where to start from: half of the variance is noise."""
    if noise is None:
        explained = float(np.square(sums.cross[0]).sum()) / max(sums.gram[0, 0], LEAST)
        noise = max((sums.squares - explained) / sums.n * 0.5, LEAST)
    return Scales(np.full(n_groups, FIRST * noise), noise)


def learn(
    sums: Sums,
    group: IntArray,
    scales: Scales,
    prior: Prior,
    steps: int = 40,
    fixed_noise: bool = False,
    tolerance: float = 0.02,
) -> Learned:
    """Find variances and coefficients together.

    Parameters
    ----------
    sums : Sums
    group : array of shape (p,)
        The group of every column but the intercept.
    scales : Scales
        Where to start; a group without variance stays without.
    prior : Prior
    steps : int
        At most.
    fixed_noise : bool
        Whether the noise is known, as in the quadratic model of a log loss.
    """
    variance, noise = scales.variance.copy(), scales.noise
    size = np.bincount(group, minlength=len(variance)).astype(float)
    mass = max(sums.gram[0, 0], LEAST)
    spread = sums.known * np.bincount(group, np.diag(sums.gram)[1:], minlength=len(variance))
    active, freedom = variance > 0, 1.0
    system = _System(sums, group, active)
    for step in range(steps):
        active &= (variance * spread > GONE * noise) & (variance * spread > 1e-6 * noise * mass)
        if system.n_active != active.sum():
            system = _System(sums, group, active)
        level = prior.level
        b, inverse = system.solve(level, noise / variance[system.group], step < steps - 1)
        if step == steps - 1:
            break
        posterior = noise * np.bincount(system.group, inverse, minlength=len(variance))
        free = np.where(active, size - posterior / np.where(active, variance, 1.0), 0.0)
        square = np.bincount(system.group, np.square(b[1:]).sum(axis=1), minlength=len(variance))
        freedom = free.sum() + 1
        if not fixed_noise:
            held = (noise / variance[system.group]) @ np.square(b[1:]).sum(axis=1)
            held += level * np.square(b[0]).sum()
            rest = sums.squares - (b * system.cross).sum() - held
            noise = max(rest / max(sums.n - freedom, 1.0), QUIET * sums.squares / sums.n, LEAST)
        wanted = np.maximum(square / np.maximum(sums.free * free + 2 * prior.hold, 1e-6), 1e-300)
        wanted = np.minimum(wanted, prior.most * mass / np.maximum(spread, LEAST))
        wanted = np.maximum(wanted, prior.least * noise / np.maximum(spread, LEAST))
        moved = np.abs(np.log(wanted[active] / variance[active]))
        variance = np.where(active, wanted, 0.0)
        if not moved.size or moved.max() < tolerance:
            break
    return Learned(
        system.spread(b, len(group)), Scales(np.where(active, variance, 0.0), noise), freedom
    )


def solve(sums: Sums, group: IntArray, scales: Scales, prior: Prior) -> FloatArray:
    """Return the coefficients for known scales: (1 + p, k)."""
    system = _System(sums, group, scales.variance > 0)
    level = prior.level
    b, _ = system.solve(level, scales.noise / scales.variance[system.group], False)
    return system.spread(b, len(group))


def inverse(gram: FloatArray, penalty: FloatArray) -> FloatArray:
    """Return the inverse of a Gram matrix with penalties."""
    found, _ = dpotri(_factor(gram, penalty), lower=1)
    return np.asarray(np.tril(found) + np.tril(found, -1).T)


def _factor(gram: FloatArray, penalty: FloatArray) -> FloatArray:
    """Return the Cholesky factor of a Gram matrix with penalties."""
    size = float(np.trace(gram)) / len(gram)
    for jitter in (JITTER, ROUGH, 1.0):
        A = gram.copy(order="F")
        A.reshape(-1, order="F")[:: len(A) + 1] += penalty + jitter * size
        factor, failed = dpotrf(A, lower=1, clean=1, overwrite_a=1)
        if not failed:
            break
    return np.asarray(factor)


class _System:
    """The equations of the groups that are active."""

    def __init__(self, sums: Sums, group: IntArray, active: BoolArray) -> None:
        self.n_active = active.sum()
        columns = np.flatnonzero(active[group]) if len(group) else np.zeros(0, dtype=np.int64)
        self.place = np.concatenate([[0], columns + 1])
        self.gram, self.known = sums.gram[np.ix_(self.place, self.place)], sums.known
        self.cross = sums.cross[self.place]
        self.group = group[columns]

    def solve(
        self, level: float, penalty: FloatArray, want_inverse: bool
    ) -> tuple[FloatArray, FloatArray]:
        """Return the coefficients, and the diagonal of the inverse without the intercept's."""
        penalty = np.concatenate([[level], penalty])
        factor = _factor(self.gram, penalty)
        b, _ = dpotrs(factor, self.cross, lower=1)
        if not want_inverse:
            return b, np.zeros(0)
        if self.known < 1:
            factor = _factor(self.known * self.gram, penalty)
        root, _ = dtrtri(factor, lower=1)
        return b, np.einsum("ij,ij->j", root, root)[1:]

    def spread(self, b: FloatArray, n_columns: int) -> FloatArray:
        """Return coefficients of all columns, zero for those that are not active."""
        full = np.zeros((n_columns + 1, b.shape[1]))
        full[self.place] = b
        return full
