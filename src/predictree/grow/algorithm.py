"""Algorithm 1, and nothing else.

Who searches, who judges, who demands a proof is the method's; a checkpoint, a deadline and progress
are wrappers around ``choose`` and around the stream of decisions, and nothing here knows of them.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Protocol

from predictree.grow.leaf import Choice, Decision, Found, Leaf, Lost, Trial
from predictree.grow.rows import Limits

ArgMin = Callable[[Leaf], Found | None]


class Combine(Protocol):
    """How predictors make the answer of a node."""

    def best(self, leaf: Leaf, trial: Trial, bar: float) -> Found | None:
        """Return what a split comes to at best; None if that is not below a bar."""

    def settle(self, leaf: Leaf, found: Found) -> Choice:
        """Fit what the children of a split keep; raise `Lost` if something cannot be kept."""


@dataclass(frozen=True)
class Method:
    """The parts that a tree is grown with: the only place where ways to grow one differ."""

    search: Callable[[Leaf], Iterable[Trial]]
    combine: Combine
    proof: Callable[[Leaf, Found, ArgMin], bool]
    limits: Limits


def grow(root: Leaf, choose: Callable[[Leaf], Choice | None]) -> Iterator[Decision]:
    """Algorithm 1: what becomes of each leaf. Stop asking, and the tree is what it is."""
    frontier = [root]  # h_X = arg min L(A(S), V¹)
    while frontier:
        for leaf in root.rows.batch(frontier):
            frontier.remove(leaf)
            choice = choose(leaf)
            frontier += choice.children if choice else ()
            yield Decision(leaf, choice)


def best_split(leaf: Leaf, method: Method) -> Choice | None:
    """Return the stopping criterion's answer: the best split, if there is one and it is real."""
    found = None if method.limits.closes(leaf) else argmin(leaf, method)
    if found is None or not method.proof(leaf, found, partial(argmin, method=method)):
        return None
    try:
        return method.combine.settle(leaf, found)  # fit what the children keep
    except Lost as lost:  # it cannot be kept: without it
        return best_split(leaf.barring(lost), method)


def argmin(leaf: Leaf, method: Method) -> Found | None:
    """Return arg min L(h⁻ ∨ h⁺, V¹(C⁻) ∪ V¹(C⁺)), if below L(h_C, V¹(C)).

    A later split wins only by more than rounding, so that ties go to the lower feature and the
    lower threshold.
    """
    best, bar = None, leaf.loss - method.limits.min_gain
    for trial in method.search(leaf):
        found = method.combine.best(leaf, trial, bar - leaf.slack)
        if found is not None:
            best, bar = found, found.loss
    return best
