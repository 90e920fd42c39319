"""The coefficients of the linear predictors of a node, in the units of the columns."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any

from predictree.errors import InvalidInputError
from predictree.explain.linear import Lens, unwrapped
from predictree.model import (
    ClassModel,
    Column,
    Constant,
    Fitted,
    Model,
    Predictor,
    Tree,
    ValueModel,
    model_of,
)
from predictree.model.additive import AdditiveFunction

Line = tuple[str, float, Mapping[str, float]]  # scale, intercept, slopes by name


@dataclass(frozen=True)
class Coefficients:
    """A linear predictor of a node: the mean of its models, one a fold.

    Attributes
    ----------
    learner : str
    trained_on : int
        The node whose rows trained it.
    target : object
        The class whose score or log-odds this is; None in a regression.
    scale : {"score", "log-odds"}
        What intercept and coefficients sum to.
    intercept : float
    values : dict of str to float
        By column as learners see it, in its own units: ``age``, ``job = "retired"``, ``age is
        missing``.
    """

    learner: str
    trained_on: int
    target: Any
    scale: str
    intercept: float
    values: dict[str, float]


def coefficients(fitted: Any, node: int, *, tree: int = 0) -> tuple[Coefficients, ...]:
    """Return the coefficients of the linear predictors of one node.

    Parameters
    ----------
    fitted : ToPsClassifier, ToPsRegressor or Model
        A fitted estimator, or its ``model_``.
    node : int
        The id of a node.
    tree : int, default=0
        Which of the model's ``trees_``.

    Returns
    -------
    tuple of Coefficients
        One for every linear predictor, and class if there are more than two; predictors that are
        not linear, or that no leaf weighs, are left out.
    """
    model = model_of(fitted)
    labels = [None] if model.classes is None else model.classes.tolist()
    found = []
    for predictor in predictors_of(model, tree, node):
        found += _coefficients(predictor, model.schema.columns, labels)
    return tuple(found)


def predictors_of(model: Model, tree: Any, node: Any) -> list[Predictor]:
    """Return the predictors of a node that have models: its own, and those trained on its rows."""
    chosen = tree_with(model, tree, node)
    own = chosen.predictors[chosen.predictor[node]]
    return [p for p in chosen.predictors if p.models and (p is own or p.trained_on == node)]


def tree_with(model: Model, number: Any, node: Any) -> Tree:
    """Return a tree of the model, and be sure that it has this node."""
    _check_below("tree", number, len(model.trees))
    _check_below("node", node, len(model.trees[number]))
    found: Tree = model.trees[number]
    return found


def _check_below(name: str, value: Any, n: int) -> None:
    if not isinstance(value, Integral) or not 0 <= int(value) < n:
        raise InvalidInputError(f"{name}={value!r}: it must be a whole number below {n}")


def _coefficients(
    predictor: Predictor, columns: Sequence[Column], labels: Sequence[Any]
) -> list[Coefficients]:
    """Return the mean of the models' coefficients; nothing if one of them is not linear."""
    lines = [_lines(model, columns, len(labels)) for model in predictor.models]
    scales = {scale for by_target in lines for scale, _, _ in by_target.values()} - {"any"}
    if not all(lines) or len(scales) != 1:
        return []
    (scale,) = scales
    return [
        _mean_line(predictor, lines, target, labels[target], scale)
        for target in sorted(set().union(*lines))
    ]


def _mean_line(
    predictor: Predictor,
    lines: Sequence[Mapping[int, Line]],
    target: int,
    label: Any,
    scale: str,
) -> Coefficients:
    """Return the mean over models, of which some may not know a class."""
    mine = [by_target[target] for by_target in lines if target in by_target]
    values: defaultdict[str, float] = defaultdict(float)
    for _, _, slopes in mine:
        for name, slope in slopes.items():
            values[name] += slope / len(lines)
    level = sum(level for _, level, _ in mine) / len(lines)
    return Coefficients(predictor.learner, predictor.trained_on, label, scale, level, dict(values))


def _lines(model: Fitted, columns: Sequence[Column], n_outputs: int) -> dict[int, Line]:
    """Return the linear functions of a model by output; none if it is not linear.

    With two classes the second tells all.
    """
    view, inner = unwrapped(model)
    if isinstance(inner, AdditiveFunction):
        return {}
    if isinstance(inner, Constant):
        outputs = [1] if n_outputs == 2 else range(n_outputs)
        return {c: ("any", float(inner.row[c]), {}) for c in outputs}
    if isinstance(inner, ClassModel):
        return _log_odds(Lens.of(view, inner.estimator), inner.present.tolist(), columns)
    estimators = {0: inner.estimator} if isinstance(inner, ValueModel) else inner.estimators
    found: dict[int, Line] = {}
    for c, estimator in estimators.items():
        lens = Lens.of(view, estimator)
        line = None if lens is None else lens.line()
        if lens is None or line is None:
            return {}
        named = dict(zip(lens.names(columns), line[0].tolist(), strict=True))
        found[int(c)] = "score", line[1], named
    return found


def _log_odds(
    lens: Lens | None, present: Sequence[int], columns: Sequence[Column]
) -> dict[int, Line]:
    slopes = None if lens is None else lens.slopes()
    if lens is None or slopes is None:
        return {}
    names, targets = lens.names(columns), present[1:] if len(slopes[0]) == 1 else present
    return {
        c: ("log-odds", float(level), dict(zip(names, slope.tolist(), strict=True)))
        for c, slope, level in zip(targets, *slopes, strict=True)
    }
