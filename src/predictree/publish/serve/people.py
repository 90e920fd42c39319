"""People on the what-if page: the form they fill in, and the model's answer for what it says.

A person is a list of numbers, one for each column that the model uses: the number itself, the code
of a level, days since 1970, or None where the value is missing.
"""

import datetime as dt
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from predictree.errors import InvalidInputError, need
from predictree.explain.explain import Explanation, explain
from predictree.model import Model, model_of
from predictree.model.outputs import probabilities
from predictree.model.schema import UNSEEN, Column, Span
from predictree.model.tree import FloatArray, Tree
from predictree.model.words import words_of

MAX_ROWS = 200  # of a table, to start from
STEPS = 200  # of a slider, at least
EPOCH = dt.datetime(1970, 1, 1)
Person = Sequence[float | None]


class Viewer:
    """A model behind the page.

    Parameters
    ----------
    fitted : ToPsClassifier, ToPsRegressor or Model
        A fitted estimator, or its ``model_``.
    rows : table, optional
        Rows to start from; the first 200 are offered. Without them there is a typical one: the
        median of every number and the most frequent level of every category.
    """

    def __init__(self, fitted: Any, rows: Any = None) -> None:
        self.model = model = model_of(fitted)
        self.places = model.used
        self.columns: list[Column] = [model.schema.columns[j] for j in self.places]
        given = None if rows is None else model.encode(rows)[:MAX_ROWS, self.places]
        self.spans = [
            c.span or (None if given is None else Span.of(given[:, i], c))
            for i, c in enumerate(self.columns)
        ]
        self.start = [self._typical()] if given is None else [_person(row) for row in given]
        self.named = given is not None

    def form(self) -> dict[str, Any]:
        """Return what the page asks for, and the people to start from."""
        labels = [f"row {i + 1}" if self.named else "typical" for i in range(len(self.start))]
        start = zip(labels, self.start, strict=True)
        return {
            "task": self.model.task,
            "classes": self.model.class_words,
            "fields": [self._field(i) for i in range(len(self.columns))],
            "start": [{"label": label, "values": values} for label, values in start],
        }

    def answer(self, person: Any) -> dict[str, Any]:
        """Return the model's answer for a person, and how it came about."""
        row = self._frame(self._checked(person))
        found, each = explain(self.model, row), fold_scores(self.model, self.model.encode(row))
        steps, path = found.paths[0].steps, []
        for step in steps:
            place = None if step.column is None else self._place(step.column)
            value = None if place is None else self._words(place, person[place])
            path.append({"node": step.node, "rule": step.rule, "value": value})
        return {
            **self._outcome(found, each),
            "path": path,
            "leaf": steps[-1].node,
            "parts": self._parts(found),
        }

    def _typical(self) -> list[float | None]:
        return [
            (None if self._may_miss(i) else 0.0) if span is None else span.middle
            for i, span in enumerate(self.spans)
        ]

    def _field(self, i: int) -> dict[str, Any]:
        column, span = self.columns[i], self.spans[i]
        return {
            "name": column.name,
            "kind": column.kind,
            "levels": [str(level) for level in column.levels],
            "other": column.is_category,
            "may_miss": self._may_miss(i),
            "low": None if span is None else span.low,
            "high": None if span is None else span.high,
            "step": None if span is None else step_of(span),
            "splits": bool((self.model.tree.feature == self.places[i]).any()),
        }

    def _may_miss(self, i: int) -> bool:
        return self.places[i] not in self.model.needed

    def _place(self, name: str) -> int:
        return [column.name for column in self.columns].index(name)

    def _words(self, i: int, value: float | None) -> str:
        return words_of(self.columns[i], math.nan if value is None else value)

    def _checked(self, person: Any) -> Person:
        """Return a person that is one: a number or None for every column, levels that exist."""
        if not isinstance(person, list) or len(person) != len(self.columns):
            raise InvalidInputError(f"a person has {len(self.columns)} values")
        for i, (column, value) in enumerate(zip(self.columns, person, strict=True)):
            if value is None:
                if not self._may_miss(i):
                    raise InvalidInputError(f"{column.name} must not be missing: give a value")
            elif isinstance(value, bool) or not isinstance(value, int | float):
                raise InvalidInputError(f"{column.name} is {value!r}: give a number")
            elif not abs(value) < 1e300:
                raise InvalidInputError(f"{column.name} is too large: give a smaller number")
            elif column.levels and not _is_level(column, value):
                raise InvalidInputError(f"{column.name} has no level {value!r}")
            elif column.kind == "date" and not _is_day(value):
                raise InvalidInputError(f"{column.name} is no date: give one from year 1 to 9999")
        return person

    def _frame(self, person: Person) -> Any:
        """Return a person as the table that the model was fitted on would have them."""
        values = np.full((1, len(self.model.schema.columns)), np.nan)
        for place, value in zip(self.places, person, strict=True):
            values[0, place] = np.nan if value is None else value
        return table_of(self.model, values)

    def _outcome(self, found: Explanation, each: FloatArray) -> dict[str, Any]:
        """Return the answer, with the least and the largest of what the fold models say."""
        names = self.model.class_words
        if names is None:
            bounds = _bounds(each[:, 0])
            return {"answer": f"{found.scores[0]:.6g}", "value": float(found.scores[0]), **bounds}
        scores = found.scores[None]
        chosen = int(self.model.choose(scores)[0])
        p, by_fold = probabilities(scores)[0], probabilities(each)
        shares = [
            {"name": name, "value": float(p[k]), **_bounds(by_fold[:, k])}
            for k, name in enumerate(names)
        ]
        return {"answer": names[chosen], "chosen": chosen, "shares": shares}

    def _parts(self, found: Explanation) -> list[dict[str, Any]]:
        """Return the predictors of the first tree with their answers, the weightiest first."""
        names = self.model.class_words
        scores = found.scores[None]
        k = 0 if names is None else int(self.model.choose(scores)[0])
        parts = sorted(found.paths[0].parts, key=lambda part: -part.weight)
        return [
            {
                "learner": part.learner,
                "trained_on": part.trained_on,
                "weight": part.weight,
                "answer": float(part.answer[k]),
            }
            for part in parts
        ]


def fold_scores(model: Model, codes: FloatArray) -> FloatArray:
    """Return what each fold's models alone would answer for one row: (m, k), over all trees."""
    found = []
    for number, tree in enumerate(model.trees):
        found += _by_fold(tree, model.seen(codes, number))
    return np.array(found)


def _by_fold(tree: Tree, x: FloatArray) -> list[FloatArray]:
    leaf = int(tree.apply(x)[0])
    weighed = [
        (weight, [model.scores(x)[0] for model in predictor.models])
        for i, predictor in enumerate(tree.predictors)
        if (weight := float(tree.weight_by_leaf(i)[leaf]))
    ]
    n_folds = max(len(answers) for _, answers in weighed)
    return [
        np.sum([weight * answers[f % len(answers)] for weight, answers in weighed], axis=0)
        for f in range(n_folds)
    ]


def step_of(span: Span) -> float:
    """Return the step of a slider: one for whole numbers, else a round part of the span."""
    if span.whole:
        return 1.0
    width = span.high - span.low
    return float(10.0 ** math.floor(math.log10(width / STEPS))) if width > 0 else 1.0


def _bounds(values: FloatArray) -> dict[str, float | None]:
    if len(values) < 2:
        return {"low": None, "high": None}
    return {"low": float(values.min()), "high": float(values.max())}


def _person(row: FloatArray) -> list[float | None]:
    return [None if math.isnan(value) else value for value in row.tolist()]


def _is_level(column: Column, value: float) -> bool:
    known = float(value).is_integer() and 0 <= value < len(column.levels)
    return known or (column.is_category and value == UNSEEN)


def _is_day(value: float) -> bool:
    try:
        EPOCH + dt.timedelta(days=value)
    except OverflowError:
        return False
    return True


def table_of(model: Model, codes: FloatArray) -> Any:
    """Return a coded row as the table that the model was fitted on would have it."""
    if not model.named:
        return codes
    polars = need("polars", "frames", "a model of named columns")
    pairs = zip(model.schema.columns, _person(codes[0]), strict=True)
    return polars.DataFrame([_series(polars, column, value) for column, value in pairs])


def _series(polars: Any, column: Column, value: float | None) -> Any:
    """Return a column with a single value of the kind that it had in fit."""
    if column.levels:
        return polars.Series(column.name, [_level(column, value)], dtype=polars.String)
    if column.kind == "date":
        day = None if value is None else EPOCH + dt.timedelta(days=value)
        return polars.Series(column.name, [day], dtype=polars.Datetime("us"))
    return polars.Series(column.name, [value], dtype=polars.Float64, strict=False)


def _level(column: Column, value: float | None) -> str | None:
    if value is None:
        return None
    if value != UNSEEN:
        return str(column.levels[int(value)])
    return "another " + "".join(map(str, column.levels))  # longer than each, so it is none
