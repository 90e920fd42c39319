"""Fitted models as plain records: what a file holds, and how a model is made of it again.

A record is a dict that names its kind and holds fields; fields are records, lists, tuples, plain
values, arrays and the estimators of other libraries. Dicts of the user's are records, too, so that
no key of theirs is taken for ours.
"""

from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any

from predictree.estimators import ToPsClassifier, ToPsRegressor
from predictree.exceptions import DamagedModelError, InvalidInputError
from predictree.grower import FitFailure
from predictree.imputation import Imputation
from predictree.inspection.background import Background
from predictree.learners.adapter import ClassModel, Constant, IndicatorModel, SeenBy, ValueModel
from predictree.learners.views import AsItIs, OneHot, Share, View
from predictree.losses import LOSSES, CallableLoss, Error, Loss
from predictree.partition import are_splits
from predictree.schema import Column, Schema, Span
from predictree.search import FitCount
from predictree.segments import Segment
from predictree.survival import ToPsSurvival
from predictree.tree import Predictor, Tree
from predictree.verdict import Comparison, Verdict

KIND = "predictree"  # the key that names the kind
ESTIMATORS: dict[str, type] = {
    kind.__name__: kind for kind in (ToPsClassifier, ToPsRegressor, ToPsSurvival)
}
VALUES: dict[str, Any] = {
    kind.__name__: kind
    for kind in (
        Tree, Predictor, Constant, ClassModel, IndicatorModel, ValueModel, SeenBy, View, AsItIs,
        OneHot, Share, Schema, Column, Imputation, Verdict, Comparison, FitCount, FitFailure,
        Background, Segment, Span,
    )
}  # fmt: skip
LEFT_OUT = ("partition_", "censoring_", "tree_", "checkpoint", "_skl_callbacks")
"""What belongs to the training rows or to one fit; and the first of trees_, which is there."""
BUILT_IN = {name: loss for losses in LOSSES.values() for name, loss in losses.items()}


class LostLoss:
    """Stands for a loss of the user's own, of which a file keeps the name."""

    def __init__(self, name: str) -> None:
        self.__name__ = name

    def __call__(self, y_true: Any, y_score: Any) -> float:
        """Raise: the function is not there."""
        raise InvalidInputError(
            f"the loss {self.__name__!r} was a function of your own, and files keep only its name: "
            "set loss= to it again"
        )


def to_record(value: Any) -> Any:
    """Return a value with everything of ours in it as records."""
    name = type(value).__name__
    if ESTIMATORS.get(name) is type(value):
        return {KIND: name, **_state_of(value)}
    if VALUES.get(name) is type(value):
        return {KIND: name, **{f.name: to_record(getattr(value, f.name)) for f in fields(value)}}
    if isinstance(value, Loss):
        half = isinstance(value, Error) and value.half_is_second
        own = BUILT_IN.get(value.name) is not type(value)
        return {KIND: "loss", "name": value.name, "own": own, "half_is_second": half}
    if isinstance(value, Mapping):
        return {KIND: "dict", "keys": list(value), "values": [to_record(v) for v in value.values()]}
    if type(value) in (list, tuple):
        return type(value)(to_record(item) for item in value)
    return value


def _state_of(estimator: Any) -> dict[str, Any]:
    """Return the attributes of an estimator that a file holds.

    A loss and a splitter of the user's own are kept by name, and of splits that there were some.
    """
    state = {key: value for key, value in vars(estimator).items() if key not in LEFT_OUT}
    for key in ("loss", "validation"):
        given = state.get(key)
        if callable(given) and not isinstance(given, Loss):
            state[key] = getattr(given, "__name__", type(given).__name__)
        elif hasattr(given, "split") and not isinstance(given, str):
            state[key] = type(given).__name__
        elif key == "validation" and are_splits(given):
            state[key] = "splits"
    return {key: to_record(value) for key, value in state.items()}


def from_record(record: Any) -> Any:
    """Return what a record stands for."""
    if type(record) in (list, tuple):
        return type(record)(from_record(item) for item in record)
    if type(record) is not dict:
        return record
    kind = record.get(KIND)
    build = BUILDERS.get(kind) if isinstance(kind, str) else None
    if build is None:
        raise DamagedModelError(f"the file holds a record of an unknown kind: {kind!r}")
    return build({key: from_record(value) for key, value in record.items() if key != KIND})


def _estimator(kind: type) -> Callable[[dict[str, Any]], Any]:
    """Return what makes an estimator of its attributes.

    A parameter that was not there when the file was written has its default; a model from before
    there were segments has none.
    """

    def build(state: dict[str, Any]) -> Any:
        hidden = [key for key in state if hasattr(kind, key)]
        if hidden:
            raise DamagedModelError(f"{hidden[0]!r} is no attribute of one {kind.__name__}")
        estimator = kind()
        vars(estimator).update(state)
        if "trees_" in state:
            estimator.tree_ = state["trees_"][0]
            vars(estimator).setdefault("segments_", ())
        return estimator

    return build


def _value(kind: Any) -> Callable[[dict[str, Any]], Any]:
    """Return what makes a value of its fields; those with a default may be missing."""
    return lambda state: kind(**state)


def _loss(state: dict[str, Any]) -> Loss:
    name = state["name"]
    if state["own"]:
        return CallableLoss(LostLoss(name))
    return Error(state["half_is_second"]) if name == Error.name else BUILT_IN[name]()


def _dict(state: dict[str, Any]) -> dict[Any, Any]:
    return dict(zip(state["keys"], state["values"], strict=True))


BUILDERS: dict[str, Callable[[dict[str, Any]], Any]] = {
    **{name: _estimator(kind) for name, kind in ESTIMATORS.items()},
    **{name: _value(kind) for name, kind in VALUES.items()},
    "loss": _loss,
    "dict": _dict,
}
