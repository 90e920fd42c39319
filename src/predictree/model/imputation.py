"""One draw of a multiple imputation, as a fitted model keeps it."""

from dataclasses import dataclass
from typing import Any

from predictree.model.tree import FloatArray


@dataclass(frozen=True)
class Imputation:
    """One draw: the regressions that fill the gaps of some columns."""

    columns: tuple[int, ...]
    imputer: Any

    def __call__(self, X: FloatArray) -> FloatArray:
        """Fill the gaps of new rows with their expected values."""
        filled = X.copy()
        filled[:, self.columns] = self.imputer.transform(X[:, self.columns])
        return filled
