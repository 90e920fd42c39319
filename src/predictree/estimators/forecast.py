"""The forecast of a fit: what its parts cost on few rows, put together for all of them."""

import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property, partial
from math import ceil, inf, log2
from numbers import Integral
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from sklearn import get_config
from sklearn.base import clone

from predictree.data.partition import Partition
from predictree.errors import NoPredictorError
from predictree.estimators.fitting import Task
from predictree.estimators.parameters import check_validation, limit_of
from predictree.estimators.portfolio import portfolio
from predictree.estimators.preparing import is_imputed, prepared
from predictree.estimators.recipes import recipe_of, way_of
from predictree.estimators.reference import rival_of
from predictree.estimators.samples import (
    SIZES,
    Costs,
    OneCost,
    Work,
    one_cost,
    problem_of,
    root_cost,
    seen,
    weighed_too,
)
from predictree.grow.methods import WAYS_OF_LEARNERS, Recipe
from predictree.grow.problem import Problem, Seeds
from predictree.grow.rows import Rows
from predictree.learners import resolve_learners
from predictree.learners.forms import has_closed_form
from predictree.model.account import FitFailure
from predictree.model.tree import IntArray
from predictree.run.forecast import Forecast, Plan
from predictree.run.guard import Failure, attempt
from predictree.run.measuring import nested_samples

DEPTH = 3  # of the tree that is looked at where max_depth does not say
COPIES = 3  # of X, its own included, at the peak of a fit; see `benchmarks/speed.py`
CHEAPER = 0.95  # of the time or the memory, below which a setting is worth a line
FEW = 2  # times the largest sample: fewer rows are not worth to grow on it
CONVINCED = -1e9  # standard errors: a demand that every split meets


@dataclass(frozen=True)
class Course:
    """A fit as far as it is settled before: what its growth costs, and how often it is done.

    Attributes
    ----------
    costs : Costs
    reference : Costs or None
        Of a stack that the tree is compared with.
    n_rows : int
        Training rows of the root.
    depth : int
        Of the largest tree that is looked at.
    may_grow : bool
        Whether leaves of a tree of that depth are searched for a further split.
    n_trees, workers, table : int
        ``table`` are the bytes of X.
    prepared : float
        Seconds before the first tree.
    limit : float
        Seconds of the whole.
    """

    costs: Costs
    reference: Costs | None
    n_rows: int
    depth: int
    may_grow: bool
    n_trees: int
    workers: int
    table: int
    prepared: float
    limit: float

    def forecasts(self) -> tuple[Forecast, ...]:
        """Return what the root alone comes to, one split, and a whole tree."""
        depths = sorted({0, min(1, self.depth), self.depth})
        return tuple(self.told(_name(depth), self.tree(depth)) for depth in depths)

    def tree(self, depth: int, share: float = 1.0) -> Work:
        """Return the work of a tree of some depth, on a share of the rows."""
        grows = depth < self.depth or self.may_grow
        tree, n = self.costs.tree(share * self.n_rows, depth, grows), share * self.n_rows
        return tree + self.reference.tree(n, 0, False) if self.reference else tree

    def told(self, what: str, tree: Work) -> Forecast:
        """Return the forecast of a fit whose trees take so much each."""
        work = tree * self.n_trees
        seconds = self.prepared + work.seconds
        single = [*self.costs.single, *(self.reference.single if self.reference else [])]
        one = max(one.at(self.costs.fold * self.n_rows).peak_bytes for one in single)
        peak = COPIES * self.table + self.workers * one + work.kept
        return Forecast(what, round(work.fits), min(seconds, self.limit), seconds, peak)


def _name(depth: int) -> str:
    return {0: "the root alone", 1: "one split"}.get(depth, f"a full tree of depth {depth}")


def forecast(estimator: Any, data: dict[str, Any], fit_params: dict[str, Any]) -> Plan:
    """Grow trees on few rows, and say what the fit of an estimator comes to.

    Parameters
    ----------
    estimator : ToPsClassifier or ToPsRegressor
    data : dict
        The arguments of its ``fit`` by name.
    fit_params : dict
        Further metadata for the learners.
    """
    start = time.perf_counter()
    twin, n_draws = _twin_of(estimator)
    task = prepared(twin, **data, fit_params=fit_params)
    n_draws = n_draws if is_imputed(twin, task.table) else 1
    parts = task.split_up[0](Seeds(task.entropy))
    read = (time.perf_counter() - start) * n_draws
    samples = Samples(twin, task, parts)
    costs, lost = samples.costs()
    course = Course(
        costs=costs,
        reference=_reference(samples, (*data.values(), fit_params)),
        n_rows=len(parts.train),
        n_trees=len(task.split_up) * n_draws,
        workers=effective_n_jobs(twin.n_jobs),
        table=task.table.X.nbytes,
        prepared=read,
        limit=inf if (limit := limit_of(twin)) is None else limit,
        **_depth_of(task.recipe, len(parts.train)),
    )
    whole = course.forecasts()
    others = [
        *_settings(course, twin, parts.n_folds, n_draws),
        *_other_growths(samples, course, data["groups"]),
    ]
    n_fold = costs.fold * course.n_rows
    return Plan(
        course.n_rows,
        tuple(one.at(n_fold) for one in costs.single),
        whole,
        tuple(other for other in others if _is_cheaper(other, whole[-1])),
        _assumptions(course, [*task.refused, *lost]),
    )


def _twin_of(estimator: Any) -> tuple[Any, int]:
    """Return an estimator that leaves no trace, with one imputation, and how many there are.

    What it draws from its random states is not drawn from those of the first.
    """
    twin = clone(estimator)
    seed = 0 if twin.random_state is None else twin.random_state
    twin.set_params(checkpoint=None, verbose=0, n_imputations=1, random_state=seed)
    return twin, estimator.n_imputations


def _reference(samples: "Samples", given: tuple[Any, ...]) -> Costs | None:
    """Return what a stack costs that the tree is compared with, if it is."""
    if samples.estimator.reference is None:
        return None
    rival, task = rival_of(samples.estimator, samples.task, given)
    return Samples(rival, task, samples.parts).costs()[0]


def _depth_of(recipe: Recipe, n_rows: int) -> dict[str, Any]:
    """Return how deep a tree is looked at, and whether it may grow beyond."""
    depth = DEPTH if recipe.limits.max_depth is None else recipe.limits.max_depth
    room = max(1, int(log2(max(1, n_rows) / recipe.limits.min_samples_leaf)))
    may_grow = recipe.limits.max_depth is None and depth <= room
    return {"depth": min(depth, room), "may_grow": may_grow}


@dataclass(frozen=True)
class Samples:
    """Nested samples of the rows of a fit.

    Attributes
    ----------
    estimator : ToPsClassifier or ToPsRegressor
    task : Task
    parts : Partition
        Of the first tree.
    looks : int
        At most so many of them are grown on.
    """

    estimator: Any
    task: Task
    parts: Partition
    looks: int = len(SIZES)

    @cached_property
    def rows(self) -> list[IntArray]:
        """The samples, the few among the more; all rows where those would not do."""
        y, n = self.task.table.y, len(self.task.table.y)
        drawn = nested_samples(y, self.task.table.classes is not None, SIZES)
        useful = [rows for rows in drawn if self._is_enough(rows)]
        return useful or [np.arange(n)]

    @property
    def is_one_function(self) -> bool:
        """Whether nodes are functions of their own kind, and no learner is fitted by itself."""
        return way_of(self.estimator) in WAYS_OF_LEARNERS.values()

    @property
    def fold(self) -> float:
        """The share of the training rows that one model sees."""
        return float(np.mean(self.parts.fold[self.parts.train] != 0))

    def _is_enough(self, rows: IntArray) -> bool:
        few = self.parts.on(rows)
        return all(map(len, (few.train[few.fold[few.train] != 0], few.v1, few.v2)))

    def task_on(self, rows: IntArray, task: Task) -> Task:
        """Return the growth of a miniature, where every split convinces that can be made."""
        recipe, share = task.recipe, len(rows) / len(self.task.table.y)
        limits = replace(
            recipe.limits,
            min_gain=-inf,
            min_samples_leaf=ceil(share * recipe.limits.min_samples_leaf),
            min_samples_val=ceil(share * recipe.limits.min_samples_val),
        )
        first, below = ((CONVINCED if demand else 0.0) for demand in recipe.demand)
        return task.on(rows, self.parts, replace(recipe, limits=limits, demand=(first, below)))

    def costs(self) -> tuple[Costs, list[FitFailure]]:
        """Return what growth costs, and the learners that could not be fitted."""
        few = [self.task_on(rows, self.task) for rows in self.rows]
        problems = [problem_of(self.estimator, one) for one in few]
        n_parts = len(np.unique(Rows.of(problems[0]).part))
        few = few if len(self.task.table.y) >= FEW * SIZES[-1] else few[:2]
        few = few[: self.looks]
        if self.is_one_function:
            grown = seen(self.estimator, few, weighed_too)
            root = root_cost(self.estimator.learners, grown, self.fold)
            return Costs(grown, [root], self.fold, n_parts), []
        single, lost = self._single(problems)
        return Costs(seen(self.estimator, few), single, self.fold, n_parts), lost

    def _single(self, problems: Sequence[Problem]) -> tuple[list[OneCost], list[FitFailure]]:
        """Return what single fits cost, and the learners that could not be fitted."""
        learners = enumerate(self.task.learners)
        found = [attempt(one.name, partial(one_cost, problems, i)) for i, one in learners]
        lost = [one for one in found if isinstance(one, Failure)]
        if len(lost) == len(found):
            reasons = "; ".join(f"{one.learner}: {one.reason}" for one in lost)
            raise NoPredictorError(f"no learner could be fitted on few rows: {reasons}")
        return [one for one in found if isinstance(one, OneCost)], [
            FitFailure(0, one.learner, f"failed on few rows ({one.reason})", 1) for one in lost
        ]

    def racing(self, costs: Costs) -> Costs:
        """Return what growth costs where slow learners see a shortlist, by the fewest rows."""
        task = replace(self.task, recipe=replace(self.task.recipe, races=True))
        return replace(costs, seen=seen(self.estimator, [self.task_on(self.rows[0], task)]))

    def linear(self, groups: Any) -> "Samples":
        """Return the same with linear regression in place of the learners."""
        linear, table = clone(self.estimator).set_params(learners="lr"), self.task.table
        named = resolve_learners("lr", linear._task)
        learners, loss = portfolio(linear, named, table, self.task.drawn[0][1], groups, {})
        limits, n_trees = self.task.recipe.limits, self.task.n_trees
        recipe = recipe_of(linear, limits, learners, n_trees, {}, loss.proper)
        task = replace(self.task, learners=learners, loss=loss, recipe=recipe)
        return Samples(linear, task, self.parts, looks=2)


def _settings(course: Course, estimator: Any, n_folds: int, n_draws: int) -> Iterator[Forecast]:
    """Yield settings whose cost follows from what is known."""
    tree = course.tree(course.depth)
    if isinstance(estimator.validation, Integral) and n_folds > 3:
        fewer = course.tree(course.depth, share=(1 - 1 / 3) / (1 - 1 / n_folds))
        yield course.told("validation=3", fewer * (3 / n_folds))
    if course.depth > 1 or course.may_grow:
        shallow = replace(course, depth=min(1, course.depth), may_grow=False)
        yield shallow.told("max_depth=1", shallow.tree(shallow.depth))
    if estimator.n_repeats > 1 and isinstance(check_validation(estimator.validation), int | tuple):
        once = replace(course, n_trees=course.n_trees // estimator.n_repeats)
        yield once.told("n_repeats=1", tree)
    if n_draws > 1:
        once = replace(
            course, n_trees=course.n_trees // n_draws, prepared=course.prepared / n_draws
        )
        yield once.told('imputation="native"', tree)


def _other_growths(samples: Samples, course: Course, groups: Any) -> Iterator[Forecast]:
    """Yield settings that grow in another way, which is looked at.

    Linear regression is none where the columns have directions, or learners ask for metadata.
    """
    learners, estimator = samples.task.learners, samples.estimator
    if all(map(has_closed_form, learners)):
        return
    if way_of(estimator).may_race and not samples.task.recipe.races:
        racing = replace(course, costs=samples.racing(course.costs))
        yield racing.told('search="racing"', racing.tree(racing.depth))
    if estimator.monotonic_cst is None and not get_config()["enable_metadata_routing"]:
        with suppress(NoPredictorError):
            linear = replace(course, costs=samples.linear(groups).costs()[0])
            yield linear.told('learners="lr"', linear.tree(linear.depth))


def _is_cheaper(other: Forecast, present: Forecast) -> bool:
    saves_time = other.unlimited_seconds < CHEAPER * present.unlimited_seconds
    return saves_time or other.peak_bytes < CHEAPER * present.peak_bytes


def _assumptions(course: Course, lost: Sequence[FitFailure]) -> tuple[str, ...]:
    """Return in words what a forecast supposes."""
    largest = max(one.rows for one in course.costs.seen)
    said = [
        "fits are those that learners make one by one; what sums over rows answer is none",
        f"a growth was seen on at most {largest:,} training rows; what it takes grows by a power "
        "of the rows, in the end at least in proportion",
        "memory is beside that of Python and its libraries; what a library takes outside of NumPy "
        "during a fit is not seen",
    ]
    if course.depth:
        said.append(
            "a node that is split is halved, and its split rehearsed without every part of the "
            "rows; how many nodes are split is not known before"
        )
    return (*said, *(f"{one.learner} is left out: it {one.reason}" for one in lost))
