"""Least squares problems that are given by their Gram matrices, or by rows; by minimum norm."""

import numpy as np
from scipy.linalg import lstsq, solve_triangular
from scipy.linalg.lapack import dgelsy, dpstrf

from predictree.model.tree import BoolArray, FloatArray, IntArray

DOUBT = 1e3  # what is left of a column is real above this many times the noise, rounding below it
SURE = 1e5  # and as many times, there is no need to look at the order in which columns are taken
WIDE = 100  # columns from which one problem at a time is as quick as all at once
ROUNDING = 1e-12  # of a squared column length: keeps a matrix from being singular
CLEAR = 1e3  # a singular value is not near a cutoff that it is so many times above or below


def solve_least_squares(
    gram: FloatArray, target: FloatArray, noise: FloatArray, penalty: FloatArray, cutoff: float
) -> tuple[FloatArray, BoolArray, BoolArray]:
    """Solve many least squares problems from their Gram matrices, each by minimum norm.

    Parameters
    ----------
    gram : array of shape (b, d, d)
        XᵀX of centred columns.
    target : array of shape (b, d, t)
        Xᵀy of t targets.
    noise : array of shape (b, d)
        A squared column length below this is rounding: the column depends on the others.
    penalty : array of shape (b, d)
        Of ridge regression.
    cutoff : float
        Relative size of a singular value that an estimator takes for zero.

    Returns
    -------
    coefficients : array of shape (b, d, t)
    certain : array of shape (b,)
        False where columns are so nearly dependent that the Gram matrix cannot tell, or that the
        estimator's cutoff could matter.
    dropped : array of shape (b, d)
        The columns that were taken for constant or dependent.
    """
    coefficients, dropped = np.zeros(target.shape), np.zeros(noise.shape, dtype=bool)
    plain = _independent(gram, noise, penalty, cutoff)
    certain = plain.copy()
    place = np.arange(gram.shape[1])
    systems = gram[plain]
    systems[:, place, place] += penalty[plain]
    coefficients[plain] = np.linalg.solve(systems, target[plain])
    for b in np.flatnonzero(~plain).tolist():
        real = np.diagonal(gram[b]) > noise[b]
        L, order, rank, certain[b] = _factored(gram[b], np.sqrt(noise[b]), real, penalty[b], cutoff)
        dropped[b, order[rank:]] = True
        if certain[b]:
            coefficients[b, order] = _shortest(L, rank, real[order], target[b, order])
    return coefficients, certain, dropped


def _independent(
    gram: FloatArray, noise: FloatArray, penalty: FloatArray, cutoff: float
) -> BoolArray:
    """Return which problems have no column that is near to depend on the others.

    What is left of a column beside all others is one over its place in the inverse.
    """
    d = gram.shape[1]
    length = np.diagonal(gram, axis1=1, axis2=2)
    plain = (length > SURE * noise).all(axis=1) & (d < WIDE)
    size = np.sqrt(np.where(plain[:, None], length, 1.0))[plain]
    unit = gram[plain] / (size[:, :, None] * size[:, None])
    unit[:, np.arange(d), np.arange(d)] += penalty[plain] / size**2 + ROUNDING
    left = 1 / np.diagonal(np.linalg.inv(unit), axis1=1, axis2=2) * size**2
    enough = (left > SURE * noise[plain]).all(axis=1)
    enough &= (
        left.min(axis=1, initial=np.inf)
        > (30 * cutoff) ** 2 * d * size.max(axis=1, initial=0.0) ** 2
    )
    found = np.zeros(len(gram), dtype=bool)
    found[np.flatnonzero(plain)[enough]] = True
    return found


def _factored(
    gram: FloatArray, unit: FloatArray, real: BoolArray, penalty: FloatArray, cutoff: float
) -> tuple[FloatArray, IntArray, int, bool]:
    """Factor one Gram matrix, at each step by the column that is clearest of noise.

    Returns L, the order of the columns, the rank and whether it is clear: squared singular values
    are pivots, within a modest factor. In units of noise, the column that is clearest of it has the
    largest diagonal element.
    """
    per_unit = np.divide(1.0, unit, out=np.zeros(len(gram)), where=real)
    scaled = gram * per_unit
    scaled *= per_unit[:, None]
    scaled.flat[:: len(gram) + 1] += penalty * per_unit**2
    length = np.diagonal(scaled).copy()
    upper, pivots, rank, _ = dpstrf(scaled.T, tol=DOUBT, overwrite_a=1)
    L, order = upper.T, pivots - 1
    rest = length[order[rank:]] - np.square(L[rank:, :rank]).sum(axis=1)
    L *= unit[order, None]
    size = np.square(np.diagonal(L)[:rank])
    clear = size.min(initial=np.inf) > (30 * cutoff) ** 2 * size.max(initial=0.0)
    return L, order, rank, bool(clear and (rest <= 1.0).all())


def _shortest(L: FloatArray, rank: int, real: BoolArray, target: FloatArray) -> FloatArray:
    """Return the shortest solution, from the factor of a Gram matrix whose pivots come first.

    Every column that depends on the pivots gives a null vector, itself minus its part in their
    span; what the coefficients have along these predicts nothing. A constant column has a
    coefficient of zero already: ``real`` tells which are not.
    """
    found = np.zeros(target.shape)
    if rank == 0:
        return found
    pivots = L[:rank, :rank]
    half = solve_triangular(pivots, target[:rank], lower=True)
    found[:rank] = solve_triangular(pivots, half, lower=True, trans=1)
    depends = rank + np.flatnonzero(real[rank:])
    null = np.zeros((len(L), len(depends)))
    null[:rank] = -solve_triangular(pivots, L[depends, :rank].T, lower=True, trans=1)
    null[depends, np.arange(len(depends))] = 1.0
    along = np.linalg.qr(null)[0]
    return np.asarray(found - along @ (along.T @ found))


def least_norm(columns: FloatArray, targets: FloatArray, cutoff: float) -> FloatArray:
    """Return the shortest least squares solution, singular values below a cutoff taken for zero.

    An orthogonal factorisation is quicker than singular values, and as good if its rank is clear.
    """
    n, d = columns.shape
    if n == 0:
        return np.zeros((d, targets.shape[1]))
    right = np.zeros((max(n, d), targets.shape[1]))
    right[:n] = targets
    room = 2 * d + 64 * (d + targets.shape[1] + 1)  # what blocks of 64 columns need
    factor, solution, _, rank, _ = dgelsy(columns, right, np.zeros(d), cutoff, room + min(n, d))
    size = np.append(np.abs(np.diagonal(factor)), 0.0)
    border = cutoff * size[0]
    if size[rank - 1] >= CLEAR * border and size[rank] <= border / CLEAR:
        return np.asarray(solution[:d])
    return np.asarray(lstsq(columns, targets, cond=cutoff)[0])
