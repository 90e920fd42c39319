"""DeepBoost: boosting in which every tree pays for its complexity, with AdaBoost as a special case.

From the paper [1]_: the objective

    F(α) = 1/m Σᵢ Φ(1 - yᵢ f(xᵢ)) + Σⱼ Λⱼ |αⱼ|,   f = Σⱼ αⱼ hⱼ,   Λⱼ = λ rⱼ + β,

with Φ(u) = exp(u) or log₂(1 + exp(u)); its coordinate descent, with the rules for the direction and
for the step (pseudocode in Figure 1); the bounds r of the Rademacher complexities; and that a round
chooses between a new tree and those it has. With the logistic loss the step is the best one
for an upper bound of F, as in the paper, so that F falls, but not as far as it could.

Settled here: the new tree of a round is the best of all prunings of one tree, which is grown on the
weights of the round by the Gini index; see `growing`. Its questions are n in the bound of the
paper, sqrt((4n + 2) log₂(d + 2) log(m + 1) / m). With ``base="stumps"`` the families are the trees
of depth 1 and 2, with sqrt(2 log(2 m d) / m) and sqrt(2 log(2 m² d (d - 1)) / m). Their last
questions are those with the least error, so that the tree of depth 1 is the best, as in the paper;
the bound counts trees that ask one question at both children, those here may ask two. Rows with
weights count as often as they weigh, also in m. A tree without error that pays nothing would get
an infinite weight: its error is taken to be `LEAST_ERROR`, and boosting ends.

References
----------
.. [1] C. Cortes, M. Mohri and U. Syed, "Deep Boosting", ICML 2014.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from types import MappingProxyType
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, log_expit
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, validate_data

from predictree.data.table import check_labels, check_weights, encode_classes
from predictree.errors import InvalidInputError
from predictree.model.tree import NONE, FloatArray
from predictree_paper.checks import check_at_least, check_choice
from predictree_paper.growing import SortedRows
from predictree_paper.pruning import Grown, Hypothesis

LEAST_ERROR = 1e-10
FLAT = 1e-12  # a slope this small is none: the objective is at its least


@dataclass(frozen=True)
class Surrogate:
    """A convex Φ that bounds the error; ``log_slope`` is log Φ′."""

    value: Callable[[FloatArray], FloatArray]
    log_slope: Callable[[FloatArray], FloatArray]

    def chance(self, f: FloatArray) -> FloatArray:
        """Return the probability of +1 under which f minimises the expected loss."""
        return np.asarray(expit(self.log_slope(1 + f) - self.log_slope(1 - f)))


SURROGATES = {
    "exponential": Surrogate(np.exp, lambda u: u),
    "logistic": Surrogate(
        lambda u: np.logaddexp(0, u) / np.log(2), lambda u: log_expit(u) - np.log(np.log(2))
    ),
}


@dataclass(frozen=True)
class Penalty:
    """Λ = λ r + β, for trees on m rows with d features."""

    lam: float
    beta: float
    m: float
    d: int

    def __call__(self, complexity: Any) -> Any:
        """Return Λ for a complexity r, or for several."""
        return self.lam * complexity + self.beta

    def of_trees(self, n_questions: Any) -> Any:
        """Return r of the trees with n questions."""
        m = self.m
        return np.sqrt((4 * n_questions + 2) * np.log2(self.d + 2) * np.log(m + 1) / m)

    def of_stumps(self, depth: int) -> float:
        """Return r of the trees of depth 1 or 2; with one feature there is but one question."""
        m, d = max(self.m, 1.0), self.d
        count = 2 * m * d if depth == 1 else 2 * m**2 * max(d * (d - 1), 1)
        return float(np.sqrt(2 * np.log(count) / m))


def best_tree(
    rows: SortedRows, signed: FloatArray, max_depth: int, penalty: Penalty, mean_slope: float
) -> Hypothesis:
    """Return the pruning with the steepest slope of F: its edge against its number of questions."""
    grown = Grown.of(rows.grow(signed, max_depth), rows.X, signed)
    edges = grown.best[0]
    complexity = penalty.of_trees(np.arange(len(edges)))
    n = int(np.argmax(mean_slope * edges - penalty(complexity)))
    return grown.hypothesis(grown.of_size(n), float(complexity[n]))


def best_stump(
    rows: SortedRows, signed: FloatArray, max_depth: int, penalty: Penalty, mean_slope: float
) -> Hypothesis:
    """Return the steepest of a tree of each depth: its edge against that depth."""
    trees = [rows.grow(signed, depth, by_error=True) for depth in range(1, max_depth + 1)]
    grown = [Grown.of(tree, rows.X, signed) for tree in trees]
    leaves = [np.flatnonzero(tree.left == NONE) for tree in trees]
    prices = [penalty.of_stumps(max(tree.depth, 1)) for tree in trees]
    edges = [np.abs(one.mass[cut]).sum() for one, cut in zip(grown, leaves, strict=True)]
    best = int(np.argmax(mean_slope * np.array(edges) - penalty(np.array(prices))))
    return grown[best].hypothesis(leaves[best], prices[best])


FAMILIES = {"trees": best_tree, "stumps": best_stump}


def slopes(edge: FloatArray, alpha: FloatArray, penalty: FloatArray) -> FloatArray:
    """Return d of the paper: the slopes of F along each tree, over 2 S / m.

    Where α is zero F has a kink, and the slope is the least one to either side of it.

    Parameters
    ----------
    edge : array
        Σ D(i) y(i) h(x(i)) = 1 - 2 ε of each tree.
    alpha : array
        Its weight.
    penalty : array
        Λ m / (2 S).
    """
    smooth = -edge / 2
    at_kink = np.sign(smooth) * np.maximum(np.abs(smooth) - penalty, 0.0)
    return np.where(alpha != 0, smooth + np.sign(alpha) * penalty, at_kink)


def step(error: float, alpha: float, penalty: float) -> float:
    """Return η of the paper: how far to move the weight α of a tree with weighted error ε.

    It minimises ((1 - ε) exp(-η) + ε exp(η)) S/m + Λ |α + η|, with ``penalty`` = Λ m / (2 S). The
    roots are those of the paper, written so that a tree without error causes no division by zero.
    """
    if penalty == 0:
        error = min(max(error, LEAST_ERROR), 1 - LEAST_ERROR)
    pull = (1 - error) * np.exp(alpha) - error * np.exp(-alpha)
    if abs(pull) <= 2 * penalty:
        return -alpha
    root = np.sqrt(penalty**2 + error * (1 - error))
    if pull > 0:
        return float(np.log((1 - error) / (penalty + root)))
    return float(np.log((penalty + root) / error))


@dataclass
class Descent:
    """Coordinate descent on F: the trees so far, their weights α and the margins y f(x).

    Attributes
    ----------
    rows : SortedRows
    y, weight : arrays
        Labels of -1 and +1, and weights that sum to one.
    surrogate : Surrogate
    penalty : Penalty
    max_depth : int
    best : callable
        Finds the new tree of a round: `best_tree` or `best_stump`.
    """

    rows: SortedRows
    y: FloatArray
    weight: FloatArray
    surrogate: Surrogate
    penalty: Penalty
    max_depth: int
    best: Callable[[SortedRows, FloatArray, int, Penalty, float], Hypothesis]
    trees: list[Hypothesis] = field(default_factory=list)
    answers: list[NDArray[np.int8]] = field(default_factory=list)
    alpha: FloatArray = field(default_factory=lambda: np.zeros(0))
    margins: FloatArray = field(init=False)

    def __post_init__(self) -> None:
        self.margins = np.zeros(len(self.y))

    def objective(self) -> float:
        """Return F(α)."""
        loss = self.weight @ self.surrogate.value(1 - self.margins)
        complexity = np.array([tree.complexity for tree in self.trees])
        return float(loss + np.abs(self.alpha) @ self.penalty(complexity))

    def round(self) -> bool:
        """Move the weight of the steepest tree, new or old; tell whether there is more to do."""
        slope = self.weight * np.exp(self.surrogate.log_slope(1 - self.margins))
        mean_slope = float(slope.sum())  # S / m
        if mean_slope == 0:
            return False
        signed = slope / mean_slope * self.y
        self._add_new(signed, mean_slope)
        edge = np.stack(self.answers) @ signed
        price = self.penalty(np.array([tree.complexity for tree in self.trees])) / (2 * mean_slope)
        steepness = np.abs(slopes(edge, self.alpha, price))
        chosen = int(np.argmax(steepness))
        if chosen < len(self.trees) - 1 or steepness[chosen] < FLAT:
            self._drop_new()
        return bool(steepness[chosen] >= FLAT) and self._move(chosen, edge[chosen], price[chosen])

    def _add_new(self, signed: FloatArray, mean_slope: float) -> None:
        self.trees.append(self.best(self.rows, signed, self.max_depth, self.penalty, mean_slope))
        self.answers.append(self.trees[-1](self.rows.X).astype(np.int8))
        self.alpha = np.append(self.alpha, 0.0)

    def _drop_new(self) -> None:
        self.trees.pop()
        self.answers.pop()
        self.alpha = self.alpha[:-1]

    def _move(self, chosen: int, edge: float, price: float) -> bool:
        error = (1 - edge) / 2
        eta = step(error, self.alpha[chosen], price)
        self.alpha[chosen] += eta
        self.margins += eta * self.y * self.answers[chosen]
        return price > 0 or LEAST_ERROR < error < 1 - LEAST_ERROR


class DeepBoostClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """DeepBoost for two classes, with AdaBoost and its relatives as special cases.

    With ``lam=0`` and ``beta=0`` it is AdaBoost (exponential loss) or a logistic boosting that the
    paper calls LogitBoost; with ``lam=0`` alone these with an L1 penalty. See the module for what
    is the paper's and what was settled.

    Parameters
    ----------
    base : {"trees", "stumps"}, default="trees"
        Families of trees by their number of questions, or by their depth of 1 or 2.
    max_depth : int, default=6
        K, of the trees before pruning. With stumps 1 or 2.
    loss : {"exponential", "logistic"}, default="exponential"
        Φ.
    lam : float, default=1e-4
        λ, the price of a tree's complexity.
    beta : float, default=1e-4
        β, the price of any tree.
    n_estimators : int, default=100
        T, rounds; a round may return to an earlier tree.

    Attributes
    ----------
    classes_ : array of shape (2,)
        The second is +1.
    estimators_ : list of Hypothesis
        The trees with weights other than zero; each is called with rows and answers -1 or +1.
    estimator_weights_ : array
        α, their weights; a negative one turns a tree's answers round.
    objective_ : array
        F before the first round and after each.
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = DeepBoostClassifier(max_depth=3, lam=1e-3).fit(X[::2], y[::2])
    >>> model.score(X[1::2], y[1::2]) > 0.9
    True
    """

    def __init__(
        self,
        base: str = "trees",
        *,
        max_depth: int = 6,
        loss: str = "exponential",
        lam: float = 1e-4,
        beta: float = 1e-4,
        n_estimators: int = 100,
    ) -> None:
        self.base = base
        self.max_depth = max_depth
        self.loss = loss
        self.lam = lam
        self.beta = beta
        self.n_estimators = n_estimators

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Boost.

        Parameters
        ----------
        X : array-like of shape (m, d)
        y : array-like of shape (m,)
            Labels of two classes.
        sample_weight : array-like of shape (m,), optional
            How often each row counts.
        """
        self._check_parameters()
        rows, labels = validate_data(self, X, y)
        weight = check_weights(sample_weight, len(labels))
        weight = np.ones(len(labels)) if weight is None else weight
        counts = weight > 0
        descent = self._descent(rows[counts], labels[counts], weight[counts])
        history = [descent.objective()]
        for _ in range(self.n_estimators):
            goes_on = descent.round()
            history.append(descent.objective())
            if not goes_on:
                break
        return self._keep(descent, history)

    def _check_parameters(self) -> None:
        check_choice("base", self.base, FAMILIES)
        check_choice("loss", self.loss, SURROGATES)
        check_at_least("max_depth", self.max_depth, 1)
        check_at_least("lam", self.lam, 0)
        check_at_least("beta", self.beta, 0)
        check_at_least("n_estimators", self.n_estimators, 1)
        if self.base == "stumps" and self.max_depth > 2:
            raise InvalidInputError(
                f"max_depth={self.max_depth}, but stumps have a depth of 1 or 2: "
                'set max_depth=2, or base="trees" for deeper ones'
            )

    def _descent(self, X: Any, y: Any, weight: FloatArray) -> Descent:
        self.classes_, codes = encode_classes(check_labels(y, X))
        if len(self.classes_) > 2:
            raise InvalidInputError(
                f"Only binary classification is supported, and y has {len(self.classes_)} classes: "
                "wrap the estimator in sklearn.multiclass.OneVsRestClassifier"
            )
        return Descent(
            SortedRows.of(np.asarray(X, dtype=float)),
            np.where(codes == 1, 1.0, -1.0),
            weight / weight.sum(),
            SURROGATES[self.loss],
            Penalty(self.lam, self.beta, weight.sum(), X.shape[1]),
            self.max_depth,
            FAMILIES[self.base],
        )

    def _keep(self, descent: Descent, history: list[float]) -> Self:
        kept = np.flatnonzero(descent.alpha)
        self.estimators_ = [descent.trees[j] for j in kept]
        self.estimator_weights_ = descent.alpha[kept]
        self.objective_ = np.array(history)
        return self

    def decision_function(self, X: ArrayLike) -> FloatArray:
        """Return f(x) = Σ α h(x); above zero is the second class."""
        check_is_fitted(self)
        X = np.asarray(validate_data(self, X, reset=False), dtype=float)
        total = np.zeros(len(X))
        for alpha, tree in zip(self.estimator_weights_, self.estimators_, strict=True):
            total += alpha * tree(X)
        return total

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Return the class of every row."""
        second = self.decision_function(X) > 0
        return np.asarray(self.classes_[second.astype(int)])

    def predict_proba(self, X: ArrayLike) -> FloatArray:
        """Return the probabilities under which f minimises the expected loss; not calibrated."""
        chance = SURROGATES[self.loss].chance(self.decision_function(X))
        return np.column_stack([1 - chance, chance])

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags


_STUMPS = {"base": "stumps", "max_depth": 2}
_FREE, _L1 = {"lam": 0.0, "beta": 0.0}, {"lam": 0.0}

VARIANTS: Mapping[str, Callable[..., DeepBoostClassifier]] = MappingProxyType(
    {
        name: partial(DeepBoostClassifier, **parameters)  # type: ignore[arg-type]
        for name, parameters in {
            "DB/Stump": _STUMPS,
            "DB/Trees_E": {},
            "DB/Trees_L": {"loss": "logistic"},
            "AB/Stump1": {"base": "stumps", "max_depth": 1, **_FREE},
            "AB/Stump2": {**_STUMPS, **_FREE},
            "AB-L1/Stump": {**_STUMPS, **_L1},
            "AB/Trees": _FREE,
            "AB-L1/Trees": _L1,
            "LB/Trees": {"loss": "logistic", **_FREE},
            "LB-L1/Trees": {"loss": "logistic", **_L1},
        }.items()
    }
)
"""The ten rows of this kind in the paper's table for MNIST, each a maker of estimators.

``VARIANTS["AB/Trees"](max_depth=4)`` is AdaBoost with trees of depth 4. The prices
λ and β, where a row has them, were tuned in the experiments: those here are only a start.
"""
