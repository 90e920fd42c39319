"""What a learner sees of the coded columns: as they are, one-hot, or as shares.

How a view is chosen for a learner is `predictree.learners.views`.
"""

from dataclasses import dataclass

import numpy as np

from predictree.model.tree import FloatArray


@dataclass(frozen=True, slots=True)
class AsItIs:
    """A column of numbers, or the codes of a category for a learner that wants those."""

    place: int

    @property
    def width(self) -> int:
        """Columns that it makes."""
        return 1

    def fill(self, out: FloatArray, column: FloatArray) -> None:
        """Write what is seen of a column."""
        out[:, 0] = column


@dataclass(frozen=True, slots=True)
class OneHot:
    """A category of few levels: an indicator of each, and of a missing one if there are any."""

    place: int
    codes: tuple[float, ...]
    missing: bool

    @property
    def width(self) -> int:
        """Columns that it makes."""
        return len(self.codes) + self.missing

    def fill(self, out: FloatArray, column: FloatArray) -> None:
        """Write what is seen of a column."""
        for j, code in enumerate(self.codes):
            out[:, j] = column == code
        if self.missing:
            out[:, -1] = np.isnan(column)


@dataclass(frozen=True)
class Share:
    """A category of many levels: the share of rows with that level, or with none."""

    place: int
    shares: FloatArray  # the last is of the missing; an unseen level has none

    @property
    def width(self) -> int:
        """Columns that it makes."""
        return 1

    def fill(self, out: FloatArray, column: FloatArray) -> None:
        """Write what is seen of a column."""
        code = np.where(np.isnan(column), len(self.shares) - 1, column).astype(np.int64)
        out[:, 0] = np.where(code < 0, 0.0, self.shares[code])


@dataclass(frozen=True)
class View:
    """What one learner sees of the coded columns."""

    parts: tuple[AsItIs | OneHot | Share, ...]

    def __call__(self, X: FloatArray) -> FloatArray:
        """Return the matrix that the learner sees."""
        seen = np.empty((len(X), sum(part.width for part in self.parts)))
        at = 0
        for part in self.parts:
            part.fill(seen[:, at : at + part.width], X[:, part.place])
            at += part.width
        return seen
