"""A tree as far as it has grown: what is decided, what is open, and how its paths will answer."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Protocol

import numpy as np

from predictree.grow.fits import Fits, Models
from predictree.grow.leaf import Decision, Key, Leaf
from predictree.model.tree import FloatArray, Split


@dataclass(frozen=True, slots=True)
class Portion:
    """What one predictor has in the prediction of a leaf, on behalf of a node of its path."""

    node: int
    key: Key
    weight: float


LeafWeights = Mapping[int, list[Portion]]  # by the path of the leaf, from the root down
Alone = Mapping[str, FloatArray]  # what learners of the root say about V²


class Finish(Protocol):
    """How the predictors of a path make the answer of its leaf.

    ``stacks`` says in words what the tree is without its regions.
    """

    stacks: ClassVar[str]

    def trimmed(self, growth: "Growth") -> "Growth":
        """Return the tree without what is not worth having."""

    def weights(self, growth: "Growth") -> LeafWeights:
        """Return the weights of every leaf."""

    def models(self, growth: "Growth", weights: LeafWeights, refit: bool) -> Mapping[Key, Models]:
        """Return the models that the tree keeps: those of predictors with weight, at least."""

    def alone(self, growth: "Growth") -> Alone:
        """Return what single learners say about V²."""

    def said(self, growth: "Growth", leaf: Leaf, shares: Sequence[Portion]) -> FloatArray:
        """Return what a leaf answers for its rows of V²."""

    def stack(self, growth: "Growth", alone: Alone) -> FloatArray:
        """Return what one combination of the root's learners says about V²."""


@dataclass(frozen=True, slots=True)
class Grown:
    """A node and, if it was split, by what and to which joint loss."""

    leaf: Leaf
    split: Split | None = None
    split_loss: float | None = None


@dataclass
class Growth:
    """Nodes by path; it takes one decision after the other.

    Attributes
    ----------
    fits : Fits
        The models of its predictors.
    finish : Finish
        How a path answers once the tree has grown.
    nodes : dict of Grown by path
    frontier : list of Leaf
        The leaves that were not decided.
    stopped : str or None
        What ended the growth before there was nothing left to decide.
    """

    fits: Fits
    finish: Finish
    nodes: dict[int, Grown] = field(default_factory=dict)
    frontier: list[Leaf] = field(default_factory=list)
    stopped: str | None = None

    def plant(self, root: Leaf) -> Leaf:
        """Begin with a root."""
        self._open(root)
        return root

    def take(self, decision: Decision) -> Grown:
        """Note what became of a leaf; its candidates are not needed any more."""
        leaf, choice = decision.leaf, decision.choice
        self.frontier.remove(leaf)
        grown = Grown(leaf.closed(), *((choice.split, choice.loss) if choice else ()))
        self.nodes[leaf.path] = grown
        for child in choice.children if choice else ():
            self._open(child)
        return grown

    @property
    def next(self) -> Leaf | None:
        """The leaf that is looked at now."""
        return self.frontier[0].rows.batch(self.frontier)[0] if self.frontier else None

    @property
    def leaves(self) -> list[Leaf]:
        """The nodes that were not split, in the order of their paths."""
        return [one.leaf for _, one in sorted(self.nodes.items()) if one.split is None]

    @property
    def loss(self) -> str:
        """The loss of the tree as it stands, on the rows that judge its splits, with its name."""
        problem = self.fits.problem
        scores = np.full((len(problem.X), problem.n_outputs), np.nan)
        for leaf in self.leaves:
            scores[leaf.rows.v1] = leaf.answer.scores
        rows = problem.partition.v1
        return f"{problem.loss.name} {problem.loss.value(problem.judged(rows), scores[rows]):.4g}"

    @property
    def n_fits(self) -> int:
        """Fits of learners so far, one by one."""
        return self.fits.executor.fits

    @property
    def id_of(self) -> dict[int, int]:
        """The id of every node by its path: level by level, from left to right."""
        return {path: i for i, path in enumerate(sorted(self.nodes))}

    def without(self, paths: set[int]) -> "Growth":
        """Return the same tree where the nodes at some paths are leaves."""
        below = {p for p in self.nodes if not paths.isdisjoint(lineage(p)[:-1])}
        nodes = {p: one for p, one in self.nodes.items() if p not in below}
        nodes |= {p: Grown(one.leaf) for p, one in nodes.items() if p in paths}
        frontier = [leaf for leaf in self.frontier if leaf.path not in below]
        return Growth(self.fits, self.finish, nodes, frontier, self.stopped)

    def leaves_below(self, path: int) -> list[Leaf]:
        """Return the leaves of the subtree at a path."""
        return [leaf for leaf in self.leaves if path in lineage(leaf.path)]

    def ancestry(self, path: int) -> list[Leaf]:
        """Return Π: the nodes from the root to the one at a path."""
        return [self.nodes[above].leaf for above in lineage(path)]

    def _open(self, leaf: Leaf) -> None:
        self.frontier.append(leaf)
        self.nodes[leaf.path] = Grown(leaf)


def lineage(path: int) -> list[int]:
    """Return the paths from the root down to this one."""
    return [path >> up for up in reversed(range(path.bit_length()))]
