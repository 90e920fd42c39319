"""From what a user hands over to arrays: checked features, labels and weights."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import assert_all_finite
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_array, check_consistent_length, column_or_1d

from predictree.errors import InvalidInputError
from predictree.model.outputs import Labels
from predictree.model.schema import Schema, is_frame
from predictree.model.tree import FloatArray, IntArray


@dataclass(frozen=True, slots=True)
class Table:
    """The rows that count: those of positive weight, checked and encoded.

    Attributes
    ----------
    X : array of shape (n, d)
        One column for each of the user's; see `Schema`.
    y : array of shape (n,)
        Class codes, or real labels.
    weight : array of shape (n,) or None
    classes : array or None
        What the codes stand for; None in a regression.
    kept : array of shape (n,)
        The place of each row in the user's data.
    n_given : int
        Rows of the user's data.
    schema : Schema
        What the columns are.
    """

    X: FloatArray
    y: Labels
    weight: FloatArray | None
    classes: Labels | None
    kept: IntArray
    n_given: int
    schema: Schema

    def spread(self, values: NDArray[Any], absent: float) -> NDArray[Any]:
        """Return values of the rows that count as an array over all the user's rows."""
        spread = np.full(self.n_given, absent, dtype=values.dtype)
        spread[self.kept] = values
        return spread


def read_table(
    X: Any,
    y: Any,
    sample_weight: ArrayLike | None,
    task: str,
    roles: Mapping[Any, Any] | None,
    estimator: Any,
) -> Table:
    """Check and encode training data; rows of weight zero are as good as absent."""
    known = X if is_frame(X) else numbers_of(X, estimator)
    schema = Schema.of(known, roles)
    features = schema.encode(known if schema.reads(known) else numbers_of(known, estimator))
    n_given = len(features)
    weight = check_weights(sample_weight, n_given)
    kept = np.arange(n_given) if weight is None else np.flatnonzero(weight)
    labels = check_labels(y, features) if task == "classification" else check_values(y, features)
    if len(kept) < n_given:
        features, labels = features[kept], labels[kept]
    schema.refuse(features, [])
    classes = None
    if task == "classification":
        classes, labels = encode_classes(labels)
    mass = None if weight is None else weight[kept]
    return Table(features, labels, mass, classes, kept, n_given, schema.spanning(features))


def never_missing(table: Table) -> tuple[int, ...]:
    """Return the columns of numbers that learners see and that have no gap."""
    return tuple(
        j
        for j, column in enumerate(table.schema.columns)
        if column.is_fitted and not column.is_category and not np.isnan(table.X[:, j]).any()
    )


def numbers_of(X: Any, estimator: Any) -> FloatArray:
    """Return a table of numbers as an array of floats."""
    try:
        floats: FloatArray = check_array(
            X, dtype=np.float64, ensure_all_finite=False, estimator=estimator, input_name="X"
        )
    except ValueError as error:
        if "could not convert" in str(error):
            raise InvalidInputError(
                f"X holds text ({error}): give a pandas or polars frame, whose text columns are "
                "read as categories (pip install 'predictree[frames]'), or numbers"
            ) from error
        raise
    return floats


def check_weights(sample_weight: ArrayLike | None, n_rows: int) -> FloatArray | None:
    """Return the weights as floats: one a row, none negative, not all zero."""
    if sample_weight is None:
        return None
    weight = np.asarray(sample_weight, dtype=np.float64)
    if weight.ndim == 0:
        weight = np.full(n_rows, float(weight))
    if weight.shape != (n_rows,):
        raise InvalidInputError(
            f"sample_weight has shape {weight.shape}, but X has {n_rows} rows: give one per row"
        )
    if not np.isfinite(weight).all():
        raise InvalidInputError("sample_weight contains NaN or inf: give finite numbers")
    if (weight < 0).any():
        raise InvalidInputError(
            f"sample_weight is negative in {(weight < 0).sum()} rows: give weights of 0 or more"
        )
    if not weight.any():
        raise InvalidInputError("sample_weight is zero everywhere: give some rows a weight")
    return weight


def check_labels(y: Any, X: FloatArray) -> Labels:
    """Return the class labels as a flat array, as long as X."""
    labels: Labels = column_or_1d(y, warn=True)
    assert_all_finite(labels, input_name="y")
    check_classification_targets(labels)
    check_consistent_length(X, labels)
    return labels


def check_values(y: Any, X: FloatArray) -> FloatArray:
    """Return the real labels as a flat array of finite floats, as long as X."""
    values: FloatArray = check_array(
        column_or_1d(y, warn=True), dtype=np.float64, ensure_2d=False, input_name="y"
    )
    check_consistent_length(X, values)
    return values


def encode_classes(labels: Labels) -> tuple[Labels, IntArray]:
    """Return the sorted classes and the code of each row; one class is an error."""
    classes, codes = np.unique(labels, return_inverse=True)
    if len(classes) < 2:
        raise InvalidInputError(
            f"y has only one class ({classes.tolist()[0]!r}) among the rows with weight: "
            "a classifier needs rows of at least two classes"
        )
    return classes, codes
