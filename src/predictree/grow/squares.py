"""What predictors come to in squares on both sides of splits, as sums: no row is looked at."""

from dataclasses import dataclass

import numpy as np

from predictree.model.tree import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class Squares:
    """Summed products of held-out errors of all predictors, by split, side and group of rows.

    Predictors are those trained on the children, one a learner, and then the leaf's pool.

    Attributes
    ----------
    products : array of shape (splits, 2, groups, k, k)
    mass : array of shape (splits, 2, groups)
        Summed weights of the rows.
    count : array of shape (splits, 2, groups)
    part : array of shape (groups,)
        The fold in which the weights of predictors are found without these rows.
    n_own : int
        Predictors trained on the children.
    """

    products: FloatArray
    mass: FloatArray
    count: FloatArray
    part: IntArray
    n_own: int

    @property
    def total(self) -> FloatArray:
        """The mass of all rows, which every split divides: (splits,)."""
        return np.asarray(self.mass.sum(axis=(1, 2)))

    def by_part(self, values: FloatArray, n_parts: int) -> FloatArray:
        """Add values, (splits, 2, groups, ...), by part: (splits * 2, parts, ...)."""
        flat = values.reshape(-1, *values.shape[2:])
        added = np.zeros((len(flat), n_parts, *values.shape[3:]))
        for g, part in enumerate(self.part.tolist()):
            added[:, part] += flat[:, g]
        return added
