"""What the parameters of an estimator say about how its trees grow."""

from predictree.data.table import Table
from predictree.errors import InvalidInputError
from predictree.estimators.adjustable import Adjustable
from predictree.estimators.parameters import (
    PROOF,
    PROOF_BELOW,
    directions_of,
    standard_errors,
)
from predictree.grow.methods import WAYS, WAYS_OF_LEARNERS, Maker, Recipe
from predictree.grow.rows import Limits
from predictree.learners import Learner
from predictree.learners.forms import has_closed_form, takes_steps


def way_of(estimator: Adjustable) -> Maker:
    """Return what makes the method of an estimator, by its weights or by its learners."""
    if estimator.weights == "shrunk" and isinstance(estimator.learners, str):
        return WAYS_OF_LEARNERS.get(estimator.learners, WAYS["shrunk"])
    return WAYS[estimator.weights]


def recipe_of(
    estimator: Adjustable,
    limits: Limits,
    learners: tuple[Learner, ...],
    n_trees: int,
    directions: dict[int, int],
    proper: bool,
) -> Recipe:
    """Return what the parameters say about how so many trees of these learners grow.

    A race is worth it only where some learner would be slow otherwise: of mixtures, which can be
    ranked by sums, also where one takes steps at every split.
    """
    are_quick = all(map(has_closed_form, learners))
    of_others = (PROOF, PROOF_BELOW if n_trees > 1 and are_quick else PROOF)
    auto = way_of(estimator).demand or of_others
    steps = way_of(estimator).ranks_by_sums and proper and any(map(takes_steps, learners))
    races = not are_quick or steps
    return Recipe(
        limits,
        standard_errors(estimator.min_gain_se, auto),
        races if estimator.search == "auto" else estimator.search == "racing",
        estimator.shrinkage,
        estimator.interactions,
        directions,
    )


def directions_in(estimator: Adjustable, table: Table) -> dict[int, int]:
    """Return the columns along which answers only rise or fall."""
    found = directions_of(estimator.monotonic_cst, table.schema)
    if found and not way_of(estimator).is_directed:
        raise InvalidInputError(
            "monotonic_cst needs learners='additive': other learners may turn at any value. "
            "Give it to those that know it, in a list of (name, estimator) pairs"
        )
    if found and table.classes is not None and len(table.classes) > 2:
        raise InvalidInputError(
            "monotonic_cst is for two classes or for values: of several classes, not all can "
            "become more probable"
        )
    return found
