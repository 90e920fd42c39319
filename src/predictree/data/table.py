"""From what a user hands over to arrays: checked features, labels and weights."""

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import assert_all_finite
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_array, check_consistent_length, column_or_1d

from predictree.errors import InvalidInputError, LeakWarning
from predictree.model.outputs import LARGEST, Labels
from predictree.model.schema import Schema, is_frame, is_missing
from predictree.model.tree import FloatArray, IntArray

FEWEST = 10  # rows from which on a column that equals the target is no chance


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
    if hasattr(X, "shape") and len(X.shape) == 2 and not X.shape[0]:
        raise InvalidInputError(
            f"X has no rows to learn from: Found array with 0 sample(s) (shape={X.shape}) while a "
            "minimum of 1 is required"
        )
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
    found = Table(features, labels, mass, classes, kept, n_given, schema.spanning(features))
    warn_of_leaks(found)
    return found


def never_missing(table: Table) -> tuple[int, ...]:
    """Return the columns of numbers that learners see and that have no gap."""
    return tuple(
        j
        for j, column in enumerate(table.schema.columns)
        if column.is_fitted and not column.is_category and not np.isnan(table.X[:, j]).any()
    )


def numbers_of(X: Any, estimator: Any, least: int = 1) -> FloatArray:
    """Return a table of numbers, of so many rows at least, as an array of floats."""
    try:
        floats: FloatArray = check_array(
            X,
            dtype=np.float64,
            ensure_all_finite=False,
            ensure_min_samples=least,
            estimator=estimator,
            input_name="X",
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
    most = weight.max()
    if not 1 / LARGEST <= most <= LARGEST:  # how weights compare is all that they say
        weight = weight / most
    return weight


def check_labels(y: Any, X: FloatArray) -> Labels:
    """Return the class labels as a flat array, as long as X."""
    labels: Labels = column_or_1d(y, warn=True)
    refuse_missing(labels)
    assert_all_finite(labels, input_name="y")
    try:
        check_classification_targets(labels)
    except ValueError as error:
        raise InvalidInputError(
            f"y has {len(np.unique(labels))} different numbers, such as {labels[0]:.6g}, which are "
            f"no classes: use ToPsRegressor ({error})"
        ) from error
    check_consistent_length(X, labels)
    return labels


def check_values(y: Any, X: FloatArray) -> FloatArray:
    """Return the real labels as a flat array of finite floats, as long as X."""
    try:
        given = column_or_1d(y, warn=True)
    except (TypeError, ValueError) as error:
        raise InvalidInputError(f"y cannot be read as numbers, one a row: {error}") from error
    refuse_missing(given)
    if text := _first_text(given):
        raise InvalidInputError(
            f"y holds text, such as {text!r}, which is no number: use ToPsClassifier for classes, "
            "or make it numbers"
        )
    values = _as_reals(given)
    check_consistent_length(X, values)
    return values


def refuse_missing(labels: NDArray[Any]) -> None:
    """Raise for labels without a value, with their number and the first of their rows."""
    absent = labels != labels  # NaN alone differs from itself
    if labels.dtype == object:
        absent = np.array([is_missing(label) for label in labels], dtype=bool)
    if np.any(absent):
        raise InvalidInputError(
            f"y is missing (None or NaN) in {absent.sum()} of {len(labels)} rows, first in row "
            f"{absent.argmax()}: leave these rows out. Input y contains NaN"
        )


def _first_text(labels: NDArray[Any]) -> str | None:
    """Return the first label that is text and no number."""
    for label in labels.tolist() if labels.dtype.kind in "UO" else ():
        try:
            float(label)
        except OverflowError:  # a number, but a large one
            continue
        except (TypeError, ValueError):
            return str(label)
    return None


def warn_of_leaks(table: "Table") -> None:
    """Warn of a column that is the target itself, or says it in other words."""
    names = [c.name for c in table.schema.columns if c.splits or c.is_fitted]
    places = [j for j, c in enumerate(table.schema.columns) if c.splits or c.is_fitted]
    found = [n for n, j in zip(names, places, strict=True) if _tells(table.X[:, j], table)]
    if found and len(table.y) >= FEWEST:
        warnings.warn(
            f"column {found[0]!r} of X is the target itself: the model will do nothing but repeat "
            "it. Drop this column, or set feature_roles={" + repr(found[0]) + ": 'ignore'}",
            LeakWarning,
            stacklevel=4,
        )


def _tells(column: FloatArray, table: "Table") -> bool:
    """Whether a column is the target, or has one value for each class."""
    if table.classes is None:
        return bool(np.array_equal(column, table.y) and np.ptp(column) > 0)
    values, codes = np.unique(column, return_inverse=True)
    if len(values) != len(table.classes):
        return False
    pairs = np.unique(np.column_stack([codes, table.y]), axis=0)
    return len(pairs) == len(values)


def _as_reals(given: NDArray[Any]) -> FloatArray:
    """Return labels as floats, of a size that can be reckoned with."""
    try:
        values: FloatArray = check_array(given, dtype=np.float64, ensure_2d=False, input_name="y")
    except (OverflowError, TypeError, ValueError) as error:
        raise InvalidInputError(f"y cannot be read as numbers, one a row: {error}") from error
    check_size(values, "y")
    return values


def check_size(values: FloatArray, name: str) -> None:
    """Raise for values whose squares, or the errors of these, are no numbers or all zero."""
    most = np.abs(values).max(initial=0.0)
    if most and not 1 / LARGEST <= most <= LARGEST:
        raise InvalidInputError(
            f"{name} has values of a size of {most:.1e}, and what is computed from their squares "
            f"would be no numbers: give it in another unit, for instance {name} / {most:.0e}"
        )


def encode_classes(labels: Labels) -> tuple[Labels, IntArray]:
    """Return the sorted classes and the code of each row; one class is an error."""
    classes, codes = np.unique(labels, return_inverse=True)
    if len(classes) < 2:
        raise InvalidInputError(
            f"y has only one class ({classes.tolist()[0]!r}) among the rows with weight: "
            "a classifier needs rows of at least two classes"
        )
    return classes, codes
