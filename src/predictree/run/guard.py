"""Learners that fail, hang or warn: what is caught, cut off and kept from the user."""

import faulthandler
import os
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

R = TypeVar("R")

CLOCK = 0.05  # seconds by which a file's time may be off
MAX_WARNINGS = 1000  # of one fit; past this the learner is taken to warn endlessly


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a learner has no candidate here."""

    learner: str
    reason: str


class TooManyWarningsError(Exception):
    """Raised inside a learner that keeps warning."""


@dataclass(frozen=True, slots=True)
class Lost:
    """In place of a result: why there is none."""

    why: str


@dataclass(frozen=True, slots=True)
class Guard:
    """A function that marks the task it works on, so that one sees what a process died of.

    A mark is a file that is there until the task is done. Its time is that of the latest fit.
    """

    function: Callable[[Any], Any]
    folder: Path
    patience: float | None

    def __call__(self, numbered: tuple[int, Any]) -> Any:
        """Work on a task; fits are limited meanwhile, see `limited_fit`."""
        i, task = numbered
        mark = self._mark(i)
        mark.touch()
        _thread.limit = self.patience, mark
        try:
            return self.function(task)
        finally:
            _thread.limit = None
            mark.unlink(missing_ok=True)

    def _mark(self, i: int) -> Path:
        return self.folder / str(i)

    def marked(self) -> list[int]:
        """Return the tasks that were not done, that with the oldest fit first."""
        marks = sorted(self.folder.iterdir(), key=lambda mark: mark.stat().st_mtime_ns)
        return [int(mark.name) for mark in marks]

    def is_overdue(self, i: int) -> bool:
        """Whether the latest fit of a task began longer ago than patience lasts."""
        if self.patience is None or not self._mark(i).exists():
            return False
        return time.time() - self._mark(i).stat().st_mtime >= self.patience - CLOCK


@contextmanager
def limited_fit() -> Iterator[None]:
    """End this process if the fit within takes longer than the task's guard has patience.

    The watch is a thread that needs no interpreter: it also ends code that never comes back to it.
    """
    patience, mark = getattr(_thread, "limit", None) or (None, None)
    if patience is None or mark is None:
        yield
        return
    os.utime(mark)
    with Path(os.devnull).open("w") as nowhere:
        faulthandler.dump_traceback_later(patience, exit=True, file=nowhere)
        try:
            yield
        finally:
            faulthandler.cancel_dump_traceback_later()


def attempt(learner: str, work: Callable[[], R]) -> R | Failure:
    """Return what the work returns, or the failure it ends in."""
    try:
        with muted_warnings():
            _thread.warnings = 0
            return work()
    except (Exception, SystemExit) as error:  # a learner may not end the fit
        text = " ".join(str(error).split())
        return Failure(learner, f"{type(error).__name__}: {text}"[:300])
    finally:
        _thread.warnings = None


_thread = threading.local()  # .muted: depth; .warnings: so far in this attempt; .limit: of fits
_hook = threading.Lock()  # held while the hook is in place


@contextmanager
def heard_warnings() -> Iterator[None]:
    """Let the user hear a warning of ours amid those of learners."""
    muted = getattr(_thread, "muted", 0)
    _thread.muted = 0
    try:
        yield
    finally:
        _thread.muted = muted


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
