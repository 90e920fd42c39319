"""Before a fit: how many fits it makes, how long it takes, how much memory, and what is cheaper.

A `Course` says how a fit goes as far as its parameters settle that; `Costs` what its parts cost,
measured on few rows; a `Plan` is what follows from both.
"""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from math import ceil, log2
from numbers import Integral
from os import cpu_count
from typing import Any

import numpy as np
from joblib import effective_n_jobs

from predictree.data.partition import are_splits, is_splitter
from predictree.grow.decision import FIRST, PARTS
from predictree.grow.mixing import LOOSER
from predictree.grow.problem import Problem, Region
from predictree.grow.search_ import SLOW_FINALISTS, Limits, admissible_splits, rounds
from predictree.run.costs import SIZES, Costs, LearnerCost, measure
from predictree.run.guard import Failure
from predictree.run.measuring import NOTHING, Growth
from predictree.run.memory import in_words, needed_at

DEPTH = 3  # of the tree that is looked at where max_depth does not say
COPIES = 3  # of X, its own included, at the peak of a fit; see `benchmarks/speed.py`
CHEAPER = 0.95  # of the time or the memory, below which a setting is worth a line


@dataclass(frozen=True, slots=True)
class Course:
    """How a fit goes, as far as that is settled before.

    Attributes
    ----------
    n_rows : int
        Training rows of the root; with folds all rows.
    n_splits : int
        Candidate splits of the root.
    n_folds, n_trees, n_draws, workers, depth : int
        ``depth`` is that of the largest tree that is looked at.
    may_grow : bool
        Whether leaves of a tree of that depth are searched for a further split.
    n_parts : int
        Parts of the rows without which a choice is rehearsed; 0 if it is not.
    mixes, races, refit : bool
    time_limit : float or None
    table : int
        Bytes of X.
    """

    n_rows: int
    n_splits: int
    n_folds: int
    n_trees: int
    n_draws: int
    workers: int
    depth: int
    may_grow: bool
    n_parts: int
    mixes: bool
    races: bool
    refit: bool
    time_limit: float | None
    table: int

    def fold_rows(self, n: float) -> float:
        """Return how many of a node's training rows one model sees."""
        return n * (1 - 1 / self.n_folds) if self.n_folds > 1 else n


@dataclass(frozen=True, slots=True)
class Work:
    """Fits of learners one by one, and seconds with all else."""

    fits: int = 0
    seconds: float = 0.0

    def __add__(self, other: "Work") -> "Work":
        return Work(self.fits + other.fits, self.seconds + other.seconds)

    def __mul__(self, times: int) -> "Work":
        return Work(self.fits * times, self.seconds * times)


@dataclass(frozen=True, slots=True)
class Forecast:
    """What a fit comes to.

    Attributes
    ----------
    what : str
        The tree, or the setting, that it is the forecast of.
    fits : int
        Calls of a learner's own ``fit``; those at the root are certain.
    seconds : float
        At most ``time_limit``.
    unlimited_seconds : float
        What it would be without.
    peak_bytes : float
        Beside what Python and its libraries take.
    """

    what: str
    fits: int
    seconds: float
    unlimited_seconds: float
    peak_bytes: float


@dataclass(frozen=True, slots=True)
class OneFit:
    """One fit of a learner on the rows of a training fold of the whole table."""

    name: str
    seconds: float
    peak_bytes: float
    model_bytes: float


@dataclass(frozen=True)
class Plan:
    """The forecast of a fit: an estimate, often within a factor of two.

    Attributes
    ----------
    n_rows : int
        Training rows.
    learners : tuple of OneFit
    forecasts : tuple of Forecast
        With the present settings: of the root alone, of one split, and of a whole tree, as far as
        ``max_depth`` lets it grow.
    cheaper : tuple of Forecast
        Of the largest of these trees with one setting changed.
    assumptions : tuple of str
    """

    n_rows: int
    learners: tuple[OneFit, ...]
    forecasts: tuple[Forecast, ...]
    cheaper: tuple[Forecast, ...]
    assumptions: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return the same as plain data."""
        return asdict(self)

    def __str__(self) -> str:
        one = [("one fit on a training fold", "", "time", "memory")]
        one += [(o.name, "", duration(o.seconds), in_words(o.peak_bytes)) for o in self.learners]
        whole = [("the whole fit", "fits", "time", "memory"), *map(_row, self.forecasts)]
        largest = self.forecasts[-1].what
        other = [(f"{largest}, but with", "", "", ""), *map(_row, self.cheaper)]
        blocks = [one, whole, *([other] if self.cheaper else [])]
        notes = [f"- {line}" for line in self.assumptions]
        return "\n".join([_laid_out(blocks), "", "An estimate, which supposes:", *notes])


def forecast(
    model: Any,
    problem_of: Callable[[Any], tuple[Problem, list[Failure]]],
    limits: Limits,
    draws: Growth | None,
    prepared: float,
) -> Plan:
    """Measure what the fit of an estimator is made of, and say what it comes to.

    Parameters
    ----------
    model : ToPsClassifier or ToPsRegressor
    problem_of : callable
        Makes the problem of the first tree with given learners; tells those that have no room.
    limits : Limits
    draws : Growth or None
        Seconds of one imputation, if gaps are drawn.
    prepared : float
        Seconds that reading the table and drawing the partition took.
    """
    problem, refused = problem_of(model.learners)
    strength = model.shrinkage if model.weights == "shrunk" else None
    costs = replace(measure(problem, limits, strength), draw=draws or NOTHING)
    course = course_of(model, problem, limits, draws is not None)
    forecasts = [
        _forecast(_name(depth), replace(course, depth=depth, may_grow=grows), costs, prepared)
        for depth, grows in _stages(course)
    ]
    settings = alternatives(model, course)
    cheaper = [_forecast(name, other, costs, prepared) for name, other in settings]
    if not all(learner.by_sums for learner in costs.learners):
        linear = replace(measure(problem_of("lr")[0], limits, strength), draw=costs.draw)
        cheaper.append(_forecast('learners="lr"', replace(course, races=False), linear, prepared))
    worth = tuple(other for other in cheaper if _is_cheaper(other, forecasts[-1]))
    one = tuple(_one_fit(learner, course.fold_rows(course.n_rows)) for learner in costs.learners)
    return Plan(course.n_rows, one, tuple(forecasts), worth, assumptions(course, costs, refused))


def course_of(model: Any, problem: Problem, limits: Limits, imputed: bool) -> Course:
    """Return how the fit of an estimator goes."""
    region, mixes = problem.root, model.weights == "shrunk"
    n_draws = model.n_imputations if imputed else 1
    depth = DEPTH if limits.max_depth is None else limits.max_depth
    room = max(1, int(log2(max(1, len(region.train)) / limits.min_samples_leaf)))
    return Course(
        n_rows=len(region.train),
        n_splits=sum(map(len, admissible_splits(problem, region, limits))),
        n_folds=problem.partition.n_folds,
        n_trees=model.n_repeats * n_draws,
        n_draws=n_draws if imputed else 0,
        workers=effective_n_jobs(model.n_jobs),
        depth=min(depth, room),
        may_grow=limits.max_depth is None and depth <= room,
        n_parts=_count_parts(problem, region) if max(limits.min_gain_se) > 0 else 0,
        mixes=mixes,
        races=model._search_for(problem.learners) == "racing",
        refit=bool(model.refit) and problem.partition.n_folds > 1,
        time_limit=model.time_limit,
        table=problem.X.nbytes,
    )


def _count_parts(problem: Problem, region: Region) -> int:
    """Return the parts of the rows without which a choice is rehearsed."""
    parts = len(np.unique(problem.partition.weighing[region.v1]))
    return PARTS if parts == 1 else parts


def _stages(course: Course) -> list[tuple[int, bool]]:
    """Return the depths to look at, and whether leaves there are searched in vain."""
    depths = sorted({0, min(1, course.depth), course.depth})
    return [(depth, depth < course.depth or course.may_grow) for depth in depths]


def _name(depth: int) -> str:
    return {0: "the root alone", 1: "one split"}.get(depth, f"a full tree of depth {depth}")


def alternatives(model: Any, course: Course) -> list[tuple[str, Course]]:
    """Return settings that may cost less, each with the course it leads to."""
    n_cores = cpu_count() or 1
    found = []
    if isinstance(model.validation, Integral) and course.n_folds > 3:
        parts = 3 if course.n_parts else 0
        found.append(("validation=3", replace(course, n_folds=3, n_parts=parts)))
    if course.n_folds > 1 and not course.refit:
        found.append(("refit=True", replace(course, refit=True)))
    if not course.races:
        found.append(('search="racing"', replace(course, races=True)))
    if course.depth > 1 or course.may_grow:
        depth = min(1, course.depth)
        found.append(("max_depth=1", replace(course, depth=depth, may_grow=False)))
    own_repeats = is_splitter(model.validation) or are_splits(model.validation)
    if model.n_repeats > 1 and not own_repeats:
        found.append(("n_repeats=1", replace(course, n_trees=course.n_trees // model.n_repeats)))
    if course.n_draws:
        trees = course.n_trees // course.n_draws
        found.append(('imputation="native"', replace(course, n_trees=trees, n_draws=0)))
    if n_cores > course.workers:
        found.append((f"n_jobs=-1 ({n_cores} processes)", replace(course, workers=n_cores)))
    return found


def _is_cheaper(other: Forecast, present: Forecast) -> bool:
    saves_time = other.unlimited_seconds < CHEAPER * present.unlimited_seconds
    return saves_time or other.peak_bytes < CHEAPER * present.peak_bytes


def _forecast(what: str, course: Course, costs: Costs, prepared: float) -> Forecast:
    worker = Forecaster(course, costs)
    work = worker.tree() * course.n_trees
    seconds = prepared + work.seconds + course.n_draws * costs.draw.at(course.n_rows)
    limit = float("inf") if course.time_limit is None else course.time_limit
    return Forecast(what, work.fits, min(seconds, limit), seconds, worker.memory())


@dataclass(frozen=True, slots=True)
class Forecaster:
    """Adds up what one tree costs: every node is split in halves, down to the course's depth."""

    course: Course
    costs: Costs

    def tree(self) -> Work:
        """Return the work of one tree."""
        total = self._root()
        for depth in range(self.course.depth):
            n = self.course.n_rows / 2**depth
            total += (self._looked(n, self.course.n_parts) + self._accepted(n)) * 2**depth
        if self.course.may_grow:
            n, vain = self.course.n_rows / 2**self.course.depth, min(FIRST, self.course.n_parts)
            total += self._looked(n, vain) * 2**self.course.depth
        return total

    def memory(self) -> float:
        """Return the bytes at the peak: the table, a fit in every process, and the models."""
        course, n = self.course, self.course.n_rows
        one = max(needed_at(h.peak, course.fold_rows(n)) for h in self.costs.learners)
        kept = sum(
            2**depth * self._models(n / 2**depth, course.mixes or depth == 0)
            for depth in range(course.depth + 1)
        )
        models: float = kept * course.n_trees * (1 if course.refit else course.n_folds)
        if course.refit:  # while it grows, the root has a model a fold
            models += self._models(n, True) * course.n_folds
        if course.races and not course.mixes:  # so have the finalists of a race
            length = sum(length for length, _ in self._rounds(n)[-1:])
            models += 2 * length * self._models(n / 2, True) * course.n_folds
        return COPIES * course.table + course.workers * one + models

    def _models(self, n: float, all_learners: bool) -> float:
        sizes = [h.model.at(self.course.fold_rows(n)) for h in self.costs.learners]
        return sum(sizes) if all_learners else sum(sizes) / len(sizes)

    def _root(self) -> Work:
        """Return the work of all learners on all rows, and of combining them."""
        course, rows = self.course, self.course.fold_rows(self.course.n_rows)
        one_by_one = [h for h in self.costs.learners if not h.by_sums]
        at_once = sum(h.seconds.at(rows) for h in self.costs.learners if h.by_sums)
        total = self._in_parallel(one_by_one, rows, course.n_folds) + Work(0, at_once)
        if course.mixes:
            total += Work(0, self.costs.mix.at(course.n_rows))
        if course.refit:
            total += self._kept(course.n_rows, 1, refit=True)
        return total

    def _looked(self, n: float, n_parts: int) -> Work:
        """Return the work of searching a node, once and again without each part of its rows."""
        rest = self.course.fold_rows(n)  # with folds a part is one; else it only judges
        again = self._search(rest) + self._answers(rest)
        if self.course.mixes:
            again += Work(0, self.costs.mix.at(rest))
        return self._search(n) + again * n_parts

    def _search(self, n: float) -> Work:
        total = Work(0, self.costs.search.at(n))
        for n_splits, share in self._rounds(n):
            total += self._trials(self._scouts, n_splits, n, share)
        return total

    def _rounds(self, n: float) -> list[tuple[int, float]]:
        """Return on how many splits the slow learners are trained, and on what share of rows."""
        course = self.course
        if not self.costs.slow:
            return []
        if not course.races:
            return [(course.n_splits, 1.0)]
        if course.mixes:
            return [(min(SLOW_FINALISTS, course.n_splits), 1.0)] if self._scouts else []
        lengths = rounds(n, guesses=len(self.costs.slow) == len(self.costs.learners))
        return [(min(length, course.n_splits), share) for share, length in lengths]

    @property
    def _scouts(self) -> Sequence[LearnerCost]:
        """The slow learners that a race of mixtures trains to choose a split: one if none is quick.

        With another search all are.
        """
        slow = self.costs.slow
        if not (self.course.mixes and self.course.races):
            return slow
        return slow[:1] if len(slow) == len(self.costs.learners) else []

    def _trials(self, slow: Sequence[LearnerCost], n_splits: int, n: float, share: float) -> Work:
        """Return the work of slow learners on both sides of splits, a task a split."""
        n_folds = self.course.n_folds
        rows = self.course.fold_rows(n / 2) * share
        task = 2 * n_folds * sum(h.seconds.at(rows) for h in slow)
        return Work(2 * n_folds * len(slow) * n_splits, task * ceil(n_splits / self.course.workers))

    def _answers(self, n: float) -> Work:
        """Return the work of asking what a rehearsal chose, one fold on both sides."""
        rows, learners = self.course.fold_rows(n / 2), self.costs.learners
        if not self.course.mixes:
            return Work(2, 2 * _mean_seconds(learners, rows))
        own = [h for h in learners if h.quick or h in self._scouts]
        return Work(2 * len(own), 2 * sum(h.seconds.at(rows) for h in own))

    def _accepted(self, n: float) -> Work:
        """Return the work of a split that is made: the learners it did not ask, and its models.

        A race of pairs has the models at hand.
        """
        course = self.course
        if not course.mixes:
            at_hand = course.races and bool(self.costs.slow)
            total = Work() if at_hand else self._kept(n / 2, 2, refit=False)
            return total + self._kept(n / 2, 2, refit=True) if course.refit else total
        total = self._kept(n / 2, 2, course.refit) + Work(0, LOOSER * self.costs.mix.at(n))
        if course.races and len(self.costs.slow) > len(self._scouts):
            total += self._trials(self.costs.slow, 1, n, 1.0)
        return total

    def _kept(self, n: float, n_nodes: int, refit: bool) -> Work:
        """Return the work of fitting what new nodes keep: all learners, or one of them."""
        course, learners = self.course, self.costs.learners
        rows = n if refit else course.fold_rows(n)
        times = n_nodes * (1 if refit else course.n_folds)
        if course.mixes:
            return self._in_parallel(learners, rows, times)
        return Work(times, times * _mean_seconds(learners, rows))

    def _in_parallel(self, learners: Sequence[LearnerCost], rows: float, times: int) -> Work:
        """Return the work of fitting each learner so many times, a fit a task."""
        each = [h.seconds.at(rows) for h in learners]
        shared = times * sum(each) / self.course.workers
        return Work(times * len(learners), max([shared, *each]))


def _mean_seconds(learners: Sequence[LearnerCost], rows: float) -> float:
    return sum(h.seconds.at(rows) for h in learners) / len(learners)


def _one_fit(learner: LearnerCost, rows: float) -> OneFit:
    seconds = learner.seconds.at(rows)
    return OneFit(learner.name, seconds, needed_at(learner.peak, rows), learner.model.at(rows))


def assumptions(course: Course, costs: Costs, refused: Sequence[Failure]) -> tuple[str, ...]:
    """Return in words what a forecast supposes."""
    largest = max([size for size in SIZES if size <= course.n_rows], default=course.n_rows)
    said = [
        f"costs were measured on at most {largest:,} rows, and grow by a "
        "power of the rows, in the end at least in proportion",
        "memory is beside that of Python and its libraries; what a library takes outside of NumPy "
        "during a fit is not seen",
    ]
    if course.depth:
        said.append(
            "a node that is split is halved, and its split rehearsed without every part of the "
            "rows; how many nodes are split is not known before"
        )
    if course.mixes and course.depth:
        said.append("all learners have a weight in every leaf, so that all of their models stay")
    if course.workers > 1:
        said.append("learners leave the cores to the processes, and do not use threads themselves")
    said += [f"{failure.learner} is left out: it {failure.reason}" for failure in refused]
    said += [
        f"{failure.learner} is left out: it failed on few rows ({failure.reason})"
        for failure in costs.lost
    ]
    return tuple(said)


def duration(seconds: float) -> str:
    """Return a time in words, such as 12 s, 3.4 min or 2.1 h."""
    for unit, scale in (("h", 3600.0), ("min", 60.0)):
        if seconds >= 1.5 * scale:
            return f"{seconds / scale:.1f} {unit}"
    return f"{seconds:.0f} s" if seconds >= 9.5 else f"{seconds:.2g} s"


def _row(forecast: Forecast) -> tuple[str, str, str, str]:
    time = duration(forecast.seconds)
    if forecast.seconds < forecast.unlimited_seconds:
        time = f"{time} (time_limit; {duration(forecast.unlimited_seconds)} without)"
    return forecast.what, f"{forecast.fits:,}", time, in_words(forecast.peak_bytes)


def _laid_out(blocks: list[list[tuple[str, str, str, str]]]) -> str:
    """Lay out blocks of rows in common columns, numbers flush right; the first row is a heading."""
    rows = [row for block in blocks for row in block]
    widths = [max(len(row[j]) for row in rows) for j in range(4)]
    lines = []
    for block in blocks:
        for k, (first, *rest) in enumerate(block):
            name = first if k == 0 else f"  {first}"
            cells = [word.rjust(width) for word, width in zip(rest, widths[1:], strict=True)]
            lines.append("  ".join([name.ljust(widths[0] + 2), *cells]).rstrip())
        lines.append("")
    return "\n".join(lines).rstrip()
