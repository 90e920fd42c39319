"""What the learners see of a table: categories as numbers, gaps filled, columns on one scale.

A table has one coded column for each of the user's (`predictree.model.schema`). Learners that take
categories and missing values as they are get them so. For the others a category of few levels is
one-hot coded and one of many gives the share of rows that have its level; neither knows a label.
Gaps and scales are learned with the learner, on its own training rows.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MinMaxScaler

from predictree.learners.adapter import takes_missing_values
from predictree.model.schema import Column, Schema
from predictree.model.tree import FloatArray
from predictree.model.views import AsItIs, OneHot, Share, View

FEW = 12  # levels that are one-hot coded
NATIVE = 255  # levels that a histogram boosting takes as they are
ONE_SCALE = ("sklearn.svm", "sklearn.neighbors", "sklearn.neural_network")


def numeric_view(schema: Schema, X: FloatArray) -> View | None:
    """Return a view in numbers; None if that is the table itself."""
    if schema.is_plain:
        return None
    return View(tuple(_part(c, j, X[:, j], FEW) for j, c in _fitted(schema, X)))


def native_view(schema: Schema, X: FloatArray) -> tuple[View | None, list[int]]:
    """Return a view with categories as codes, and where those are."""
    if schema.is_plain:
        return None, []
    parts = [
        AsItIs(j)
        if not column.is_category or len(column.levels) <= NATIVE
        else _part(column, j, X[:, j], FEW)
        for j, column in _fitted(schema, X)
    ]
    places = [
        at
        for at, (part, (_, column)) in enumerate(zip(parts, _fitted(schema, X), strict=True))
        if isinstance(part, AsItIs) and column.is_category
    ]
    return View(tuple(parts)), places


def _fitted(schema: Schema, X: FloatArray) -> list[tuple[int, Column]]:
    """Return the columns that learners may see, but for those without any value."""
    return [
        (j, column)
        for j, column in enumerate(schema.columns)
        if column.is_fitted and not np.isnan(X[:, j]).all()
    ]


def _part(column: Column, place: int, values: FloatArray, few: int) -> AsItIs | OneHot | Share:
    if not column.is_category:
        return AsItIs(place)
    missing = np.isnan(values)
    if len(column.levels) <= few:
        codes = np.unique(values[~missing]).tolist()
        two = len(codes) == 2 and not missing.any()
        return OneHot(place, tuple(codes[1:] if two else codes), bool(missing.any()))
    code = np.where(missing, len(column.levels), values).astype(np.int64)
    return Share(place, np.bincount(code, minlength=len(column.levels) + 1) / len(values))


def takes_categories(estimator: Any) -> bool:
    """Whether a learner takes the codes of categories: scikit-learn's histogram boostings do.

    If the user has told it which columns are categories, that is left as it is.
    """
    boostings = HistGradientBoostingClassifier | HistGradientBoostingRegressor
    return isinstance(estimator, boostings) and estimator.categorical_features in (
        None,
        "from_dtype",
    )


def prepared(estimator: Any, categories: Sequence[int], gaps: bool) -> Any:
    """Return an estimator that can take what it will see.

    Told where categories are; behind an imputer with indicators, if there are gaps that it does not
    take; behind a scaler to [0, 1], if distances matter to it.
    """
    if categories:
        estimator = estimator.set_params(categorical_features=list(categories))
    steps: list[tuple[str, Any]] = []
    if gaps and not takes_missing_values(estimator):
        imputer = SimpleImputer(strategy="median", add_indicator=True, keep_empty_features=True)
        steps.append(("imputer", imputer))
    if type(estimator).__module__.startswith(ONE_SCALE):
        steps.append(("scaler", MinMaxScaler()))
    return Pipeline([*steps, ("learner", estimator)]) if steps else estimator


def seen_by(
    named: Sequence[tuple[str, Any]], schema: Schema, X: FloatArray
) -> tuple[list[View | None], list[tuple[str, Any]]]:
    """Return for each learner what it sees, and the learner prepared for that."""
    numbers, (native, categories) = numeric_view(schema, X), native_view(schema, X)
    gaps = bool(np.isnan(X).any() if numbers is None else np.isnan(numbers(X)).any())
    views: list[View | None] = []
    ready: list[tuple[str, Any]] = []
    for name, estimator in named:
        takes = bool(categories) and takes_categories(estimator)
        views.append(native if takes else numbers)
        ready.append((name, prepared(estimator, categories if takes else [], gaps)))
    return views, ready
