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
        """Return the matrix of the penalty on the training sets with these sums: (b or 1, r, r)."""
        if not self.standardises or self.alpha == 0:
            return basis.penalty(self.alpha)[None]
        r, count = basis.rank, np.maximum(sums[:, 0, 0], 1.0)[:, None]
        mean = sums[:, 0, 1 : r + 1] / count
        covariance = sums[:, 1 : r + 1, 1 : r + 1] / count[:, None]
        covariance = covariance - mean[:, :, None] * mean[:, None]
        weights = self.alpha * basis.variances(covariance)
        return np.asarray(np.einsum("dr,bd,ds->brs", basis.to, weights, basis.to, optimize=True))


def coefficients(
    sums: FloatArray, learner: Penalised, basis: Whitened, before: FloatArray
) -> FloatArray:
    """Return intercepts and coefficients in the basis, beyond those taken off before: (b, r + 1).

    They are NaN where there are no rows.

    Parameters
    ----------
    sums : array of shape (b, r + 2, r + 2)
    learner : Penalised
    basis : Whitened
    before : array of shape (r,)
        The coefficients that were taken off the label; a penalty is on the sum.
    """
    m = sums.shape[1] - 1
    system, target = sums[:, :m, :m].copy(), sums[:, :m, m].copy()
    empty = system[:, 0, 0] <= 0
    system[empty, 0, 0] = 1.0
    place = np.arange(1, m)
    least = SHORTEST * system[:, :1, 0]
    system[:, place, place] += least
    target[:, 1:] -= least * before
    if learner.alpha:
        penalty = learner.penalty(basis, sums)
        system[:, 1:, 1:] += penalty
        target[:, 1:] -= penalty @ before
    found = solved(system, target)
    found[empty] = np.nan
    return found


def solved(systems: FloatArray, targets: FloatArray) -> FloatArray:
    """Solve many systems of positive definite matrices, (b, m, m) and (b, m); they are used up."""
    if systems.shape[1] < LARGE:
        return np.asarray(np.linalg.solve(systems, targets[..., None])[..., 0])
    for system, target in zip(systems, targets, strict=True):
        _, target[:], failed = dposv(system, target)
        if failed:
            target[:] = np.nan
    return targets


def products_of_errors(sums: FloatArray, own: Sequence[FloatArray], first: int) -> FloatArray:
    """Return the summed products of predictors' errors on sets of rows: (b, k, k).

    First those of linear learners, by their coefficients; then those of predictors whose errors
    are columns of the rows themselves.

    Parameters
    ----------
    sums : array of shape (b, p, p)
    own : sequence of arrays of shape (b, r + 1)
    first : int
        The first of the columns that are errors.
    """
    n_own, n_given = len(own), sums.shape[1] - first
    error = np.zeros((len(sums), first, n_own))
    for i, found in enumerate(own):
        error[:, :-1, i], error[:, -1, i] = -found, 1.0
    products = np.empty((len(sums), n_own + n_given, n_own + n_given))
    along = sums[:, :, :first] @ error
    products[:, :n_own, :n_own] = error.transpose(0, 2, 1) @ along[:, :first]
    products[:, n_own:, :n_own] = along[:, first:]
    products[:, :n_own, n_own:] = along[:, first:].transpose(0, 2, 1)
    products[:, n_own:, n_own:] = sums[:, first:, first:]
    return products
