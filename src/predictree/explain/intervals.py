"""What a prediction may be off by: intervals, quantiles, and sets of classes."""

from collections.abc import Sequence
from numbers import Real
from typing import Any

import numpy as np

from predictree.errors import InvalidInputError
from predictree.model import Model, Residuals, probabilities
from predictree.model.tree import BoolArray, FloatArray, IntArray


def interval(model: Model, codes: FloatArray, coverage: float) -> FloatArray:
    """Return the ends of intervals that hold so large a share of labels: (n, 2)."""
    check_coverage(coverage)
    outside = (1.0 - coverage) / 2
    return quantiles(model, codes, [outside, 1.0 - outside])


def quantiles(model: Model, codes: FloatArray, levels: Sequence[float]) -> FloatArray:
    """Return values that a label is below with these probabilities: (n, levels).

    Below a half they are rounded down to errors that were seen, above it up.
    """
    wanted = np.atleast_1d(np.asarray(levels, dtype=np.float64))
    if wanted.ndim > 1 or not ((wanted > 0) & (wanted < 1)).all():
        raise InvalidInputError(f"levels={levels!r}: give probabilities between 0 and 1")
    told, leaves = _known(model, codes)
    answers = model.scores(codes)[:, 0]
    errors = [(told.below if level < 0.5 else told.above)(leaves, level) for level in wanted]
    found = answers[:, None] + told.at(answers)[:, None] * np.column_stack(errors)
    return np.asarray(np.maximum(found, model.loss.floor))


def sets(model: Model, codes: FloatArray, coverage: float) -> BoolArray:
    """Return which classes may be the true one, the most probable among them: (n, k)."""
    check_coverage(coverage)
    told, leaves = _known(model, codes)
    scores = model.scores(codes)
    most = told.above(leaves, coverage)
    found = 1.0 - probabilities(scores) <= most[:, None]
    found[np.arange(len(codes)), model.choose(scores)] = True
    return np.asarray(found)


def check_coverage(coverage: Any) -> None:
    """Raise unless this is a share of the labels, such as 0.9."""
    if not isinstance(coverage, Real) or not 0 < float(coverage) < 1:
        raise InvalidInputError(f"coverage={coverage!r}: give a share between 0 and 1, such as 0.9")


def _known(model: Model, codes: FloatArray) -> tuple[Residuals, IntArray]:
    """Return the errors of held-out rows, and the leaves of some rows."""
    if model.account.residuals is None:
        raise InvalidInputError(
            "this model was saved by a version that kept no held-out errors: fit it again for "
            "intervals"
        )
    return model.account.residuals, model.leaves(codes)
