"""Frozen trees: the functions of every leaf, compiled, and the learners that stay Python."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np

from predictree.model.frozen.arrays import Arrays, arrays_of
from predictree.model.frozen.functions import Function, Trees, merged
from predictree.model.frozen.members import function_of
from predictree.model.tree import NONE, FloatArray, IntArray, Predictor, Tree

AT_ONCE = 10_000  # rows of a thread, at least
Weighted = tuple[float, Function]


@dataclass(frozen=True, eq=False)
class FrozenTree:
    """A tree whose leaves answer with functions, and with predictors that are none.

    Attributes
    ----------
    tree : Tree
    leaves : dict of int to list of (float, Function)
        The weighted functions of every leaf.
    rest : dict of int to Predictor
        What stays Python, by its place among the predictors.
    forests : frozenset of str
        The learners whose functions have trees as terms.
    """

    tree: Tree
    leaves: dict[int, list[Weighted]]
    rest: dict[int, Predictor]
    forests: frozenset[str] = frozenset()

    @classmethod
    def of(cls, tree: Tree, n_features: int) -> "FrozenTree":
        """Freeze a tree; a predictor that no leaf gives weight is left out."""
        weights = {i: tree.weight_by_leaf(i) for i in np.unique(tree.weight_predictor).tolist()}
        weights = {i: weight for i, weight in weights.items() if weight.any()}
        known = {i: _functions_of(tree.predictors[i], n_features) for i in weights}
        leaves: dict[int, list[Weighted]] = {}
        groups: dict[tuple[float | int, ...], list[Weighted]] = {}
        for leaf in np.flatnonzero(tree.feature == NONE).tolist():
            mine = {i: float(w[leaf]) for i, w in weights.items() if w[leaf] and known[i]}
            key = tuple(number for pair in mine.items() for number in pair)
            if key not in groups:  # leaves of the same predictors and weights share functions
                groups[key] = merged(
                    [(w * share, f) for i, w in mine.items() for share, f in known[i] or ()]
                )
            leaves[leaf] = groups[key]
        rest = {i: tree.predictors[i] for i, functions in known.items() if functions is None}
        grown = {tree.predictors[i].learner for i, found in known.items() if _has_trees(found)}
        return cls(tree, leaves, rest, frozenset(grown))

    @cached_property
    def arrays(self) -> Arrays:
        """The flat arrays that are compiled code's."""
        return arrays_of(self.tree, self.leaves)

    def scores(self, X: FloatArray, n_threads: int = 1) -> FloatArray:
        """Return H(x), as `Tree.scores` does, an (n, k) array."""
        total = self._rest(X)
        part = partial(self._add, np.require(X, np.float64, ["C", "W"]), total)
        size = max(-(-len(X) // n_threads), AT_ONCE)
        starts = range(0, len(X), size)
        if len(starts) > 1:
            with ThreadPoolExecutor(len(starts)) as pool:
                list(pool.map(part, starts, [start + size for start in starts]))
        else:
            part(0, len(X))
        return total

    def _add(self, X: FloatArray, out: FloatArray, start: int, stop: int) -> None:
        assert COMPILER.get is not None
        COMPILER.get()(X[start:stop], out[start:stop], *self.arrays.all)

    def _rest(self, X: FloatArray) -> FloatArray:
        """Return what the predictors that stay Python answer, weighted."""
        total = np.zeros((len(X), self.tree.n_outputs))
        leaf: IntArray = self.tree.apply(X) if self.rest else np.empty(0, dtype=np.int64)
        for i, predictor in self.rest.items():
            weight = self.tree.weight_by_leaf(i)[leaf]
            rows = np.flatnonzero(weight)
            if rows.size:
                total[rows] += weight[rows, None] * predictor.scores(X[rows])
        return total


@dataclass
class Compiler:
    """What compiles, if something does: the model itself needs NumPy alone.

    Attributes
    ----------
    get : callable or None
        Returns the compiled scorer; asked when the first model is.
    """

    get: Callable[[], Callable[..., None]] | None = None


COMPILER = Compiler()


def _functions_of(predictor: Predictor, n_features: int) -> list[Weighted] | None:
    """Return the models of a predictor as functions, each with its share; None if one is none."""
    found = [function_of(model, n_features) for model in predictor.models]
    known = [function for function in found if function is not None]
    if len(known) < len(found):
        return None
    return [(1.0 / len(known), function) for function in known]


def _has_trees(functions: Sequence[Weighted] | None) -> bool:
    return any(isinstance(term, Trees) for _, f in functions or () for term in f.terms)


@dataclass(frozen=True, eq=False)
class Frozen:
    """The frozen trees of a model; print it to see which learners are compiled.

    Attributes
    ----------
    trees : tuple of FrozenTree
    compiled, python : tuple of str
        The learners that answer with functions, and those that are asked one by one.
    forests : tuple of str
        Of the former those that have trees.
    """

    trees: tuple[FrozenTree, ...]
    compiled: tuple[str, ...]
    python: tuple[str, ...]
    forests: tuple[str, ...] = ()

    @property
    def answers(self) -> bool:
        """Whether there is something to compile, and something that compiles."""
        return bool(self.compiled) and COMPILER.get is not None

    def __repr__(self) -> str:
        told = [
            f"{what}: {', '.join(names)}"
            for what, names in (("compiled", self.compiled), ("Python", self.python))
            if names
        ]
        return f"<{'; '.join(told)}>"


def freeze(trees: Sequence[Tree], n_features: int) -> Frozen:
    """Return trees with everything known about their learners laid out flat."""
    frozen = tuple(FrozenTree.of(tree, n_features) for tree in trees)
    python = {p.learner for one in frozen for p in one.rest.values()}
    asked = {
        one.tree.predictors[i].learner
        for one in frozen
        for i in np.unique(one.tree.weight_predictor[one.tree.weight > 0]).tolist()
    }
    grown = {name for one in frozen for name in one.forests}
    return Frozen(frozen, *(tuple(sorted(names)) for names in (asked - python, python, grown)))
