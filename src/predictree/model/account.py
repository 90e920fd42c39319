"""The account of a fit: what the tree is worth, leaf by leaf, what was lost and what was usual.

Records only; `predictree.estimators.account` makes them.
"""

from dataclasses import dataclass

from predictree.errors import shown
from predictree.model.residuals import Residuals
from predictree.model.tree import FloatArray
from predictree.model.views import AsItIs, View
from predictree.model.words import loss_words, percent, rounded

CLEAR = 2.0  # standard errors
NORMAL = 1.96  # standard errors on both sides of a 95 % interval

OPENINGS = {
    "earned": "The tree earned its place",
    "untried": "There is no tree, as max_depth=0 lets no split be tried",
    "lone": "There is no tree to speak of, as no split that was tried was a clear gain",
    "unclear": "The tree did not clearly earn its place",
    "worse": "The tree did not earn its place",
}
NEXT = {
    "earned": "Next: read how its regions differ; report() writes them on one page.",
    "untried": "Next: allow a greater max_depth to look for regions.",
    "lone": "Next: use it as one model for all rows; more rows may show regions.",
    "unclear": "Next: use a simpler model unless the regions make sense to you, or give it more "
    "rows.",
    "worse": "Next: use the simpler model.",
}


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
        if self.gain == 0:
            return f"the same as that of {self.name}"
        unit = self.loss or 1.0
        share, margin = abs(self.gain) / unit, NORMAL * self.error / unit
        direction = "below" if self.gain > 0 else "above"
        chance = "" if abs(self.gain) > CLEAR * self.error else ", which may be chance"
        ends = f"{percent(share - margin)} to {percent(share + margin)}"
        return f"{percent(share)} {direction} that of {self.name} (95% interval {ends}){chance}"


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
    reference : Comparison or None
        With the learners that ``reference`` named, which need not be readable.
    """

    loss_name: str
    loss: float
    best: Comparison
    stack: Comparison
    tried: bool = True
    reference: Comparison | None = None

    @property
    def earned(self) -> bool:
        """Whether the tree is clearly better than both."""
        return all(c.gain > CLEAR * c.error for c in (self.best, self.stack))

    def __str__(self) -> str:
        told = loss_words(self.loss_name, self.loss)
        return shown(
            f"{OPENINGS[self.kind]}: on rows that its models did not see, its {told} is "
            f"{self.stack.words}, and {self.best.words}.{self._price} {NEXT[self.kind]}"
        )

    @property
    def opponents(self) -> tuple[Comparison, ...]:
        """All that the tree is compared with."""
        return (self.stack, self.best, *([self.reference] if self.reference else []))

    @property
    def _price(self) -> str:
        """What it costs to have this tree and not the reference, in a sentence."""
        if self.reference is None:
            return ""
        theirs, unit = self.reference, self.reference.loss or 1.0
        low, high = (-(theirs.gain + sign * NORMAL * theirs.error) / unit for sign in (1, -1))
        return (
            f" Beside {theirs.name}, with {rounded(theirs.loss)}, a readable model costs "
            f"{-theirs.gain / unit:+.1%} (95% interval {low:+.1%} to {high:+.1%})."
        )

    @property
    def kind(self) -> str:
        """What it comes to: earned, untried, lone, worse or unclear."""
        if self.earned:
            return "earned"
        if not self.tried:
            return "untried"
        if self.stack.gain == 0:
            return "lone"
        lost = any(c.gain < -CLEAR * c.error for c in (self.best, self.stack))
        return "worse" if lost else "unclear"


@dataclass(frozen=True, slots=True)
class Segment:
    """One leaf, judged on the rows of V² that fall in it by models that did not see them.

    With path weights these rows also found the weights, those of the stack as well as the tree's.

    Attributes
    ----------
    leaf : int
        Its id in ``tree_``.
    n : int
        Rows of V² in the leaf.
    base_rate : tuple of float or None
        The share of each class, or the mean label alone; None without rows.
    loss, root_loss : float or None
        Of the tree, and of one stack of all learners; None where the loss is undefined, such as
        AUC on one class.
    gain : float or None
        ``root_loss − loss``: positive where the tree is better.
    error : float or None
        Standard error of the gain; None on fewer than two rows.
    calibration : tuple of (float, float) or None
        Mean prediction and what was observed, for each class, or for the label alone.
    """

    leaf: int
    n: int
    base_rate: tuple[float, ...] | None
    loss: float | None
    root_loss: float | None
    gain: float | None
    error: float | None
    calibration: tuple[tuple[float, float], ...] | None


@dataclass(frozen=True, slots=True)
class FitFailure:
    """Candidates that a learner lost while one node was being split (or planted).

    Attributes
    ----------
    node : int
        The node that was looked at; its children were being tried, or itself if it is the root.
    learner, reason : str
    count : int
        How many of the learner's fits there ended so.
    """

    node: int
    learner: str
    reason: str
    count: int


@dataclass(frozen=True, slots=True)
class FitCount:
    """Fits of learners one by one: those made, and those that an exhaustive search would make."""

    made: int = 0
    exhaustive: int = 0

    def __add__(self, other: "FitCount") -> "FitCount":
        return FitCount(self.made + other.made, self.exhaustive + other.exhaustive)


@dataclass(frozen=True)
class Census:
    """What the training rows of every node of an additive tree are like, as its terms see them.

    Attributes
    ----------
    cells : tuple of array of shape (n_nodes, cells)
        For each curve the share of the node's rows at every cell of its axis; a row between two
        cells counts for both, for the nearer one more.
    size : array of shape (n_nodes, terms, k)
        The standard deviation of what each curve, and then each surface, adds at the node.
    moved, apart : array of shape (n_nodes, k)
        The root mean square of what the node's function adds to its parent's, and to the root's.
    """

    cells: tuple[FloatArray, ...]
    size: FloatArray
    moved: FloatArray
    apart: FloatArray


@dataclass(frozen=True)
class Background:
    """Of every node, the means of the columns that learners see as numbers.

    Attributes
    ----------
    mean : array of shape (n_nodes, width)
        Over the training rows of the node that have a value; 0 where none has.
    missing : array of shape (n_nodes, width)
        The share of the node's training rows without a value.
    view : View or None
        How those columns come from the user's; None if they are the same.
    census : Census or None
        What a tree of additive models is read by; None of other trees.
    """

    mean: FloatArray
    missing: FloatArray
    view: View | None = None
    census: Census | None = None

    def usual(self, node: int, place: int) -> float | None:
        """Return the mean of one of the user's columns at a node, if learners see it as it is."""
        at = 0
        for part in self.view.parts if self.view is not None else ():
            if isinstance(part, AsItIs) and part.place == place:
                return float(self.mean[node, at])
            at += part.width
        return float(self.mean[node, place]) if self.view is None else None


@dataclass(frozen=True, slots=True)
class Account:
    """What a fit says of itself.

    Attributes
    ----------
    verdict : Verdict
        Whether the tree is better than its opponents.
    segments : tuple of Segment
        One for each leaf of the first tree; empty in a model from before there were any.
    failures : tuple of FitFailure
        Candidates that were lost.
    fits : FitCount
        Fits of slow learners.
    stopped : str or None
        What ended the growth, ``"time_limit"`` or ``"callback"``.
    residuals : Residuals or None
        How far off held-out answers are; None in a model from before there were any.
    """

    verdict: Verdict
    segments: tuple[Segment, ...] = ()
    failures: tuple[FitFailure, ...] = ()
    fits: FitCount = FitCount()
    stopped: str | None = None
    residuals: Residuals | None = None
