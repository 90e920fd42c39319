"""Running work: one seam over joblib, and what to do with a learner that fails."""

import threading
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Self, TypeVar
from uuid import uuid4

import numpy as np
from joblib import effective_n_jobs
from joblib.parallel import get_active_backend
from numpy.typing import NDArray
from sklearn.utils.parallel import Parallel, delayed  # these carry scikit-learn's configuration

T = TypeVar("T")
R = TypeVar("R")

SMALL = 1 << 16  # bytes that may as well travel with every task
MAX_WARNINGS = 1000  # of one fit; past this the learner is taken to warn endlessly


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a learner has no candidate here."""

    learner: str
    reason: str


class TooManyWarningsError(Exception):
    """Raised inside a learner that keeps warning."""


class OutOfTimeError(BaseException):
    """Raised before a fit once the deadline has passed; no learner's failure, so no Exception."""


class Executor:
    """Runs tasks over joblib's current backend; results come in the order of the tasks.

    joblib divides the cores between its processes: what runs there has its inner threads pinned.
    Use it in a ``with`` statement: at the end its files are removed. After the deadline, a moment
    of `time.monotonic`, no further task is begun.
    """

    def __init__(self, n_jobs: int | None = None, deadline: float | None = None) -> None:
        self.n_jobs, self.deadline = n_jobs, deadline
        self._folder: TemporaryDirectory[str] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        if self._folder is not None:
            self._folder.cleanup()
            self._folder = None

    def map(self, function: Callable[[T], R], tasks: Sequence[T]) -> Iterator[R]:
        """Yield ``function(task)`` for every task, lazily."""
        if effective_n_jobs(self.n_jobs) == 1 or not tasks:
            return self._in_time(map(function, tasks))
        parallel = Parallel(n_jobs=self.n_jobs, return_as="generator")
        results: Iterator[R] = parallel(delayed(function)(task) for task in tasks)
        return self._in_time(_one_ahead(results))

    @property
    def is_late(self) -> bool:
        """Whether the deadline has passed."""
        return self.deadline is not None and time.monotonic() >= self.deadline

    def check(self) -> None:
        """Raise if the deadline has passed."""
        check_deadline(self.deadline)

    def _in_time(self, results: Iterator[R]) -> Iterator[R]:
        """Yield results, the next one only before the deadline."""
        while True:
            self.check()
            try:
                result = next(results)
            except StopIteration:
                return
            yield result

    def share(self, array: NDArray[Any]) -> NDArray[Any]:
        """Return the array, mapped from a file where tasks go to other processes of this machine.

        It travels there as the name of the file, and all processes have one copy between them.
        """
        backend, _ = get_active_backend()
        of_processes = type(backend).__name__ in {"LokyBackend", "MultiprocessingBackend"}
        if not of_processes or effective_n_jobs(self.n_jobs) == 1 or array.nbytes < SMALL:
            return array
        if self._folder is None:
            self._folder = TemporaryDirectory(prefix="predictree-", ignore_cleanup_errors=True)
        path = Path(self._folder.name) / f"{uuid4().hex}.npy"
        np.save(path, array)
        return np.asanyarray(np.load(path, mmap_mode="r"))


def check_deadline(deadline: float | None) -> None:
    """Raise if a moment has passed."""
    if deadline is not None and time.monotonic() >= deadline:
        raise OutOfTimeError


def _one_ahead(results: Iterator[R]) -> Iterator[R]:
    """Yield a result when the next is there: after the last, joblib knows that all were taken."""
    for first in results:
        for after in results:
            yield first
            first = after
        yield first


def attempt(learner: str, work: Callable[[], R]) -> R | Failure:
    """Return what the work returns, or the failure it ends in."""
    try:
        with muted_warnings():
            _thread.warnings = 0
            return work()
    except Exception as error:
        text = " ".join(str(error).split())
        return Failure(learner, f"{type(error).__name__}: {text}"[:300])
    finally:
        _thread.warnings = None


_thread = threading.local()  # .muted: depth of muting; .warnings: their number in this attempt
_hook = threading.Lock()  # held while the hook is in place


@contextmanager
def muted_warnings() -> Iterator[None]:
    """Keep learners' warnings from the user, and stop a learner that warns endlessly.

    The hook belongs to the process, and whoever finds it in place leaves it to the one who put it
    there; the muting belongs to the thread, so that others' warnings pass through.
    """
    _thread.muted = getattr(_thread, "muted", 0) + 1
    try:
        if _hook.acquire(blocking=False):
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("always")
                    warnings.showwarning = _swallowing(warnings.showwarning)
                    yield
            finally:
                _hook.release()
        else:
            yield
    finally:
        _thread.muted -= 1


def _swallowing(show: Callable[..., None]) -> Callable[..., None]:
    """Return a hook that swallows the warnings of muted threads and shows all others."""

    def swallow(*args: Any, **kwargs: Any) -> None:
        if not getattr(_thread, "muted", 0):
            show(*args, **kwargs)
        elif getattr(_thread, "warnings", None) is not None:
            _thread.warnings += 1
            if _thread.warnings > MAX_WARNINGS:
                raise TooManyWarningsError(f"more than {MAX_WARNINGS} warnings in one fit")

    return swallow
