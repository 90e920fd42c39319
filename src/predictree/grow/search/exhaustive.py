"""The paper's search: every split, every learner trained on both of its sides.

Where sums tell what every split comes to, they rank all of them, and only those that may be the
best are trained and judged row by row.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from predictree.grow.fits import Fits
from predictree.grow.leaf import Leaf, Trial
from predictree.grow.rows import Limits, Rows
from predictree.grow.search.tallied import Tallied
from predictree.grow.search.trials import Trials
from predictree.grow.squares import Squares
from predictree.model.tree import FloatArray

SETTLED = 3  # splits at least that are judged row by row
NEAR = 1e-7  # relative difference to the best below which a split may be it


class Sums(Protocol):
    """A combination that can tell from sums what splits come to."""

    def by_squares(self, leaf: Leaf, squares: Squares) -> FloatArray:
        """Return the loss of every split."""


@dataclass(frozen=True)
class Exhaustive:
    """Try every split with all learners."""

    limits: Limits
    fits: Fits
    combine: Sums
    _known: list[tuple[Rows, Tallied]] = field(default_factory=list, init=False)

    def __call__(self, leaf: Leaf) -> Iterator[Trial]:
        """Yield the trials of a leaf, in the order in which ties are broken."""
        trials = Trials(leaf, self.limits, self.fits)
        tallied, without = self._tallied(leaf, trials)
        if tallied is None:
            trials.count()
            return trials.in_time(trials.of_all(trials.splits))
        self.fits.executor.clock.check()
        places = self._promising(leaf, tallied, without)
        return trials.in_time(self._trial(leaf, trials, tallied, one, without) for one in places)

    def _trial(
        self, leaf: Leaf, trials: Trials, tallied: Tallied, place: int, without: int | None
    ) -> Trial:
        """Return one split with its scores: by sums, or by the learners' forms."""
        found = tallied.trial(leaf, place, without)
        return found or next(trials.of_all([[tallied.splits[place]]]))

    def _promising(self, leaf: Leaf, tallied: Tallied, without: int | None) -> list[int]:
        """Return the places of splits that may be the best, if any is below the bar."""
        losses = self.combine.by_squares(leaf, tallied.squares(without))
        admitted = tallied.admitted(self.limits, without)
        losses = np.where(admitted & ~np.isnan(losses), losses, np.inf)
        order = np.argsort(losses, kind="stable")
        near = losses[order] <= losses[order[0]] + NEAR * leaf.loss
        near[: SETTLED if without is None else 1] = True
        bar = leaf.loss - self.limits.min_gain - leaf.slack / 2  # sums round less than that
        few = order[near & (losses[order] < bar)]
        return [int(place) for place in np.sort(few)]

    def _tallied(self, leaf: Leaf, trials: Trials) -> tuple[Tallied | None, int | None]:
        """Return the sums of a leaf, and which part is left out of them.

        The last leaf's are kept, for what is asked of it without a part of its rows.
        """
        if leaf.rows.apart is not None:
            whole, part = leaf.rows.apart
            for rows, known in self._known:
                if rows is whole:
                    return known, part
        self._known.clear()
        tallied = Tallied.of(leaf, trials, self.fits.executor.spread)
        if tallied is not None:
            self._known.append((leaf.rows, tallied))
        return tallied, None
