"""Fitted models as plain records: what a file holds, and how a model is made of it again.

A record is a dict that names its kind and holds fields; fields are records, lists, tuples, plain
values, arrays and the estimators of other libraries. Dicts of the user's are records, too, so that
no key of theirs is taken for ours.
"""

from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any

import predictree.model as of
from predictree.errors import DamagedModelError, InvalidInputError
from predictree.losses import LOSSES, CallableLoss, Loss
from predictree.publish.files.older import OLDER

KIND = "predictree"  # the key that names the kind
VALUES: dict[str, Any] = {
    kind.__name__: kind
    for kind in (
        of.Model, of.SurvivalModel, of.Settings, of.Account, of.Tree, of.Predictor, of.Constant,
        of.ClassModel, of.IndicatorModel, of.ValueModel, of.SeenBy, of.View, of.AsItIs, of.OneHot,
        of.Share, of.Schema, of.Column, of.Span, of.Imputation, of.Verdict, of.Comparison,
        of.FitCount, of.FitFailure, of.Background, of.Segment,
        of.AdditiveFunction, of.Curve, of.Surface, of.Axis, of.Census, of.Residuals,
    )
}  # fmt: skip


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
    if isinstance(value, of.Settings):
        value = replace(value, parameters=_kept(value.parameters))
    if VALUES.get(name) is type(value):
        return {KIND: name, **{f.name: to_record(getattr(value, f.name)) for f in fields(value)}}
    if isinstance(value, Loss):
        own = _known(value.name) is not type(value)
        return {
            "name": value.name,
            "own": own,
            "half_is_second": value.half_is_second,
            "floor": value.floor,
            KIND: "loss",
        }
    if isinstance(value, Mapping):
        return {KIND: "dict", "keys": list(value), "values": [to_record(v) for v in value.values()]}
    if type(value) in (list, tuple):
        return type(value)(to_record(item) for item in value)
    return value


def _kept(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters that a file holds; of code of the user's own the name."""
    kept = dict(parameters)
    if "checkpoint" in kept:
        kept["checkpoint"] = None  # a folder of one fit
    loss, validation = kept.get("loss"), kept.get("validation")
    if callable(loss) and not isinstance(loss, Loss):
        kept["loss"] = getattr(loss, "__name__", type(loss).__name__)
    if hasattr(validation, "split") and not isinstance(validation, str):
        kept["validation"] = type(validation).__name__
    return kept


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


def _value(kind: Any) -> Callable[[dict[str, Any]], Any]:
    """Return what makes a value of its fields; those with a default may be missing."""
    return lambda state: kind(**state)


def _loss(state: dict[str, Any]) -> Loss:
    name, half = state["name"], state["half_is_second"]
    if state["own"]:
        return CallableLoss(LostLoss(name), half_is_second=half)
    kind = _known(name)
    if kind is None:
        raise DamagedModelError(f"the file holds an unknown loss: {name!r}")
    return kind(**{f.name: state[f.name] for f in fields(kind)}) if is_dataclass(kind) else kind()


def _known(name: str) -> type[Loss] | None:
    """Return the loss of a name."""
    return next((losses[name] for losses in LOSSES.values() if name in losses), None)


def _dict(state: dict[str, Any]) -> dict[Any, Any]:
    return dict(zip(state["keys"], state["values"], strict=True))


BUILDERS: dict[str, Callable[[dict[str, Any]], Any]] = {
    **OLDER,
    **{name: _value(kind) for name, kind in VALUES.items()},
    "loss": _loss,
    "dict": _dict,
}
