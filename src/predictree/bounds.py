"""Loss bounds: Theorem 1 of the paper and its corollary, and beside them one from held-out rows."""

from collections.abc import Callable
from dataclasses import asdict, dataclass, fields, replace
from importlib import import_module
from importlib.util import find_spec
from itertools import pairwise
from math import exp, inf, log, prod, sqrt
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from predictree.complexity import Complexity, Randomness, Reference, complexities
from predictree.encoding import check_labels, check_values
from predictree.exceptions import InvalidInputError, MissingExtraError
from predictree.inspection.text import rules
from predictree.losses import AUC, ROUNDING, AdditiveLoss, Labels, Loss, resolve_loss
from predictree.tree import BoolArray, FloatArray, IntArray, Tree

SLOPES: dict[str, Callable[[float], float]] = {
    "mse": lambda c: 2.0 * sqrt(c),
    "brier": lambda c: 2.0 * sqrt(c),
    "mae": lambda c: 1.0,
    "log_loss": exp,
}
"""Slope ρ of each loss of the theorem, in h(x), where it is at most c."""


@dataclass(frozen=True, slots=True)
class TheoremTerms:
    """The terms of Theorem 1, at a leaf or on average over leaves.

    Attributes
    ----------
    n : int
        Rows of S(C̄).
    empirical : float
        L(H, S(C̄)), on the rows that trained.
    rademacher, rademacher_error : float
        2 ρ max R(A_C, S(C̄)) over the path, and its standard error if it is sampled.
    confidence : float
        4 c √(2 log(4 m / δ) / n), for m leaves.
    learner : str or None
        The learner whose complexity is the largest; None on average over leaves.
    method : str
        How it was found: ``"closed form"``, ``"Monte Carlo"``, or on average both.
    """

    n: int
    empirical: float
    rademacher: float
    rademacher_error: float
    confidence: float
    learner: str | None
    method: str

    @property
    def total(self) -> float:
        """The bound: the sum of the three terms."""
        return self.empirical + self.rademacher + self.confidence


@dataclass(frozen=True, slots=True)
class HeldOut:
    """Loss on rows that the tree did not see, and the empirical Bernstein bound from it."""

    n: int
    loss: float
    bound: float


@dataclass(frozen=True, slots=True)
class RegionBound:
    """Bounds for the expected loss at one leaf C̄, or overall.

    Attributes
    ----------
    leaf : int or None
        Id of the leaf; None overall.
    rule : str
        The rules that lead to the leaf.
    theorem : TheoremTerms or None
        None without training rows.
    held_out : HeldOut
    """

    leaf: int | None
    rule: str
    theorem: TheoremTerms | None
    held_out: HeldOut


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
    def vacuous(self) -> bool:
        """Whether the theorem says nothing overall: its bound is not below c."""
        return self.overall.theorem is not None and self.overall.theorem.total >= self.loss_range

    def to_dict(self) -> dict[str, Any]:
        """Return all of it as plain dicts, lists and numbers."""
        found = {
            **asdict(self),
            "leaves": [_plain(region) for region in self.leaves],
            "overall": _plain(self.overall),
        }
        return {**found, "vacuous": self.vacuous}

    def to_frame(self) -> Any:
        """Return a pandas frame: a row for every leaf, and one for all of them."""
        if find_spec("pandas") is None:
            raise MissingExtraError(
                "to_frame needs pandas: pip install 'predictree[frames]', or use to_dict"
            )
        return import_module("pandas").DataFrame(
            [_flat(region) for region in (*self.leaves, self.overall)]
        )

    def __str__(self) -> str:
        head = f"{self.loss}, at most {self.loss_range:g}, with probability {1 - self.delta:g}"
        lines = [head, *_table([_cells(region) for region in (*self.leaves, self.overall)])]
        return "\n".join([*lines, *self._remarks()])

    def _remarks(self) -> list[str]:
        found = []
        if self.overall.theorem is None:
            found.append("Theorem 1 needs the rows of fit: give training=(X, y).")
        if self.vacuous:
            found.append("Theorem 1 is vacuous: its bound is not below the largest loss.")
        if self.overall.theorem is not None and "Monte Carlo" in self.overall.theorem.method:
            found.append("A sampled Rademacher term is an estimate from below, not a bound.")
        if self.overall.held_out.bound >= self.loss_range:
            found.append("The held-out bound is vacuous: give more rows.")
        if self.n_capped:
            found.append(f"{self.n_capped} rows had a loss above {self.loss_range:g}, taken as it.")
        return found


def loss_bound(
    model: Any,
    X: Any,
    y: Any,
    delta: float = 0.05,
    *,
    training: tuple[Any, Any] | None = None,
    loss: Any = None,
    loss_range: float | None = None,
    n_draws: int = 20,
    random_state: int = 0,
) -> LossBound:
    """Bound the expected loss of a fitted model, per leaf and overall.

    Two bounds stand side by side. That on **held-out rows** is the one to act on: it is valid
    whatever was done in `fit`, and mostly much tighter. That of the **paper** (Theorem 1, and its
    corollary for the whole tree) shows what its parts are made of. At a leaf C̄ with n rows of S, in
    a tree of m leaves, it is ::

        E[L(H)] ≤ L(H, S(C̄)) + 2 max R(A_C, S(C̄)) + 4 c √(2 log(4 m / δ) / n)

    with the maximum over the nodes C of the path Π(C̄); overall it is the mean of the leaves'
    bounds, weighted by n.

    Parameters
    ----------
    model : ToPsClassifier or ToPsRegressor
        A fitted estimator.
    X, y : table and labels
        Rows Z that fit has *not* seen: not in S, V¹ or V². Drawn as the rows will be that the
        bound is wanted for, and independent of each other.
    delta : float, default=0.05
        δ: each bound fails with at most this probability. The leaves hold all at once.
    training : (X, y), optional
        The rows of `fit`, all of them and in the same order. The theorem's terms are computed on
        those of S: all, or the part S if V¹ and V² were held out. Without them there is only
        the held-out bound.
    loss : str or Loss, optional
        By default that of the model. Another one may be asked for: a model grown on 1 − AUC has
        a Brier score, too.
    loss_range : float, optional
        c: the largest loss that a row can have. Needed for ``"mse"``, ``"mae"``, ``"log_loss"``
        and a loss of your own; 1 for ``"error"`` and ``"brier"`` (2 with more than two classes).
        Fix it by what the labels can be, before you look at any loss. Larger losses count as c.
    n_draws : int, default=20
        Random signs drawn for each learner and leaf whose complexity has no closed form: as many
        fits.
    random_state : int, default=0
        Seeds the signs.

    Returns
    -------
    LossBound

    Notes
    -----
    **The held-out bound** is the empirical Bernstein inequality (Maurer and Pontil 2009, Theorem
    4) on the losses of the n rows of Z, with sample variance v ::

        mean + √(2 v log(2 / δ) / n) + 7 c log(2 / δ) / (3 (n − 1))

    At leaves δ is divided by their number; overall it is not.

    **Which losses the theorem covers.** Means over rows of a convex function of h(x) − y:
    ``"mse"``, ``"mae"``, and with two classes ``"brier"`` and ``"log_loss"``. The paper tacitly
    has losses in [0, 1]; for others the last term is multiplied by c. R is the complexity of the
    losses of a learner's predictors; that of its scores, times the slope ρ of the loss (2 √c, 1,
    2 √c and exp(c)), is at least as large and is what is taken.

    **Linear learners** (`LinearRegression`, `Ridge`, `Lasso`, `ElasticNet`, alone or behind a
    `StandardScaler` or `MinMaxScaler`) are the class b + ⟨w, z⟩ with ‖(b, w)‖₂ ≤ B. There z are the
    columns that the learner sees, centred and divided by their standard deviations *on Z*, which
    is independent of S, and b is counted from the mean of the labels of Z. Then
    R ≤ B √(Σ (1 + ‖zᵢ‖²)) / n. B is the norm of the fitted coefficients, the largest among the
    models with weight at the leaf, rounded up to a power of two. As it is known only after the
    fit, the bound is claimed for all powers 2ᵏ at once, each with a share
    ``(2/3) / ((abs(k) + 1) (abs(k) + 2))`` of δ: in log(4 m / δ), δ is multiplied by that share,
    once for every linear learner of the leaf. `LogisticRegression` is the same with R divided by 4,
    as the slope of the sigmoid is at most one quarter.

    **Any other learner** is fitted to random signs on S(C̄) (times half the range of the labels
    there, in a regression), and R estimated by the correlation of its answers with the signs.
    That is an estimate from below, as the learner need not find what follows the signs best: the
    total is then no bound, and the table says so.

    **What the theorem leaves out.** The formula is kept as the paper has it. These are its gaps:

    - S(C̄) is taken for a random sample of a fixed region, but splits were chosen with models that S
      trained and thresholds from S; and which learners are on the path was chosen on V¹, which
      with folds is S once more. No price is paid for either. The choice of the weights w* is
      covered, as the bound is for all of them.
    - The corollary takes the share of S in C̄ for the probability of C̄.
    - The proof's step to a maximum over different learners is wrong in general: a combination
      of two fixed predictors has a complexity, each alone has none. With one learner, as in
      ToPs/LR, or with linear regressions alone, it is right: a convex hull has the complexity of
      its class, and balls lie inside one another.
    - How categories of many levels are seen (the share of each level) is learned from S.

    None of these concerns the held-out bound.
    """
    check_is_fitted(model)
    _check_delta(delta)
    bounded = _bounded(model, loss, loss_range)
    rows = _Rows.read(model, X, y, bounded)
    leaves = np.flatnonzero(model.tree_.left < 0)
    held = [_held_out(rows.losses[rows.leaf == i], bounded, delta / len(leaves)) for i in leaves]
    terms: list[TheoremTerms] = []
    n_capped = rows.n_capped
    if training is not None:
        sample = _training_sample(model, training, rows, bounded)
        randomness = Randomness(_check_draws(n_draws), int(random_state), 0.0)
        theorem = _Theorem(model, bounded, delta, sample, rows.reference, randomness)
        terms, n_capped = [theorem.at(int(i)) for i in leaves], n_capped + sample.n_capped
    return LossBound(
        loss=bounded.loss.name,
        loss_range=bounded.largest,
        delta=float(delta),
        leaves=tuple(
            RegionBound(int(i), _rule(model, int(i)), terms[at] if terms else None, held[at])
            for at, i in enumerate(leaves)
        ),
        overall=RegionBound(
            None,
            "overall",
            _average(terms) if terms else None,
            _held_out(rows.losses, bounded, delta),
        ),
        n_capped=n_capped,
    )


def empirical_bernstein(losses: FloatArray, largest: float, delta: float) -> float:
    """Return a bound on the mean that independent losses in [0, largest] are drawn from.

    It holds with probability 1 − δ (Maurer and Pontil 2009, Theorem 4); infinite below two losses.

    Examples
    --------
    >>> import numpy as np
    >>> from predictree.bounds import empirical_bernstein
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
class _BoundedLoss:
    """A loss per row and its largest value c."""

    loss: AdditiveLoss
    largest: float

    def of(self, y: Labels, scores: FloatArray) -> tuple[FloatArray, BoolArray]:
        """Return the losses, at most c, and which were above."""
        losses = self.loss.per_row(y, scores)
        return np.minimum(losses, self.largest), losses > self.largest * (1 + ROUNDING)

    @property
    def slope(self) -> float:
        """ρ: how fast the loss changes with h(x)."""
        return SLOPES[self.loss.name](self.largest)


@dataclass(frozen=True, slots=True)
class _Rows:
    """Rows with their labels, losses and leaves."""

    X: FloatArray
    y: Labels
    losses: FloatArray
    leaf: IntArray
    capped: BoolArray

    @classmethod
    def read(cls, model: Any, X: Any, y: Any, bounded: _BoundedLoss) -> "_Rows":
        """Return a user's rows."""
        features = model._features(X)
        if model.imputations_:
            features = model.imputations_[0](features)
        labels = _labels_of(model, y, features)
        losses, capped = bounded.of(labels, model._scores(X))
        return cls(features, labels, losses, model.apply(X), capped)

    def of(self, rows: BoolArray) -> "_Rows":
        """Return some of them."""
        return _Rows(*(getattr(self, field.name)[rows] for field in fields(self)))

    @property
    def n_capped(self) -> int:
        """How many losses were above c."""
        return int(self.capped.sum())

    @property
    def reference(self) -> Reference:
        """These rows as what tells zero and one in every column."""
        return Reference(self.X, float(np.mean(self.y)))


@dataclass(frozen=True, slots=True)
class _Theorem:
    """Theorem 1 for one tree, with a part of δ for each leaf so that all hold at once."""

    model: Any
    bounded: _BoundedLoss
    delta: float
    sample: _Rows
    reference: Reference
    randomness: Randomness

    def at(self, leaf: int) -> TheoremTerms:
        """Return the terms at one leaf."""
        here = self.sample.leaf == leaf
        found = self._complexities(leaf, here)
        largest = max(found, key=lambda complexity: complexity.value)
        slope, tree = self.bounded.slope, self.model.tree_
        part = self.delta / tree.get_n_leaves() * prod(complexity.share for complexity in found)
        n = int(here.sum())
        return TheoremTerms(
            n=n,
            empirical=float(self.sample.losses[here].mean()),
            rademacher=2.0 * slope * largest.value,
            rademacher_error=2.0 * slope * largest.error,
            confidence=4.0 * self.bounded.largest * sqrt(2.0 * log(4.0 / part) / n),
            learner=largest.learner,
            method=" and ".join(sorted({complexity.method for complexity in found})),
        )

    def _complexities(self, leaf: int, here: BoolArray) -> list[Complexity]:
        tree, y = self.model.tree_, self.sample.y[here]
        half = float(np.ptp(y)) / 2 if tree.n_outputs == 1 else 0.0
        randomness = replace(self.randomness, half_range=half)
        classes = getattr(self.model, "classes_", None)
        rows = self.sample.X[here]
        return complexities(tree, leaf, rows, self.reference, randomness, classes)


def _average(terms: list[TheoremTerms]) -> TheoremTerms:
    """Return the corollary: the terms of the leaves, weighted by their rows."""
    n = sum(term.n for term in terms)
    share = np.array([term.n for term in terms]) / n
    errors = share * [term.rademacher_error for term in terms]
    return TheoremTerms(
        n=n,
        empirical=float(share @ [term.empirical for term in terms]),
        rademacher=float(share @ [term.rademacher for term in terms]),
        rademacher_error=float(np.linalg.norm(errors)),
        confidence=float(share @ [term.confidence for term in terms]),
        learner=None,
        method=" and ".join(sorted({m for term in terms for m in term.method.split(" and ")})),
    )


def _held_out(losses: FloatArray, bounded: _BoundedLoss, delta: float) -> HeldOut:
    mean = float(losses.mean()) if len(losses) else np.nan
    return HeldOut(len(losses), mean, empirical_bernstein(losses, bounded.largest, delta))


def _training_sample(
    model: Any, training: tuple[Any, Any], held_out: _Rows, bounded: _BoundedLoss
) -> _Rows:
    """Return S from the rows of fit."""
    _check_single_tree(model)
    _check_covered(bounded.loss, model.tree_.n_outputs)
    X, y = training
    given = _Rows.read(model, X, y, bounded)
    if np.array_equal(given.X, held_out.X, equal_nan=True):
        raise InvalidInputError(
            "X and training hold the same rows: X, y must be rows that fit has not seen"
        )
    sample = given.of(_rows_of_s(model, len(given.y)))
    _check_counts(model.tree_, sample.leaf)
    return sample


def _rows_of_s(model: Any, n_rows: int) -> BoolArray:
    """Return which rows of fit are in S: part 0, or with folds all that have a fold or weight."""
    if not hasattr(model, "partition_"):
        raise InvalidInputError(
            "this model was loaded from a file, which does not say which rows trained it: call "
            "loss_bound before save, or leave out training= for the held-out bound alone"
        )
    codes = model.partition_
    if len(codes) != n_rows:
        raise InvalidInputError(
            f"training has {n_rows} rows, and fit had {len(codes)}: give all rows of fit, in order"
        )
    choices: list[BoolArray] = [codes == 0, codes >= 0, np.ones(n_rows, dtype=bool)]
    n_train = model.tree_[0].n_train
    return next((rows for rows in choices if rows.sum() == n_train), choices[0])


def _check_counts(tree: Tree, leaf: IntArray) -> None:
    """Refuse rows that do not fall into the leaves as those of fit did."""
    for i in np.flatnonzero(tree.left < 0):
        n, fitted = int((leaf == i).sum()), int(tree.n_rows[i, 0])
        if n != fitted:
            raise InvalidInputError(
                f"training has {n} rows of S at leaf {i}, and fit had {fitted}: give the X and y "
                "of fit, in the same order"
            )


def _bounded(model: Any, loss: Any, loss_range: float | None) -> _BoundedLoss:
    """Return the loss to bound, or say why there is no bound for it."""
    found = _mean_over_rows(model, loss)
    if loss_range is not None:
        if not isinstance(loss_range, Real) or not 0 < float(loss_range) < inf:
            raise InvalidInputError(f"loss_range={loss_range!r}: it must be a positive number")
        return _BoundedLoss(found, float(loss_range))
    known = {"error": 1.0, "brier": 1.0 if model.tree_.n_outputs == 2 else 2.0}
    if found.name not in known:
        raise InvalidInputError(
            f"loss {found.name!r} has no largest value, and a bound needs one: give loss_range=, "
            "the largest loss that a row can have by what the labels can be; larger ones count as "
            "that" + ("" if model._task == "regression" else ". Or give loss='brier'")
        )
    return _BoundedLoss(found, known[found.name])


def _mean_over_rows(model: Any, loss: Any) -> AdditiveLoss:
    """Return the loss if it is a mean over rows."""
    found: Loss = model.loss_
    if loss is not None:
        classes = getattr(model, "classes_", None)
        found = resolve_loss(loss, model._task, classes, half_is_second=model._half_is_second)
    if isinstance(found, AdditiveLoss):
        return found
    what = "1 − AUC" if isinstance(found, AUC) else f"loss {found.name!r}"
    other = "'mse' or 'mae' and loss_range=" if model._task == "regression" else "'brier'"
    raise InvalidInputError(
        f"{what} is not a mean of losses of single rows, so that neither Theorem 1 nor a held-out "
        f"bound speaks of it: give loss={other}, or a subclass of AdditiveLoss"
    )


def _check_covered(loss: Loss, n_outputs: int) -> None:
    """Refuse the losses that the theorem does not cover."""
    if loss.name not in SLOPES:
        raise InvalidInputError(
            f"loss {loss.name!r} is not known to be a convex function of h(x) − y, which Theorem 1 "
            "asks for: give loss='brier' ('mse' or 'mae' in a regression), or leave out training= "
            "for the held-out bound alone"
        )
    if n_outputs > 2:
        raise InvalidInputError(
            f"Theorem 1 is about predictions that are one number, and here are {n_outputs} "
            "classes: leave out training= for the held-out bound alone"
        )


def _check_single_tree(model: Any) -> None:
    if len(model.trees_) > 1:
        raise InvalidInputError(
            f"Theorem 1 is about one tree, and this model averages {len(model.trees_)}: leave out "
            "training= for the held-out bound alone, or fit with n_repeats=1 and without mice"
        )


def _check_delta(delta: Any) -> None:
    if not isinstance(delta, Real) or not 0 < float(delta) < 1:
        raise InvalidInputError(f"delta={delta!r}: it must be a number between 0 and 1")


def _check_draws(n_draws: Any) -> int:
    if not isinstance(n_draws, Integral) or n_draws < 2:
        raise InvalidInputError(f"n_draws={n_draws!r}: it must be a whole number of at least 2")
    return int(n_draws)


def _labels_of(model: Any, y: Any, X: Any) -> Labels:
    """Return real labels, or codes of classes that fit has seen."""
    if model._task == "regression":
        return check_values(y, X)
    labels = check_labels(y, X)
    unknown = set(labels.tolist()) - set(model.classes_.tolist())
    if unknown:
        raise InvalidInputError(
            f"y holds {sorted(unknown, key=str)}, which fit has not seen: drop these rows"
        )
    return np.searchsorted(model.classes_, labels)


def _rule(model: Any, leaf: int) -> str:
    """Return the rules of the path to a leaf."""
    found, tree = [], model.tree_
    for parent, child in pairwise(tree[i] for i in tree.path(leaf)):
        if parent.split is not None and parent.children is not None:
            sides = rules(parent.split, model.schema_.columns, decimals=4)
            found.append(sides[parent.children.index(child.id)])
    return " and ".join(found) or "all rows"


def _plain(region: RegionBound) -> dict[str, Any]:
    found = asdict(region)
    if region.theorem is not None:
        found["theorem"]["total"] = region.theorem.total
    return found


def _flat(region: RegionBound) -> dict[str, Any]:
    """Return one row of a table."""
    theorem, held = region.theorem, region.held_out
    found: dict[str, Any] = {"leaf": region.leaf, "rule": region.rule}
    if theorem is not None:
        found |= {"n_train": theorem.n, **asdict(theorem), "bound": theorem.total}
        del found["n"]
    return found | {
        "n_held_out": held.n, "held_out_loss": held.loss, "held_out_bound": held.bound
    }  # fmt: skip


def _cells(region: RegionBound) -> dict[str, str]:
    """Return one row of the printed table."""
    theorem, held = region.theorem, region.held_out
    found = {}
    if theorem is not None:
        noise = f" ± {theorem.rademacher_error:.2g}" if theorem.rademacher_error else ""
        found = {
            "rows of S": str(theorem.n),
            "loss on S": f"{theorem.empirical:.4g}",
            "+ Rademacher": f"{theorem.rademacher:.4g}{noise}",
            "+ confidence": f"{theorem.confidence:.4g}",
            "= Theorem 1": f"{theorem.total:.4g}",
        }
    found |= {
        "held out": str(held.n), "loss": f"{held.loss:.4g}", "bound": f"{held.bound:.4g}"
    }  # fmt: skip
    return {**found, "region": region.rule}


def _table(rows: list[dict[str, str]]) -> list[str]:
    """Align columns: numbers to the right, the region last and to the left."""
    names = list(rows[0])
    width = {name: max(len(name), *(len(row[name]) for row in rows)) for name in names}
    lines = []
    for row in [dict(zip(names, names, strict=True)), *rows]:
        cells = [row[name].rjust(width[name]) for name in names[:-1]]
        lines.append("  ".join([*cells, row[names[-1]]]))
    return lines
