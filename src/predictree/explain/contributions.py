"""What each column adds to the answer of a predictor, where that can be said.

A linear model says it itself: slope times the distance from the mean of its node. Of other models
the library shap may be asked. Whatever the way, baseline and contributions must sum to the answer,
or none are given.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np

from predictree.errors import MissingExtraError
from predictree.explain.effects import columns_of_terms
from predictree.explain.linear import Lens, unwrapped
from predictree.model.account import Background
from predictree.model.additive import AdditiveFunction
from predictree.model.fitted import (
    ClassModel,
    Constant,
    IndicatorModel,
    ValueModel,
    class_scores,
    predicted_values,
)
from predictree.model.tree import Fitted, FloatArray, Predictor

CLOSE = 1e-6  # relative difference below which a sum is right
MAX_ROWS = 50  # of the background that shap compares with
ORDERS = 10  # in which columns take these rows' values
LOG_ODDS = "its log-odds are a sum over columns, and its probability is not"
OF_EFFECTS = "its effects sum to log-odds or logarithms: see effects"
NOT_LINEAR = "it is not linear: explain(x, shap=True) asks the library shap"
NO_SUM = "shap explains its margin, which is not its answer: give background=, some rows"


class UnexplainedError(Exception):
    """There are no contributions to an answer; the message says why."""


@dataclass(frozen=True)
class Contributions:
    """An answer as a sum over columns: baseline + Σ amounts + cut.

    Attributes
    ----------
    baseline : array of shape (k,)
        The answer where every column has its mean over the rows that trained the predictor.
    amounts : array of shape (d, k)
        What each of the user's columns adds.
    cut : array of shape (k,)
        What was added when scores were made probabilities, by cutting them at 0 and 1.
    """

    baseline: FloatArray
    amounts: FloatArray
    cut: FloatArray

    @property
    def total(self) -> FloatArray:
        """The sum of all."""
        return np.asarray(self.baseline + self.amounts.sum(axis=0) + self.cut)

    def __mul__(self, factor: float) -> "Contributions":
        return Contributions(self.baseline * factor, self.amounts * factor, self.cut * factor)

    def __add__(self, other: "Contributions") -> "Contributions":
        return Contributions(
            self.baseline + other.baseline, self.amounts + other.amounts, self.cut + other.cut
        )

    @classmethod
    def none(cls, n_columns: int, n_outputs: int) -> "Contributions":
        """Return nothing, to add to."""
        return cls(np.zeros(n_outputs), np.zeros((n_columns, n_outputs)), np.zeros(n_outputs))


@dataclass(frozen=True)
class Explainer:
    """How the answers of one tree's predictors are taken apart.

    Attributes
    ----------
    background : Background or None
        The means of the nodes; None if the model does not know them.
    shap : bool
        Whether the library shap is asked about models that are not linear.
    rows : mapping of int to array, or None
        For every node, rows to compare with; None to use what trees know themselves.
    """

    background: Background | None
    shap: bool = False
    rows: Callable[[int], FloatArray] | None = None

    def __call__(self, predictor: Predictor, x: FloatArray) -> Contributions:
        """Take the answer for one row apart, or raise `UnexplainedError`."""
        try:
            return self._by_models(predictor, x, self._linear)
        except UnexplainedError:
            if not self.shap:
                raise
        if self.rows is not None:
            return _by_comparison(predictor, x, self.rows(predictor.trained_on))
        return self._by_models(predictor, x, _by_trees)

    def _by_models(
        self,
        predictor: Predictor,
        x: FloatArray,
        way: Callable[[Predictor, Fitted, FloatArray], Contributions],
    ) -> Contributions:
        """Take the models of a predictor apart one by one; it is their mean."""
        found = [way(predictor, model, x) for model in predictor.models]
        total = found[0]
        for more in found[1:]:
            total = total + more
        return total * (1.0 / len(found))

    def _linear(self, predictor: Predictor, model: Fitted, x: FloatArray) -> Contributions:
        view, inner = unwrapped(model)
        if isinstance(inner, Constant):
            return _constant(inner, x)
        if isinstance(inner, AdditiveFunction):
            return _additive(inner, x)
        if isinstance(inner, ClassModel):
            lens = Lens.of(view, inner.estimator)
            raise UnexplainedError(LOG_ODDS if lens and lens.slopes() else NOT_LINEAR)
        lenses = {c: _linear_lens(view, estimator) for c, estimator in _estimators(inner).items()}
        if self.background is None:
            raise UnexplainedError(
                "the means of its node are not known: the model is from an older version, fit again"
            )
        mean = self.background.mean[predictor.trained_on]
        missing = self.background.missing[predictor.trained_on]
        parts = {c: _slopes_apart(lens, x, mean, missing) for c, lens in lenses.items()}
        return _assembled(inner, parts, model.scores(x)[0], x.shape[1])


Part = tuple[float, FloatArray]  # baseline, and the amounts of the user's columns


def _estimators(inner: Any) -> dict[int, Any]:
    """Return the regressors of a model by the output that they answer."""
    return {0: inner.estimator} if isinstance(inner, ValueModel) else dict(inner.estimators)


def _constant(inner: Constant, x: FloatArray) -> Contributions:
    nothing = Contributions.none(x.shape[1], len(inner.row))
    return Contributions(inner.row, nothing.amounts, nothing.cut)


def _additive(function: AdditiveFunction, x: FloatArray) -> Contributions:
    """Return what the terms add, half of a pair's for each of its columns."""
    if function.link != "identity":
        raise UnexplainedError(OF_EFFECTS)
    found = Contributions.none(x.shape[1], len(function.intercept))
    for columns, effect in zip(columns_of_terms(function), function.effects(x), strict=True):
        found.amounts[list(columns)] += effect[0] / len(columns)
    cut = function.scores(x)[0] - function.sum(x)[0]
    return Contributions(function.intercept, found.amounts, cut)


def _linear_lens(view: Any, estimator: Any) -> Lens:
    lens = Lens.of(view, estimator)
    if lens is None or lens.line() is None:
        raise UnexplainedError(NOT_LINEAR)
    return lens


def _slopes_apart(lens: Lens, x: FloatArray, mean: FloatArray, missing: FloatArray) -> Part:
    """Return what the columns add by their slopes, around the mean."""
    line = lens.line()
    assert line is not None
    slope, level = line
    centre = lens.centre(mean, missing)
    amounts = slope * (lens.design(x)[0] - centre)
    return float(level + slope @ centre), _by_place(lens, amounts, x.shape[1])


def _by_place(lens: Lens, amounts: FloatArray, n_features: int) -> FloatArray:
    """Add up what columns of a design add, over the user's columns."""
    added = np.bincount(lens.places(n_features), amounts, minlength=n_features)
    return added.astype(np.float64)


def _assembled(
    inner: Any, parts: dict[int, Part], answer: FloatArray, n_features: int
) -> Contributions:
    """Put the outputs together as the model does; what that cuts off is told."""
    found = Contributions.none(n_features, len(answer))
    for c, (baseline, amounts) in parts.items():
        found.baseline[c], found.amounts[:, c] = baseline, amounts
    if isinstance(inner, IndicatorModel) and len(answer) == 2:
        found.baseline[0], found.amounts[:, 0] = 1.0 - found.baseline[1], -found.amounts[:, 1]
    cut = answer - found.total
    cut[np.abs(cut) <= CLOSE * 1e-3 * (1.0 + np.abs(answer))] = 0.0
    if cut.any() and not getattr(inner, "proper", False):
        raise UnexplainedError("what its columns add does not sum to its answer")
    return Contributions(found.baseline, found.amounts, cut)


def _is_close(found: Any, wanted: Any) -> bool:
    return bool(np.all(np.abs(found - wanted) <= CLOSE * (1.0 + np.abs(wanted))))


# shap


def require_shap() -> Any:
    """Return the library shap, or say how to get it."""
    if find_spec("shap") is None:
        raise MissingExtraError(
            "contributions of models that are not linear are made with shap, which is not here: "
            "pip install 'predictree[shap]'"
        )
    return import_module("shap")


def _by_trees(predictor: Predictor, model: Fitted, x: FloatArray) -> Contributions:
    """Ask shap about trees, whose own rows are what they compare with."""
    view, inner = unwrapped(model)
    if isinstance(inner, Constant):
        return _constant(inner, x)
    if isinstance(inner, AdditiveFunction):
        return _additive(inner, x)
    if isinstance(inner, ClassModel):
        baseline, amounts = _tree_shap(view, inner.estimator, x, class_scores)
        found = Contributions.none(x.shape[1], inner.n_outputs)
        found.baseline[inner.present], found.amounts[:, inner.present] = baseline, amounts
        return found
    parts = {}
    for c, estimator in _estimators(inner).items():
        baseline, amounts = _tree_shap(
            view, estimator, x, lambda e, X: predicted_values(e, X)[:, None]
        )
        parts[c] = float(baseline[0]), amounts[:, 0]
    return _assembled(inner, parts, model.scores(x)[0], x.shape[1])


def _tree_shap(
    view: Any, estimator: Any, x: FloatArray, answers: Callable[[Any, FloatArray], Any]
) -> tuple[FloatArray, FloatArray]:
    """Return baseline and amounts, (d, k), of an estimator made of trees."""
    lens = Lens.of(view, estimator)
    if lens is None:
        raise UnexplainedError("it has steps that shap cannot see through: give background=")
    seen = lens.scaled(lens.design(x))
    wanted = np.asarray(answers(lens.final, seen), dtype=float)[0]
    try:
        explainer = require_shap().TreeExplainer(lens.final)
        raw = np.asarray(explainer.shap_values(seen, check_additivity=False), dtype=float)[0]
    except MissingExtraError:
        raise
    except Exception as error:  # shap says in many ways that it does not know a model
        reason = " ".join(str(error).split())[:120]
        raise UnexplainedError(f"shap cannot explain it ({reason}): give background=") from error
    raw = raw[:, None] if raw.ndim == 1 else raw
    baseline = np.atleast_1d(np.asarray(explainer.expected_value, dtype=float))
    if raw.shape[1] != len(wanted) or not _is_close(baseline + raw.sum(axis=0), wanted):
        raise UnexplainedError(NO_SUM)
    columns = [_by_place(lens, amounts, x.shape[1]) for amounts in raw.T]
    return baseline, np.column_stack(columns)


def _by_comparison(predictor: Predictor, x: FloatArray, rows: FloatArray) -> Contributions:
    """Ask shap what changes when columns take the values that some rows have."""
    if not len(rows):
        raise UnexplainedError(f"no row of the background is in node {predictor.trained_on}")
    shap = require_shap()
    masker = shap.maskers.Independent(rows, max_samples=MAX_ROWS)
    explainer = shap.PermutationExplainer(predictor.scores, masker, seed=0)
    found = explainer(x, max_evals=ORDERS * (2 * x.shape[1] + 1), silent=True)
    answer = predictor.scores(x)[0]
    amounts = np.asarray(found.values, dtype=float)[0].reshape(x.shape[1], -1)
    baseline = np.atleast_1d(np.asarray(found.base_values, dtype=float)[0])
    if not _is_close(baseline + amounts.sum(axis=0), answer):
        raise UnexplainedError("what shap finds does not sum to its answer")
    return Contributions(baseline, amounts, np.zeros(len(answer)))


def composed(
    parts: Sequence[tuple[float, Contributions | None]], n_columns: int, n_outputs: int
) -> Contributions:
    """Add up the contributions of some predictors, each times its weight."""
    total = Contributions.none(n_columns, n_outputs)
    for weight, contributions in parts:
        if contributions is not None:
            total = total + contributions * weight
    return total
