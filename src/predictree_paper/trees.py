"""ToPs as the paper's tables have it, what its parts are worth, and what a leak would fake.

An ablation takes one thing away: the choice of training sets, of learners, the learned weights, or
the second validation set. A leak gives ToPs the test fold in place of a validation set; its loss is
no result, but says how far optimism of that kind would go.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from sklearn.calibration import CalibratedClassifierCV
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler
from sklearn.utils import check_random_state

from predictree.data.partition import V1, V2, S, hold_out
from predictree.errors import InvalidInputError
from predictree.estimators.classifier import ToPsClassifier
from predictree.estimators.parameters import PAPER
from predictree.grow.combine.best import Best
from predictree.grow.finish import PathWeights
from predictree.grow.fits import Fits
from predictree.grow.growth import Growth, LeafWeights, Portion
from predictree.grow.leaf import Leaf, Trial
from predictree.grow.methods import Recipe, Way, paper
from predictree.grow.problem import Seeds
from predictree.grow.rows import Limits
from predictree.learners import resolve_learners
from predictree.model.tree import FloatArray, IntArray
from predictree_paper.baselines import untuned_svc
from predictree_paper.deepboost import VARIANTS
from predictree_paper.work import Answer, Work, scores_of

Rows = tuple[FloatArray, IntArray, IntArray]  # features, labels, and 0, 1 or 2 for S, V¹ or V²


@dataclass(frozen=True)
class Untrained:
    """A search that trains nothing on the children of a node: they inherit what they answer."""

    limits: Limits
    fits: Fits

    def __call__(self, leaf: Leaf) -> Iterator[Trial]:
        """Yield all splits, about which no learner says anything."""
        problem = leaf.rows.problem
        nothing = np.full((len(leaf.rows.v1), problem.n_outputs), np.nan)
        for splits in leaf.rows.splits(self.limits):
            for split in splits:
                own = [nothing] * len(problem.learners)
                yield Trial(split, leaf.rows.goes_left(split), own, asked_all=True)


class BestOfOwn(Best):
    """One predictor a side, of those that were trained there."""

    @staticmethod
    def offered(n_own: int) -> slice:
        """Return the predictors that were trained there."""
        return slice(n_own)


class LastOfPath(PathWeights):
    """No weights: the predictor of the leaf answers alone."""

    def weights(self, growth: Growth) -> LeafWeights:
        """Give all weight to the leaf."""
        return {leaf.path: [Portion(leaf.path, leaf.answer.lead, 1.0)] for leaf in growth.leaves}


class EvenOnPath(PathWeights):
    """The same weight for every predictor of the path."""

    def weights(self, growth: Growth) -> LeafWeights:
        """Share the weight out evenly."""
        paths = {leaf.path: growth.ancestry(leaf.path) for leaf in growth.leaves}
        return {
            leaf: [Portion(node.path, node.answer.lead, 1 / len(path)) for node in path]
            for leaf, path in paths.items()
        }


class TrainedOnRoot(ToPsClassifier):
    """ToPs with every predictor trained on all of S."""

    def methods_of(self, fits: Fits, recipe: Recipe) -> list[Way]:
        """Return the paper's method with a search that trains nothing."""
        search = Untrained(recipe.limits, fits)
        return [replace(way, search=search) for way in super().methods_of(fits, recipe)]


class TrainedOnNode(ToPsClassifier):
    """ToPs with every predictor trained on its own node."""

    def methods_of(self, fits: Fits, recipe: Recipe) -> list[Way]:
        """Return the paper's method without what is inherited."""
        return [paper(fits, recipe, BestOfOwn(fits))]


class LeafAlone(ToPsClassifier):
    """ToPs without weights: the predictor of the leaf answers alone."""

    def methods_of(self, fits: Fits, recipe: Recipe) -> list[Way]:
        """Return the paper's method without Algorithm 2."""
        finish = LastOfPath(recipe.limits.min_samples_val)
        return [replace(way, finish=finish) for way in super().methods_of(fits, recipe)]


class EvenWeights(ToPsClassifier):
    """ToPs with the same weight for every predictor of the path."""

    def methods_of(self, fits: Fits, recipe: Recipe) -> list[Way]:
        """Return the paper's method with a mean in place of Algorithm 2."""
        finish = EvenOnPath(recipe.limits.min_samples_val)
        return [replace(way, finish=finish) for way in super().methods_of(fits, recipe)]


def paper_parts(work: Work) -> IntArray:
    """Return the parts S, V¹, V² that ``paper()`` draws for these rows and this seed."""
    entropy = int(check_random_state(work.seed).randint(2**31 - 1))
    shares, generator = PAPER["validation"], Seeds(entropy).generator()
    return hold_out(work.X, work.y, None, shares, generator).astype(np.int64)


def as_drawn(work: Work) -> Rows:
    """Return the training fold in the paper's parts."""
    return work.X, work.y, paper_parts(work)


def one_validation_set(work: Work) -> Rows:
    """Let all rows that are held out both judge splits and weigh paths: V¹ = V²."""
    codes = paper_parts(work)
    held = np.flatnonzero(codes != S)
    rows = np.concatenate([np.flatnonzero(codes == S), held, held])
    parts = np.repeat([S, V1, V2], [len(rows) - 2 * len(held), len(held), len(held)])
    return work.X[rows], work.y[rows], parts


def in_sample(work: Work) -> Rows:
    """Let every row train, judge and weigh, as in the paper's toy example."""
    parts = np.repeat([S, V1, V2], len(work.y))
    return np.tile(work.X, (3, 1)), np.tile(work.y, 3), parts


def leak(*places: int) -> Callable[[Work], Rows]:
    """Return what puts the test fold in place of V¹, V² or both, whose own rows stay unused."""

    def rows(work: Work) -> Rows:
        if work.y_test is None:
            raise InvalidInputError("a leak needs the labels of the test fold")
        codes = paper_parts(work)
        kept, times, n = ~np.isin(codes, places), len(places), len(work.y_test)
        return (
            np.concatenate([work.X[kept], np.tile(work.X_test, (times, 1))]),
            np.concatenate([work.y[kept], np.tile(work.y_test, times)]),
            np.concatenate([codes[kept], np.repeat(places, n)]),
        )

    return rows


@dataclass(frozen=True)
class PaperTree:
    """One way to grow ToPs on a training fold.

    Attributes
    ----------
    learners : str
        As in `portfolio`.
    estimator : type
    search : str
    arrange : callable or None
        Which rows play which part; None leaves that to ``paper()``.
    limits : mapping
        Further parameters, where the paper is silent and ``paper()`` has no limit.
    """

    learners: str
    estimator: type[ToPsClassifier] = ToPsClassifier
    search: str = "exhaustive"
    arrange: Callable[[Work], Rows] | None = None
    limits: Mapping[str, Any] = field(default_factory=dict)

    def __call__(self, work: Work) -> Answer:
        """Grow the tree and answer for the test rows."""
        settings = {"search": self.search, **self.limits}
        model = self.estimator.paper(
            portfolio(self.learners),
            loss=work.loss,
            random_state=work.seed,
            n_jobs=work.jobs,
            **settings,
        )
        if self.arrange is None:
            model.fit(work.X, work.y)
        else:
            X, y, parts = self.arrange(work)
            model.fit(X, y, partition=parts)
        return Answer(scores_of(model, work.X_test), settings | shape_of(model))


@dataclass(frozen=True)
class CrossFitted:
    """Predictree's own way to grow a tree: cross-fitted, shrunk weights, its own loss.

    Attributes
    ----------
    learners : str
        As in `portfolio`.
    max_depth : int or None
        At 0 it is a stack.
    """

    learners: str = "strong"
    max_depth: int | None = None

    def __call__(self, work: Work) -> Answer:
        """Grow the tree and answer for the test rows."""
        model = ToPsClassifier(
            portfolio(self.learners),
            max_depth=self.max_depth,
            random_state=work.seed,
            n_jobs=work.jobs,
        )
        model.fit(work.X, work.y)
        settings = {"learners": self.learners, "loss": model.loss_.name}
        return Answer(scores_of(model, work.X_test), settings | shape_of(model))


def portfolio(name: str) -> Any:
    """Return a preset, "wide", or one learner of the paper's five by name."""
    if name == "wide":
        return wide()
    known = dict(resolve_learners("paper", "classification"))
    return [(name, known[name])] if name in known else name


def wide() -> list[tuple[str, Any]]:
    """Return the default's learners with three kinds of the paper's tables for its forest.

    They are those that the default lacks: boosted deep trees, support vectors, a neural network.
    Features are scaled to [0, 1], as the paper does.
    """
    kept = [pair for pair in resolve_learners("strong", "classification") if pair[0] != "forest"]
    support = CalibratedClassifierCV(untuned_svc(), ensemble=False, cv=3)
    return [
        *kept,
        ("deep boosting", VARIANTS["LB/Trees"]()),
        ("support vectors", make_pipeline(MinMaxScaler(), support)),
        ("neural net", make_pipeline(MinMaxScaler(), MLPClassifier(early_stopping=True))),
    ]


def shape_of(model: ToPsClassifier) -> dict[str, Any]:
    """Return what is worth knowing of a tree."""
    fits = model.fits_
    shape = {"nodes": len(model.tree_), "leaves": model.get_n_leaves(), "depth": model.get_depth()}
    return {**shape, "slow_fits": fits.made, "slow_fits_if_exhaustive": fits.exhaustive}
