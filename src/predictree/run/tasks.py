"""Running tasks: one seam over joblib, whose processes may die and be cut off."""

from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import BrokenExecutor
from contextlib import suppress
from pathlib import Path
from shutil import rmtree
from tempfile import TemporaryDirectory
from typing import Any, Self, TypeVar
from uuid import uuid4

import numpy as np
from joblib import effective_n_jobs
from joblib.externals.loky import get_reusable_executor
from joblib.parallel import get_active_backend
from numpy.typing import NDArray
from sklearn.utils.parallel import Parallel, delayed  # these carry scikit-learn's configuration

from predictree.errors import InvalidInputError
from predictree.run.clock import FOREVER, Clock, OutOfTimeError
from predictree.run.guard import Failure, Guard, Lost, muted_warnings
from predictree.run.threads import in_threads

T = TypeVar("T")
R = TypeVar("R")

SMALL = 1 << 16  # bytes that may as well travel with every task
STRIKES = 3  # lost tasks after which a learner is given up
GIVEN_UP = f"given up after {STRIKES} losses: its processes were killed or cut off"


class Executor:
    """Runs tasks over joblib's current backend; results come in the order of the tasks.

    joblib divides the cores between its processes: what runs there has its inner threads pinned.
    Use it in a ``with`` statement: at the end its files are removed, and after an error or an
    interrupt its processes are ended. Past the clock's deadline no
    further task is begun.

    A process of this machine that is killed takes its task with it and no other: what it had in
    hand is tried again by itself, and if that kills a process, too, it is lost. A fit that takes
    longer than ``learner_timeout`` seconds is cut off in the same way, without a second try. A
    learner that lost its third task is given up.
    """

    def __init__(
        self,
        n_jobs: int | None = None,
        clock: Clock = FOREVER,
        learner_timeout: float | None = None,
    ) -> None:
        self.n_jobs, self.clock, self.learner_timeout = n_jobs, clock, learner_timeout
        self.fits = 0  # so far
        self._lost: Counter[str] = Counter()  # tasks, by learner
        self._folder: TemporaryDirectory[str] | None = None
        self._has_processes = False
        if learner_timeout is not None and not _runs_processes():
            raise InvalidInputError(
                f"learner_timeout={learner_timeout:g} needs processes of this machine, to cut off "
                "one that hangs: leave joblib's backend at loky and do not fit inside another "
                "parallel search, or leave learner_timeout out"
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *more: object) -> None:
        if kind is not None and self._has_processes:
            processes = get_reusable_executor(reuse=True, kill_workers=True)  # or it waits for them
            processes.shutdown(wait=False, kill_workers=True)
        if self._folder is not None:
            self._folder.cleanup()
            self._folder = None

    def map(
        self,
        function: Callable[[T], R],
        tasks: Sequence[T],
        who: Callable[[T], str],
        lost: Callable[[Failure], R],
        in_any_case: bool = False,
        fits: int = 1,
    ) -> Iterator[R]:
        """Yield ``function(task)`` for every task, lazily.

        Parameters
        ----------
        function : callable
        tasks : sequence
        who : callable
            Takes a task and returns whose fit it is.
        lost : callable
            Returns what stands for the result of a task that was lost.
        in_any_case : bool
            Whatever the time.
        fits : int
            So many a task.
        """
        if not tasks:
            return iter(())
        if self._isolates:
            results = self._guarded(function, tasks, who, lost)
        elif effective_n_jobs(self.n_jobs) == 1:
            results = (function(task) for task in tasks)
        else:
            results = self._parallel(function, tasks)
        return self._counted(results if in_any_case else self._in_time(results), fits)

    def spread(self, function: Callable[[T], R], tasks: Iterable[T]) -> Iterator[R]:
        """Yield ``function(task)`` for every task, in order, by as many threads as there are jobs.

        For what is compiled, or BLAS: its own threads are left out.
        """
        return in_threads(function, tasks, effective_n_jobs(self.n_jobs))

    def share(self, array: NDArray[Any]) -> NDArray[Any]:
        """Return the array, mapped from a file where tasks go to other processes of this machine.

        It travels there as the name of the file, and all processes have one copy between them.
        """
        if not self._isolates or array.nbytes < SMALL:
            return array
        path = self._place() / f"{uuid4().hex}.npy"
        np.save(path, array)
        return np.asanyarray(np.load(path, mmap_mode="r"))

    def unshare(self, arrays: Iterable[NDArray[Any]]) -> None:
        """Remove the files of arrays that no task will ask for any more."""
        for array in arrays:
            if isinstance(array, np.memmap) and array.filename is not None:
                with suppress(OSError):  # where a mapped file cannot be removed, the end does it
                    Path(array.filename).unlink()

    @property
    def _isolates(self) -> bool:
        """Whether tasks run in other processes of this machine."""
        many = effective_n_jobs(self.n_jobs) > 1
        return _runs_processes() and (many or self.learner_timeout is not None)

    def _place(self) -> Path:
        """Return a folder for the files that processes share."""
        if self._folder is None:
            self._folder = TemporaryDirectory(prefix="predictree-", ignore_cleanup_errors=True)
        return Path(self._folder.name)

    def _counted(self, results: Iterator[R], fits: int) -> Iterator[R]:
        for result in results:
            self.fits += fits
            yield result

    def _in_time(self, results: Generator[R, None, None]) -> Iterator[R]:
        """Yield results, the next one only before the deadline."""
        while True:
            if self.clock.is_late:
                with muted_warnings():  # joblib tells of what it cancels
                    results.close()
                raise OutOfTimeError
            try:
                result = next(results)
            except StopIteration:
                return
            yield result

    def _parallel(self, function: Callable[[T], R], tasks: Sequence[T]) -> Generator[R, None, None]:
        """Run tasks over joblib; with one job, one at a time in a process of its own."""
        n_jobs = effective_n_jobs(self.n_jobs)
        self._has_processes = _runs_processes()
        parallel = Parallel(
            n_jobs=max(n_jobs, 2),
            pre_dispatch=1 if n_jobs == 1 else "2 * n_jobs",
            batch_size=1,
            return_as="generator",
        )
        return _one_ahead(parallel(delayed(function)(task) for task in tasks))

    def _guarded(
        self,
        function: Callable[[T], R],
        tasks: Sequence[T],
        who: Callable[[T], str],
        lost: Callable[[Failure], R],
    ) -> Generator[R, None, None]:
        """Run tasks in processes that may die."""
        known: dict[int, R] = {}  # results that did not come in their turn
        place = 0
        while place < len(tasks):
            left = [i for i in range(place, len(tasks)) if i not in known]
            gone = [i for i in left if self._lost[who(tasks[i])] >= STRIKES]
            known |= {i: lost(Failure(who(tasks[i]), GIVEN_UP)) for i in gone}
            waiting = [(i, tasks[i]) for i in left if i not in known]
            here = Guard(function, self._place() / uuid4().hex, self.learner_timeout)
            here.folder.mkdir()
            try:
                results = self._parallel(here, waiting) if waiting else iter(())
                while place < len(tasks):
                    yield known.pop(place) if place in known else next(results)
                    place += 1
            except BrokenExecutor:
                marked = here.marked() or [waiting[0][0]]
                overdue = here.is_overdue(marked[0])  # only the oldest can have been cut off
                for i in marked:
                    result = self._alone(here, i, tasks[i], overdue and i == marked[0])
                    if isinstance(result, Lost):
                        self._lost[who(tasks[i])] += 1
                        known[i] = lost(Failure(who(tasks[i]), result.why))
                    else:
                        known[i] = result
            finally:
                rmtree(here.folder, ignore_errors=True)

    def _alone(self, here: "Guard", i: int, task: Any, was_cut: bool) -> Any:
        """Try a task again whose process died, with no other beside it, unless it was cut off."""
        if not was_cut:
            try:
                return next(self._parallel(here, [(i, task)]))
            except BrokenExecutor:
                was_cut = here.is_overdue(i)
        if was_cut:
            return Lost(f"a fit took longer than learner_timeout={here.patience:g} s")
        return Lost("its process was killed, and again when it ran alone: out of memory?")


def _runs_processes() -> bool:
    """Whether joblib's current backend has processes on this machine."""
    return type(get_active_backend()[0]).__name__ == "LokyBackend"


def _one_ahead(results: Iterator[R]) -> Generator[R, None, None]:
    """Yield a result when the next is there: after the last, joblib knows that all were taken."""
    for first in results:
        for after in results:
            yield first
            first = after
        yield first
