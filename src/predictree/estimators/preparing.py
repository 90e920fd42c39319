"""A call of `fit` as a task: everything that it needs, read and checked before any tree grows."""

import time
import warnings
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import validate_data

from predictree.data.imputation import draw
from predictree.data.partition import train_share
from predictree.data.table import Table, read_table
from predictree.errors import RareClassWarning
from predictree.estimators.adjustable import Adjustable
from predictree.estimators.fitting import Imputations, Task
from predictree.estimators.parameters import (
    check_choice,
    check_number,
    check_validation,
    limit_of,
    limits_of,
    timeout_of,
)
from predictree.estimators.parts import partitions
from predictree.estimators.portfolio import portfolio, within_memory
from predictree.estimators.recipes import directions_in, recipe_of, way_of
from predictree.learners import resolve_learners
from predictree.model.account import FitFailure
from predictree.publish.files.archive import need_skops
from predictree.run.checkpoint import Checkpoint
from predictree.run.clock import FOREVER, Clock
from predictree.run.tasks import Executor

RARE = 50  # rows of a class below which a warning is due


def prepared(
    estimator: Adjustable,
    X: Any,
    y: Any,
    sample_weight: Any,
    partition: Any,
    groups: Any,
    fit_params: dict[str, Any],
) -> Task:
    """Read and check everything that a fit needs."""
    start = time.monotonic()
    limits = limits_of(estimator)  # before anything is read, what is wrong with a parameter is told
    named = resolve_learners(estimator.learners, estimator._task)
    if estimator.reference is not None:
        resolve_learners(estimator.reference, estimator._task)
    table = read_table(X, y, sample_weight, estimator._task, estimator.feature_roles, estimator)
    columns = _columns_of(X)
    _warn_of_rare_classes(table)
    checkpoint = None if estimator.checkpoint is None else Checkpoint.of(estimator.checkpoint)
    entropy = entropy_of(estimator)
    if checkpoint is not None:
        entropy = checkpoint.entropy(entropy, estimator.random_state is not None)
    drawn = _imputations(estimator, table, entropy)
    learners, loss = portfolio(estimator, named, table, drawn[0][1], groups, fit_params)
    share = 1.0 if partition is not None else train_share(check_validation(estimator.validation))
    learners, refused = within_memory(estimator, learners, table, drawn[0][1], share)
    split_up, limit = partitions(estimator, table, partition, groups), limit_of(estimator)
    n_trees = len(split_up) * len(drawn)
    task = Task(
        table=table,
        columns=columns,
        drawn=drawn,
        loss=loss,
        learners=learners,
        refused=[FitFailure(0, lost.learner, lost.reason, 1) for lost in refused],
        split_up=split_up,
        recipe=recipe_of(
            estimator, limits, learners, n_trees, directions_in(estimator, table), loss.proper
        ),
        n_trees=n_trees,
        entropy=entropy,
        start=start,
        clock=FOREVER if limit is None else Clock(start + limit),
        checkpoint=checkpoint,
    )
    _check_running(estimator, task)
    return task


def _check_running(estimator: Adjustable, task: Task) -> None:
    """Try what may be refused once the first tree begins: before a checkpoint is written."""
    task.problem(0, way_of(estimator).pools)
    with Executor(estimator.n_jobs, task.clock, timeout_of(estimator)):
        pass
    if task.checkpoint is not None:
        need_skops()


def entropy_of(estimator: Adjustable) -> int:
    """Draw what all seeds of a fit derive from."""
    return int(check_random_state(estimator.random_state).randint(2**31 - 1))


def _imputations(estimator: Adjustable, table: Table, entropy: int) -> Imputations:
    """Return the training rows with their gaps, or as often as they are drawn without."""
    if not is_imputed(estimator, table):
        return [(None, table.X)]
    seeds = np.random.default_rng(entropy).integers(2**31 - 1, size=estimator.n_imputations)
    return [draw(table.schema, table.X, int(seed)) for seed in seeds]


def is_imputed(estimator: Adjustable, table: Table) -> bool:
    """Whether gaps are drawn: there are some, and the paper's way is asked for."""
    check_choice("imputation", estimator.imputation, ("native", "mice"))
    check_number("n_imputations", estimator.n_imputations, Integral, 1)
    return estimator.imputation == "mice" and bool(np.isnan(table.X).any())


def _columns_of(X: Any) -> dict[str, Any]:
    """Return what scikit-learn remembers of the columns: their number and names."""
    record = BaseEstimator()
    validate_data(record, X, skip_check_array=True)
    return dict(vars(record))


def _warn_of_rare_classes(table: Table) -> None:
    """Warn of classes with few rows."""
    if table.classes is None:
        return
    count = np.bincount(table.y)
    rare = int(count.argmin())
    if count[rare] < RARE:
        warnings.warn(
            f"class {table.classes.tolist()[rare]!r} has only {count[rare]} of {len(table.y)} "
            "rows: what is learned and judged on so few is uncertain. Compare verdict_ with its "
            "standard errors, and consider n_repeats, fewer learners, or more rows of that class.",
            RareClassWarning,
            stacklevel=3,
        )
