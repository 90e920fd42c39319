"""Runs, folds and algorithms of an experiment: computed, written down and resumed."""

import os
import platform
import time
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed

from predictree import __version__
from predictree.errors import InvalidInputError, RareClassWarning
from predictree.model.tree import FloatArray, IntArray
from predictree_paper.algorithms import find
from predictree_paper.data import Column, completed
from predictree_paper.experiments import Experiment, seed_of, splits
from predictree_paper.lines import Key, Results, append, key_of, mend, read_results
from predictree_paper.work import Work, loss_of

PACKAGES = ("numpy", "scipy", "scikit-learn", "joblib", "numba", "pandas", "xgboost")
FIXED = ("experiment", "loss", "folds", "imputations", "seed", "data", "split")  # for all of a file

Tell = Callable[[str], None]


@dataclass(frozen=True)
class Plan:
    """What is to be run.

    Attributes
    ----------
    experiment : Experiment
    algorithms : tuple of str
    runs : int
    folds : int or None
    imputations : int
    seed : int
    jobs : int
        Fits at a time; one that is alone has as many processes for itself.
    """

    experiment: Experiment
    algorithms: tuple[str, ...]
    runs: int
    folds: int | None
    imputations: int
    seed: int
    jobs: int = 1


@dataclass(frozen=True)
class Job:
    """One algorithm on one fold."""

    key: Key
    train: IntArray
    test: IntArray


def run(plan: Plan, columns: list[Column], path: Path, command: str, tell: Tell) -> Results:
    """Compute what a file of results lacks, and return all that it holds then.

    Parameters
    ----------
    plan : Plan
    columns : list of Column
    path : Path
        The file, which may be there already.
    command : str
        What the user typed, for the header.
    tell : callable
        Is given a line of progress after every fit.
    """
    for algorithm in find(plan.algorithms):
        algorithm.check()
    check_folds(plan, columns)
    header = header_of(plan, columns, command)
    known = read_results(path)
    check_same(header, known, path)
    jobs = [job for job in jobs_of(plan, columns) if job.key not in known.done]
    if not jobs:
        return known
    path.parent.mkdir(parents=True, exist_ok=True)
    mend(path)
    append(path, header)
    progress = Progress(len(jobs), plan.jobs, tell)
    for line in lines_of(plan, columns, jobs):
        append(path, line)
        progress.add(line, jobs)
    return read_results(path)


def check_folds(plan: Plan, columns: list[Column]) -> None:
    """Raise if a fold would have no row of some class to test on."""
    for column in columns:
        rarest = int(np.unique(column.y, return_counts=True)[1].min())
        if column.split is None and plan.folds is not None and plan.folds > rarest:
            raise InvalidInputError(
                f"--folds {plan.folds}: a class has only {rarest} rows, give at most so many folds"
            )


def jobs_of(plan: Plan, columns: list[Column]) -> Iterator[Job]:
    """Yield all jobs, run by run and fold by fold, so that a part of them is balanced."""
    for r in range(plan.runs):
        for column in columns:
            for fold, (train, test) in enumerate(splits(column, r, plan.folds, plan.seed)):
                for algorithm in plan.algorithms:
                    yield Job((column.name, r, fold, algorithm), train, test)


def lines_of(plan: Plan, columns: list[Column], jobs: list[Job]) -> Iterator[dict[str, Any]]:
    """Yield the line of every job as it is done."""
    by_name = {column.name: column for column in columns}
    tasks = ((plan, by_name[job.key[0]], job) for job in jobs)
    if plan.jobs == 1 or len(jobs) == 1:
        yield from (line_of(*task, plan.jobs) for task in tasks)
        return
    parallel = Parallel(n_jobs=plan.jobs, return_as="generator_unordered")
    try:
        yield from parallel(delayed(line_of)(*task) for task in tasks)
    except BrokenExecutor as error:
        raise ChildProcessError(
            "a process was killed, perhaps for want of memory: give the command again, which goes "
            "on where it was, with fewer --jobs"
        ) from error


def line_of(plan: Plan, column: Column, job: Job, processes: int = 1) -> dict[str, Any]:
    """Run one algorithm on one fold; what goes wrong is part of the line."""
    name, r, fold, algorithm = job.key
    line: dict[str, Any] = {"column": name, "run": r, "fold": fold, "algorithm": algorithm}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warnings.simplefilter("ignore", RareClassWarning)  # the paper's data are what they are
        start = time.perf_counter()
        try:
            draws = completed(column.X, job.train, plan.imputations, seed_of(plan.seed, r, fold))
            start = time.perf_counter()  # all algorithms share the draws
            line |= outcome_of(plan, column, job, draws, processes)
        except Exception as error:  # one that fails must not end hours of others
            told = " ".join(str(error).split())
            line |= {"loss": None, "error": f"{type(error).__name__}: {told}"}
        line |= {"seconds": round(time.perf_counter() - start, 2)}
    if caught:
        line["warnings"] = sorted({str(warning.message) for warning in caught})
    return line | {"n_train": len(job.train), "n_test": len(job.test)}


def outcome_of(
    plan: Plan, column: Column, job: Job, draws: list[FloatArray], processes: int
) -> dict[str, Any]:
    """Return loss and hyper-parameters; over several imputations the scores are averaged."""
    _, r, fold, name = job.key
    (algorithm,), seed, loss = find([name]), seed_of(plan.seed, r, fold), plan.experiment.loss
    y_test = column.y[job.test]
    scores, settings = [], []
    for draw, X in enumerate(draws):
        work = Work(
            X[job.train],
            column.y[job.train],
            X[job.test],
            loss,
            seed + draw,
            y_test if algorithm.leaks else None,
            processes,
        )
        answer = algorithm.answer(work)
        scores.append(answer.scores)
        settings.append(answer.settings)
    told: Any = settings[0] if len(settings) == 1 else settings
    return {"loss": loss_of(loss, y_test, np.mean(scores, axis=0)), "settings": told}


def header_of(plan: Plan, columns: list[Column], command: str) -> dict[str, Any]:
    """Return what a run of the command is, for the first of its lines."""
    experiment = plan.experiment
    return {
        "experiment": experiment.name,
        "loss": experiment.loss,
        "folds": plan.folds,
        "imputations": plan.imputations if has_gaps(columns) else None,
        "seed": plan.seed,
        "data": {column.name: digest_of(column) for column in columns},
        "split": {column.name: split_digest(column) for column in columns if column.split},
        "tested": {column.name: tested(column) for column in columns if column.split},
        "protocol": experiment.protocol,
        "notes": {a.name: a.about for a in find(plan.algorithms) if a.about},
        "command": command,
        "jobs": plan.jobs,
        "cores": os.cpu_count(),
        "versions": versions(),
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def has_gaps(columns: list[Column]) -> bool:
    """Whether anything is to be imputed."""
    return any(bool(np.isnan(column.X).any()) for column in columns)


def digest_of(column: Column) -> dict[str, Any]:
    """Return what tells the rows of a column from others."""
    content = sha256(np.ascontiguousarray(column.X).tobytes() + column.y.tobytes())
    about = {"rows": len(column.y), "features": column.X.shape[1]}
    return {**about, "not_0": int((column.y > 0).sum()), "sha256": content.hexdigest()[:16]}


def split_digest(column: Column) -> str:
    """Return what tells one division into training and test rows from another."""
    assert column.split is not None
    train, test = column.split
    return sha256(train.tobytes() + b" " + test.tobytes()).hexdigest()[:16]


def tested(column: Column) -> dict[str, int] | None:
    """Return how many rows of a split are for testing alone, and how many are not of class 0."""
    assert column.split is not None
    train, test = column.split
    if np.isin(test, train).any():
        return None
    return {"rows": len(test), "cases": int((column.y[test] > 0).sum())}


def versions() -> dict[str, str]:
    """Return the versions of what computes."""
    found = {"predictree": __version__, "python": platform.python_version()}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def check_same(header: dict[str, Any], known: Results, path: Path) -> None:
    """Raise if a file was begun with something that makes its lines incomparable with new ones."""
    for earlier in known.headers:
        for what in FIXED:
            if earlier.get(what, header[what]) != header[what]:
                told = (
                    "" if what in ("data", "split") else f" ({earlier[what]}, now {header[what]})"
                )
                raise InvalidInputError(
                    f"{path} was begun with another {what}{told}: give the same, or another --out"
                )


class Progress:
    """Tells of every fit, and how long the others may take."""

    def __init__(self, n: int, jobs: int, tell: Tell) -> None:
        self.n, self.jobs, self.tell = n, max(jobs, 1), tell
        self.done: set[Key] = set()
        self.seconds: dict[str, list[float]] = defaultdict(list)

    def add(self, line: dict[str, Any], jobs: list[Job]) -> None:
        """Tell of one more line."""
        self.done.add(key_of(line))
        self.seconds[line["algorithm"]].append(line["seconds"])
        where = f"{line['column']}, " if line["column"] else ""
        loss = line["error"] if line["loss"] is None else f"{line['loss']:.4f}"
        self.tell(
            f"[{len(self.done)}/{self.n}] {where}run {line['run'] + 1}, fold {line['fold'] + 1}, "
            f"{line['algorithm']}: {loss} in {line['seconds']:.1f} s{self._left(jobs)}"
        )

    def _left(self, jobs: list[Job]) -> str:
        """Return the time that is left, once every algorithm that is left has been seen."""
        left = [job.key[3] for job in jobs if job.key not in self.done]
        if not left or any(name not in self.seconds for name in left):
            return ""
        mean = {name: float(np.mean(times)) for name, times in self.seconds.items()}
        return f"; about {duration(sum(mean[name] for name in left) / self.jobs)} left"


def duration(seconds: float) -> str:
    """Return a time in words."""
    for unit, size in (("h", 3600.0), ("min", 60.0)):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} s"
