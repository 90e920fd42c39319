"""The paper's search: every split, every learner trained on both of its sides."""

from collections.abc import Iterator
from dataclasses import dataclass

from predictree.grow.fits import Fits
from predictree.grow.leaf import Leaf, Trial
from predictree.grow.rows import Limits
from predictree.grow.search.trials import Trials


@dataclass(frozen=True)
class Exhaustive:
    """Try every split with all learners."""

    limits: Limits
    fits: Fits

    def __call__(self, leaf: Leaf) -> Iterator[Trial]:
        """Yield the trials of a leaf, in the order in which ties are broken."""
        trials = Trials(leaf, self.limits, self.fits)
        trials.count()
        return trials.in_time(trials.of_all(trials.splits))
