"""A loss of the user's own."""

import inspect
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from predictree.losses.base import Judged, Loss
from predictree.model.outputs import Labels
from predictree.model.tree import FloatArray


@dataclass(frozen=True)
class CallableLoss(Loss):
    """A user's ``loss(y_true, y_score)``, taken as joint.

    It is called with the original labels and the raw scores: (n,) for regression and for the
    second of two classes, (n, k) for more. ``sample_weight`` is passed if the callable names it
    and weights were given. A ValueError or a value that is not finite means that the loss is
    undefined there; ``errors`` collects the texts of the former.
    """

    function: Callable[..., float]
    classes: Labels | None = None
    half_is_second: bool = False
    takes_weight: bool = field(init=False)
    errors: list[str] = field(init=False, default_factory=list)

    def __post_init__(self) -> None:
        try:
            takes_weight = "sample_weight" in inspect.signature(self.function).parameters
        except ValueError:  # some builtins do not tell
            takes_weight = False
        object.__setattr__(self, "takes_weight", takes_weight)

    @property
    def name(self) -> str:  # type: ignore[override]
        """The name of the callable."""
        return getattr(self.function, "__name__", type(self.function).__name__)

    def value(self, rows: Judged, scores: FloatArray) -> float:
        """Call the function."""
        # Not above: a fitted model with a loss of predictree's own needs NumPy alone.
        from sklearn.exceptions import UndefinedMetricWarning  # noqa: PLC0415

        y = rows.y if self.classes is None else self.classes[rows.y]
        column = {1: 0, 2: 1}.get(scores.shape[1])
        score = scores if column is None else scores[:, column]
        weighted = self.takes_weight and rows.weight is not None
        keywords = {"sample_weight": rows.weight} if weighted else {}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UndefinedMetricWarning)
            try:
                value = float(self.function(y, score, **keywords))
            except ValueError as error:
                self.errors.append(str(error))
                return np.nan
        return value if np.isfinite(value) else np.nan

    def scale(self, rows: Judged) -> float:
        """Return 0: nothing is known about the size of the values."""
        return 0.0
