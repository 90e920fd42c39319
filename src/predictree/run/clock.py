"""The clock of a fit: no fit is begun after the deadline, and what stands then is the tree."""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeVar

from predictree.run.guard import muted_warnings

T = TypeVar("T")


class OutOfTimeError(BaseException):
    """Raised before a fit once the deadline has passed; no learner's failure, so no Exception."""


@dataclass(frozen=True, slots=True)
class Clock:
    """A deadline, a moment of `time.monotonic`, or none."""

    deadline: float | None = None

    @property
    def is_late(self) -> bool:
        """Whether the deadline has passed."""
        return self.deadline is not None and time.monotonic() >= self.deadline

    def check(self) -> None:
        """Raise if the deadline has passed."""
        if self.is_late:
            raise OutOfTimeError

    def until(self, decisions: Iterator[T]) -> Iterator[T]:
        """Pass on what is decided in time; what is under way at the deadline is not decided."""
        while True:
            try:
                self.check()
                with muted_warnings():
                    decision = next(decisions)
            except (StopIteration, OutOfTimeError):
                return
            yield decision


FOREVER = Clock()
