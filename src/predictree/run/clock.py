"""The clock of a fit: no fit is begun after the deadline, and what stands then is the tree."""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

from predictree.errors import InvalidInputError
from predictree.run.guard import muted_warnings

T = TypeVar("T")
UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0}


def seconds_of(name: str, value: Any) -> float:
    """Return a time in seconds: a number of them, or text such as "90s", "10m" or "2h"."""
    text = value.strip() if isinstance(value, str) else None
    try:
        unit = UNITS[text[-1]] if text and text[-1] in UNITS else 1.0
        seconds = float(text.rstrip("smh") if text is not None else value) * unit
    except (TypeError, ValueError):
        seconds = -1.0
    if isinstance(value, bool) or not seconds >= 0:
        raise InvalidInputError(
            f"{name}={value!r}: it must be a number of seconds of at least 0, or text such as "
            "'90s', '10m' or '2h'"
        )
    return seconds


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
