"""What a fit costs, seen on a few of its rows: the real growth, and single fits of its learners.

On nested samples the estimator's own method plants a root and makes one split, proved and settled
whatever it gains. A node is taken to cost what the root of as many rows does. Where a growth is
slow it is seen on the fewest rows alone, and its cost grows as that of single fits.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from joblib import effective_n_jobs

from predictree.estimators.fitting import Task
from predictree.estimators.freezing import frozen
from predictree.estimators.parameters import timeout_of
from predictree.estimators.recipes import way_of
from predictree.grow.algorithm import argmin
from predictree.grow.finish import best_of
from predictree.grow.fits import Fits
from predictree.grow.growth import Growth
from predictree.grow.leaf import Choice, Decision, Leaf, Lost
from predictree.grow.methods import Way
from predictree.grow.problem import ROOT_PATH, Problem
from predictree.grow.proof import FIRST
from predictree.grow.rows import Rows
from predictree.learners import Learner
from predictree.run.forecast import OneFit
from predictree.run.guard import Failure, muted_warnings
from predictree.run.measuring import (
    NOTHING,
    Cost,
    memory_of,
    model_size,
    timed,
    weighed,
)
from predictree.run.memory import needed_at
from predictree.run.tasks import Executor

SIZES = (500, 1500, 4000)  # rows of the samples
THIRD = 3  # of the first of these also a third are weighed: tracing makes a fit much slower
WARM = 0.5  # seconds of a growth below which a first one is forgotten
PATIENCE = 4.0  # seconds of a growth, or of a fit, after which none is made on more rows


@dataclass(frozen=True, slots=True)
class Work:
    """Fits of learners one by one, seconds with all else, and bytes of the models that stay."""

    fits: float = 0.0
    seconds: float = 0.0
    kept: float = 0.0

    def __add__(self, other: "Work") -> "Work":
        return Work(self.fits + other.fits, self.seconds + other.seconds, self.kept + other.kept)

    def __sub__(self, other: "Work") -> "Work":
        return self + other * -1

    def __mul__(self, times: float) -> "Work":
        return Work(self.fits * times, self.seconds * times, self.kept * times)


class Meter:
    """Takes note of what named parts of a growth take."""

    def __init__(self, executor: Executor) -> None:
        self.executor = executor
        self.took: dict[str, Work] = dict.fromkeys(PARTS, Work())

    @contextmanager
    def __call__(self, part: str) -> Iterator[None]:
        """Add what is done meanwhile to a part."""
        start, before = time.perf_counter(), self.executor.fits
        yield
        spent = Work(self.executor.fits - before, time.perf_counter() - start)
        self.took[part] += spent


PARTS = ("all", "search", "proof", "settle", "freeze root", "freeze split")


@dataclass(frozen=True, slots=True)
class Tried:
    """What the steps of a growth took, on so many training rows of the root.

    Attributes
    ----------
    rows : int
    root, search, proof, split : Work
        All of a root alone; to find the best split of a node, to prove it, and to make it.
    peak : int
        Bytes, if they were traced.
    """

    rows: int
    root: Work
    search: Work
    proof: Work
    split: Work
    peak: int = 0

    @property
    def all(self) -> Work:
        """All together."""
        return self.root + self.search + self.proof + self.split


def problem_of(estimator: Any, task: Task) -> Problem:
    """Return the problem of the first tree of a task."""
    return task.problem(0, way_of(estimator).pools)


def tried(estimator: Any, task: Task) -> Tried:
    """Grow a tree of one split if it may have one, whatever that gains."""
    problem = problem_of(estimator, task)
    with (
        muted_warnings(),
        Executor(estimator.n_jobs, learner_timeout=timeout_of(estimator)) as executor,
    ):
        fits, meter = Fits(problem.shared(executor), executor), Meter(executor)
        with meter("all"):
            ways = estimator.methods_of(fits, task.recipe)
            grown = best_of([_one_split(way, fits, meter) for way in ways])
        with meter("freeze root"):
            root = frozen(grown.without({ROOT_PATH}), estimator.refit, None).tree
        with meter("freeze split"):
            tree = frozen(grown, estimator.refit, None).tree
    every, search, proof, settle, alone, whole = (meter.took[part] for part in PARTS)
    sizes = model_size(root), model_size(tree)
    later = max(0.0, (whole - alone).seconds)
    return Tried(
        len(problem.partition.train),
        every - search - proof - settle + alone + Work(kept=sizes[0]),
        search,
        proof,
        settle + Work((whole - alone).fits, later, sizes[1] - sizes[0]),
    )


def _one_split(way: Way, fits: Fits, meter: Meter) -> Growth:
    """Plant a root by one method, and split it if that may be."""
    growth = Growth(fits, way.finish)
    root = growth.plant(way.combine.plant(Rows.of(fits.problem)))
    choice = None if way.limits.closes(root) else _choice(root, way, meter)
    growth.take(Decision(root, choice))
    return growth


def _choice(root: Leaf, way: Way, meter: Meter) -> Choice | None:
    """Return the best split, whatever its proof comes to."""
    ask = partial(argmin, method=way)
    with meter("search"):
        found = ask(root)
    if found is None:
        return None
    with meter("proof"):
        way.proof(root, found, ask)
    with meter("settle"), suppress(Lost):
        return way.combine.settle(root, found)
    return None


@dataclass(frozen=True, slots=True)
class OneCost:
    """What one fit of a learner costs, by the rows it trains on: seconds, and bytes."""

    name: str
    seconds: Cost
    peak: Cost
    model: Cost

    def at(self, n: float) -> OneFit:
        """Return one fit on so many rows."""
        return OneFit(self.name, self.seconds.at(n), needed_at(self.peak, n), self.model.at(n))


def one_cost(problems: Sequence[Problem], i: int) -> OneCost:
    """Time and weigh fits of a learner without the first fold of the root of some samples."""
    learner, first, few = problems[0].learners[i], problems[0], _first_fold(problems[0])
    thirds = [few[::THIRD], few] if len(few) > SIZES[0] / 2 else [few]
    weights = memory_of(learner, first.X, first.y, thirds)  # and it is imported and compiled
    rows, seconds, sizes = [], [], []
    for problem in problems:
        spent, model = timed(partial(_ask, problem, learner))
        rows.append(len(_first_fold(problem)))
        seconds.append(spent)
        sizes.append(float(model_size(model)))
        if spent > PATIENCE:
            break
    peak = NOTHING if isinstance(weights, Failure) else weights[0]
    return OneCost(learner.name, Cost((*rows,), (*seconds,)), peak, Cost((*rows,), (*sizes,)))


def _ask(problem: Problem, learner: Learner) -> Any:
    """Fit a learner and ask it about the rows that were held out."""
    model = problem.fit_fold(learner, problem.partition.train, ROOT_PATH, 0)
    held = problem.partition.v1[problem.partition.fold[problem.partition.v1] == 0]
    if len(held):
        model.scores(problem.X[held])
    return model


def _first_fold(problem: Problem) -> Any:
    """Return the rows that the first model of the root trains on."""
    train = problem.partition.train
    return train[problem.partition.fold[train] != 0]


@dataclass(frozen=True)
class Costs:
    """How the cost of a growth grows with the training rows.

    Attributes
    ----------
    seen : sequence of Tried
        In rising order of the rows.
    single : sequence of OneCost
        By the rows of a training fold.
    fold : float
        The share of a node's training rows that one model sees.
    parts : int
        Of the rows, without each of which a split is rehearsed.
    """

    seen: Sequence[Tried]
    single: Sequence[OneCost]
    fold: float
    parts: int

    def tree(self, n: float, depth: int, grows: bool) -> Work:
        """Return the work of a tree of full depth, whose leaves may be searched in vain."""
        total = self._at("root", n)
        for level in range(depth):
            total += self._split(n / 2**level) * 2**level
        return total + self._in_vain(n / 2**depth) * (2**depth if grows else 0)

    def _split(self, n: float) -> Work:
        return self._at("search", n) + self._at("proof", n) + self._at("split", n)

    def _in_vain(self, n: float) -> Work:
        """Return the work of a node whose first parts show no gain."""
        return self._at("search", n) + self._at("proof", n) * (min(FIRST, self.parts) / self.parts)

    def _at(self, part: str, n: float) -> Work:
        took = [getattr(one, part) for one in self.seen]
        seconds = self._scaled([work.seconds for work in took], n, "seconds")
        return Work(took[-1].fits, seconds, self._scaled([work.kept for work in took], n, "model"))

    def _scaled(self, known: list[float], n: float, of_one: str) -> float:
        """Return a cost on so many rows; where it was seen once it grows as single fits do."""
        rows = [one.rows for one in self.seen]
        if len(rows) > 1:
            return Cost((*rows,), (*known,)).at(n)
        then, now = (
            sum(getattr(one, of_one).at(self.fold * m) for one in self.single) for m in (rows[0], n)
        )
        return float(known[0] * now / then) if then else known[0]


def weighed_too(estimator: Any, task: Task) -> Tried:
    """Return what a growth took, and its peak: tracing is slow where learners are Python."""
    took: list[Tried] = []
    weight = weighed(lambda: took.append(tried(estimator, task)))
    return replace(took[0], peak=weight.peak)


def seen(
    estimator: Any, tasks: Sequence[Task], look: Callable[[Any, Task], Tried] = tried
) -> list[Tried]:
    """Grow on samples of more and more rows, as long as that is quick.

    One look is enough only where it made fits one by one, which tell how it would go on. What is
    imported and compiled once, and processes that have to start, are not the growth's: then, and if
    it is short, a first look is forgotten.
    """
    first, alone = look(estimator, tasks[0]), effective_n_jobs(estimator.n_jobs) == 1
    known = [first] if alone and first.all.seconds > WARM else []
    for task in tasks[len(known) :]:
        if known and known[-1].all.seconds > PATIENCE and (known[-1].all.fits or len(known) > 1):
            break
        known.append(look(estimator, task))
    return known


def root_cost(name: str, grown: Sequence[Tried], fold: float) -> OneCost:
    """Return the cost of a root that is one function of all the rows, and no learner's own."""
    rows = tuple(round(fold * one.rows) for one in grown)
    peaks = tuple(float(one.peak) for one in grown)
    roots = [one.root for one in grown]
    seconds, kept = (tuple(one.seconds for one in roots), tuple(one.kept for one in roots))
    return OneCost(name, Cost(rows, seconds), Cost(rows, peaks), Cost(rows, kept))
