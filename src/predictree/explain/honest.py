"""Regions told by rows that did not choose them, each by itself."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from predictree.explain.additive import AdditiveTree
from predictree.explain.display import TermDisplay, plot_terms
from predictree.explain.terms import contrast, terms
from predictree.model.tree import FloatArray


@dataclass(frozen=True, eq=False)
class Honest(AdditiveTree):
    """The regions of a tree with functions of fresh rows, whose intervals hold.

    The rows neither chose the regions nor had a say in the tree's curves, and every region has a
    function of its own rows alone. So a band of 1.96 standard errors on both sides covers the best
    additive function of the region about as often as it says, and errors of two regions that have
    no rows in common have no relation.

    `predictree.explain.terms`, `contrast` and `plot_terms` take it as they take a model.
    """

    def terms(self, leaf: int | None = None) -> Any:
        """Return what every feature adds in every region, as a frame."""
        return terms(self, leaf)

    def contrast(self, first: int, second: int) -> Any:
        """Return by how much effects in one region are larger than in another, as a frame."""
        return contrast(self, first, second)

    def plot_terms(self, features: Sequence[Any] | None = None, **kwargs: Any) -> TermDisplay:
        """Draw what features add, for all rows and where regions differ."""
        return plot_terms(self, features, **kwargs)

    def shared(self, term: int, first: int, second: int) -> FloatArray:
        """Return zeros: each function is of its own rows.

        A region and one that holds it share rows; their contrast is surer than its error tells.
        """
        return np.zeros_like(self.root.curves[term].variance)
