"""Linear learners and their squared errors on many sets of rows, from the Gram matrices of those.

The columns are a one, or the root of a row's weight, a basis in which the features are uncorrelated
(`Whitened`), and the label, less its fit in that basis.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.linalg.lapack import dposv

from predictree.learners.forms.whitened import Whitened
from predictree.model.tree import FloatArray

LARGE = 100  # columns from which a factorisation in blocks makes up for a call for every system
SHORTEST = 1e-11  # weight of the coefficients' size where rows leave them open


@dataclass(frozen=True, slots=True)
class Penalised:
    """A linear learner: least squares, with a penalty on columns that may be standardised first."""

    alpha: float
    standardises: bool

    def penalty(self, basis: Whitened, sums: FloatArray) -> FloatArray:
        """Return the matrix of the penalty on training sets with these sums: (b or 1, r, r)."""
        if not self.standardises or self.alpha == 0:
            return basis.penalty(self.alpha)[None]
        count = np.maximum(sums[:, 0, 0], 1.0)[:, None]
        mean, second = sums[:, 0, 1:] / count, sums[:, 1:, 1:] / count[:, None]
        weights = self.alpha * basis.variances(second - mean[:, :, None] * mean[:, None])
        return np.asarray(np.einsum("dr,bd,ds->brs", basis.to, weights, basis.to, optimize=True))


def coefficients_of_sides(
    systems: FloatArray,
    targets: FloatArray,
    learner: Penalised,
    basis: Whitened,
    before: FloatArray,
) -> FloatArray:
    """Return intercepts and coefficients in the basis, beyond those taken off before: (b, r + 1).

    They are NaN where there are no rows. Systems and targets are used up.

    Parameters
    ----------
    systems : array of shape (b, r + 1, r + 1)
        Products of the ones and the basis, summed over each training set.
    targets : array of shape (b, r + 1)
        Their products with the label.
    learner : Penalised
    basis : Whitened
    before : array of shape (r,)
        The coefficients that were taken off the label; a penalty is on the sum.
    """
    empty = systems[:, 0, 0] <= 0
    systems[empty, 0, 0] = 1.0
    least = SHORTEST * systems[:, :1, 0]
    if learner.alpha:
        penalty = learner.penalty(basis, systems)
        systems[:, 1:, 1:] += penalty
        targets[:, 1:] -= penalty @ before
    place = np.arange(1, systems.shape[1])
    systems[:, place, place] += least
    targets[:, 1:] -= least * before
    found = solved(systems, targets)
    found[empty] = np.nan
    return found


def solved(systems: FloatArray, targets: FloatArray) -> FloatArray:
    """Solve many systems of positive definite matrices, (b, m, m) and (b, m); they are used up."""
    if systems.shape[1] < LARGE:
        return np.asarray(np.linalg.solve(systems, targets[..., None])[..., 0])
    for system, target in zip(systems, targets, strict=True):
        _, target[:], failed = dposv(system.T, target, overwrite_a=1)
        if failed:
            target[:] = np.nan
    return targets


def products_of_errors(sums: FloatArray, own: Sequence[FloatArray], first: int) -> FloatArray:
    """Return the summed products of predictors' errors on sets of rows: (..., k, k).

    First those of linear learners, by their coefficients; then those of predictors whose errors
    are columns of the rows themselves.

    Parameters
    ----------
    sums : array of shape (..., p, p)
    own : sequence of arrays of shape (..., r + 1)
    first : int
        The first of the columns that are errors.
    """
    n_own, n_given = len(own), sums.shape[-1] - first
    error = np.zeros((*sums.shape[:-2], first, n_own))
    for i, found in enumerate(own):
        error[..., :-1, i], error[..., -1, i] = -found, 1.0
    products = np.empty((*sums.shape[:-2], n_own + n_given, n_own + n_given))
    along = sums[..., :first] @ error
    products[..., :n_own, :n_own] = np.swapaxes(error, -1, -2) @ along[..., :first, :]
    products[..., n_own:, :n_own] = along[..., first:, :]
    products[..., :n_own, n_own:] = np.swapaxes(along[..., first:, :], -1, -2)
    products[..., n_own:, n_own:] = sums[..., first:, first:]
    return products
