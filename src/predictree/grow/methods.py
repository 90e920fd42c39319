"""The ways to grow a tree, each made of the same parts: the only place where they differ."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Protocol

from predictree.grow.algorithm import Combine, Method
from predictree.grow.combine.best import Best
from predictree.grow.combine.correction import Bed, Correction, root_of
from predictree.grow.combine.shrunk import Shrunk
from predictree.grow.finish import AsGrown, PathWeights, Pruned
from predictree.grow.fits import Fits
from predictree.grow.growth import Finish
from predictree.grow.leaf import Answer, Choice, Key, Leaf, Side
from predictree.grow.proof import GainsBy, Rehearsed, any_gain
from predictree.grow.rows import Limits, Rows
from predictree.grow.search.exhaustive import Exhaustive
from predictree.grow.search.racing import Rounds, Scouts
from predictree.grow.search.sums import Sums
from predictree.learners.forms.additive.basis import Sizes
from predictree.learners.forms.additive.monotone import Directions
from predictree.learners.forms.additive.root import Root
from predictree.run.journal import Arrays

PRUNED_BY = 0.5  # standard errors that a split must gain beyond what it took to grow it

Demand = tuple[float, float]  # standard errors that a split must gain: the root's, and below it


class Gardener(Combine, Protocol):
    """A combination that can plant a root, too, and take up what an earlier run decided."""

    def plant(self, rows: Rows) -> Leaf:
        """Return the root."""

    def recalled(self, leaf: Leaf, side: Side, lead: Key, arrays: Arrays) -> Answer:
        """Return what a side of a leaf answered with in an earlier run."""

    def kept(self, choice: Choice) -> Choice:
        """Keep what a choice of an earlier run answers with."""


@dataclass(frozen=True)
class Way(Method):
    """A method from the root to the weights of the leaves."""

    combine: Gardener
    finish: Finish


@dataclass(frozen=True, slots=True)
class Recipe:
    """What the parameters of an estimator say about how a tree grows.

    Attributes
    ----------
    limits : Limits
    demand : pair of float
        Standard errors that a split must gain, at the root and below it.
    races : bool
        Whether slow learners see a shortlist of the splits.
    strength : float
        Of the hold of a mixture on those below it.
    interactions : int
        Pairs of features that an additive root may have.
    directions : dict
        Columns along which additive functions only rise (1) or fall (-1).
    """

    limits: Limits
    demand: Demand = (0.0, 0.0)
    races: bool = False
    strength: float = 300.0
    interactions: int = 0
    directions: Directions = field(default_factory=dict)


def paper(fits: Fits, recipe: Recipe, combine: Best | None = None) -> Way:
    """Return the paper's method: one predictor a node, and weights by Algorithm 2."""
    limits, combine = recipe.limits, combine or Best(fits)
    search = Rounds(limits, fits, combine) if recipe.races else Exhaustive(limits, fits, combine)
    proof = Rehearsed(recipe.demand, combine, fits) if any(recipe.demand) else any_gain
    return Way(search, combine, proof, limits, PathWeights(limits.min_samples_val))


def stacked(fits: Fits, recipe: Recipe) -> Way:
    """Return the method of a mixture a node, held to its parent's, and of proved splits."""
    limits = recipe.limits
    combine = Shrunk(recipe.strength, limits, fits)
    search = Scouts(limits, fits, combine) if recipe.races else Exhaustive(limits, fits, combine)
    return Way(search, combine, Rehearsed(recipe.demand, combine, fits), limits, AsGrown())


def readable(fits: Fits, recipe: Recipe) -> Iterator[Way]:
    """Return the methods of one additive function a node.

    The root has main effects alone; then, if that gains, pairs as well. A region may stand for a
    pair and a pair for a region, so that both trees have to be grown.
    """
    root = root_of(fits.problem, Sizes(), recipe.directions)
    yield _corrected(fits, recipe, root)
    paired = root.with_pairs(recipe.interactions)
    if paired is not root:
        yield _corrected(fits, recipe, paired)


def _corrected(fits: Fits, recipe: Recipe, root: Root) -> Way:
    limits, bed = recipe.limits, Bed.of(root)
    combine, finish = Correction(bed), Pruned(recipe.demand[1] + PRUNED_BY, bed.linear)
    return Way(Sums(limits, fits, combine, bed), combine, GainsBy(recipe.demand), limits, finish)


@dataclass(frozen=True, slots=True)
class Maker:
    """What makes a method.

    Attributes
    ----------
    make : callable
        Where it returns several methods, all of them grow a tree, and the best tree is taken.
    pools : bool
        Whether V¹ and V² are one.
    demand : pair of float or None
        Standard errors that a split must gain by default; None is what estimators ask of others.
    is_directed : bool
        Whether it keeps to the directions of a recipe.
    may_race : bool
        Whether a recipe may ask it for a race.
    ranks_by_sums : bool
        Whether it ranks splits of logistic regressions by sums over rows, and so compares these at
        their minima, whatever their solvers; else estimators are taken as they are.
    """

    make: Callable[[Fits, Recipe], Iterable[Way]]
    pools: bool
    demand: Demand | None = None
    is_directed: bool = False
    may_race: bool = True
    ranks_by_sums: bool = False


WAYS = {
    "shrunk": Maker(lambda *given: [stacked(*given)], pools=True, ranks_by_sums=True),
    "path": Maker(lambda *given: [paper(*given)], pools=False),
}
"""The methods by name: the estimators' ``weights``."""

WAYS_OF_LEARNERS = {
    "additive": Maker(readable, pools=True, demand=(1.5, 1.5), is_directed=True, may_race=False),
}
"""The methods of named sets of learners that are more than a list, in place of ``"shrunk"``."""
