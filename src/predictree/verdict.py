"""Whether the tree earned its place: against the best single learner and against a plain stack."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from predictree.losses import Judged, Loss
from predictree.tree import FloatArray

CLEAR = 2.0  # standard errors


@dataclass(frozen=True, slots=True)
class Comparison:
    """One opponent of the tree.

    Attributes
    ----------
    name : str
    loss : float
        Its loss on the rows that judge.
    gain : float
        Its loss minus the tree's: positive where the tree is better.
    error : float
        Standard error of the gain.
    """

    name: str
    loss: float
    gain: float
    error: float

    @property
    def words(self) -> str:
        """The comparison in words."""
        share = abs(self.gain) / self.loss if self.loss else 0.0
        direction = "below" if self.gain > 0 else "above"
        if self.gain == 0:
            return f"the same as {self.name}"
        clear = "" if abs(self.gain) > CLEAR * self.error else ", within the noise"
        noise = f"{self.error / self.loss:.2%}" if self.loss else "0"
        return f"{share:.2%} ± {noise} {direction} {self.name}{clear}"


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a tree is worth on rows that its models did not see.

    These rows also chose its splits, so that a gain below two standard errors is none.

    Attributes
    ----------
    loss_name : str
    loss : float
        Of the tree.
    best, stack : Comparison
        With the best single learner, and with one convex combination of all learners.
    tried : bool
        Whether the tree was allowed to split.
    """

    loss_name: str
    loss: float
    best: Comparison
    stack: Comparison
    tried: bool = True

    @property
    def earned(self) -> bool:
        """Whether the tree is clearly better than both."""
        return all(c.gain > CLEAR * c.error for c in (self.best, self.stack))

    def __str__(self) -> str:
        if self.earned:
            opening = "The tree earned its place"
        elif not self.tried:
            opening = "There is no tree, as max_depth=0 lets no split be tried"
        elif self.stack.gain == 0:
            opening = "There is no tree to speak of, as no split that was tried was a clear gain"
        else:
            opening = "The tree did not clearly earn its place"
        return (
            f"{opening}: out of sample its {self.loss_name} of {self.loss:.4g} is "
            f"{self.stack.words} and {self.best.words}."
        )


@dataclass(frozen=True, slots=True)
class Evidence:
    """Held-out scores on the rows that judge: of the tree, of the stack, of each learner."""

    tree: FloatArray
    stack: FloatArray
    learners: Mapping[str, FloatArray]


def judge(loss: Loss, rows: Judged, evidence: Evidence, tried: bool = True) -> Verdict:
    """Compare the tree with its opponents; it had no chance to be one if no split was tried."""
    losses = {name: loss.value(rows, scores) for name, scores in evidence.learners.items()}
    defined = {name: value for name, value in losses.items() if np.isfinite(value)}
    best = min(defined, key=lambda name: defined[name]) if defined else next(iter(losses))
    value = loss.value(rows, evidence.tree)

    def compare(name: str, scores: FloatArray) -> Comparison:
        its = loss.value(rows, scores)
        if np.array_equal(scores, evidence.tree):
            return Comparison(name, its, 0.0, 0.0)
        return Comparison(name, its, its - value, loss.error_of_gain(rows, scores, evidence.tree))

    return Verdict(
        loss.name,
        value,
        compare(f"the best learner alone ({best})", evidence.learners[best]),
        compare("one stack of all learners", evidence.stack),
        tried,
    )
