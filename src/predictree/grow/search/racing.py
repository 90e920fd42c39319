"""Racing: what is cheap ranks all splits, and slow learners see a shortlist.

What is on the list is for the combination to say: it knows what makes a split promising.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Protocol

import numpy as np

from predictree.grow.fits import Fits
from predictree.grow.leaf import Leaf, Trial
from predictree.grow.rows import Limits
from predictree.grow.search.trials import Trials, by_feature
from predictree.model.tree import FloatArray, Split

# From so many rows on, the rounds of a race, each with the share of the rows that the slow learners
# get and the length of the shortlist. Fewer rows tell fewer splits apart, and a share of them is
# not worth the fit. What ranks first is a gain by the learner that ranked it; a stand-in only
# guesses, and has lists twice as long. benchmarks/shortlists.py measures what is lost.
RACES = (
    (4500, ((1 / 9, 8), (1.0, 1))),
    (1000, ((1.0, 2),)),
    (0, ((1.0, 1),)),
)
# Splits of a race of mixtures that are tried with more than what ranks them: with closed forms that
# take steps or, where there are none, with the first of the slow learners.
FINALISTS, SLOW_FINALISTS = 8, 2
# Quick learners race from so many rows on, with a share of the rows, but not with fewer than the
# last: below, all rows cost little.
MANY, TENTH, FEWEST = 20_000, 0.1, 5_000


class Ranks(Protocol):
    """A combination that can tell promising splits."""

    def ranked(self, leaf: Leaf, trials: Iterable[Trial]) -> list[Split]:
        """Return splits, best guess first; one alone if nothing can be better."""


@dataclass(frozen=True)
class Rounds:
    """Give the slow learners a growing share of the rows on a shrinking shortlist.

    Only what was trained on all of them can win.
    """

    limits: Limits
    fits: Fits
    combine: Ranks

    def __call__(self, leaf: Leaf) -> Iterator[Trial]:
        """Yield the finalists of a leaf."""
        trials = Trials(leaf, self.limits, self.fits)
        if not trials.slow:
            return trials.in_time(trials.of_all(shortlist(trials, self.combine)))
        trials.count()
        told = trials.ranking()
        for share, length in rounds(len(leaf.rows.train), guesses=not trials.solved):
            few = self.combine.ranked(leaf, trials.in_time(told))[:length]
            told = trials.of_all(by_feature(few), share, keeps=share == 1)
        return trials.in_time(told)


@dataclass(frozen=True)
class Scouts:
    """Choose the split by what is quick; the slow learners join once it is decided.

    Of the quick ones, those that take steps see the finalists alone. Where probabilities are
    judged, they rank the splits, too: by what one step would gain. Only if there are no quick ones,
    the first of the slow learners has to be trained before.
    """

    limits: Limits
    fits: Fits
    combine: Ranks

    def __call__(self, leaf: Leaf) -> Iterator[Trial]:
        """Yield the splits of a leaf that may be chosen."""
        trials = Trials(leaf, self.limits, self.fits)
        if trials.slow:
            trials.count()
        return trials.in_time(self._told(trials))

    def _told(self, trials: Trials) -> Iterator[Trial]:
        quick = trials.closed[1]
        gains = trials.gains() if trials.problem.loss.proper else []
        if not trials.slow and not gains:
            return trials.of_all(shortlist(trials, self.combine))
        if quick and len(quick) == len(trials.solved):
            return trials.ranking()
        few = self._ranked(trials, gains)[: FINALISTS if quick else SLOW_FINALISTS]
        if quick:
            return trials.of_quick(by_feature(few), *trials.closed, not trials.slow)
        return trials.of_all(by_feature(few), scouts=trials.scouts)

    def _ranked(self, trials: Trials, gains: list[FloatArray]) -> list[Split]:
        """Return splits, best guess first: those of all that rank them, by turns."""
        flat = [split for splits in trials.splits for split in splits]
        told = [[flat[i] for i in np.argsort(-gain, kind="stable")] for gain in gains]
        if trials.solved or not told:
            told.append(self.combine.ranked(trials.leaf, trials.in_time(trials.ranking())))
        by_turns = [split for some in zip_longest(*told) for split in some if split is not None]
        return list(dict.fromkeys(by_turns))


def shortlist(trials: Trials, combine: Ranks) -> list[list[Split]]:
    """Return the splits, by feature, that quick learners see with all rows.

    Where rows are many, a tenth of them ranks the splits, which then take the thresholds of all.
    """
    leaf, n_rows = trials.leaf, len(trials.rows.train)
    if n_rows < MANY:
        return trials.splits
    few = leaf.sampled(max(TENTH, FEWEST / n_rows))
    some = Trials(few, trials.limits, trials.fits)
    told = some.in_time(some.of_quick(some.splits, *some.closed))
    best = combine.ranked(few, told)[:FINALISTS] if some.splits else []
    every = {s.feature: trials.rows.of_feature(s.feature, trials.limits) for s in best}
    found = (nearest(split, every[split.feature]) for split in best)
    return by_feature(split for split in found if split is not None)


def nearest(split: Split, splits: Sequence[Split]) -> Split | None:
    """Return the split of the same kind whose threshold is nearest."""

    def distance(other: Split) -> float:
        same = split.threshold == other.threshold
        return 0.0 if same else abs(split.threshold - other.threshold)

    kind = split.is_level, split.had_missing and split.missing_left
    alike = [s for s in splits if (s.is_level, s.had_missing and s.missing_left) == kind]
    found = min(alike, key=distance, default=None)
    return None if found is None or not np.isfinite(distance(found)) else found


def rounds(n_rows: float, guesses: bool) -> list[tuple[float, int]]:
    """Return the rounds of a race on so many rows: the share of them, and how many splits."""
    race = next(race for least, race in RACES if n_rows >= least)
    return [(share, 2 * length if guesses else length) for share, length in race]
