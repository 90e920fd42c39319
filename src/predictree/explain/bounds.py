"""A bound on the expected loss of a model, from the losses of rows that it has not seen."""

from dataclasses import asdict, dataclass, fields
from math import inf, log, sqrt
from numbers import Real
from typing import Any, Self

import numpy as np

from predictree.errors import InvalidInputError, need, shown
from predictree.explain.wording import table
from predictree.losses import AUC, AdditiveLoss, Loss, resolve_loss
from predictree.model import Model, model_of
from predictree.model.outputs import ROUNDING, Labels
from predictree.model.tree import BoolArray, FloatArray, IntArray


@dataclass(frozen=True, slots=True)
class RegionBound:
    """The bound for the expected loss at one leaf C̄, or overall.

    Attributes
    ----------
    leaf : int or None
        Id of the leaf; None overall.
    rule : str
        The rules that lead to the leaf.
    n : int
        Rows there, of those given.
    loss : float
        Their mean loss.
    bound : float
        Empirical Bernstein bound of the expected loss.
    """

    leaf: int | None
    rule: str
    n: int
    loss: float
    bound: float

    def cells(self) -> dict[str, str]:
        """Return one row of the printed table, by columns."""
        numbers = {
            "held out": str(self.n),
            "loss": f"{self.loss:.4g}",
            "bound": f"{self.bound:.4g}",
        }
        return numbers | {"region": self.rule}


@dataclass(frozen=True, slots=True)
class LossBound:
    """Bounds for the expected loss of a model; print it.

    Attributes
    ----------
    loss : str
    loss_range : float
        c: losses above it were counted as c, so that all bounds are for min(loss, c).
    delta : float
    leaves : tuple of RegionBound
    overall : RegionBound
    n_capped : int
        Rows, of those given, whose loss was above c.
    """

    loss: str
    loss_range: float
    delta: float
    leaves: tuple[RegionBound, ...]
    overall: RegionBound
    n_capped: int

    @property
    def regions(self) -> tuple[RegionBound, ...]:
        """The leaves, and last all of them together."""
        return (*self.leaves, self.overall)

    @property
    def vacuous(self) -> bool:
        """Whether it says nothing overall: the bound is not below c."""
        return self.overall.bound >= self.loss_range

    def to_dict(self) -> dict[str, Any]:
        """Return all of it as plain dicts, lists and numbers."""
        leaves = [asdict(region) for region in self.leaves]
        return {**asdict(self), "leaves": leaves, "vacuous": self.vacuous}

    def to_frame(self) -> Any:
        """Return a pandas frame: a row for every leaf, and one for all of them."""
        pandas = need("pandas", "frames", "to_frame")
        return pandas.DataFrame([asdict(region) for region in self.regions])

    def __str__(self) -> str:
        numbers = aligned([region.cells() for region in self.regions])
        return "\n".join([self.title, numbers, *self.remarks()])

    @property
    def title(self) -> str:
        """The first line in print: what is bounded, and how surely."""
        surely = f"with probability {1 - self.delta:g}"
        return f"{shown(self.loss)}, at most {self.loss_range:g}, {surely}"

    def remarks(self) -> list[str]:
        """Return the last lines in print: what must be known to read the numbers."""
        found = []
        if self.vacuous:
            found.append("The held-out bound is vacuous: give more rows.")
        if self.n_capped:
            found.append(f"{self.n_capped} rows had a loss above {self.loss_range:g}, taken as it.")
        return found


def loss_bound(
    fitted: Any,
    X: Any,
    y: Any,
    delta: float = 0.05,
    *,
    loss: Any = None,
    loss_range: float | None = None,
) -> LossBound:
    """Bound the expected loss of a fitted model, per leaf and overall, by rows held out.

    It is valid whatever was done in `fit`.

    Parameters
    ----------
    fitted : ToPsClassifier or ToPsRegressor
        A fitted estimator.
    X, y : table and labels
        Rows Z that fit has *not* seen: not in S, V¹ or V². Drawn as the rows will be that the
        bound is wanted for, and independent of each other.
    delta : float, default=0.05
        δ: each bound fails with at most this probability. The leaves hold all at once.
    loss : str or Loss, optional
        By default that of the model. Another one may be asked for: a model grown on 1 − AUC has
        a Brier score, too.
    loss_range : float, optional
        c: the largest loss that a row can have. Needed for ``"mse"``, ``"mae"``, ``"log_loss"``
        and a loss of your own; 1 for ``"error"`` and ``"brier"`` (2 with more than two classes).
        Fix it by what the labels can be, before you look at any loss. Larger losses count as c.

    Returns
    -------
    LossBound

    Notes
    -----
    It is the empirical Bernstein inequality (Maurer and Pontil 2009, Theorem 4) on the losses of
    the n rows of Z, with sample variance v ::

        mean + √(2 v log(2 / δ) / n) + 7 c log(2 / δ) / (3 (n − 1))

    At leaves δ is divided by their number; overall it is not.
    """
    model = model_of(fitted)
    if not isinstance(delta, Real) or not 0 < float(delta) < 1:
        raise InvalidInputError(f"delta={delta!r}: it must be a number between 0 and 1")
    bounded = BoundedLoss.of(model, loss, loss_range)
    rows = JudgedRows.read(model, X, y, bounded)
    leaves = np.flatnonzero(model.tree.left < 0)

    def region(leaf: int | None, rule: str, losses: FloatArray, delta: float) -> RegionBound:
        mean = float(losses.mean()) if len(losses) else np.nan
        bound = empirical_bernstein(losses, bounded.largest, delta)
        return RegionBound(leaf, rule, len(losses), mean, bound)

    return LossBound(
        loss=bounded.loss.name,
        loss_range=bounded.largest,
        delta=float(delta),
        leaves=tuple(
            region(int(i), model.rule(int(i)), rows.losses[rows.leaf == i], delta / len(leaves))
            for i in leaves
        ),
        overall=region(None, "overall", rows.losses, delta),
        n_capped=rows.n_capped,
    )


def empirical_bernstein(losses: FloatArray, largest: float, delta: float) -> float:
    """Return a bound on the mean that independent losses in [0, largest] are drawn from.

    It holds with probability 1 − δ (Maurer and Pontil 2009, Theorem 4); infinite below two losses.

    Examples
    --------
    >>> import numpy as np
    >>> from predictree.explain.bounds import empirical_bernstein
    >>> round(empirical_bernstein(np.tile([0.0, 0.2], 500), largest=1.0, delta=0.05), 4)
    0.1172
    """
    n = len(losses)
    if n < 2:
        return inf
    room = log(2.0 / delta)
    spread = sqrt(2.0 * float(np.var(losses, ddof=1)) * room / n)
    return float(np.mean(losses)) + spread + 7.0 * largest * room / (3.0 * (n - 1))


@dataclass(frozen=True, slots=True)
class BoundedLoss:
    """A loss per row and its largest value c."""

    loss: AdditiveLoss
    largest: float

    @classmethod
    def of(cls, model: Model, loss: Any, loss_range: float | None) -> Self:
        """Return the loss to bound, or say why there is no bound for it."""
        found = _mean_over_rows(model, loss)
        if loss_range is not None:
            if not isinstance(loss_range, Real) or not 0 < float(loss_range) < inf:
                raise InvalidInputError(f"loss_range={loss_range!r}: it must be a positive number")
            return cls(found, float(loss_range))
        known = {"error": 1.0, "brier": 1.0 if model.tree.n_outputs == 2 else 2.0}
        if found.name not in known:
            raise InvalidInputError(
                f"loss {found.name!r} has no largest value, and a bound needs one: give "
                "loss_range=, the largest loss that a row can have by what the labels can be; "
                "larger ones count as that"
                + ("" if model.task == "regression" else ". Or give loss='brier'")
            )
        return cls(found, known[found.name])

    def __call__(self, y: Labels, scores: FloatArray) -> tuple[FloatArray, BoolArray]:
        """Return the losses, at most c, and which were above."""
        losses = self.loss.per_row(y, scores)
        return np.minimum(losses, self.largest), losses > self.largest * (1 + ROUNDING)


@dataclass(frozen=True, slots=True)
class JudgedRows:
    """Rows with their labels, their losses under a model, and their leaves.

    Attributes
    ----------
    X : array of shape (n, d)
        Gaps filled, if the model draws imputations.
    y : array of shape (n,)
        Class codes, or real labels.
    losses : array of shape (n,)
        At most c.
    leaf : array of shape (n,)
    capped : boolean array of shape (n,)
        Whose loss was above c.
    """

    X: FloatArray
    y: Labels
    losses: FloatArray
    leaf: IntArray
    capped: BoolArray

    @classmethod
    def read(cls, model: Model, X: Any, y: Any, bounded: BoundedLoss) -> Self:
        """Return a user's rows."""
        codes = model.encode(X)
        labels = model.code_labels(y, len(codes))
        losses, capped = bounded(labels, model.scores(codes))
        return cls(model.seen(codes), labels, losses, model.leaves(codes), capped)

    def of(self, rows: BoolArray) -> "JudgedRows":
        """Return some of them."""
        return JudgedRows(*(getattr(self, field.name)[rows] for field in fields(self)))

    @property
    def n_capped(self) -> int:
        """How many losses were above c."""
        return int(self.capped.sum())


def aligned(rows: list[dict[str, str]]) -> str:
    """Lay out a table: numbers to the right, the last column to the left."""
    return table([list(rows[0]), *(list(row.values()) for row in rows)], range(len(rows[0]) - 1))


def _mean_over_rows(model: Model, loss: Any) -> AdditiveLoss:
    """Return the loss if it is a mean over rows."""
    found: Loss = model.loss
    if loss is not None:
        half = model.loss.half_is_second
        found = resolve_loss(loss, model.task, model.classes, half_is_second=half)
    if isinstance(found, AdditiveLoss):
        return found
    what = "1 − AUC" if isinstance(found, AUC) else f"loss {found.name!r}"
    other = "'mse' or 'mae' and loss_range=" if model.task == "regression" else "'brier'"
    raise InvalidInputError(
        f"{what} is not a mean of losses of single rows, so that no bound from held-out rows "
        f"speaks of it: give loss={other}, or a subclass of AdditiveLoss"
    )
