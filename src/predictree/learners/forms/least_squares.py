"""Least squares problems that are given by their Gram matrices, or by rows; by minimum norm."""

import numpy as np
from scipy.linalg import lstsq
from scipy.linalg.lapack import dgelsy, dpstrf

from predictree.learners.forms import kernels
from predictree.learners.forms.kernels import DOUBT
from predictree.model.tree import BoolArray, FloatArray, IntArray

WIDE = 100  # columns from which a factorisation in blocks makes up for a call for every problem
CLEAR = 1e3  # a singular value is not near a cutoff that it is so many times above or below


def solve_least_squares(
    gram: FloatArray, target: FloatArray, noise: FloatArray, penalty: FloatArray, cutoff: float
) -> tuple[FloatArray, BoolArray, BoolArray]:
    """Solve many problems from their Gram matrices; see the kernel of this name.

    Wide ones are factored by LAPACK, in blocks.
    """
    n_systems, d, _ = target.shape
    if d < WIDE:
        return kernels.solve_least_squares(gram, target, noise, penalty, cutoff)
    coefficients = np.zeros(target.shape)
    certain = np.ones(n_systems, dtype=bool)
    dropped = np.zeros((n_systems, d), dtype=bool)
    for b in range(n_systems):
        real = np.diagonal(gram[b]) > noise[b]
        unit = np.sqrt(noise[b])
        L, order, rank, certain[b] = _factored(gram[b], unit, real, penalty[b], cutoff)
        dropped[b, order[rank:]] = True
        if certain[b]:
            found = np.zeros(target[b].shape)
            kernels.solve_factored(L, np.arange(d), rank, real[order], target[b, order], found)
            coefficients[b, order] = found
    return coefficients, certain, dropped


def _factored(
    gram: FloatArray, unit: FloatArray, real: BoolArray, penalty: FloatArray, cutoff: float
) -> tuple[FloatArray, IntArray, int, bool]:
    """Factor one Gram matrix as the kernel does, in place of the columns' order that of pivots.

    Returns L, the order, the rank and whether it is clear. In units of noise, the column that is
    clearest of it has the largest diagonal element.
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
