"""Multiple imputation by chained equations, as the paper has it: several draws, a tree each.

A draw fills the gaps of the training rows at random, each column by a Bayesian regression on the
others, round after round (`IterativeImputer` with ``sample_posterior=True``). A new row's gaps are
filled with what the same regressions expect, so that a prediction depends on its own row alone.
"""

from collections.abc import Sequence
from copy import copy

import numpy as np

from predictree.model.imputation import Imputation
from predictree.model.schema import Schema
from predictree.model.tree import FloatArray


def draw(schema: Schema, X: FloatArray, seed: int) -> tuple[Imputation, FloatArray]:
    """Draw the gaps of numbers, dates and ordered categories; return the rows without them.

    A missing level of a category stays what it is, a level of its own. A column without any value
    has nothing to be drawn from, and neither has one that is not used.
    """
    # Experimental, and not wanted before there is something to draw.
    from sklearn.experimental import enable_iterative_imputer  # noqa: F401, PLC0415
    from sklearn.impute import IterativeImputer  # noqa: PLC0415

    columns = tuple(
        j
        for j, column in enumerate(schema.columns)
        if not column.is_category
        and (column.splits or column.is_fitted)
        and not np.isnan(X[:, j]).all()
    )
    imputer = IterativeImputer(sample_posterior=True, random_state=seed, skip_complete=True, tol=0)
    filled = X.copy()
    filled[:, columns] = imputer.fit_transform(X[:, columns])
    expected = copy(imputer)
    expected.sample_posterior = False
    return Imputation(columns, expected), filled


def spread(scores: Sequence[FloatArray]) -> FloatArray:
    """Return the standard deviation between imputations, of every row and column."""
    return np.asarray(np.std(scores, axis=0, ddof=1))
