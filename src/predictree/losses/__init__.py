"""Losses: how a predictor is judged on V¹, alone and joined with another.

A loss is a subclass of `Loss`, in a module of its own; by its name it is known once it stands in
`LOSSES`.
"""

from predictree.errors import InvalidInputError
from predictree.losses.base import (
    AdditiveJudge,
    AdditiveLoss,
    Combination,
    JointJudge,
    Judge,
    Judged,
    Loss,
    tolerance,
)
from predictree.losses.own import CallableLoss
from predictree.losses.ranking import AUC, RankingJudge
from predictree.losses.rows import (
    AbsoluteError,
    Brier,
    Error,
    Gamma,
    LogLoss,
    Poisson,
    SquaredError,
)
from predictree.model.outputs import Labels

__all__ = [
    "AUC",
    "LOSSES",
    "AbsoluteError",
    "AdditiveJudge",
    "AdditiveLoss",
    "Brier",
    "CallableLoss",
    "Combination",
    "Error",
    "Gamma",
    "JointJudge",
    "Judge",
    "Judged",
    "LogLoss",
    "Loss",
    "Poisson",
    "RankingJudge",
    "SquaredError",
    "resolve_loss",
    "tolerance",
]

LOSSES: dict[str, dict[str, type[Loss]]] = {
    "classification": {loss.name: loss for loss in (LogLoss, AUC, Error, Brier)},
    "regression": {loss.name: loss for loss in (SquaredError, AbsoluteError, Poisson, Gamma)},
}


def resolve_loss(
    loss: object, task: str, classes: Labels | None, half_is_second: bool = False
) -> Loss:
    """Return the `Loss` that a user's ``loss=`` names."""
    if isinstance(loss, str) and loss == Error.name and task == Error.task:
        return Error(half_is_second)
    if isinstance(loss, str) and loss in LOSSES[task]:
        return LOSSES[task][loss]()
    if isinstance(loss, Loss) and loss.task in ("", task):
        return loss
    if callable(loss) and not isinstance(loss, type | Loss):
        return CallableLoss(loss, classes)
    names = ", ".join(repr(name) for name in LOSSES[task])
    raise InvalidInputError(
        f"loss={loss!r} is not a {task} loss: use 'auto', one of {names}, or a callable "
        "loss(y_true, y_score)"
    )
