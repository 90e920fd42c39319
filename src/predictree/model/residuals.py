"""How far off answers were on rows that their models did not see: intervals and sets that hold.

Split conformal prediction on out-of-fold answers (as cross-conformal and CV+ do), region by region:
of n rows of a region, the ⌈(n + 1) c⌉-th smallest error bounds that of a new row with probability
c. Regions with few rows share theirs with their neighbours.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from math import ceil, floor

import numpy as np

from predictree.model.tree import NONE, FloatArray, IntArray, Tree

ENOUGH = 100  # rows of regions that have errors of their own
MOST = 200  # errors of regions that are kept: every so-manieth in order, and no more than half,
BY = 25  # in steps of so many
BINS, A_BIN = 10, 50  # of answers, in which the spread is measured, and rows of one
CALM = 0.1  # of the mean spread: the least
ROUNDING = 1e-9  # of a rank


@dataclass(frozen=True, eq=False)
class Residuals:
    """Errors of held-out rows.

    Attributes
    ----------
    answers, spread : array of shape (b,)
        How large errors are at some answers, which rise; between them it is on a line. Errors are
        kept in units of it. Of classes it is 1.
    leaves, group : array of shape (l,)
        The leaves of the first tree, which rise, and the place in ``errors`` that each looks at.
    counts : array of shape (m,)
        How many rows the errors are of.
    errors : tuple of array
        In rising order: in a regression label minus answer, of classes what the true one lacks of
        certainty. The first are those of all rows.
    """

    answers: FloatArray
    spread: FloatArray
    leaves: IntArray
    group: IntArray
    counts: IntArray
    errors: tuple[FloatArray, ...]

    def at(self, answers: FloatArray) -> FloatArray:
        """Return how large errors are at answers."""
        return np.interp(answers, self.answers, self.spread)

    def below(self, leaves: IntArray, level: float) -> FloatArray:
        """Return what errors are above with at least a probability of 1 − level: (n,)."""
        return self._looked_up(leaves, ceil(1 / level - ROUNDING) - 1, partial(self._low, level))

    def above(self, leaves: IntArray, level: float) -> FloatArray:
        """Return what errors are below with at least this probability: (n,)."""
        need = ceil(1 / (1 - level) - ROUNDING) - 1
        return self._looked_up(leaves, need, partial(self._high, level))

    def _looked_up(self, leaves: IntArray, need: int, of: Callable[[int], float]) -> FloatArray:
        """Return a bound for every leaf: by all rows, where its own are fewer than needed."""
        group = self.group[np.searchsorted(self.leaves, leaves)]
        group = np.where(self.counts[group] >= need, group, 0)
        bounds = np.array([of(i) for i in range(len(self.errors))])
        return np.asarray(bounds[group])

    def _low(self, level: float, i: int) -> float:
        n, errors = int(self.counts[i]), self.errors[i]
        rank = floor((n + 1) * level + ROUNDING)
        place = int(np.searchsorted(ranks(n), rank, side="right")) - 1
        return float(errors[place]) if place >= 0 else -np.inf

    def _high(self, level: float, i: int) -> float:
        n, errors = int(self.counts[i]), self.errors[i]
        place = int(np.searchsorted(ranks(n), ceil((n + 1) * level - ROUNDING)))
        return float(errors[place]) if place < len(errors) else np.inf


def residuals(
    tree: Tree,
    leaf: IntArray,
    errors: FloatArray,
    answers: FloatArray | None,
    weight: FloatArray | None,
) -> Residuals:
    """Sort the errors of held-out rows by regions.

    Parameters
    ----------
    tree : Tree
    leaf, errors : array of shape (n,)
    answers : array of shape (n,) or None
        By which the spread of the errors differs; None if it does not.
    weight : array of shape (n,) or None
    """
    mass = np.ones(len(errors)) if weight is None else weight
    at, spread = (np.zeros(1), np.ones(1)) if answers is None else _spread(errors, answers, mass)
    scaled = errors if answers is None else errors / np.interp(answers, at, spread)
    leaves = np.flatnonzero(tree.feature == NONE)
    owner = _owners(tree, leaves, np.bincount(leaf, minlength=len(tree)))
    own = owner[np.searchsorted(leaves, leaf)]
    nodes = np.unique(own)
    group = np.where(np.isin(owner, nodes), np.searchsorted(nodes, owner) + 1, 0)
    parts = [np.ones(len(leaf), dtype=bool), *(own == node for node in nodes)]
    found = [_in_order(scaled[part], mass[part]) for part in parts]
    counts = np.array([n for n, _ in found])
    return Residuals(at, spread, leaves, group, counts, tuple(some for _, some in found))


def _owners(tree: Tree, leaves: IntArray, n_rows: IntArray) -> IntArray:
    """Return the node whose errors each leaf looks at: its own, if it has enough rows.

    Leaves with fewer share those of all such leaves below the nearest node where that is enough:
    of their rows alone, since rows of other regions would promise too much or too little.
    """
    open_to: dict[int, list[int]] = {int(leaf): [int(leaf)] for leaf in leaves}
    owner = dict.fromkeys(map(int, leaves), 0)
    for node in range(len(tree) - 1, -1, -1):
        waiting = open_to.pop(node, [])
        if node and sum(int(n_rows[leaf]) for leaf in waiting) < ENOUGH:
            open_to.setdefault(int(tree.parent[node]), []).extend(waiting)
            continue
        owner.update(dict.fromkeys(waiting, node))
    return np.array([owner[int(leaf)] for leaf in leaves])


def ranks(n: int) -> IntArray:
    """Return the ranks of the errors that are kept of n: the least, the largest, some between.

    Where one is wanted that is not kept, the next one outwards stands for it.
    """
    kept = min(max(n // 2 // BY * BY, BY), n, MOST)
    return np.unique(np.round(np.linspace(1, n, kept)).astype(np.int64))


def _in_order(errors: FloatArray, weight: FloatArray) -> tuple[int, FloatArray]:
    """Return of how many rows errors tell, and those that are kept.

    Rows that differ in weight tell of fewer, and stand for their share.
    """
    place = np.argsort(errors, kind="stable")
    n = int(weight.sum() ** 2 / np.square(weight).sum() + ROUNDING)
    share = np.cumsum(weight[place]) / weight.sum()
    of_rank = np.searchsorted(share, (ranks(n) - 0.5) / n)
    return n, errors[place][of_rank]


def _spread(
    errors: FloatArray, answers: FloatArray, weight: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return the mean size of errors in bins of answers, and the mean answers of these bins."""
    size, n_bins = np.abs(errors), int(np.clip(len(errors) // A_BIN, 1, BINS))
    parts = np.array_split(np.argsort(answers, kind="stable"), n_bins)
    told = [[np.average(of[p], weights=weight[p]) for p in parts] for of in (answers, size)]
    at, first = np.unique(told[0], return_index=True)
    least = CALM * float(np.average(size, weights=weight))
    return at, np.maximum(told[1], least)[first] if least > 0 else np.ones(len(at))
