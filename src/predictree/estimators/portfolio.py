"""The learners that serve on a table, with their metadata, and the loss that judges them."""

from collections.abc import Mapping
from math import ceil
from typing import Any

from joblib import effective_n_jobs
from sklearn import get_config
from sklearn.utils.metadata_routing import process_routing

from predictree.data.table import Table
from predictree.errors import InvalidInputError
from predictree.estimators.adjustable import Adjustable
from predictree.estimators.recipes import way_of
from predictree.learners import Learner, adapt
from predictree.learners.adapter import take_rows, weight_keyword
from predictree.learners.forms.minimum import at_minimum, is_narrow
from predictree.learners.views import seen_by
from predictree.losses import Loss
from predictree.model.tree import FloatArray
from predictree.model.views import View
from predictree.run.guard import Failure
from predictree.run.memory import MemoryLimit, bytes_of


def portfolio(
    estimator: Adjustable,
    named: list[tuple[str, Any]],
    table: Table,
    X: FloatArray,
    groups: Any,
    fit_params: dict[str, Any],
) -> tuple[tuple[Learner, ...], Loss]:
    """Return the learners that serve on a table whose rows are X, and the loss."""
    views, named = seen_by(named, table.schema, X)
    loss = estimator._loss_for(named, table.classes).of_labels(table.y, table.weight)
    weight = None if table.weight is None else table.spread(table.weight, 0.0)
    metadata = _metadata(estimator, named, weight, groups, fit_params)
    learners = _learners(estimator._task, named, views, table, metadata, loss.proper)
    if way_of(estimator).ranks_by_sums:
        learners = tuple(
            at_minimum(a) if is_narrow(a.n_outputs, _width(a, X)) else a for a in learners
        )
    return learners, loss


def _width(learner: Learner, X: FloatArray) -> int:
    """Return how many columns a learner sees."""
    return int((X if learner.view is None else learner.view(X[:1])).shape[1])


def within_memory(
    estimator: Adjustable, learners: tuple[Learner, ...], table: Table, X: FloatArray, share: float
) -> tuple[tuple[Learner, ...], list[Failure]]:
    """Return the learners that have room in `memory_limit`, and why others have not.

    A model is trained on a share of the rows, and on all with ``refit``.
    """
    if estimator.memory_limit is None:
        return learners, []
    limit = MemoryLimit(
        bytes_of(estimator.memory_limit), table.X.nbytes, effective_n_jobs(estimator.n_jobs)
    )
    n_train = len(X) if estimator.refit else ceil(share * len(X))
    return limit.sieve(learners, X, table.y, n_train)


def _metadata(
    estimator: Adjustable,
    named: list[tuple[str, Any]],
    sample_weight: Any,
    groups: Any,
    fit_params: dict[str, Any],
) -> dict[str, dict[str, Any]]:
    """Return for each learner the keywords of its ``fit``."""
    if get_config()["enable_metadata_routing"]:
        given = {"sample_weight": sample_weight, "groups": groups, **fit_params}
        given = {key: value for key, value in given.items() if value is not None}
        routed = process_routing(estimator, "fit", **given)
        return {name: dict(routed[name].fit) for name, _ in named}
    if fit_params:
        raise InvalidInputError(
            f"fit got {sorted(fit_params)}: such parameters reach the learners only with "
            "sklearn.set_config(enable_metadata_routing=True)"
        )
    if sample_weight is None:
        return {name: {} for name, _ in named}
    return {name: {weight_keyword(name, e): sample_weight} for name, e in named}


def _learners(
    task: str,
    named: list[tuple[str, Any]],
    views: list[View | None],
    table: Table,
    metadata: Mapping[str, Mapping[str, Any]],
    proper: bool,
) -> tuple[Learner, ...]:
    """Return the learners that serve on this table."""
    return tuple(
        adapt(
            name,
            estimator,
            task,
            1 if table.classes is None else len(table.classes),
            classes=table.classes,
            proper=proper,
            metadata=take_rows(metadata[name], table.kept, table.n_given),
            view=view,
        )
        for (name, estimator), view in zip(named, views, strict=True)
    )
