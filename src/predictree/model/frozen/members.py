"""Fitted learners as functions of the user's columns; None of one that is no such function.

Estimators of scikit-learn are told by their names, since nothing but NumPy is imported here, and
read by their public attributes. What an estimator sees is followed back through views, imputers
and scalers to the columns that the user gave.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from predictree.model.additive import AdditiveFunction, Axis, along
from predictree.model.fitted import ClassModel, Constant, IndicatorModel, SeenBy, ValueModel
from predictree.model.frozen.functions import (
    Bend,
    Function,
    Levels,
    Line,
    Pair,
    Term,
    Trees,
    levels_of,
)
from predictree.model.schema import UNSEEN
from predictree.model.tree import NONE, Fitted, FloatArray
from predictree.model.views import AsItIs, OneHot, Share

Source = tuple[AsItIs | OneHot | Share, int]  # a part of a view, and which of its columns


class Unknown(Exception):  # noqa: N818 -- it is no error: the learner stays Python
    """A learner, or something in it, that is not known here."""


@dataclass(frozen=True)
class Seen:
    """One column that an estimator sees: (x − centre) · factor + shift.

    x is the value of a source, and ``fill`` where that is missing; with ``flag`` it is 1 where the
    value is missing, and 0 where it is not.
    """

    source: Source
    centre: float = 0.0
    factor: float = 1.0
    shift: float = 0.0
    fill: float = np.nan
    flag: bool = False

    def of(self, values: FloatArray) -> FloatArray:
        """Return what is seen of some values of the source."""
        missing = np.isnan(values)
        x = missing.astype(float) if self.flag else np.where(missing, self.fill, values)
        return (x - self.centre) * self.factor + self.shift


def function_of(fitted: Fitted, n_features: int) -> Function | None:
    """Return one model of a predictor as a function; None if it is not known."""
    parts: Sequence[AsItIs | OneHot | Share] = [AsItIs(j) for j in range(n_features)]
    if isinstance(fitted, SeenBy):
        if isinstance(fitted.model, SeenBy):
            return None
        parts, fitted = fitted.view.parts, fitted.model
    try:
        return MODELS[type(fitted).__name__](fitted, _sources(parts))
    except (KeyError, Unknown):
        return None


def _sources(parts: Sequence[AsItIs | OneHot | Share]) -> list[Seen]:
    return [Seen((part, i)) for part in parts for i in range(part.width)]


def _constant(model: Constant, seen: list[Seen]) -> Function:
    return Function(model.row, (), "identity", tuple(range(len(model.row))))


def _additive(model: AdditiveFunction, seen: list[Seen]) -> Function:
    terms: list[Term] = [
        _curve(seen[c.axis.feature], c.axis, c.values) for c in model.curves if c.values.any()
    ]
    terms += [Pair(_own_axes(seen, s.axes), s.values) for s in model.surfaces if s.values.any()]
    k = len(model.intercept)
    n_outputs = 2 if model.link == "logit" else k
    return Function(model.intercept, tuple(terms), model.link, tuple(range(n_outputs)), model.span)


def _curve(seen: Seen, axis: Axis, values: FloatArray) -> Term:
    part, _ = seen.source
    if isinstance(part, AsItIs):
        axis = replace(axis, feature=part.place)
        if axis.is_category:
            return levels_of(axis, values)
        return Bend(axis.feature, axis.knots, values[:-1], values[-1])
    codes, filled = _probed(seen)
    added = along(values, axis.place(filled))
    return Levels(part.place, codes, added[:-2], added[-2], added[-1])


def _own_axes(seen: list[Seen], axes: tuple[Axis, Axis]) -> tuple[Axis, Axis]:
    parts = [seen[axis.feature].source[0] for axis in axes]
    if not all(isinstance(part, AsItIs) for part in parts):
        raise Unknown
    first, second = (
        replace(axis, feature=part.place) for axis, part in zip(axes, parts, strict=True)
    )
    return first, second


def _value(model: ValueModel, seen: list[Seen]) -> Function:
    return _estimator(model.estimator, seen, VALUES)


def _classes(model: ClassModel, seen: list[Seen]) -> Function:
    function = _estimator(model.estimator, seen, PROBABILITIES)
    if len(function.outputs) != len(model.present):
        raise Unknown
    return replace(function, outputs=tuple(int(c) for c in model.present))


def _indicators(model: IndicatorModel, seen: list[Seen]) -> Function:
    """Return one sum for every class that has a regressor, or for the second of two."""
    found = {c: _estimator(e, seen, VALUES) for c, e in model.estimators.items()}
    if any(not one.is_linear for one in found.values()):
        raise Unknown
    if model.n_outputs == 2:
        link = "complement shares" if model.proper else "complement"
        return replace(found[1], link=link, outputs=(0, 1))
    k, places = model.n_outputs, sorted(found)
    terms = tuple(_spread(term, c, k) for c in places for term in found[c].terms)
    constant = np.zeros(k)
    for c in places:
        constant[c] = found[c].constant[0]
    return Function(constant, terms, "shares" if model.proper else "identity", tuple(range(k)))


def _spread(term: Term, c: int, k: int) -> Term:
    """Return a term of one sum as one of k sums, of which it is the one numbered c."""

    def wide(values: FloatArray) -> FloatArray:
        out = np.zeros((*values.shape[:-1], k))
        out[..., c] = values[..., 0]
        return out

    if isinstance(term, Line):
        return replace(term, slope=wide(term.slope), missing=wide(term.missing))
    if isinstance(term, Bend):
        return replace(term, values=wide(term.values), missing=wide(term.missing))
    if isinstance(term, Levels):
        return replace(
            term,
            values=wide(term.values),
            other=wide(term.other),
            missing=wide(term.missing),
        )
    return replace(term, values=wide(term.values))


Reader = Callable[[Any, list[Seen]], Function]


def _estimator(estimator: Any, seen: list[Seen], readers: dict[str, Reader]) -> Function:
    """Return an estimator of scikit-learn, or a pipeline that ends in one, as a function."""
    if not type(estimator).__module__.startswith(("sklearn.", "predictree.")):
        raise Unknown
    if type(estimator).__name__ == "Pipeline":
        *steps, (_, last) = estimator.steps
        for _, step in steps:
            seen = _through(step, seen)
        return _estimator(last, seen, readers)
    return readers[type(estimator).__name__](estimator, seen)


def _through(step: Any, seen: list[Seen]) -> list[Seen]:
    """Return what is seen behind a step of a pipeline."""
    if step is None or step == "passthrough":
        return seen
    if not type(step).__module__.startswith("sklearn."):
        raise Unknown
    return STEPS[type(step).__name__](step, seen)


def _imputed(step: Any, seen: list[Seen]) -> list[Seen]:
    whole = all(one == Seen(one.source) for one in seen) and step.missing_values is not None
    if not whole or not np.isnan(step.missing_values) or np.isnan(step.statistics_).any():
        raise Unknown
    pairs = zip(seen, step.statistics_, strict=True)
    filled = [replace(one, fill=float(value)) for one, value in pairs]
    flagged = [] if step.indicator_ is None else list(step.indicator_.features_)
    return filled + [replace(seen[j], flag=True) for j in flagged]


def _standardised(step: Any, seen: list[Seen]) -> list[Seen]:
    n = len(seen)
    mean = step.mean_ if step.with_mean else np.zeros(n)
    scale = step.scale_ if step.with_std else np.ones(n)
    return [_scaled(*each) for each in zip(seen, mean, scale, np.zeros(n), strict=True)]


def _ranged(step: Any, seen: list[Seen]) -> list[Seen]:
    if step.clip:
        raise Unknown
    low = np.full(len(seen), float(step.feature_range[0]))
    return [
        _scaled(*each) for each in zip(seen, step.data_min_, 1.0 / step.scale_, low, strict=True)
    ]


def _scaled(one: Seen, mean: float, scale: float, shift: float) -> Seen:
    """Return (value − mean) / scale + shift of a column that is seen."""
    if one.factor == 1.0 and one.shift == 0.0:
        return replace(one, centre=one.centre + mean, factor=1.0 / scale, shift=shift)
    return replace(one, factor=one.factor / scale, shift=(one.shift - mean) / scale + shift)


def _linear(estimator: Any, seen: list[Seen]) -> Function:
    coefficients = np.atleast_2d(np.asarray(estimator.coef_, dtype=float))
    if len(coefficients) != 1:
        raise Unknown
    return linear(coefficients.T, np.atleast_1d(estimator.intercept_).astype(float), seen)


def _of_logarithm(estimator: Any, seen: list[Seen]) -> Function:
    return replace(_linear(estimator, seen), link="log")


def _logistic(estimator: Any, seen: list[Seen]) -> Function:
    if getattr(estimator, "multi_class", "auto") not in ("auto", "deprecated"):
        raise Unknown
    k = len(estimator.classes_)
    if k > 2 and estimator.solver == "liblinear":
        raise Unknown
    intercept = np.broadcast_to(np.asarray(estimator.intercept_, dtype=float), (max(k, 2),))
    sums = linear(
        np.asarray(estimator.coef_, dtype=float).T, intercept[: len(estimator.coef_)], seen
    )
    return replace(sums, link="expit" if k == 2 else "softmax", outputs=tuple(range(k)))


def _one_against_rest(estimator: Any, seen: list[Seen]) -> Function:
    """Return a logistic regression for each class, whose probabilities are made to sum to one."""
    members = list(estimator.estimators_)
    if estimator.multilabel_ or any(type(m).__name__ not in LOGISTIC for m in members):
        raise Unknown
    if len(members) == 1:
        return _logistic(members[0], seen)
    coefficients = np.concatenate([m.coef_ for m in members]).T
    sums = linear(
        coefficients, np.concatenate([np.atleast_1d(m.intercept_) for m in members]), seen
    )
    return replace(sums, link="odds", outputs=tuple(range(len(members))))


def _prior(estimator: Any, seen: list[Seen]) -> Function:
    if estimator.strategy != "prior":
        raise Unknown
    row = np.asarray(estimator.class_prior_, dtype=float)
    return Function(row, (), "identity", tuple(range(len(row))))


def _level(estimator: Any, seen: list[Seen]) -> Function:
    return Function(np.ravel(np.asarray(estimator.constant_, dtype=float)), (), "identity", (0,))


def _lone_tree(estimator: Any, seen: list[Seen]) -> Function:
    return _forest([estimator], estimator, seen)


def _many_trees(estimator: Any, seen: list[Seen]) -> Function:
    return _forest(list(estimator.estimators_), estimator, seen)


def _sharp(estimator: Any, seen: list[Seen]) -> Function:
    mean = _many_trees(estimator, seen)
    return replace(mean, link="sharp", exponent=float(estimator.exponent_))


def _forest(members: list[Any], estimator: Any, seen: list[Seen]) -> Function:
    """Return the mean of trees."""
    if estimator.n_outputs_ != 1 or any(
        one.factor != 1.0 or one.centre or one.shift for one in seen
    ):
        raise Unknown
    trees = [_branches(member.tree_, seen) for member in members]
    sizes, leaves = (np.cumsum([0, *(len(t[i]) for t in trees)]) for i in (0, 3))
    nodes = [
        t[0] + np.where(t[0][:, :1] == NONE, [0, leaf, 0], [0, size, size])
        for t, size, leaf in zip(trees, sizes[:-1], leaves[:-1], strict=True)
    ]
    bounds, ways, values = (np.concatenate([t[i] for t in trees]) for i in (1, 2, 3))
    term = Trees(
        sizes[:-1], np.concatenate(nodes).astype(np.int32), bounds, ways, values / len(trees)
    )
    k = values.shape[1]
    return Function(np.zeros(k), (term,), "identity", tuple(range(k)))


def _branches(tree: Any, seen: list[Seen]) -> tuple[Any, FloatArray, Any, FloatArray]:
    """Return nodes, bounds, ways and values of a tree of scikit-learn, by the user's columns."""
    inner = tree.children_left != NONE
    column, cut = np.where(inner, tree.feature, 0), tree.threshold
    level, flag = np.zeros((2, len(inner)), dtype=bool)
    place, bound = np.full(len(inner), NONE), _first_above(cut)
    missing = tree.missing_go_to_left.astype(bool)
    for j in np.unique(column[inner]).tolist():
        here, (part, at) = inner & (column == j), seen[j].source
        place[here] = part.place
        if isinstance(part, Share):
            raise Unknown
        if isinstance(part, AsItIs) and not seen[j].flag:
            if not np.isnan(seen[j].fill):
                missing[here] = np.float32(seen[j].fill) <= cut[here]
            continue
        if not ((cut[here] >= 0) & (cut[here] < 1)).all():
            raise Unknown
        of_level = isinstance(part, OneHot) and at < len(part.codes)
        level[here], flag[here] = of_level, not of_level
        bound[here] = part.codes[at] if isinstance(part, OneHot) and of_level else np.inf
        missing[here] = False
    number = np.cumsum(~inner) - 1
    left, right = tree.children_left, tree.children_right
    left, right = np.where(level, right, left), np.where(level, left, right)
    nodes = np.column_stack([place, np.where(inner, left, number), np.where(inner, right, 0)])
    values = np.ascontiguousarray(tree.value[~inner, 0, :], dtype=np.float64)
    return nodes, bound, (missing + 2 * level).astype(np.int8), values


def _first_above(cuts: FloatArray) -> FloatArray:
    """Return the least numbers that single precision does not round to a cut or below.

    scikit-learn's trees round what they are asked, and not what they ask.
    """
    single = cuts.astype(np.float32)
    with np.errstate(over="ignore"):
        single = np.where(single > cuts, np.nextafter(single, np.float32(-np.inf)), single)
        above = np.nextafter(single, np.float32(np.inf))
    middle = (single.astype(np.float64) + above.astype(np.float64)) / 2
    is_even = single.view(np.uint32) % 2 == 0  # to which the middle is rounded
    return np.where(is_even, np.nextafter(middle, np.inf), middle)


def _curves(estimator: Any, seen: list[Seen]) -> Function:
    return _additive(estimator.function_, seen)


@np.errstate(invalid="ignore", over="ignore")  # a file may hold any numbers
def linear(coefficients: FloatArray, intercept: FloatArray, seen: Sequence[Seen]) -> Function:
    """Return intercept + Σ coefficients (columns, k) · columns that are seen, in the user's own."""
    by_place: dict[int, list[tuple[Seen, FloatArray]]] = {}
    for one, weight in zip(seen, coefficients, strict=True):
        by_place.setdefault(one.source[0].place, []).append((one, weight))
    constant = np.array(intercept, dtype=float)
    terms: list[Term] = []
    for place, group in by_place.items():
        if isinstance(group[0][0].source[0], AsItIs):
            level, line = _line(place, group)
            constant = constant + level
            terms.append(line)
        else:
            terms.append(_table(place, group))
    return Function(constant, tuple(terms), "identity", tuple(range(len(constant))))


def _line(place: int, group: list[tuple[Seen, FloatArray]]) -> tuple[FloatArray, Line]:
    """Return a constant and a line: of a number, and of the flag that tells where it is missing."""
    slope = sum(w * one.factor for one, w in group if not one.flag)
    centre = next((one.centre for one, _ in group if not one.flag), 0.0)
    level = sum(w * (one.of(np.zeros(1))[0] if one.flag else one.shift) for one, w in group)
    missing = sum(w * one.of(np.full(1, np.nan))[0] for one, w in group)
    k = len(group[0][1])
    ends = (np.broadcast_to(np.asarray(v, dtype=float), (k,)) for v in (slope, missing - level))
    slope, missing = ends
    return np.asarray(level), Line(place, slope, float(centre), missing)


def _table(place: int, group: list[tuple[Seen, FloatArray]]) -> Levels:
    """Return what indicators or a share of levels add, asked level by level."""
    added = np.sum([one.of(_probed(one)[1])[:, None] * weight for one, weight in group], axis=0)
    return Levels(place, _probed(group[0][0])[0], added[:-2], added[-2], added[-1])


def _probed(seen: Seen) -> tuple[FloatArray, FloatArray]:
    """Return the codes of a category, and what a source makes of these, an unseen and a missing."""
    part, column = seen.source
    assert isinstance(part, OneHot | Share)
    given = part.codes if isinstance(part, OneHot) else range(len(part.shares) - 1)
    codes = np.array(sorted(given), dtype=float)
    filled = np.empty((len(codes) + 2, part.width))
    part.fill(filled, np.append(codes, [UNSEEN, np.nan]))
    return codes, filled[:, column]


MODELS: dict[str, Callable[[Any, list[Seen]], Function]] = {
    "AdditiveFunction": _additive,
    "Constant": _constant,
    "ValueModel": _value,
    "ClassModel": _classes,
    "IndicatorModel": _indicators,
}
LOGISTIC = ("LogisticRegression", "LogisticRegressionCV", "SizedLogistic")
VALUES: dict[str, Reader] = {
    **dict.fromkeys(
        ("LinearRegression", "Ridge", "RidgeCV", "Lasso", "LassoCV", "ElasticNet", "ElasticNetCV"),
        _linear,
    ),
    **dict.fromkeys(("PoissonRegressor", "GammaRegressor"), _of_logarithm),
    **dict.fromkeys(("RandomForestRegressor", "ExtraTreesRegressor"), _many_trees),
    **dict.fromkeys(("DecisionTreeRegressor", "ExtraTreeRegressor"), _lone_tree),
    "CurvesRegressor": _curves,
    "DummyRegressor": _level,
}
PROBABILITIES: dict[str, Reader] = {
    **dict.fromkeys(LOGISTIC, _logistic),
    **dict.fromkeys(("RandomForestClassifier", "ExtraTreesClassifier"), _many_trees),
    **dict.fromkeys(("DecisionTreeClassifier", "ExtraTreeClassifier"), _lone_tree),
    "SharpExtraTrees": _sharp,
    "OneVsRestClassifier": _one_against_rest,
    "CurvesClassifier": _curves,
    "DummyClassifier": _prior,
}
STEPS: dict[str, Callable[[Any, list[Seen]], list[Seen]]] = {
    "SimpleImputer": _imputed,
    "StandardScaler": _standardised,
    "MinMaxScaler": _ranged,
}
