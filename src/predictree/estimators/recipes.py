"""What the parameters of an estimator say about how its trees grow."""

from predictree.data.table import Table
from predictree.errors import InvalidInputError
from predictree.estimators.adjustable import Adjustable
from predictree.estimators.parameters import (
    OF_SUMS,
    PROOF,
    PROOF_BELOW,
    directions_of,
    standard_errors,
)
from predictree.grow.methods import Recipe
from predictree.grow.rows import Limits
from predictree.learners import Learner
from predictree.learners.forms import has_closed_form


def way_of(estimator: Adjustable) -> str:
    """Return the name of the method: additive models have one of their own."""
    additive = isinstance(estimator.learners, str) and estimator.learners == "additive"
    return "additive" if additive and estimator.weights == "shrunk" else estimator.weights


def recipe_of(
    estimator: Adjustable,
    limits: Limits,
    learners: tuple[Learner, ...],
    n_trees: int,
    directions: dict[int, int],
) -> Recipe:
    """Return what the parameters say about how so many trees of these learners grow.

    A race is worth it only where some learner would be slow otherwise.
    """
    are_quick = all(map(has_closed_form, learners))
    auto = (PROOF, PROOF_BELOW if n_trees > 1 and are_quick else PROOF)
    if way_of(estimator) == "additive":
        auto = OF_SUMS
    return Recipe(
        limits,
        standard_errors(estimator.min_gain_se, auto),
        not are_quick if estimator.search == "auto" else estimator.search == "racing",
        estimator.shrinkage,
        estimator.interactions,
        directions,
    )


def directions_in(estimator: Adjustable, table: Table) -> dict[int, int]:
    """Return the columns along which answers only rise or fall."""
    found = directions_of(estimator.monotonic_cst, table.schema)
    if found and way_of(estimator) != "additive":
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
