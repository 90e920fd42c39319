"""Whether a model that was read from a file makes sense, before anybody asks it anything."""

import math
from typing import Any

import numpy as np

from predictree.errors import DamagedModelError
from predictree.explain.census import functions_of
from predictree.losses import Loss
from predictree.model import (
    LINKS,
    Account,
    AdditiveFunction,
    AsItIs,
    Axis,
    Background,
    Census,
    ClassModel,
    Column,
    Comparison,
    Constant,
    Curve,
    FitCount,
    FitFailure,
    Imputation,
    IndicatorModel,
    Model,
    OneHot,
    Predictor,
    Residuals,
    Schema,
    SeenBy,
    Segment,
    Settings,
    Share,
    Span,
    Surface,
    SurvivalModel,
    Tree,
    ValueModel,
    Verdict,
    View,
)
from predictree.model.residuals import ranks
from predictree.model.tree import NONE

MAX_NODES = 1_000_000  # of a tree
STOPPED = (None, "time_limit", "callback")


def check_model(model: Any) -> None:
    """Raise `DamagedModelError` or `InvalidTreeError` if the parts of a model do not fit."""
    if isinstance(model, SurvivalModel):
        _check_survival(model)
        return
    require(isinstance(model, Model), "what it is")
    _check_columns(model)
    _check_classes(model.classes)
    loss = model.loss
    require(isinstance(loss, Loss) and type(loss.half_is_second) is bool, "its loss")
    require(type(loss.name) is str and type(loss.floor) is float, "its loss")
    require(isinstance(model.trees, tuple) and len(model.trees) > 0, "its trees")
    _check_imputations(model)
    for tree in model.trees:
        require(isinstance(tree, Tree) and len(tree) <= MAX_NODES, "a tree")
        tree.validate(len(model.schema.columns))
        _check_levels(tree, model.schema)
        _check_outputs(model, tree)
    _check_backgrounds(model)
    _check_account(model.account, model.tree)
    _check_settings(model.settings)


def _check_columns(model: Model) -> None:
    """Check the columns, and which of them must not be missing."""
    schema = model.schema
    require(isinstance(schema, Schema) and len(schema.columns) > 0, "its columns")
    require(all(isinstance(column, Column) for column in schema.columns), "its columns")
    require(all(type(column.name) is str for column in schema.columns), "the name of a column")
    require(all(_is_span(column.span) for column in schema.columns), "the span of a column")
    require(all(map(_are_counts, schema.columns)), "the rows of the levels of a column")
    require(type(model.named) is bool, "whether its columns have names")
    sound = isinstance(model.needed, tuple) and _places(model.needed, len(schema.columns))
    require(sound, "the columns that it needs")


def _are_counts(column: Column) -> bool:
    """Whether there is a number of rows for every level, or for none."""
    levels, counts = column.levels, column.counts
    known = isinstance(levels, tuple) and isinstance(counts, tuple)
    return known and (not counts or len(counts) == len(levels)) and all(map(_is_count, counts))


def _check_classes(classes: Any) -> None:
    """Check that there are several classes, or none in a regression."""
    if classes is not None:
        sound = isinstance(classes, np.ndarray) and classes.ndim == 1 and len(classes) > 1
        require(sound and len(set(classes.tolist())) == len(classes), "its classes")


def _check_imputations(model: Model) -> None:
    require(isinstance(model.imputations, tuple), "its imputations")
    for imputation in model.imputations:
        known = isinstance(imputation, Imputation)
        sound = known and _places(imputation.columns, len(model.schema.columns))
        require(sound, "the columns of an imputation")


def _check_backgrounds(model: Model) -> None:
    """Check the means of every tree's nodes, which older files do not have."""
    known, n_features = model.backgrounds, len(model.schema.columns)
    sound = isinstance(known, tuple) and len(known) in (0, len(model.trees))
    require(sound, "the means of nodes")
    for background, tree in zip(known, model.trees, strict=bool(known)):
        require(isinstance(background, Background), "the means of nodes")
        width = n_features
        if background.view is not None:
            _check_view(background.view, n_features)
            width = sum(part.width for part in background.view.parts)
        for values in (background.mean, background.missing):
            sound = isinstance(values, np.ndarray) and values.shape == (len(tree), width)
            require(sound and values.dtype == np.float64, "the means of nodes")
        require(background.census is None or _is_census(background.census, tree), "its census")


def _is_census(census: Any, tree: Tree) -> bool:
    """Whether there is a number for every node, cell and term of additive functions alike."""
    functions = functions_of(tree)
    if not isinstance(census, Census) or functions is None:
        return False
    cells = [
        [axis.n_cells for axis in f.axes] + [s.values.shape for s in f.surfaces] for f in functions
    ]
    root, n = functions[0], len(tree)
    k, n_terms = len(root.intercept), len(root.curves) + len(root.surfaces)
    shapes = [(census.size, (n, n_terms, k)), (census.moved, (n, k)), (census.apart, (n, k))]
    if not _is_tuple(census.cells, len(root.curves)) or any(one != cells[0] for one in cells):
        return False
    shapes += [
        (found, (n, axis.n_cells)) for found, axis in zip(census.cells, root.axes, strict=True)
    ]
    return all(_is_table(values, shape) for values, shape in shapes)


def _check_account(account: Any, tree: Tree) -> None:
    """Check what the fit says of itself."""
    require(isinstance(account, Account), "the account of its fit")
    verdict, fits = account.verdict, account.fits
    require(isinstance(verdict, Verdict) and type(verdict.tried) is bool, "its verdict")
    require(
        all(map(_is_comparison, verdict.opponents)) and type(verdict.loss) is float, "its verdict"
    )
    sound = isinstance(fits, FitCount) and _is_count(fits.made) and _is_count(fits.exhaustive)
    require(sound, "its fits")
    require(isinstance(account.failures, tuple), "its failures")
    require(all(map(_is_failure, account.failures)), "its failures")
    require(account.stopped in STOPPED, "what stopped it")
    _check_segments(account.segments, tree)
    require(account.residuals is None or _is_sorted(account.residuals, tree), "its residuals")


def _is_sorted(told: Any, tree: Tree) -> bool:
    """Whether these are the errors of some nodes of a tree, in order."""
    if not isinstance(told, Residuals) or not isinstance(told.errors, tuple):
        return False
    lines = (told.answers, told.spread, *told.errors)
    whole = (told.leaves, told.group, told.counts)
    arrays = all(isinstance(a, np.ndarray) and a.ndim == 1 for a in (*lines, *whole))
    if not arrays or not all(len(a) and np.isfinite(a).all() for a in (*lines, *whole)):
        return False
    if any(a.dtype != np.float64 for a in lines) or any(a.dtype != np.int64 for a in whole):
        return False
    rising = all((np.diff(a) >= 0).all() for a in (told.answers, *told.errors))
    sizes = len(told.answers) == len(told.spread) and len(told.counts) == len(told.errors)
    kept = [len(ranks(int(n))) for n in told.counts] == [len(e) for e in told.errors]
    leaves = np.array_equal(told.leaves, np.flatnonzero(tree.feature == NONE))
    within = leaves and len(told.group) == len(told.leaves) and (told.counts > 0).all()
    within = within and told.group.min() >= 0 and told.group.max() < len(told.errors)
    return bool(rising and sizes and kept and within and (told.spread > 0).all())


def _is_comparison(value: Any) -> bool:
    if not isinstance(value, Comparison) or type(value.name) is not str:
        return False
    return all(type(number) is float for number in (value.loss, value.gain, value.error))


def _is_failure(value: Any) -> bool:
    if not isinstance(value, FitFailure) or not _is_count(value.node):
        return False
    return type(value.learner) is str and type(value.reason) is str and _is_count(value.count)


def _is_count(value: Any) -> bool:
    return type(value) is int and value >= 0


def _check_settings(settings: Any) -> None:
    """Check that there are parameters by name."""
    require(isinstance(settings, Settings) and type(settings.kind) is str, "its settings")
    given = settings.parameters
    require(type(given) is dict and all(type(name) is str for name in given), "its settings")


def _is_span(span: Any) -> bool:
    """Whether these are three numbers in order, or nothing."""
    if span is None:
        return True
    if not isinstance(span, Span) or type(span.whole) is not bool:
        return False
    values = (span.low, span.middle, span.high)
    return all(map(_is_number, values)) and span.low <= span.middle <= span.high


def _check_segments(found: Any, tree: Tree) -> None:
    """Check that there is a segment for each leaf of the first tree, or none at all."""
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
        and _is_count(segment.n)
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


def _check_outputs(model: Model, tree: Tree) -> None:
    """Check that a tree and its models answer for every class."""
    n_outputs = 1 if model.classes is None else len(model.classes)
    require(tree.n_outputs == n_outputs, "the outputs of a tree")
    for predictor in tree.predictors:
        known = isinstance(predictor, Predictor) and isinstance(predictor.models, tuple)
        require(known and type(predictor.learner) is str, "a predictor")
        for fitted in predictor.models:
            check_fitted(fitted, len(model.schema.columns), n_outputs)


def check_fitted(model: Any, n_features: int, n_outputs: int) -> None:
    """Raise unless one model of a predictor answers for so many outputs."""
    while isinstance(model, SeenBy):
        _check_view(model.view, n_features)
        model = model.model
    if isinstance(model, AdditiveFunction):
        sound = _is_additive(model, n_features, n_outputs)
    elif isinstance(model, Constant):
        sound = isinstance(model.row, np.ndarray) and model.row.shape == (n_outputs,)
    elif isinstance(model, ClassModel):
        sound = model.n_outputs == n_outputs and _places(model.present, n_outputs)
    elif isinstance(model, IndicatorModel):
        sound = model.n_outputs == n_outputs and _places(model.estimators, n_outputs)
    else:
        sound = isinstance(model, ValueModel) and n_outputs == 1
    require(sound, "a model of a predictor")


def _is_additive(function: AdditiveFunction, n_features: int, n_outputs: int) -> bool:
    """Whether the tables of an additive function fit each other, and what it answers for."""
    k = _n_sums(function.link, n_outputs)
    curves, surfaces = function.curves, function.surfaces
    return (
        k is not None
        and _is_table(function.intercept, (k,))
        and _is_range(function.span)
        and isinstance(curves, tuple)
        and isinstance(surfaces, tuple)
        and all(_is_curve(curve, n_features, k) for curve in curves)
        and all(_is_surface(surface, n_features, k) for surface in surfaces)
        and len({curve.axis.feature for curve in curves}) == len(curves)
    )


def _n_sums(link: Any, n_outputs: int) -> int | None:
    """Return how many sums a link makes so many scores of; None if it makes no such."""
    if not isinstance(link, str) or link not in LINKS:
        return None
    if link == "softmax":
        return n_outputs if n_outputs > 1 else None
    return 1 if n_outputs == (2 if link == "logit" else 1) else None


def _is_curve(curve: Any, n_features: int, k: int) -> bool:
    known = isinstance(curve, Curve) and _is_axis(curve.axis, n_features)
    return known and _are_tables(curve, (curve.axis.n_cells, k))


def _is_surface(surface: Any, n_features: int, k: int) -> bool:
    known = isinstance(surface, Surface) and _is_tuple(surface.axes, 2)
    if not known or not all(_is_axis(axis, n_features) for axis in surface.axes):
        return False
    first, second = surface.axes
    return _are_tables(surface, (first.n_cells, second.n_cells, k))


def _is_axis(axis: Any, n_features: int) -> bool:
    """Whether an axis has rising knots on a column that there is."""
    if not isinstance(axis, Axis) or type(axis.is_category) is not bool:
        return False
    knots = axis.knots
    if not isinstance(axis.feature, int | np.integer) or not 0 <= axis.feature < n_features:
        return False
    known = isinstance(knots, np.ndarray) and knots.ndim == 1 and len(knots) > 0
    return known and _is_table(knots, knots.shape) and bool((np.diff(knots) > 0).all())


def _are_tables(effect: Curve | Surface, shape: tuple[int, ...]) -> bool:
    """Whether an effect and its variance have a number for every cell."""
    sound = _is_table(effect.values, shape) and _is_table(effect.variance, shape)
    return sound and bool((effect.variance >= 0).all())


def _is_table(values: Any, shape: tuple[int, ...]) -> bool:
    known = isinstance(values, np.ndarray) and values.dtype == np.float64
    return known and values.shape == shape and bool(np.isfinite(values).all())


def _is_range(span: Any) -> bool:
    """Whether these are two numbers in order, which may be infinite."""
    return _is_tuple(span, 2) and all(type(end) is float for end in span) and span[0] <= span[1]


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


def _check_survival(model: SurvivalModel) -> None:
    """Check that there is a sound model for every horizon, or one for all."""
    require(type(model.shared) is bool, "whether its horizons share a tree")
    for values in (model.horizons, model.causes):
        known = isinstance(values, np.ndarray) and values.ndim == 1 and len(values) > 0
        require(known and values.dtype.kind in "if", "its horizons and causes")
    n_models = 1 if model.shared else len(model.horizons)
    sound = isinstance(model.models, tuple) and len(model.models) == n_models
    require(sound, "its models and horizons")
    for each in model.models:
        require(isinstance(each, Model) and each.classes is not None, "the model of a horizon")
        check_model(each)
    _check_settings(model.settings)


def _places(given: Any, size: int) -> bool:
    """Whether these are whole numbers from zero up to below a size."""
    return all(isinstance(i, int | np.integer) and 0 <= i < size for i in given)


def require(condition: Any, what: str) -> None:
    """Raise unless a part of the model is as it should be."""
    if not condition:
        raise DamagedModelError(f"the file does not hold a sound model: see {what}")
