"""Theorem 1 of the paper and its corollary: a bound on the expected loss from the training rows.

Beside it stands the bound from held-out rows, `predictree.explain.bounds.loss_bound`, which is the
one to act on: it is valid whatever was done in ``fit``, and mostly much tighter. The theorem shows
what the price of learning is made of.
"""

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from math import exp, log, prod, sqrt
from numbers import Integral
from typing import Any

import numpy as np

from predictree.errors import InvalidInputError, need
from predictree.explain.bounds import BoundedLoss, JudgedRows, LossBound, aligned, loss_bound
from predictree.losses import Loss
from predictree.model import Model, model_of
from predictree.model.tree import BoolArray, IntArray, Tree
from predictree_paper.complexity import Complexity, Randomness, Reference, complexities

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

    def cells(self) -> dict[str, str]:
        """Return one row of the printed table, by columns."""
        noise = f" ± {self.rademacher_error:.2g}" if self.rademacher_error else ""
        return {
            "rows of S": str(self.n),
            "loss on S": f"{self.empirical:.4g}",
            "+ Rademacher": f"{self.rademacher:.4g}{noise}",
            "+ confidence": f"{self.confidence:.4g}",
            "= Theorem 1": f"{self.total:.4g}",
        }

    def to_dict(self) -> dict[str, Any]:
        """Return the terms and their total."""
        return {**asdict(self), "total": self.total}


@dataclass(frozen=True, slots=True)
class PaperBound:
    """Theorem 1 at every leaf and its corollary, beside the bound from held-out rows; print it.

    Attributes
    ----------
    leaves : tuple of TheoremTerms
        In the order of those of ``held_out``, which has their ids and rules.
    overall : TheoremTerms
        The corollary.
    held_out : LossBound
        With the loss, its range c and δ of both.
    n_capped : int
        Rows of S whose loss was above c.
    """

    leaves: tuple[TheoremTerms, ...]
    overall: TheoremTerms
    held_out: LossBound
    n_capped: int

    @property
    def vacuous(self) -> bool:
        """Whether the theorem says nothing overall: its bound is not below c."""
        return self.overall.total >= self.held_out.loss_range

    def to_dict(self) -> dict[str, Any]:
        """Return all of it as plain dicts, lists and numbers."""
        return {
            "leaves": [terms.to_dict() for terms in self.leaves],
            "overall": self.overall.to_dict(),
            "held_out": self.held_out.to_dict(),
            "n_capped": self.n_capped,
            "vacuous": self.vacuous,
        }

    def to_frame(self) -> Any:
        """Return a pandas frame: a row for every leaf and one overall, terms before held-out."""
        pandas = need("pandas", "paper", "to_frame")
        terms = pandas.DataFrame([terms.to_dict() for terms in (*self.leaves, self.overall)])
        beside = {"left_index": True, "right_index": True, "suffixes": ("", "_held_out")}
        return terms.merge(self.held_out.to_frame(), **beside)

    def __str__(self) -> str:
        terms = (*self.leaves, self.overall)
        pairs = zip(terms, self.held_out.regions, strict=True)
        numbers = aligned([of_s.cells() | region.cells() for of_s, region in pairs])
        return "\n".join([self.held_out.title, numbers, *self._remarks()])

    def _remarks(self) -> list[str]:
        found = []
        if self.vacuous:
            found.append("Theorem 1 is vacuous: its bound is not below the largest loss.")
        if "Monte Carlo" in self.overall.method:
            found.append("A sampled Rademacher term is an estimate from below, not a bound.")
        if self.n_capped:
            largest = f"{self.held_out.loss_range:g}"
            found.append(f"{self.n_capped} rows of S had a loss above {largest}, taken as it.")
        return found + self.held_out.remarks()


def paper_bound(
    model: Any,
    X: Any,
    y: Any,
    delta: float = 0.05,
    *,
    training: tuple[Any, Any],
    loss: Any = None,
    loss_range: float | None = None,
    n_draws: int = 20,
    random_state: int = 0,
) -> PaperBound:
    """Bound the expected loss of a fitted tree by Theorem 1 of the paper, per leaf and overall.

    At a leaf C̄ with n rows of S, in a tree of m leaves, it is ::

        E[L(H)] ≤ L(H, S(C̄)) + 2 max R(A_C, S(C̄)) + 4 c √(2 log(4 m / δ) / n)

    with the maximum over the nodes C of the path Π(C̄); overall it is the mean of the leaves'
    bounds, weighted by n.

    Parameters
    ----------
    model : ToPsClassifier or ToPsRegressor
        A fitted estimator, of one tree.
    X, y : table and labels
        Rows Z that fit has *not* seen, as of `predictree.explain.bounds.loss_bound`. They give the
        bound that stands beside the theorem's, and the units of its columns.
    delta : float, default=0.05
        δ: each bound fails with at most this probability. The leaves hold all at once.
    training : (X, y)
        The rows of `fit`, all of them and in the same order. The theorem's terms are computed on
        those of S: all, or the part S if V¹ and V² were held out.
    loss, loss_range
        As of `predictree.explain.bounds.loss_bound`.
    n_draws : int, default=20
        Random signs drawn for each learner and leaf whose complexity has no closed form: as many
        fits.
    random_state : int, default=0
        Seeds the signs.

    Returns
    -------
    PaperBound

    Notes
    -----
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
    held_out = loss_bound(model, X, y, delta, loss=loss, loss_range=loss_range)
    if not isinstance(n_draws, Integral) or n_draws < 2:
        raise InvalidInputError(f"n_draws={n_draws!r}: it must be a whole number of at least 2")
    fitted = model_of(model)
    bounded = BoundedLoss.of(fitted, loss, loss_range)
    unseen = JudgedRows.read(fitted, X, y, bounded)
    sample = _training_sample(model, training, unseen, bounded)
    reference = Reference(unseen.X, float(np.mean(unseen.y)))
    randomness = Randomness(int(n_draws), int(random_state), 0.0)
    theorem = _Theorem(fitted, bounded, delta, sample, reference, randomness)
    leaves = [theorem.at(region.leaf) for region in held_out.leaves if region.leaf is not None]
    return PaperBound(tuple(leaves), _average(leaves), held_out, sample.n_capped)


@dataclass(frozen=True, slots=True)
class _Theorem:
    """Theorem 1 for one tree, with a part of δ for each leaf so that all hold at once."""

    model: Model
    bounded: BoundedLoss
    delta: float
    sample: JudgedRows
    reference: Reference
    randomness: Randomness

    def at(self, leaf: int) -> TheoremTerms:
        """Return the terms at one leaf."""
        here = self.sample.leaf == leaf
        found = self._complexities(leaf, here)
        largest = max(found, key=lambda complexity: complexity.value)
        slope, tree = SLOPES[self.bounded.loss.name](self.bounded.largest), self.model.tree
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
        tree, y = self.model.tree, self.sample.y[here]
        half = float(np.ptp(y)) / 2 if tree.n_outputs == 1 else 0.0
        randomness = replace(self.randomness, half_range=half)
        rows = self.sample.X[here]
        return complexities(tree, leaf, rows, self.reference, randomness, self.model.classes)


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


def _training_sample(
    model: Any, training: tuple[Any, Any], held_out: JudgedRows, bounded: BoundedLoss
) -> JudgedRows:
    """Return S from the rows of fit."""
    _check_single_tree(model)
    _check_covered(bounded.loss, model.tree_.n_outputs)
    X, y = training
    given = JudgedRows.read(model_of(model), X, y, bounded)
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
            "paper_bound before save, or take loss_bound, which needs no training rows"
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


def _check_covered(loss: Loss, n_outputs: int) -> None:
    """Refuse the losses that the theorem does not cover."""
    if loss.name not in SLOPES:
        raise InvalidInputError(
            f"loss {loss.name!r} is not known to be a convex function of h(x) − y, which Theorem 1 "
            "asks for: give loss='brier' ('mse' or 'mae' in a regression), or take "
            "loss_bound, from held-out rows alone"
        )
    if n_outputs > 2:
        raise InvalidInputError(
            f"Theorem 1 is about predictions that are one number, and here are {n_outputs} "
            "classes: take loss_bound, from held-out rows alone"
        )


def _check_single_tree(model: Any) -> None:
    if len(model.trees_) > 1:
        raise InvalidInputError(
            f"Theorem 1 is about one tree, and this model averages {len(model.trees_)}: take "
            "loss_bound, from held-out rows alone, or fit with n_repeats=1 and without mice"
        )
