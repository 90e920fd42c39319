"""What a fit leaves: trees weighed and frozen, and the attributes of a fitted estimator."""

from collections.abc import Sequence
from typing import Any

from predictree.data.table import never_missing
from predictree.estimators.account import account_of, background, settings_of
from predictree.estimators.adjustable import Adjustable
from predictree.estimators.fitting import Grown, Task
from predictree.grow.finish import evidence, frozen_tree
from predictree.grow.growth import Growth
from predictree.model import Model
from predictree.model.discretion import discreet

NO_PART = -1  # in partition_: a row of weight zero


def frozen(growth: Growth, refit: bool, stopped: str | None) -> Grown:
    """Weigh and freeze a tree as it stands."""
    growth = growth.finish.trimmed(growth)
    weights = growth.finish.weights(growth)
    tree = frozen_tree(growth, weights, refit)
    seen, ledger = evidence(growth, weights), growth.fits.ledger
    failures = ledger.failures(growth.id_of)
    return Grown(tree, growth.fits.problem, seen, failures, ledger.fits, stopped)


def fitted(
    estimator: Adjustable, task: Task, grown: list[Grown], rivals: Sequence[Grown] = ()
) -> dict[str, Any]:
    """Return the attributes of a finished fit: nothing of the estimator changes before."""
    first, table = grown[0].problem, task.table
    takes_nan = {learner.name: learner.allows_nan for learner in first.learners}
    used = [p for one in grown for p in one.tree.predictors if p.models]
    model = Model(
        schema=table.schema,
        named="feature_names_in_" in task.columns,
        needed=() if all(takes_nan[p.learner] for p in used) else never_missing(table),
        classes=table.classes,
        trees=tuple(one.tree for one in grown),
        imputations=tuple(filled for filled, _ in task.drawn if filled is not None),
        backgrounds=tuple(background(one.tree, one.problem) for one in grown),
        loss=first.loss,
        account=account_of(task, grown, rivals),
        settings=settings_of(estimator),
    )
    partition = table.spread(first.partition.codes, NO_PART)
    return {**task.columns, "model_": discreet(model), "partition_": partition}
