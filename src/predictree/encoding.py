"""From what a user hands over to arrays: checked features, labels and weights."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import assert_all_finite
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_array, check_consistent_length, column_or_1d

from predictree.exceptions import InvalidInputError
from predictree.losses import Labels
from predictree.schema import Schema, is_frame
from predictree.tree import BoolArray, FloatArray, IntArray


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
    features = as_floats(known, schema, estimator)
    n_given = len(features)
    weight = check_weights(sample_weight, n_given)
    kept = np.arange(n_given) if weight is None else np.flatnonzero(weight)
    labels = check_labels(y, features) if task == "classification" else check_values(y, features)
    if len(kept) < n_given:
        features, labels = features[kept], labels[kept]
    refuse_values(features, schema, [])
    classes = None
    if task == "classification":
        classes, labels = encode_classes(labels)
    mass = None if weight is None else weight[kept]
    return Table(features, labels, mass, classes, kept, n_given, schema.spanning(features))


def never_missing(table: Table) -> list[int]:
    """Return the columns of numbers that learners see and that have no gap."""
    return [
        j
        for j, column in enumerate(table.schema.columns)
        if column.is_fitted and not column.is_category and not np.isnan(table.X[:, j]).any()
    ]


def check_features(X: Any, schema: Schema, estimator: Any, needed: Sequence[int]) -> FloatArray:
    """Return X as numbers; an infinite value, or a missing one that is needed, is an error."""
    features = as_floats(X, schema, estimator)
    refuse_values(features, schema, needed)
    return features


def as_floats(X: Any, schema: Schema, estimator: Any) -> FloatArray:
    """Return X as a two-dimensional array of floats, whatever their values."""
    plain = all(column.kind == "number" for column in schema.columns)
    if not plain and not is_frame(X):
        texts = [column.name for column in schema.columns if column.kind != "number"]
        raise InvalidInputError(
            f"the model was fitted on a frame with columns such as {texts[0]!r} that are not "
            "numbers: give a frame with the same columns"
        )
    if is_frame(X) and len(X.columns) == len(schema.columns) and schema.from_frame:
        return schema.encode(X)
    return numbers_of(X, estimator)


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


def refuse_values(features: FloatArray, schema: Schema, needed: Sequence[int]) -> None:
    """Raise for the first column with an infinite value, or with a missing one that is needed."""
    names = [column.name for column in schema.columns] if schema.from_frame else None
    _refuse(np.isinf(features), names, "inf", "replace or drop these rows")
    missing = np.zeros(features.shape, dtype=bool)
    missing[:, needed] = np.isnan(features[:, needed])
    _refuse(
        missing,
        names,
        "NaN",
        "there were none in fit, and not every learner in use takes them: impute them first (for "
        "instance with a SimpleImputer in a Pipeline), or fit on rows that have some",
    )


def _refuse(bad: BoolArray, names: Sequence[Any] | None, what: str, remedy: str) -> None:
    columns = np.flatnonzero(bad.any(axis=0))
    if columns.size:
        first = columns[0]
        name = f"column {first}" if names is None else f"column {names[first]!r}"
        more = f" (and {columns.size - 1} more)" if columns.size > 1 else ""
        raise InvalidInputError(
            f"Input X contains {what}: {name}{more} has it in {bad[:, first].sum()} of {len(bad)} "
            f"rows; {remedy}"
        )


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
