"""Linear models inside predictors: their slopes in the units of the columns that learners see.

A model may stand behind a view of the user's columns, an imputer, and scalers. All but the imputer
are linear themselves and are multiplied out.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import is_regressor
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, RobustScaler, StandardScaler

from predictree.model.fitted import SeenBy, predicted_values
from predictree.model.schema import Column
from predictree.model.tree import Fitted, FloatArray
from predictree.model.views import AsItIs, OneHot, View

ONE, ZERO = np.float64(1.0), np.float64(0.0)


def _standard(scaler: StandardScaler) -> tuple[Any, Any]:
    factor = ONE if scaler.scale_ is None else 1.0 / scaler.scale_
    return factor, ZERO if scaler.mean_ is None else -scaler.mean_ * factor


def _robust(scaler: RobustScaler) -> tuple[Any, Any]:
    factor = ONE if scaler.scale_ is None else 1.0 / scaler.scale_
    return factor, ZERO if scaler.center_ is None else -scaler.center_ * factor


SCALERS: dict[type, Callable[[Any], tuple[Any, Any]]] = {
    StandardScaler: _standard,
    RobustScaler: _robust,
    MaxAbsScaler: lambda scaler: (1.0 / scaler.scale_, ZERO),
    MinMaxScaler: lambda scaler: (scaler.scale_, scaler.min_),
}
"""For each scaler what it multiplies columns by, and what it adds then."""


@dataclass(frozen=True)
class Lens:
    """How a fitted estimator sees the coded columns: column by column, after an imputer if any.

    Attributes
    ----------
    view : View or None
    imputer : SimpleImputer or None
    factor, offset : arrays or numbers
        Of the scalers behind it.
    final : estimator
        What sees the result.
    """

    view: View | None
    imputer: Any
    factor: Any
    offset: Any
    final: Any

    @classmethod
    def of(cls, view: View | None, estimator: Any) -> "Lens | None":
        """Look into an estimator; None if a step is neither imputer nor scaler."""
        *steps, final = _steps(estimator)
        imputer = None
        if steps and type(steps[0]) is SimpleImputer:
            imputer, *steps = steps
            if (
                np.isnan(imputer.statistics_.astype(float)).any()
                and not imputer.keep_empty_features
            ):
                return None
        factor, offset = ONE, ZERO
        for step in steps:
            if type(step) not in SCALERS or getattr(step, "clip", False):
                return None
            more, shift = SCALERS[type(step)](step)
            factor, offset = factor * more, offset * more + shift
        return cls(view, imputer, factor, offset, final)

    def design(self, X: FloatArray) -> FloatArray:
        """Return rows as they come to the scalers: what the learner sees, without gaps."""
        seen = X if self.view is None else self.view(X)
        return seen if self.imputer is None else np.asarray(self.imputer.transform(seen))

    def scaled(self, design: FloatArray) -> FloatArray:
        """Return what the final estimator sees."""
        return np.asarray(design * self.factor + self.offset)

    def centre(self, mean: FloatArray, missing: FloatArray) -> FloatArray:
        """Return the mean of the design, given those of what is seen and its gaps."""
        if self.imputer is None:
            return mean
        filled = (1.0 - missing) * mean + missing * self.imputer.statistics_
        return np.concatenate([filled, missing[self._flagged]])

    @property
    def _flagged(self) -> Any:
        """The columns that have an indicator of missing values."""
        known = getattr(self.imputer, "indicator_", None)
        return np.empty(0, dtype=int) if known is None else known.features_

    def places(self, n_features: int) -> list[int]:
        """Return which of the user's columns each column of the design comes from."""
        seen = list(range(n_features))
        if self.view is not None:
            seen = [part.place for part in self.view.parts for _ in range(part.width)]
        return seen if self.imputer is None else seen + [seen[j] for j in self._flagged]

    def names(self, columns: Sequence[Column]) -> list[str]:
        """Return the columns of the design in words."""
        seen = [column.name for column in columns]
        if self.view is not None:
            seen = [n for part in self.view.parts for n in _words(part, columns[part.place])]
        if self.imputer is None:
            return seen
        return seen + [f"{seen[j]} is missing" for j in self._flagged]

    def slopes(self) -> tuple[FloatArray, FloatArray] | None:
        """Return slopes, (t, m), and levels, (t,), of a final linear model; None of any other."""
        if not (hasattr(self.final, "coef_") and hasattr(self.final, "intercept_")):
            return None
        raw = np.atleast_2d(np.asarray(self.final.coef_, dtype=float))
        offset = np.broadcast_to(self.offset, raw.shape[1:])
        level = np.broadcast_to(np.asarray(self.final.intercept_, dtype=float), raw.shape[:1])
        return raw * self.factor, level + raw @ offset

    def line(self) -> tuple[FloatArray, float] | None:
        """Return slopes and level of a regression whose prediction is just that; None of others.

        Those with a link have coefficients, too: so two answers are looked at.
        """
        found = self.slopes() if is_regressor(self.final) else None
        if found is None or len(found[0]) != 1:
            return None
        (slope,), (level,) = found
        probe = np.stack([np.zeros(len(slope)), np.ones(len(slope))])
        answers = predicted_values(self.final, self.scaled(probe))
        same = np.allclose(answers, level + probe @ slope, rtol=1e-6, atol=1e-9)
        return (slope, float(level)) if same else None


def _steps(estimator: Any) -> Iterator[Any]:
    """Yield the steps of pipelines within pipelines; the last is the model."""
    if not isinstance(estimator, Pipeline):
        yield estimator
        return
    for _, step in estimator.steps:
        if step is not None and not isinstance(step, str):
            yield from _steps(step)


def _words(part: Any, column: Column) -> list[str]:
    if isinstance(part, AsItIs):
        return [column.name]
    if not isinstance(part, OneHot):
        return [f"share of rows with this {column.name}"]
    known = [f'{column.name} = "{column.levels[int(code)]}"' for code in part.codes]
    return known + [f"{column.name} is missing"] * part.missing


def unwrapped(model: Fitted) -> tuple[View | None, Any]:
    """Return a model without its view, and the view."""
    return (model.view, model.model) if isinstance(model, SeenBy) else (None, model)
