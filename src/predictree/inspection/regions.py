"""The regions of a tree side by side: how good each is, what matters there, and who answers."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from predictree.encoding import check_labels, check_values
from predictree.exceptions import InvalidInputError
from predictree.extras import need
from predictree.inspection.text import rules
from predictree.losses import Judged, Labels, Loss
from predictree.segments import Segment, loss_on, observed_rates, predicted_rates
from predictree.tree import FloatArray, IntArray, Tree

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
        return _table([head, *(_score_words(region) for region in self.regions)])


@dataclass(frozen=True, slots=True)
class Importances:
    """How much the loss of each region grows when one feature is shuffled within it.

    Attributes
    ----------
    leaves, features : tuple
        Of the rows and columns.
    mean, spread : array of shape (leaves, features)
        Over the repeated shuffles; NaN where the loss is undefined.
    """

    loss_name: str
    leaves: tuple[int, ...]
    rules: tuple[str, ...]
    features: tuple[str, ...]
    mean: FloatArray
    spread: FloatArray

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            **{name: getattr(self, name) for name in ("loss_name", "leaves", "rules", "features")},
            "mean": _plain(self.mean),
            "spread": _plain(self.spread),
        }

    def to_frame(self) -> Any:
        """Return the means as a pandas frame, leaves by features."""
        pandas = need("pandas", "frames", "to_frame")
        index = pandas.Index(self.leaves, name="leaf")
        return pandas.DataFrame(self.mean, index=index, columns=list(self.features))

    def __str__(self) -> str:
        rows = [
            (str(leaf), *(f"{value:.4g}" for value in line))
            for leaf, line in zip(self.leaves, self.mean, strict=True)
        ]
        return _table([("leaf", *self.features), *rows])


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
            "by_learner": _plain(self.by_learner),
            "by_level": _plain(self.by_level),
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
        return _table([("leaf", *self.learners, *levels), *rows])


def scorecard(
    model: Any, X: Any = None, y: Any = None, *, n_bootstrap: int = 200, random_state: int = 0
) -> Scorecard:
    """Judge the predictions of a model region by region.

    Parameters
    ----------
    model : ToPsClassifier or ToPsRegressor
        A fitted estimator. With several trees the regions are those of the first.
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
    >>> from predictree.datasets import load_toy
    >>> from predictree.inspection.regions import scorecard
    >>> X, y = load_toy()
    >>> model = ToPsClassifier("lr", loss="error", random_state=0).fit(X, y)
    >>> [region.rule for region in scorecard(model).regions]
    ['all rows']
    """
    check_is_fitted(model)
    if X is None and y is None:
        return _card(model, True, [_held_out(model, segment) for segment in model.segments_])
    if X is None or y is None:
        raise InvalidInputError("only one of X and y was given: give both, or neither")
    rows = Rows.of(model, X, y)
    after, before = model_scores(model, rows.features), root_scores(model, rows.features)
    draws = np.random.default_rng(random_state)
    found = []
    for leaf in leaves_of(model.tree_):
        here = np.flatnonzero(rows.leaf == leaf)
        its = None if before is None else before[here]
        judged = _Judgement(model.loss_, rows.y[here], after[here], its)
        found.append(judged.score(leaf, rule_of(model, leaf), n_bootstrap, draws))
    return _card(model, False, found)


def importances(
    model: Any,
    X: Any,
    y: Any,
    *,
    n_repeats: int = 5,
    max_rows: int = 2000,
    random_state: int = 0,
) -> Importances:
    """Return which features matter in which region.

    A feature is shuffled among the rows of a region, so that they stay there and its values stay
    possible; what matters is how much worse the predictions get. A feature that the tree splits by
    may well have done its work above: within a region it then matters little.

    Parameters
    ----------
    model : ToPsClassifier or ToPsRegressor
        A fitted estimator. With several trees the regions are those of the first.
    X, y : table and labels
        Rows to judge on, best those that the model has never seen.
    n_repeats : int, default=5
        Shuffles of each feature.
    max_rows : int, default=2000
        Of more rows so many are drawn.
    random_state : int, default=0

    Returns
    -------
    Importances
    """
    check_is_fitted(model)
    if n_repeats < 1 or max_rows < 1:
        raise InvalidInputError("n_repeats and max_rows must be at least 1")
    draws = np.random.default_rng(random_state)
    rows = Rows.of(model, X, y).drawn(max_rows, draws)
    leaves, columns = leaves_of(model.tree_), used_columns(model)
    base = _losses(model, rows, rows.features, leaves)
    grown = np.empty((n_repeats, len(leaves), len(columns)))
    for repeat, place in np.ndindex(n_repeats, len(columns)):
        shuffled = rows.shuffled(columns[place], draws)
        grown[repeat, :, place] = _losses(model, rows, shuffled, leaves) - base
    names = [model.schema_.columns[j].name for j in columns]
    return Importances(
        model.loss_.name,
        tuple(leaves),
        tuple(rule_of(model, leaf) for leaf in leaves),
        tuple(names),
        grown.mean(axis=0),
        grown.std(axis=0),
    )


def learner_map(model: Any) -> LearnerMap:
    """Return for every leaf the weight of each learner and of each level of training set.

    Parameters
    ----------
    model : ToPsClassifier or ToPsRegressor
        A fitted estimator; of several trees the first is read.

    Returns
    -------
    LearnerMap
    """
    check_is_fitted(model)
    tree: Tree = model.tree_
    leaves = leaves_of(tree)
    weights = [tree[leaf].weights or () for leaf in leaves]
    learners = list(dict.fromkeys(record.learner for line in weights for record in line))
    by_learner = np.zeros((len(leaves), len(learners)))
    by_level = np.zeros((len(leaves), tree.get_depth() + 1))
    for i, line in enumerate(weights):
        for record in line:
            by_learner[i, learners.index(record.learner)] += record.weight
            by_level[i, tree.depth[record.trained_on]] += record.weight
    said = tuple(rule_of(model, leaf) for leaf in leaves)
    return LearnerMap(tuple(leaves), said, tuple(learners), by_learner, by_level)


def leaves_of(tree: Tree) -> list[int]:
    """Return the ids of the leaves."""
    return [node.id for node in tree if node.is_leaf]


def rules_to(model: Any, node: int) -> list[str]:
    """Return the conditions that lead to a node of the first tree, from the root down."""
    tree: Tree = model.tree_
    found = []
    for parent, child in pairwise(tree.path(node)):
        split, children = tree[parent].split, tree[parent].children
        assert split is not None
        assert children is not None
        found.append(rules(split, model.schema_.columns, 4)[children.index(child)])
    return found


def rule_of(model: Any, node: int) -> str:
    """Return the conditions that lead to a node in one line."""
    return " and ".join(rules_to(model, node)) or "all rows"


def used_columns(model: Any) -> list[int]:
    """Return the places of the columns that the tree or the learners may see."""
    return [j for j, c in enumerate(model.schema_.columns) if c.splits or c.is_fitted]


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows to judge a model on: encoded features, class codes or labels, and their leaves."""

    features: FloatArray
    y: Labels
    leaf: IntArray

    @classmethod
    def of(cls, model: Any, X: Any, y: Any) -> "Rows":
        """Check and encode data for a fitted model."""
        features = model._features(X)
        leaf = model.tree_.apply(as_seen(model, features)[0])
        return cls(features, encode_labels(model, y, features), leaf)

    def drawn(self, most: int, draws: np.random.Generator) -> "Rows":
        """Return at most so many of the rows."""
        if len(self.y) <= most:
            return self
        some = np.sort(draws.choice(len(self.y), most, replace=False))
        return Rows(self.features[some], self.y[some], self.leaf[some])

    def shuffled(self, column: int, draws: np.random.Generator) -> FloatArray:
        """Return the features with one column shuffled within every leaf."""
        order = np.lexsort((draws.random(len(self.leaf)), self.leaf))
        changed = self.features.copy()
        changed[np.argsort(self.leaf, kind="stable"), column] = self.features[order, column]
        return changed


def encode_labels(model: Any, y: Any, features: FloatArray) -> Labels:
    """Return labels as class codes, or as numbers."""
    classes = getattr(model, "classes_", None)
    if classes is None:
        return check_values(y, features)
    labels = check_labels(y, features)
    unknown = sorted(set(labels.tolist()) - set(classes.tolist()), key=str)
    if unknown:
        raise InvalidInputError(
            f"y holds {unknown[0]!r}, which is no class of the model: it knows "
            f"{', '.join(map(repr, classes.tolist()[:10]))}"
        )
    return np.searchsorted(classes, labels)


def class_words(model: Any) -> tuple[str, ...] | None:
    """Return the classes in words, true and false in lower case; None in a regression."""
    if not hasattr(model, "classes_"):
        return None
    labels = model.classes_.tolist()
    return tuple(str(c).lower() if isinstance(c, bool) else str(c) for c in labels)


def model_scores(model: Any, features: FloatArray) -> FloatArray:
    """Return H(x) for encoded rows."""
    seen = zip(model.trees_, as_seen(model, features), strict=True)
    return np.asarray(np.mean([tree.scores(drawn) for tree, drawn in seen], axis=0))


def root_scores(model: Any, features: FloatArray) -> FloatArray | None:
    """Return what the roots of the trees answer for encoded rows; None if no model is left."""
    found = []
    for tree, drawn in zip(model.trees_, as_seen(model, features), strict=True):
        weights = _root_weights(tree, model.weights == "path")
        if not weights:
            return None
        answers = [w * tree.predictors[i].scores(drawn) for i, w in weights.items()]
        found.append(np.sum(answers, axis=0))
    return np.asarray(np.mean(found, axis=0))


def _root_weights(tree: Tree, single: bool) -> dict[int, float]:
    """Return the predictors that make up the root, by place, with weights that sum to one."""
    if single:
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


def as_seen(model: Any, features: FloatArray) -> list[FloatArray]:
    """Return encoded rows as each tree sees them: with their gaps, or with these filled."""
    filled = [imputation(features) for imputation in model.imputations_] or [features]
    return [filled[i % len(filled)] for i in range(len(model.trees_))]


def _card(model: Any, held_out: bool, found: Sequence[RegionScore]) -> Scorecard:
    return Scorecard(model.loss_.name, class_words(model), held_out, tuple(found))


def _held_out(model: Any, segment: Segment) -> RegionScore:
    pairs = segment.calibration
    gain, error = segment.gain, segment.error
    known = gain is not None and error is not None
    return RegionScore(
        segment.leaf,
        rule_of(model, segment.leaf),
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


def _losses(model: Any, rows: Rows, features: FloatArray, leaves: Sequence[int]) -> FloatArray:
    """Return the loss in every leaf for rows with these features; NaN if undefined."""
    scores = model_scores(model, features)
    found = []
    for leaf in leaves:
        here = rows.leaf == leaf
        value = loss_on(model.loss_, Judged(rows.y[here], None), scores[here])
        found.append(np.nan if value is None else value)
    return np.array(found)


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


def _plain(values: FloatArray) -> list[list[float | None]]:
    return [[v if np.isfinite(v) else None for v in line] for line in values.tolist()]


def _table(rows: Sequence[Sequence[str]]) -> str:
    """Lay out words in columns."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    padded = (map(str.ljust, row, widths) for row in rows)
    return "\n".join("  ".join(words).rstrip() for words in padded)
