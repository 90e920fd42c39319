"""A basis in which the columns of a node are uncorrelated and of unit length.

Sums of products square whatever is nearly dependent. In this basis nothing is: columns that depend
on each other to 1e-9 are as good as any others, and those that depend fully are gone.
"""

from dataclasses import dataclass

import numpy as np

from predictree.learners.forms.design import columns_of
from predictree.model.tree import FloatArray, IntArray

CLEAR = 1e-6  # an eigenvalue of correlations above this is known from their matrix
ROUNDING = 4 * np.finfo(float).eps  # of a value, relative to it


@dataclass(frozen=True, eq=False)
class Whitened:
    """The basis of the columns of some rows.

    Attributes
    ----------
    columns : array of shape (d,)
        Those that vary.
    center, scale : arrays of shape (d,)
    to : array of shape (d, r)
        From columns, less their centre and by their scale, to the basis.
    """

    columns: IntArray
    center: FloatArray
    scale: FloatArray
    to: FloatArray

    @classmethod
    def of(cls, features: FloatArray) -> "Whitened":
        """Find the basis of some rows, which are brought to centre and scale in place."""
        columns, center, scale = columns_of(features)
        standard = features[:, : len(columns)]
        noise = 1e-13 + ROUNDING * np.max(np.abs(center) / scale, initial=0.0)
        return cls(columns, center, scale, _to_unit(standard, noise))

    @property
    def rank(self) -> int:
        """Directions in which the rows vary."""
        return int(self.to.shape[1])

    def penalty(self, alpha: float) -> FloatArray:
        """Return the matrix of a ridge penalty on the coefficients of the columns."""
        return np.asarray(self.to.T @ (self.to * (alpha / self.scale**2)[:, None]))

    def variances(self, covariance: FloatArray) -> FloatArray:
        """Return the variances of the scaled columns, from covariances in the basis: (b, d)."""
        back = np.linalg.pinv(self.to)
        return np.asarray(np.einsum("brs,rd,sd->bd", covariance, back, back, optimize=True))

    def slopes(self, coefficients: FloatArray) -> FloatArray:
        """Return coefficients of the columns as they were, (b, d), from those in the basis."""
        return np.asarray((coefficients @ self.to.T) / self.scale)


def _to_unit(standard: FloatArray, noise: float) -> FloatArray:
    """Return what makes columns orthonormal; directions in which there is only noise are dropped.

    Where columns nearly depend on each other, the rows are turned into that direction first, and
    their length there is measured: their correlations would only tell its square.
    """
    n = max(len(standard), 1)
    size, turn = np.linalg.eigh(standard.T @ standard / n)
    clear = size > CLEAR
    found = turn[:, clear] / np.sqrt(size[clear])
    faint = turn[:, ~clear]
    along = standard @ faint
    length = np.sqrt(np.square(along).mean(axis=0))
    real = length > noise * np.sqrt(len(standard.T))
    if not real.any():
        return np.asarray(found)
    to = faint[:, real] / length[real]
    size, turn = np.linalg.eigh(to.T @ (standard.T @ (standard @ to)) / n)
    real = size > CLEAR
    return np.hstack([found, (to @ turn)[:, real] / np.sqrt(size[real])])
