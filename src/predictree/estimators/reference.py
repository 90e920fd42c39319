"""What readability costs: learners that need not be readable, stacked on the folds of a tree."""

from typing import Any

from sklearn.base import clone

from predictree.estimators.adjustable import Adjustable
from predictree.estimators.fitting import Task
from predictree.estimators.preparing import prepared


def rival_of(estimator: Adjustable, task: Task, given: tuple[Any, ...]) -> tuple[Any, Task]:
    """Return an estimator of one stack of the reference's learners, and its task.

    It has the rows, the folds, the seeds and the deadline of the task that it is compared with.
    """
    rival = clone(estimator).set_params(
        learners=estimator.reference, reference=None, loss=task.loss, max_depth=0,
        monotonic_cst=None, checkpoint=None, verbose=0,
    )  # fmt: skip
    return rival, prepared(rival, *given).on_the_folds_of(task)
