"""Rademacher complexities of the learners at a leaf: in closed form if linear, else by Monte Carlo.

R(A, Z) = E_σ sup_{h ∈ A} (1/|Z|) Σ σᵢ h(xᵢ), over random signs σ: how well some predictor that the
learner A may give can follow pure noise on the rows Z. Here it is that of scores; a loss of slope ρ
has at most ρ times as much (Talagrand's contraction).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.linear_model import ElasticNet, Lasso, LinearRegression, Ridge
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from predictree.errors import InvalidInputError
from predictree.learners.adapter import Learner, adapt
from predictree.learners.sized_logistic import LOGISTIC
from predictree.model.fitted import ClassModel, Constant, IndicatorModel, SeenBy, ValueModel
from predictree.model.outputs import HALF, Labels
from predictree.model.tree import Fitted as Model
from predictree.model.tree import FloatArray, Tree
from predictree.model.views import View

LINEAR = (LinearRegression, Ridge, Lasso, ElasticNet)
SCALERS = (StandardScaler, MinMaxScaler)
SLOPE_OF_SIGMOID = 0.25
SIGNS = 26  # a stream of its own: data made from the same seed must not follow the signs
SMALLEST = -60  # exponent of the smallest ball of the grid: any smaller norm fits in, too


@dataclass(frozen=True, slots=True)
class Complexity:
    """R(A, Z) of the scores of one learner.

    Attributes
    ----------
    learner : str
    value : float
        An upper bound in closed form; an estimate by Monte Carlo, see `sampled_complexity`.
    error : float
        Standard error of the estimate; 0 in closed form.
    method : {"closed form", "Monte Carlo"}
    share : float
        Of δ, what is left for the ball that was taken; 1 if there is no grid of balls.
    """

    learner: str
    value: float
    error: float
    method: str
    share: float


@dataclass(frozen=True, slots=True)
class Reference:
    """Rows that the tree did not see: they say where zero is and what one unit, in any column.

    A class of predictors must not depend on the rows Z whose complexity is asked for, so that
    columns cannot be centred and scaled by Z itself.
    """

    X: FloatArray
    label: float

    def columns(self, view: View | None) -> tuple[FloatArray, FloatArray]:
        """Return mean and standard deviation of every column that a learner sees; 1 for none."""
        seen = self.X if view is None else view(self.X)
        deviation = seen.std(axis=0)
        return seen.mean(axis=0), np.where(deviation > 0, deviation, 1.0)


@dataclass(frozen=True, slots=True)
class Randomness:
    """How random signs are drawn, and which labels they become."""

    n_draws: int
    seed: int
    half_range: float  # of the labels, in a regression


def complexities(
    tree: Tree,
    leaf: int,
    X: FloatArray,
    reference: Reference,
    randomness: Randomness,
    classes: Labels | None,
) -> list[Complexity]:
    """Return R(A, X) of every learner with weight at this leaf.

    Parameters
    ----------
    tree : Tree
    leaf : int
    X : array of shape (n, d)
        The rows of S at the leaf.
    reference : Reference
    randomness : Randomness
    classes : array or None
        What the class codes stand for; None in a regression.
    """
    found = []
    for name, models in _models_at(tree, leaf).items():
        if all(_is_linear(model) for model in models):
            found.append(_of_balls(name, models, X, reference))
        else:
            learner = _unfitted(name, models, tree.n_outputs, classes)
            value, error = sampled_complexity(learner, X, randomness)
            found.append(Complexity(name, value, error, "Monte Carlo", 1.0))
    return found


def ball_complexity(Z: FloatArray, radius: float) -> float:
    """Return the bound on R of all z ↦ ⟨w, z⟩ with ‖w‖ ≤ radius: radius √(Σ ‖zᵢ‖²) / n.

    The supremum over the ball is (radius / n) ‖Σ σᵢ zᵢ‖; by Jensen's inequality the mean of the
    norm is at most √(Σ ‖zᵢ‖²).

    Examples
    --------
    >>> import numpy as np
    >>> from predictree_paper.complexity import ball_complexity
    >>> ball_complexity(np.ones((100, 1)), radius=2.0)
    0.2
    """
    return float(radius * np.sqrt(np.square(Z).sum()) / len(Z))


def ball_on_grid(norm: float) -> tuple[float, float]:
    """Return the smallest ball 2ᵏ, k ∈ ℤ, that holds a fitted norm, and its share of δ.

    The norm is known only after the fit, and the bound is for a class fixed before. So it is
    claimed for all balls 2ᵏ at once, each with a share ``(2/3) / ((|k| + 1)(|k| + 2))`` of δ: the
    shares sum to one, and the bound holds for the ball that the fit happens to need.

    Examples
    --------
    >>> from predictree_paper.complexity import ball_on_grid
    >>> ball_on_grid(3.0)
    (4.0, 0.05555555555555555)
    """
    k = max(SMALLEST, int(np.ceil(np.log2(norm)))) if norm > 0 else SMALLEST
    return 2.0**k, 2.0 / (3.0 * (abs(k) + 1) * (abs(k) + 2))


def sampled_complexity(
    learner: Learner, X: FloatArray, randomness: Randomness
) -> tuple[float, float]:
    """Return the mean of (1/n) Σ σᵢ h(xᵢ), h being the learner fitted to σ, and its error.

    A learner minimises its own loss and not this correlation, so that h is one predictor of its
    class and not the supremum: the mean is an estimate of R from below. Probabilities count from
    one half, which leaves the mean as it is and takes away noise.
    """
    drawn = np.empty(randomness.n_draws)
    rng = np.random.default_rng([SIGNS, randomness.seed])
    rows = np.arange(len(X))
    for i in range(randomness.n_draws):
        signs = rng.integers(0, 2, len(X)) * 2 - 1
        labels = (signs + 1) // 2 if learner.n_outputs > 1 else signs * randomness.half_range
        drawn[i] = np.mean(signs * _follow(learner, X, labels, rows, randomness.seed + i))
    return float(drawn.mean()), float(drawn.std(ddof=1) / np.sqrt(len(drawn)))


def _follow(learner: Learner, X: FloatArray, labels: Any, rows: Any, seed: int) -> FloatArray:
    """Return the scores of a learner fitted to these labels."""
    try:
        scores = learner.fit(X, labels, rows, seed).scores(X)
    except Exception as error:
        raise InvalidInputError(
            f"learner {learner.name!r} cannot be fitted to random signs on the {len(X)} rows of a "
            f"leaf ({error}): take loss_bound, from held-out rows alone"
        ) from error
    return np.asarray(scores[:, -1] - (HALF if learner.n_outputs > 1 else 0.0))


def _models_at(tree: Tree, leaf: int) -> dict[str, list[Model]]:
    """Return by learner the models that have weight at a leaf: those on its path Π."""
    found: dict[str, list[Model]] = {}
    for i, predictor in enumerate(tree.predictors):
        if tree.weight_by_leaf(i)[leaf] > 0:
            found.setdefault(predictor.learner, []).extend(predictor.models)
    return found


def _of_balls(
    name: str, models: Sequence[Model], X: FloatArray, reference: Reference
) -> Complexity:
    """Return R of the ball that holds all these linear models, in standard units."""
    view = next((model.view for model in models if isinstance(model, SeenBy)), None)
    centre, unit = reference.columns(view)
    Z = np.column_stack([np.ones(len(X)), ((X if view is None else view(X)) - centre) / unit])
    bent = [model for model in models if _squashes(model)]
    if not bent:
        radius, share = ball_on_grid(max(_norm(m, centre, unit, reference.label) for m in models))
        return Complexity(name, ball_complexity(Z, radius), 0.0, "closed form", share)
    radius, share = ball_on_grid(max(_norm(model, centre, unit, 0.0) for model in bent))
    value = SLOPE_OF_SIGMOID * ball_complexity(Z, radius)
    if len(bent) < len(models):  # constants 0 and 1: no sigmoid, but within a half of a half
        value += ball_complexity(Z[:, :1], HALF)
    return Complexity(name, value, 0.0, "closed form", share)


def _norm(model: Model, centre: FloatArray, unit: FloatArray, origin: float) -> float:
    """Return ‖(b, w)‖ of the linear function b + ⟨w, (x − centre) / unit⟩ + origin."""
    inner = _seen(model)
    if isinstance(inner, Constant):
        return abs(float(inner.row[-1]) - origin)
    probes = np.vstack([centre, centre + np.diag(unit)])
    estimator = _estimator(inner)
    answer = estimator.decision_function if _squashes(model) else estimator.predict
    values = np.asarray(answer(probes), dtype=float).ravel()
    return float(np.linalg.norm([values[0] - origin, *(values[1:] - values[0])]))


def _seen(model: Model) -> Any:
    """Return a model without the view it sees columns by."""
    return model.model if isinstance(model, SeenBy) else model


def _estimator(inner: Any) -> Any:
    """Return the fitted estimator of a model, that of the second class if it has one a class."""
    return inner.estimators[1] if isinstance(inner, IndicatorModel) else inner.estimator


def _is_linear(model: Model) -> bool:
    """Whether the scores are linear in what is seen, or a sigmoid or constant of that."""
    inner = _seen(model)
    if isinstance(inner, Constant):
        return True
    if not isinstance(inner, ValueModel | IndicatorModel | ClassModel):
        return False
    return _is_affine(_estimator(inner), LINEAR) or _squashes(model)


def _squashes(model: Model) -> bool:
    """Whether the score is the sigmoid of a linear function."""
    inner = _seen(model)
    return isinstance(inner, ClassModel) and _is_affine(inner.estimator, LOGISTIC)


def _is_affine(estimator: Any, kinds: tuple[type, ...]) -> bool:
    """Whether an estimator is of these kinds, alone or behind scalers."""
    steps = [step for _, step in estimator.steps] if type(estimator) is Pipeline else [estimator]
    scaled = all(type(step) in SCALERS and not getattr(step, "clip", False) for step in steps[:-1])
    return scaled and type(steps[-1]) in kinds


def _unfitted(
    name: str, models: Sequence[Model], n_outputs: int, classes: Labels | None
) -> Learner:
    """Return the learner that gave these models, to be fitted to other labels."""
    model = next(m for m in models if not isinstance(_seen(m), Constant))
    view = model.view if isinstance(model, SeenBy) else None
    task = "regression" if n_outputs == 1 else "classification"
    estimator = clone(_estimator(_seen(model)))
    return adapt(name, estimator, task, n_outputs, classes=classes, proper=True, view=view)
