"""Whether a model that was read from a file makes sense, before anybody asks it anything."""

import math
from typing import Any

import numpy as np

from predictree.estimators import ToPsClassifier
from predictree.exceptions import DamagedModelError
from predictree.imputation import Imputation
from predictree.inspection.background import Background
from predictree.learners.adapter import ClassModel, Constant, IndicatorModel, SeenBy, ValueModel
from predictree.learners.views import AsItIs, OneHot, Share, View
from predictree.losses import Loss
from predictree.schema import Column, Schema, Span
from predictree.segments import Segment
from predictree.survival import ToPsSurvival
from predictree.tree import NONE, Tree
from predictree.verdict import Verdict

MAX_NODES = 1_000_000  # of a tree


def check_model(model: Any) -> None:
    """Raise `DamagedModelError` or `InvalidTreeError` if the parts of a model do not fit."""
    if isinstance(model, ToPsSurvival):
        _check_survival(model)
        return
    schema, n_features = model.schema_, model.n_features_in_
    require(isinstance(schema, Schema) and len(schema.columns) == n_features, "its columns")
    require(all(isinstance(column, Column) for column in schema.columns), "its columns")
    require(isinstance(model.verdict_, Verdict), "its verdict")
    require(isinstance(model.loss_, Loss), "its loss")
    require(_places(model._needed, n_features), "the columns that it needs")
    require(isinstance(model.trees_, tuple) and len(model.trees_) > 0, "its trees")
    for imputation in model.imputations_:
        sound = isinstance(imputation, Imputation) and _places(imputation.columns, n_features)
        require(sound, "the columns of an imputation")
    for tree in model.trees_:
        require(isinstance(tree, Tree) and len(tree) <= MAX_NODES, "a tree")
        tree.validate(n_features)
        _check_levels(tree, schema)
        _check_outputs(model, tree)
    _check_backgrounds(model)
    require(all(_is_span(column.span) for column in schema.columns), "the span of a column")
    _check_segments(model)


def _check_backgrounds(model: Any) -> None:
    """Check the means of every tree's nodes, which older files do not have."""
    known = getattr(model, "backgrounds_", None)
    if known is None:
        return
    require(isinstance(known, tuple) and len(known) == len(model.trees_), "the means of nodes")
    for background, tree in zip(known, model.trees_, strict=True):
        require(isinstance(background, Background), "the means of nodes")
        width = model.n_features_in_
        if background.view is not None:
            _check_view(background.view, model.n_features_in_)
            width = sum(part.width for part in background.view.parts)
        for values in (background.mean, background.missing):
            sound = isinstance(values, np.ndarray) and values.shape == (len(tree), width)
            require(sound and values.dtype == np.float64, "the means of nodes")


def _is_span(span: Any) -> bool:
    """Whether these are three numbers in order, or nothing."""
    if span is None:
        return True
    if not isinstance(span, Span) or type(span.whole) is not bool:
        return False
    values = (span.low, span.middle, span.high)
    return all(map(_is_number, values)) and span.low <= span.middle <= span.high


def _check_segments(model: Any) -> None:
    """Check that there is a segment for each leaf of the first tree, or none at all."""
    found, tree = model.segments_, model.trees_[0]
    require(isinstance(found, tuple), "its segments")
    for segment in found:
        require(isinstance(segment, Segment) and _is_segment(segment, tree.n_outputs), "a segment")
    leaves = np.flatnonzero(tree.feature == NONE).tolist()
    require(not found or [segment.leaf for segment in found] == leaves, "its segments")


def _is_segment(segment: Segment, n_outputs: int) -> bool:
    """Whether a segment has finite numbers, or None, in their places."""
    pairs, rates = segment.calibration, segment.base_rate
    numbers = (segment.loss, segment.root_loss, segment.gain, segment.error)
    return (
        type(segment.leaf) is int
        and type(segment.n) is int
        and segment.n >= 0
        and all(value is None or _is_number(value) for value in numbers)
        and (rates is None or _are_numbers(rates, n_outputs))
        and (pairs is None or (_is_tuple(pairs, n_outputs) and all(map(_is_pair, pairs))))
    )


def _is_pair(value: Any) -> bool:
    return _are_numbers(value, 2)


def _are_numbers(value: Any, size: int) -> bool:
    return _is_tuple(value, size) and all(map(_is_number, value))


def _is_tuple(value: Any, size: int) -> bool:
    return isinstance(value, tuple) and len(value) == size


def _is_number(value: Any) -> bool:
    return type(value) is float and math.isfinite(value)


def _check_outputs(model: Any, tree: Tree) -> None:
    """Check that a tree and its models answer for every class."""
    n_outputs = len(model.classes_) if isinstance(model, ToPsClassifier) else 1
    require(tree.n_outputs == n_outputs, "the outputs of a tree")
    for predictor in tree.predictors:
        require(isinstance(predictor.models, tuple), "the models of a predictor")
        for fitted in predictor.models:
            _check_fitted(fitted, model.n_features_in_, n_outputs)


def _check_fitted(model: Any, n_features: int, n_outputs: int) -> None:
    """Check one model of a predictor."""
    while isinstance(model, SeenBy):
        _check_view(model.view, n_features)
        model = model.model
    if isinstance(model, Constant):
        sound = isinstance(model.row, np.ndarray) and model.row.shape == (n_outputs,)
    elif isinstance(model, ClassModel):
        sound = model.n_outputs == n_outputs and _places(model.present, n_outputs)
    elif isinstance(model, IndicatorModel):
        sound = model.n_outputs == n_outputs and _places(model.estimators, n_outputs)
    else:
        sound = isinstance(model, ValueModel) and n_outputs == 1
    require(sound, "a model of a predictor")


def _check_view(view: Any, n_features: int) -> None:
    """Check what a model sees."""
    require(isinstance(view, View), "what a model sees")
    for part in view.parts:
        known = isinstance(part, AsItIs | OneHot | Share)
        require(known and _places([part.place], n_features), "what a model sees")


def _check_levels(tree: Tree, schema: Schema) -> None:
    """Check that splits by a level are by one that the column has."""
    for node in np.flatnonzero(tree.is_level).tolist():
        levels = schema.columns[int(tree.feature[node])].levels
        code = float(tree.threshold[node])
        require(np.isinf(code) or (code.is_integer() and 0 <= code < len(levels)), "a level")


def _check_survival(model: ToPsSurvival) -> None:
    n_models = 1 if model._shared else len(model.horizons_)
    require(len(model.models_) == n_models, "its models and horizons")
    for each in model.models_:
        require(type(each) is ToPsClassifier, "the model of a horizon")
        check_model(each)


def _places(given: Any, size: int) -> bool:
    """Whether these are whole numbers from zero up to below a size."""
    return all(isinstance(i, int | np.integer) and 0 <= i < size for i in given)


def require(condition: Any, what: str) -> None:
    """Raise unless a part of the model is as it should be."""
    if not condition:
        raise DamagedModelError(f"the file does not hold a sound model: see {what}")
