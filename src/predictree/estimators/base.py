"""A fit that reads like the paper: what classifier and regressor share but for the labels."""

import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from functools import partial
from typing import Any, Self

from numpy.typing import ArrayLike
from sklearn.utils import Tags

from predictree.errors import LearnerFailedWarning
from predictree.estimators.adjustable import Adjustable
from predictree.estimators.answering import Answering
from predictree.estimators.fitting import Grown, Task
from predictree.estimators.forecast import forecast
from predictree.estimators.freezing import fitted, frozen
from predictree.estimators.identity import identity_of
from predictree.estimators.parameters import limit_of, timeout_of
from predictree.estimators.preparing import prepared
from predictree.estimators.recipes import way_of
from predictree.estimators.reference import rival_of
from predictree.grow.algorithm import best_split, grow
from predictree.grow.finish import best_of
from predictree.grow.fits import Fits
from predictree.grow.growth import Growth
from predictree.grow.leaf import Decision
from predictree.grow.methods import Recipe, Way
from predictree.grow.problem import Problem
from predictree.grow.record import Steps
from predictree.grow.rows import Rows
from predictree.model.account import FitFailure
from predictree.publish.files.models import ModelFiles
from predictree.run.checkpoint import Begun
from predictree.run.clock import Clock
from predictree.run.forecast import Plan
from predictree.run.journal import Journal
from predictree.run.progress import (
    PATIENCE,
    All,
    CallbackSupportMixin,
    Calls,
    Lines,
    LiveLine,
    Watcher,
    ready,
    watch,
    with_callbacks,
)
from predictree.run.tasks import Executor


class TreesOfPredictors(CallbackSupportMixin, Answering, Adjustable):  # type: ignore[misc]
    """Everything but the labels."""

    @with_callbacks  # type: ignore[untyped-decorator]
    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: ArrayLike | None = None,
        *,
        partition: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        **fit_params: Any,
    ) -> Self:
        """Grow a tree of predictors and weigh its paths.

        If the fit fails or is interrupted, an earlier fitted state is left as it was.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_samples, n_features)
            Numbers, booleans, dates and categories, with or without missing values; see `Notes`.
            Learners see an array: a ColumnTransformer among them must choose columns by place.
        y : array-like of shape (n_samples,)
            Class labels, or real values.
        sample_weight : array-like of shape (n_samples,), optional
            Weights for learners and losses; a row of weight zero is as good as absent.
        partition : array-like of shape (n_samples,), optional
            Your own parts instead of random ones: 0 for S (training), 1 for V¹ (choosing
            splits), 2 for V² (weighing paths).
        groups : array-like of shape (n_samples,), optional
            Rows of a group share a part.
        **fit_params : dict
            Further metadata for the learners' ``fit``, if metadata routing is enabled.

        Returns
        -------
        self
        """
        task = prepared(self, X, y, sample_weight, partition, groups, fit_params)
        context = self._init_callbacks(X, y, task)
        grown: list[Grown] = []
        with task.begun() as begun:
            while len(grown) < task.n_trees and not (grown and task.is_over(grown[-1])):
                grown.append(self._grow(task, begun, grown, context))
        given = X, y, sample_weight, partition, groups, fit_params
        found = fitted(self, task, grown, self._rivals(task, given))
        _warn_of(found["model_"].account.failures)
        self.__dict__.pop("feature_names_in_", None)
        self.__dict__.update(found)
        if context is not None:
            context.call_on_fit_task_end(estimator=self, reconstruction_attributes=found)
        return self

    def plan(
        self,
        X: Any,
        y: Any,
        sample_weight: ArrayLike | None = None,
        *,
        partition: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        **fit_params: Any,
    ) -> Plan:
        """Forecast the fits, the time and the memory of `fit`, and what cheaper settings cost.

        A split is grown on at most some thousand rows; the rest is extrapolation, which may well
        be off by a factor of two. Nothing of the estimator changes.

        Parameters
        ----------
        X, y, sample_weight, partition, groups, **fit_params
            As in `fit`.

        Returns
        -------
        Plan
            Print it, or take its ``forecasts``, ``cheaper`` and ``learners`` apart.
        """
        data = {
            "X": X, "y": y, "sample_weight": sample_weight, "partition": partition,
            "groups": groups,
        }  # fmt: skip
        return forecast(self, data, fit_params)

    def _rivals(self, task: Task, given: tuple[Any, ...]) -> list[Grown]:
        """Return a stack for every tree, on its folds, of the learners that are the reference."""
        if self.reference is None or task.clock.is_late:
            return []
        rival, its = rival_of(self, task, given)
        found: list[Grown] = []
        while len(found) < its.n_trees and not its.clock.is_late:
            found.append(rival._grow(its, None, found, None))
        return found

    def _grow(self, task: Task, begun: Begun | None, before: list[Grown], context: Any) -> Grown:
        """Grow the next tree: partition, search, weigh, freeze."""
        problem = task.problem(len(before), way_of(self).pools)
        watcher = self._watcher(task, before, context)
        with (
            closing(self._journal(task, begun, len(before), problem)) as journal,
            Executor(self.n_jobs, task.clock, timeout_of(self)) as executor,
        ):
            fits = Fits(problem.shared(executor), executor, journal)
            growths: list[Growth] = []
            for way in ready(self.methods_of(fits, task.recipe), watcher):
                steps = Steps(way, fits, len(growths))
                growths.append(growth := Growth(fits, way.finish))
                with watcher.watching(growth):
                    for _ in watch(_decisions(steps, growth, task.clock), growth, watcher):
                        pass
            stopped = growths[-1].stopped or ("time_limit" if task.clock.is_late else None)
            return frozen(best_of(growths), self.refit, stopped)

    def methods_of(self, fits: Fits, recipe: Recipe) -> Iterable[Way]:
        """Return the methods that a tree is grown by; others are made of the same parts."""
        return way_of(self).make(fits, recipe)

    def _journal(self, task: Task, begun: Begun | None, tree: int, problem: Problem) -> Journal:
        """Return what remembers the growth of one tree."""
        if begun is None:
            return Journal()
        learners = [learner.estimator for learner in problem.learners]
        files = ModelFiles(learners, problem.X.shape[1], problem.n_outputs)
        return begun.journal(tree, identity_of(self, problem, task.recipe), files)

    def _init_callbacks(self, X: Any, y: Any, task: Task) -> Any:
        """Return the context of scikit-learn's callbacks, if there are any."""
        if not getattr(self, "_skl_callbacks", None):
            return None
        context = self._init_callback_context(max_subtasks=task.n_trees)
        context.call_on_fit_task_begin(estimator=self, X=X, y=y)
        return context

    def _watcher(self, task: Task, before: list[Grown], context: Any) -> Watcher:
        """Return what is told how a tree grows."""
        tree = f"tree {len(before) + 1}, " if task.n_trees > 1 else ""
        watchers: list[Watcher] = []
        if self.verbose == 1:
            watchers.append(Lines(task.table.schema.columns, tree, task.start))
        if self.verbose is None or self.verbose > 1:
            patience = PATIENCE if self.verbose is None else 0.0
            watchers.append(LiveLine(tree, task.start, limit_of(self), patience))
        if context is not None:

            def so_far(growth: Growth) -> dict[str, Any]:
                return fitted(self, task, [*before, frozen(growth, self.refit, None)])

            watchers.append(Calls(self, context, so_far))
        return All(watchers)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


def _decisions(steps: Steps, growth: Growth, clock: Clock) -> Iterator[Decision]:
    """Plant the root of a tree, and return what becomes of its leaves by one method."""
    fits, way = growth.fits, steps.method
    root = growth.plant(way.combine.plant(Rows.of(fits.problem)))
    choose = fits.journal.remembering(partial(best_split, method=way), steps)
    return clock.until(grow(root, choose))


def _warn_of(failures: Sequence[FitFailure]) -> None:
    """Warn once for all candidates that were lost."""
    if not failures:
        return
    lost: Counter[tuple[str, str]] = Counter()
    for failure in failures:
        lost[failure.learner, failure.reason] += failure.count
    shown = "; ".join(f"{name} {n}× ({reason})" for (name, reason), n in lost.most_common(5))
    more = f"; and {len(lost) - 5} other reasons" if len(lost) > 5 else ""
    warnings.warn(
        f"{sum(lost.values())} fits were lost and the tree was grown without them: {shown}{more}. "
        "See fit_failures_.",
        LearnerFailedWarning,
        stacklevel=4,
    )
