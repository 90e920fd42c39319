"""The terms of a tree of additive models as a frame: region × feature × value × effect."""

from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np

from predictree.explain.additive import AdditiveTree, Shape
from predictree.explain.coefficients import tree_with

BASELINE = "(baseline)"


def terms(fitted: Any, leaf: int | None = None, *, tree: int = 0) -> Any:
    """Return what every feature adds to the score in every region, value by value.

    A region answers with one additive function: the baseline and, of every feature, the effect of
    its value. Between two values of a number the effect is on the line between their effects;
    beyond the region's first and last value it stays as it is there.

    Parameters
    ----------
    fitted : ToPsClassifier, ToPsRegressor or Model
        A fitted estimator of additive models, or its ``model_``.
    leaf : int, optional
        The id of a node, such as `apply` returns. By default all leaves are told, those first that
        depart most from what all rows have in common.
    tree : int, default=0
        Which of the model's ``trees_``.

    Returns
    -------
    pandas.DataFrame, or numpy.recarray where pandas is not installed
        A line for each value of each term in each region, with the columns

        ``region``, ``rule`` : the id of the node, and who is in it.
        ``feature``, ``value`` : what the line is about; "(baseline)" without a value.
        ``feature_2``, ``value_2`` : the second feature of a pair, else None.
        ``target`` : the class whose log-odds these are; None in a regression.
        ``effect``, ``error`` : what the value adds to the score, and its standard error; the
        baseline's is NaN.
        ``change``, ``change_error`` : by how much that is more than in the root's curve.
        ``share`` : of the region's rows; NaN for pairs.

    Notes
    -----
    Effects are on the scale of the prediction in a regression, of log-odds in a classification,
    and of the logarithm of the mean where the loss has such a link. The errors take regions and
    the smoothness of curves as known, and are too small where the same rows found them: see
    `honest` for some that hold.
    """
    read = AdditiveTree.of(fitted, tree)
    if leaf is not None:
        tree_with(read.model, read.number, leaf)
    nodes = read.leaves if leaf is None else [int(leaf)]
    lines: dict[str, list[Any]] = {name: [] for name in COLUMNS}
    for node in nodes:
        for k, target in enumerate(read.targets):
            for line in _lines(read, node, k):
                for name, value in zip(COLUMNS, _full(read, node, target, line), strict=True):
                    lines[name].append(value)
    return frame_of(lines)


COLUMNS = (
    "region", "rule", "feature", "value", "feature_2", "value_2", "target", "effect", "error",
    "change", "change_error", "share",
)  # fmt: skip


def contrast(fitted: Any, first: int, second: int, *, tree: int = 0) -> Any:
    """Return by how much the effects in one region are larger than in another.

    What both regions have from the nodes above them cancels out, with its errors.

    Parameters
    ----------
    fitted : ToPsClassifier, ToPsRegressor or Model
    first, second : int
        Ids of nodes.
    tree : int, default=0

    Returns
    -------
    pandas.DataFrame, or numpy.recarray where pandas is not installed
        ``feature``, ``value``, ``target``, ``difference``, ``error``: a line for every value that
        rows of both regions reach.
    """
    read = AdditiveTree.of(fitted, tree)
    for node in (first, second):
        tree_with(read.model, read.number, node)
    lines: dict[str, list[Any]] = {
        name: [] for name in ("feature", "value", "target", "difference", "error")
    }
    for term in range(len(read.root.curves)):
        difference, error = read.difference(term, first, second)
        both = np.intersect1d(read.reached(first, term), read.reached(second, term))
        values = [read.value(term, cell) for cell in both.tolist()]
        for k, target in enumerate(read.targets):
            lines["feature"] += [read.name(term)] * len(both)
            lines["value"] += values
            lines["target"] += [target] * len(both)
            lines["difference"] += difference[both, k].tolist()
            lines["error"] += error[both, k].tolist()
    return frame_of(lines)


def frame_of(columns: dict[str, list[Any]]) -> Any:
    """Return columns as a pandas frame; as an array of records where pandas is not installed."""
    if find_spec("pandas") is not None:
        return import_module("pandas").DataFrame(columns)
    arrays = {name: _array(values) for name, values in columns.items()}
    n_rows = max(map(len, columns.values()), default=0)
    found = np.recarray(n_rows, dtype=[(name, array.dtype) for name, array in arrays.items()])
    for name, array in arrays.items():
        found[name] = array
    return found


def _array(values: Sequence[Any]) -> Any:
    """Return numbers as an array of numbers, and anything else as objects."""
    if all(isinstance(value, float) for value in values):
        return np.array(values, dtype=float)
    return np.array(values, dtype=object)


def _lines(read: AdditiveTree, node: int, k: int) -> list[tuple[Any, ...]]:
    """Return names, values and numbers of one node and target: the last seven columns and four."""
    mine, root = read.functions[node].intercept[k], read.root.intercept[k]
    found = [(BASELINE, None, None, None, float(mine), np.nan, float(mine - root), np.nan, 1.0)]
    for term in range(len(read.columns)):
        shape = read.shape(node, term)
        names = [read.model.names[j] for j in shape.columns]
        found += [_line(names, shape, i, k) for i in range(len(shape.values))]
    return found


def _line(names: Sequence[str], shape: Shape, i: int, k: int) -> tuple[Any, ...]:
    values = shape.values[i]
    second = (names[1], values[1]) if len(names) > 1 else (None, None)
    numbers = (shape.effect, shape.error, shape.change, shape.change_error)
    told = [float(array[i, k]) for array in numbers]
    return (names[0], values[0], *second, *told, float(shape.share[i]))


def _full(read: AdditiveTree, node: int, target: Any, line: tuple[Any, ...]) -> tuple[Any, ...]:
    return (node, read.model.rule(node, read.number), *line[:4], target, *line[4:])
