"""Rows, as a user hands them over, in the codes of a model: one to explain, many to judge on."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from predictree.data.table import check_weights
from predictree.errors import InvalidInputError
from predictree.losses import Judged
from predictree.model import Model
from predictree.model.outputs import Labels
from predictree.model.schema import is_frame
from predictree.model.tree import BoolArray, FloatArray, IntArray


def as_table(x: Any) -> Any:
    """Return a row as a table with a single row: a sequence of numbers or a Series becomes one."""
    if is_frame(x):
        return x
    if isinstance(x, Mapping):
        raise InvalidInputError("a row is no dict: give a frame, such as pandas.DataFrame([row])")
    if hasattr(x, "to_frame") and hasattr(x, "index"):  # a row of a pandas frame
        return x.to_frame().T
    return np.asarray(x)[None] if np.ndim(x) == 1 else x


def one_row(model: Model, x: Any) -> FloatArray:
    """Return the row as the model's codes, or say that it is not one."""
    codes = model.encode(as_table(x))
    if len(codes) != 1:
        raise InvalidInputError(f"one row is wanted, and there are {len(codes)}: give X[i : i + 1]")
    return codes


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows to judge a model on: codes, coded labels, weights, and the region of each."""

    codes: FloatArray
    y: Labels
    weight: FloatArray | None
    region: IntArray

    @classmethod
    def of(cls, model: Model, X: Any, y: Any, tree: int = 0, weight: Any = None) -> "Rows":
        """Check and code data; the regions are the leaves of one tree."""
        codes = model.encode(X)
        mass = check_weights(weight, len(codes))
        return cls(codes, model.code_labels(y, len(codes)), mass, model.leaves(codes, tree))

    def within(self, model: Model, node: int, tree: int = 0) -> "Rows":
        """Return the rows of one node, which is then their region."""
        leaves = np.unique(self.region)
        inside = [leaf for leaf in leaves.tolist() if node in model.path(leaf, tree)]
        rows = self._some(np.isin(self.region, inside))
        if not len(rows.y):
            raise InvalidInputError(f"no row of X falls in node {node}: give rows that do")
        return replace(rows, region=np.full(len(rows.y), node))

    def drawn(self, most: int, draws: np.random.Generator) -> "Rows":
        """Return at most so many of the rows."""
        if len(self.y) <= most:
            return self
        return self._some(np.sort(draws.choice(len(self.y), most, replace=False)))

    def _some(self, rows: Any) -> "Rows":
        weight = None if self.weight is None else self.weight[rows]
        return Rows(self.codes[rows], self.y[rows], weight, self.region[rows])

    def judged(self, here: BoolArray) -> Judged:
        """Return some of the rows for a loss."""
        return Judged(self.y[here], None if self.weight is None else self.weight[here])

    def shuffled(self, column: int, draws: np.random.Generator) -> FloatArray:
        """Return the codes with one column shuffled within every region."""
        order = np.lexsort((draws.random(len(self.region)), self.region))
        changed = self.codes.copy()
        changed[np.argsort(self.region, kind="stable"), column] = self.codes[order, column]
        return changed
