"""The regions of a tree side by side: how good each is, what matters there, and who answers."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from predictree.errors import InvalidInputError, need
from predictree.explain.census import functions_of
from predictree.explain.rows import Rows
from predictree.explain.wording import table
from predictree.losses import Judged, Loss
from predictree.losses.judging import loss_on, observed_rates, predicted_rates
from predictree.model import Model, Segment, model_of
from predictree.model.outputs import Labels
from predictree.model.tree import FloatArray, IntArray, Tree

NORMAL = 1.96  # standard errors on both sides of a 95 % interval
LEVEL = (0.025, 0.975)  # of the bootstrap's values
Bounds = tuple[float, float]


@dataclass(frozen=True, slots=True)
class RegionScore:
    """How good the predictions for the rows of one leaf are.

    Attributes
    ----------
    leaf : int
    rule : str
        The conditions that lead to the leaf.
    n : int
        Rows in it.
    base_rate, predicted : tuple of float or None
        What was observed, and the mean prediction: the share of each class, or the mean label
        alone. They agree where the model is calibrated. None without rows.
    loss, root_loss, gain : float or None
        Of the model, of its root (the same answer everywhere), and the difference: positive where
        the tree is better. None where the loss is undefined.
    loss_interval, root_interval, gain_interval : (float, float) or None
        95 % of the uncertainty that comes from having these rows and no others.
    """

    leaf: int
    rule: str
    n: int
    base_rate: tuple[float, ...] | None
    predicted: tuple[float, ...] | None
    loss: float | None
    root_loss: float | None
    gain: float | None
    loss_interval: Bounds | None
    root_interval: Bounds | None
    gain_interval: Bounds | None


@dataclass(frozen=True, slots=True)
class Scorecard:
    """A score for every leaf.

    ``held_out`` tells whether they come from the fit's own held-out rows and not from data that
    was given. ``classes`` are their names in words, None in a regression.
    """

    loss_name: str
    classes: tuple[str, ...] | None
    held_out: bool
    regions: tuple[RegionScore, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return asdict(self)

    def to_frame(self) -> Any:
        """Return a pandas frame, a row for each leaf."""
        pandas = need("pandas", "frames", "to_frame")
        return pandas.DataFrame([asdict(region) for region in self.regions]).set_index("leaf")

    def __str__(self) -> str:
        head = ("leaf", "n", "observed", "predicted", self.loss_name, "at the root", "gain", "rule")
        return table([head, *(_score_words(region) for region in self.regions)])


@dataclass(frozen=True, slots=True)
class LearnerMap:
    """Who answers where.

    Attributes
    ----------
    leaves, learners : tuple
        Of the rows and columns of ``by_learner``.
    by_learner : array of shape (leaves, learners)
        The weight of each learner at each leaf, whatever it was trained on; a row sums to one.
    by_level : array of shape (leaves, depth + 1)
        The weight of what was trained on the node of each depth on the leaf's path: 0 is all rows.
    """

    leaves: tuple[int, ...]
    rules: tuple[str, ...]
    learners: tuple[str, ...]
    by_learner: FloatArray
    by_level: FloatArray

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            **{name: getattr(self, name) for name in ("leaves", "rules", "learners")},
            "by_learner": self.by_learner.tolist(),
            "by_level": self.by_level.tolist(),
        }

    def to_frame(self) -> Any:
        """Return the weights of the learners as a pandas frame, leaves by learners."""
        pandas = need("pandas", "frames", "to_frame")
        index = pandas.Index(self.leaves, name="leaf")
        return pandas.DataFrame(self.by_learner, index=index, columns=list(self.learners))

    def __str__(self) -> str:
        levels = [f"level {depth}" for depth in range(self.by_level.shape[1])]
        weights = np.hstack([self.by_learner, self.by_level])
        rows = [
            (str(leaf), *(f"{weight:.2f}" for weight in line))
            for leaf, line in zip(self.leaves, weights, strict=True)
        ]
        return table([("leaf", *self.learners, *levels), *rows])


def scorecard(
    fitted: Any, X: Any = None, y: Any = None, *, n_bootstrap: int = 200, random_state: int = 0
) -> Scorecard:
    """Judge the predictions of a model region by region.

    Parameters
    ----------
    fitted : ToPsClassifier, ToPsRegressor or Model
        A fitted estimator, or its ``model_``; of several trees the first has the regions.
    X, y : table and labels, optional
        Rows to judge on, best those that the model has never seen. Without them the fit's own
        held-out rows judge the first tree, as in ``segments_``.
    n_bootstrap : int, default=200
        Resamplings of the rows from which the intervals come.
    random_state : int, default=0

    Returns
    -------
    Scorecard
        Print it, or take ``to_frame()`` or ``to_dict()``.

    Notes
    -----
    On given rows the root is what a leaf can be compared with when the model is in use: the root's
    own predictor, or, in a tree of mixtures, the predictors trained on all rows in the mean of the
    shares that the leaves give them.

    Examples
    --------
    >>> from predictree import ToPsClassifier
    >>> from predictree.data.datasets import load_toy
    >>> from predictree.explain.regions import scorecard
    >>> X, y = load_toy()
    >>> model = ToPsClassifier("lr", loss="error", random_state=0).fit(X, y)
    >>> [region.rule for region in scorecard(model).regions]
    ['all rows']
    """
    model = model_of(fitted)
    if X is None and y is None:
        return _card(model, True, [_held_out(model, one) for one in model.account.segments])
    if X is None or y is None:
        raise InvalidInputError("only one of X and y was given: give both, or neither")
    rows = Rows.of(model, X, y)
    after, before = model.scores(rows.codes), root_scores(model, rows.codes)
    draws = np.random.default_rng(random_state)
    found = []
    for leaf in leaves_of(model.tree):
        here = np.flatnonzero(rows.region == leaf)
        its = None if before is None else before[here]
        judged = _Judgement(model.loss, rows.y[here], after[here], its)
        found.append(judged.score(leaf, model.rule(leaf), n_bootstrap, draws))
    return _card(model, False, found)


def learner_map(fitted: Any) -> LearnerMap:
    """Return for every leaf the weight of each learner and of each level of training set.

    Parameters
    ----------
    fitted : ToPsClassifier, ToPsRegressor or Model
        A fitted estimator, or its ``model_``; of several trees the first is read.

    Returns
    -------
    LearnerMap
    """
    model = model_of(fitted)
    tree, leaves = model.tree, leaves_of(model.tree)
    weights = [tree[leaf].weights or () for leaf in leaves]
    learners = list(dict.fromkeys(record.learner for line in weights for record in line))
    by_learner = np.zeros((len(leaves), len(learners)))
    by_level = np.zeros((len(leaves), tree.get_depth() + 1))
    for i, line in enumerate(weights):
        for record in line:
            by_learner[i, learners.index(record.learner)] += record.weight
            by_level[i, tree.depth[record.trained_on]] += record.weight
    said = tuple(map(model.rule, leaves))
    return LearnerMap(tuple(leaves), said, tuple(learners), by_learner, by_level)


def leaves_of(tree: Tree) -> list[int]:
    """Return the ids of the leaves."""
    return [node.id for node in tree if node.is_leaf]


def root_scores(model: Model, codes: FloatArray) -> FloatArray | None:
    """Return what the roots of the trees answer for coded rows; None if no model is left."""
    found, single = [], model.settings.parameters.get("weights") == "path"
    for number, tree in enumerate(model.trees):
        weights, seen = _root_weights(tree, single), model.seen(codes, number)
        if not weights:
            return None
        answers = [w * tree.predictors[i].scores(seen) for i, w in weights.items()]
        found.append(np.sum(answers, axis=0))
    return np.asarray(np.mean(found, axis=0))


def _root_weights(tree: Tree, single: bool) -> dict[int, float]:
    """Return the predictors that make up the root, by place, with weights that sum to one."""
    if single or functions_of(tree) is not None:
        first = int(tree.predictor[0])
        return {first: 1.0} if tree.predictors[first].models else {}
    rows = tree.n_rows[:, 0].astype(float)
    shares = {
        i: float(tree.weight_by_leaf(i) @ rows)
        for i, predictor in enumerate(tree.predictors)
        if predictor.trained_on == 0 and predictor.models
    }
    total = sum(shares.values())
    return {i: share / total for i, share in shares.items() if share > 0}


def _card(model: Model, held_out: bool, found: Sequence[RegionScore]) -> Scorecard:
    return Scorecard(model.loss.name, model.class_words, held_out, tuple(found))


def _held_out(model: Model, segment: Segment) -> RegionScore:
    pairs = segment.calibration
    gain, error = segment.gain, segment.error
    known = gain is not None and error is not None
    return RegionScore(
        segment.leaf,
        model.rule(segment.leaf),
        segment.n,
        segment.base_rate,
        None if pairs is None else tuple(predicted for predicted, _ in pairs),
        segment.loss,
        segment.root_loss,
        gain,
        None,
        None,
        (gain - NORMAL * error, gain + NORMAL * error) if known else None,  # type: ignore[operator]
    )


@dataclass(frozen=True)
class _Judgement:
    """The rows of one leaf with the answers of model and root."""

    loss: Loss
    y: Labels
    after: FloatArray
    before: FloatArray | None

    def score(
        self, leaf: int, rule: str, n_bootstrap: int, draws: np.random.Generator
    ) -> RegionScore:
        """Return the scores, with intervals from resampled rows."""
        n, k = self.after.shape
        rows = Judged(self.y, None)
        values = self.losses(np.arange(n))
        again = n_bootstrap if n > 1 else 0  # a single row is no sample
        spread = np.array([self.losses(draws.integers(n, size=(n,))) for _ in range(again)])
        bounds = [_bounds(column) for column in spread.reshape(-1, 3).T]
        found = [float(value) if np.isfinite(value) else None for value in values]
        return RegionScore(
            leaf,
            rule,
            n,
            observed_rates(rows, k) if n else None,
            predicted_rates(rows, self.after) if n else None,
            found[0],
            found[1],
            found[2],
            *(None if value is None else b for value, b in zip(found, bounds, strict=True)),
        )

    def losses(self, some: IntArray) -> tuple[float, float, float]:
        """Return the losses of model and root on some rows, and the gain; NaN if undefined."""
        rows = Judged(self.y[some], None)
        mine = loss_on(self.loss, rows, self.after[some])
        its = None if self.before is None else loss_on(self.loss, rows, self.before[some])
        after, before = (np.nan if value is None else value for value in (mine, its))
        return after, before, before - after


def _bounds(values: FloatArray) -> Bounds | None:
    """Return where 95 % of resampled values are, if most of them are defined."""
    known = values[np.isfinite(values)]
    if len(known) * 2 <= len(values):
        return None
    low, high = np.quantile(known, LEVEL)
    return float(low), float(high)


def _score_words(region: RegionScore) -> tuple[str, ...]:
    return (
        str(region.leaf),
        str(region.n),
        _rates(region.base_rate),
        _rates(region.predicted),
        _number(region.loss),
        _number(region.root_loss),
        _number(region.gain) + _interval(region.gain_interval),
        region.rule,
    )


def _rates(rates: tuple[float, ...] | None) -> str:
    return "–" if rates is None else "/".join(f"{rate:.3g}" for rate in rates)


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.4g}"


def _interval(bounds: Bounds | None) -> str:
    return "" if bounds is None else f" ({bounds[0]:.3g} to {bounds[1]:.3g})"
