"""What matters to the predictors of one node: coefficients, and the loss when a column is mixed up.

The predictors of a node are those that were trained on its rows, and its own h_C, which may have
been trained on an ancestor's.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, column_or_1d

from predictree.encoding import check_values, check_weights
from predictree.exceptions import InvalidInputError
from predictree.inspection.linear import Lens, unwrapped
from predictree.inspection.rows import seen_by_tree
from predictree.learners.adapter import ClassModel, Constant, ValueModel
from predictree.losses import Judged, Labels
from predictree.schema import Column
from predictree.tree import FloatArray, Model, Predictor, Tree

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


@dataclass(frozen=True)
class Importance:
    """How much worse a predictor is on the rows of a node when one column is mixed up there.

    Attributes
    ----------
    learner : str
    trained_on : int
    n_rows : int
        Rows that fell in the node.
    loss : float
        Of the predictor on these rows.
    mean, std : dict of str to float
        By column: how much the loss rises when its values are exchanged between these rows, over
        some repetitions.
    """

    learner: str
    trained_on: int
    n_rows: int
    loss: float
    mean: dict[str, float]
    std: dict[str, float]


def coefficients(model: Any, node: int, *, tree: int = 0) -> tuple[Coefficients, ...]:
    """Return the coefficients of the linear predictors of one node.

    Parameters
    ----------
    model : ToPsClassifier or ToPsRegressor
        A fitted estimator.
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
    check_is_fitted(model)
    labels = [None] if model._task == "regression" else model.classes_.tolist()
    found = []
    for predictor in _predictors(_tree(model, tree, node), node):
        found += _coefficients(predictor, model.schema_.columns, labels)
    return tuple(found)


def region_importance(
    model: Any,
    X: Any,
    y: Any,
    node: int,
    *,
    tree: int = 0,
    sample_weight: Any = None,
    n_repeats: int = 5,
    random_state: Any = None,
) -> tuple[Importance, ...]:
    """Return the permutation importance of columns for the predictors of one node, on its rows.

    Parameters
    ----------
    model : ToPsClassifier or ToPsRegressor
        A fitted estimator; its ``loss_`` judges.
    X, y : table and labels
        Rows that the model has not seen, or else it is its memory that is measured.
    node : int
        The id of a node. Rows outside of it do not count.
    tree : int, default=0
        Which of the model's ``trees_``.
    sample_weight : array-like of shape (n_samples,), optional
    n_repeats : int, default=5
        How often each column is mixed up.
    random_state : int, RandomState or None, default=None

    Returns
    -------
    tuple of Importance
        One for every predictor that some leaf weighs.
    """
    if not isinstance(n_repeats, Integral) or isinstance(n_repeats, bool) or n_repeats < 1:
        raise InvalidInputError(f"n_repeats={n_repeats!r}: it must be a whole number of at least 1")
    features = model._features(X)
    labels = _labels(model, y, features)
    weight = check_weights(sample_weight, len(features))
    chosen = _tree(model, tree, node)
    seen = seen_by_tree(model, features, tree)
    within = np.array([node in chosen.path(leaf) for leaf in chosen.apply(seen).tolist()])
    if not within.any():
        raise InvalidInputError(f"no row of X falls in node {node}: give rows that do")
    rows = Judged(labels[within], None if weight is None else weight[within])
    orders = _orders(int(within.sum()), int(n_repeats), random_state)
    columns = model.schema_.columns
    return tuple(
        _importance(model.loss_, predictor, seen[within], rows, columns, orders)
        for predictor in _predictors(chosen, node)
    )


def _tree(model: Any, number: Any, node: Any) -> Tree:
    """Return a tree of the model that has this node."""
    for name, value, n in (("tree", number, len(model.trees_)), ("node", node, None)):
        n = len(model.trees_[number]) if n is None else n
        if not isinstance(value, Integral) or not 0 <= int(value) < n:
            raise InvalidInputError(f"{name}={value!r}: it must be a whole number below {n}")
    found: Tree = model.trees_[number]
    return found


def _predictors(tree: Tree, node: int) -> list[Predictor]:
    """Return the predictors of a node that have models."""
    own = tree.predictors[tree.predictor[node]]
    return [p for p in tree.predictors if p.models and (p is own or p.trained_on == node)]


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


def _lines(model: Model, columns: Sequence[Column], n_outputs: int) -> dict[int, Line]:
    """Return the linear functions of a model by output; none if it is not linear.

    With two classes the second tells all.
    """
    view, inner = unwrapped(model)
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


def _labels(model: Any, y: Any, features: FloatArray) -> Labels:
    """Return real labels, or the codes of classes that the model knows."""
    if model._task == "regression":
        return check_values(y, features)
    given = column_or_1d(y)
    if len(given) != len(features):
        raise InvalidInputError(f"y has {len(given)} labels, and X {len(features)} rows")
    code = {label: i for i, label in enumerate(model.classes_.tolist())}
    unknown = sorted({repr(label) for label in given.tolist() if label not in code})
    if unknown:
        raise InvalidInputError(f"y holds {unknown[0]}, which the model does not know as a class")
    return np.array([code[label] for label in given.tolist()], dtype=np.int64)


def _orders(n_rows: int, n_repeats: int, random_state: Any) -> list[Any]:
    generator = check_random_state(random_state)
    return [generator.permutation(n_rows) for _ in range(n_repeats)]


def _importance(
    loss: Any,
    predictor: Predictor,
    X: FloatArray,
    rows: Judged,
    columns: Sequence[Column],
    orders: Sequence[Any],
) -> Importance:
    before = loss.value(rows, predictor.scores(X))
    rises: dict[str, list[float]] = {}
    for j, column in enumerate(columns):
        if not column.is_fitted:
            continue
        rises[column.name] = []
        for order in orders:
            mixed = X.copy()
            mixed[:, j] = X[order, j]
            rises[column.name].append(loss.value(rows, predictor.scores(mixed)) - before)
    return Importance(
        learner=predictor.learner,
        trained_on=predictor.trained_on,
        n_rows=len(X),
        loss=before,
        mean={name: float(np.mean(values)) for name, values in rises.items()},
        std={name: float(np.std(values)) for name, values in rises.items()},
    )
