"""Memory as a budget: sizes in words, and which learners fit into a limit."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any

from predictree.errors import InvalidInputError, NoPredictorError
from predictree.learners import Learner
from predictree.learners.forms import fit_by_sums
from predictree.model.outputs import Labels
from predictree.model.tree import FloatArray
from predictree.run.guard import Failure
from predictree.run.measuring import Cost, memory_of, nested_samples

UNITS = {"": 1.0, "k": 1e3, "m": 1e6, "g": 1e9, "t": 1e12}
BINARY = {"": 1.0, "ki": 2.0**10, "mi": 2.0**20, "gi": 2.0**30, "ti": 2.0**40}
SIZES = (500, 1500)  # rows of the fits that are weighed


def bytes_of(size: Any) -> float:
    """Return a size in bytes, given as a number of them or as text such as "4GB" or "512 MiB"."""
    if isinstance(size, str):
        found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([kmgt]?i?)b?\s*", size.lower())
        scale = (UNITS | BINARY).get(found[2]) if found else None
        size = float(found[1]) * scale if found and scale is not None else size
    number = isinstance(size, Real) and not isinstance(size, bool)
    if not number or not 0 < size < float("inf"):
        raise InvalidInputError(
            f"memory_limit={size!r}: it must be a number of bytes above zero, or text such as "
            "'512MB', '4GB' or '4GiB'"
        )
    return float(size)


def in_words(n_bytes: float) -> str:
    """Return a size with two digits, such as 3.1 GB."""
    for unit, scale in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if n_bytes >= 0.9995 * scale:
            number = n_bytes / scale
            return f"{number:.1f} {unit}" if number < 9.95 else f"{number:.0f} {unit}"
    return f"{n_bytes:.0f} bytes"


@dataclass(frozen=True, slots=True)
class MemoryLimit:
    """A limit, and what is left of it for every process beside the table.

    Attributes
    ----------
    limit : float
        In bytes.
    table : int
        What X takes.
    workers : int
        Processes that fit at the same time.
    """

    limit: float
    table: int
    workers: int

    @property
    def left(self) -> float:
        """Bytes for one fit."""
        return max(0.0, self.limit - self.table) / self.workers

    def refusal(self, needed: float) -> str | None:
        """Return why a fit that needs so much may not be made; None if it may."""
        if needed <= self.left:
            return None
        where = "it" if self.workers == 1 else f"each of {self.workers} processes"
        return (
            f"needs about {in_words(needed)} for one fit, memory_limit leaves "
            f"{in_words(self.left)} for {where}"
        )

    def sieve(
        self, learners: Sequence[Learner], X: FloatArray, y: Labels, n_train: int
    ) -> tuple[tuple[Learner, ...], list[Failure]]:
        """Return the learners whose fits on so many rows have room, and why others have not.

        Learners with sufficient statistics are not fitted one by one, and stay. So does one that
        fails on the few rows it is tried on: the fit will tell.
        """
        refused = {
            learner.name: reason
            for learner in learners
            if not fit_by_sums(learner)
            and (reason := self.refusal(_needed(learner, X, y, n_train))) is not None
        }
        if len(refused) == len(learners):
            reasons = "; ".join(f"{name} {reason}" for name, reason in refused.items())
            raise NoPredictorError(
                f"no learner fits into memory_limit={in_words(self.limit)}: {reasons}. Raise it, "
                "lower n_jobs, or give lighter learners"
            )
        kept = tuple(learner for learner in learners if learner.name not in refused)
        return kept, [Failure(name, reason) for name, reason in refused.items()]


def _needed(learner: Learner, X: FloatArray, y: Labels, n_train: int) -> float:
    """Return the bytes that one fit of a learner needs, by a guess from fits on few rows."""
    samples = nested_samples(y, learner.classes is not None, SIZES)
    found = memory_of(learner, X, y, samples)
    return 0.0 if isinstance(found, Failure) else needed_at(found[0], n_train)


def needed_at(peak: Cost, n_train: float) -> float:
    """Return the bytes of one fit on so many rows, at least what fewer rows needed."""
    known = [cost for n, cost in zip(peak.rows, peak.costs, strict=True) if n <= n_train]
    return max([peak.at(n_train), *known])
