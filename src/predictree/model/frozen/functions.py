"""What a fitted model answers with, term by term, over the user's own coded columns.

A `Function` is a constant and terms of one or two columns, summed, and a link that makes scores of
the sum. Additive models, linear ones behind imputers and scalers, and means of these are all of
this shape; so that whoever compiles or exports a model needs to know these few nouns alone.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from predictree.model.additive import Axis
from predictree.model.tree import FloatArray, IntArray

Outputs = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Line:
    """slope · (x − centre); an array (k,) in place of that where x is missing."""

    feature: int
    slope: FloatArray
    centre: float
    missing: FloatArray


@dataclass(frozen=True, eq=False)
class Bend:
    """Straight lines between the values (m, k) at m rising knots, constant beyond the last."""

    feature: int
    knots: FloatArray
    values: FloatArray
    missing: FloatArray


@dataclass(frozen=True, eq=False)
class Levels:
    """The values (m, k) of m rising codes of levels, those of any other, and of a missing one."""

    feature: int
    codes: FloatArray
    values: FloatArray
    other: FloatArray
    missing: FloatArray


@dataclass(frozen=True, eq=False)
class Pair:
    """A surface over the cells of two axes, (cells, cells, k), with lines between cells."""

    axes: tuple[Axis, Axis]
    values: FloatArray


@dataclass(frozen=True, eq=False)
class Trees:
    """The sum of what trees say, each at the leaf that a row falls in.

    Attributes
    ----------
    roots : int array of shape (trees,)
    nodes : int array of shape (nodes, 3)
        The column, and the nodes to the left and to the right; of a leaf −1 and its row in values.
    bounds : array of shape (nodes,)
        x goes left if it is below, or if it is that level.
    ways : int array of shape (nodes,)
        1 where what is missing goes left, plus 2 where the bound is a level.
    values : array of shape (leaves, k)
    """

    roots: IntArray
    nodes: NDArray[np.int32]
    bounds: FloatArray
    ways: NDArray[np.int8]
    values: FloatArray


Term = Line | Bend | Levels | Pair | Trees


@dataclass(frozen=True, eq=False)
class Function:
    """Scores of a sum: a constant (k,) and terms.

    Attributes
    ----------
    constant : array of shape (k,)
    terms : tuple of terms
    link : str
        Of `LINKS`: what makes scores of the sum.
    outputs : tuple of int
        The columns of the tree's scores that these are; the others are zero.
    span : (float, float)
        Scores are kept within.
    exponent : float
        To which the link "sharp" raises.
    """

    constant: FloatArray
    terms: tuple[Term, ...]
    link: str
    outputs: Outputs
    span: tuple[float, float] = (-np.inf, np.inf)
    exponent: float = 1.0

    @property
    def is_linear(self) -> bool:
        """Whether its scores are sums themselves, so that a mean of such is one of the kind."""
        return self.link in ("identity", "complement") and self.span == (-np.inf, np.inf)


LINKS: tuple[str, ...] = (
    "identity",  # the sums
    "log",  # e to the sum, which is kept within ± 700
    "logit",  # 1 − p and p of a sum of log odds, which is kept within ± 35
    "expit",  # the same without limits
    "softmax",
    "complement",  # 1 − s and s of one sum s
    "shares",  # the sums, none below zero, and divided by what they are together
    "complement shares",  # the latter of the former
    "sharp",  # the sums to the power of the exponent, divided by what these are together
    "odds",  # p of every sum as of log odds, divided by what they are together
)
"""Ways from sums to scores; their places are their numbers in compiled code."""


def levels_of(axis: Axis, values: FloatArray) -> Levels:
    """Return a curve along the levels of a category."""
    return Levels(axis.feature, axis.knots, values[:-1], values[-1], values[-1])


def merged(functions: list[tuple[float, Function]]) -> list[tuple[float, Function]]:
    """Return the same weighted functions, in which those that are linear are one for each link."""
    kept: list[tuple[float, Function]] = []
    alike: dict[tuple[str, Outputs], list[tuple[float, Function]]] = {}
    for weight, function in functions:
        if function.is_linear:
            alike.setdefault((function.link, function.outputs), []).append((weight, function))
        else:
            kept.append((weight, function))
    return [*(_mean(group) if len(group) > 1 else group[0] for group in alike.values()), *kept]


def _mean(group: list[tuple[float, Function]]) -> tuple[float, Function]:
    """Return one function for the weighted mean of several, and the sum of their weights."""
    total = sum(weight for weight, _ in group)
    constant: FloatArray = np.zeros_like(group[0][1].constant)
    lines: dict[int, list[tuple[float, Line]]] = {}
    tables: dict[tuple[int, bytes], list[tuple[float, Levels]]] = {}
    others: list[Term] = []
    for weight, function in group:
        share = weight / total
        constant = constant + share * function.constant
        for term in function.terms:
            if isinstance(term, Line):
                lines.setdefault(term.feature, []).append((share, term))
            elif isinstance(term, Levels):
                tables.setdefault((term.feature, term.codes.tobytes()), []).append((share, term))
            else:
                others.append(scaled(term, share))
    straight = [_mean_line(same) for same in lines.values()]
    constant = sum((more for more, _ in straight), start=constant)
    first = group[0][1]
    terms = (*(line for _, line in straight), *map(_mean_table, tables.values()), *others)
    return total, Function(constant, terms, first.link, first.outputs)


def _mean_line(group: list[tuple[float, Line]]) -> tuple[FloatArray, Line]:
    """Return a constant and a line: around a centre amid theirs, so that no large parts cancel."""
    centre = float(np.mean([line.centre for _, line in group]))
    slope = np.sum([share * line.slope for share, line in group], axis=0)
    lift = np.sum([share * line.slope * (centre - line.centre) for share, line in group], axis=0)
    missing = np.sum([share * line.missing for share, line in group], axis=0)
    return lift, Line(group[0][1].feature, slope, centre, missing - lift)


def _mean_table(group: list[tuple[float, Levels]]) -> Levels:
    sums = (
        sum(share * getattr(table, name) for share, table in group)
        for name in ("values", "other", "missing")
    )
    return Levels(group[0][1].feature, group[0][1].codes, *sums)


def scaled(term: Term, by: float) -> Term:
    """Return so many times a term."""
    if isinstance(term, Line):
        return Line(term.feature, by * term.slope, term.centre, by * term.missing)
    if isinstance(term, Bend):
        return replace(term, values=by * term.values, missing=by * term.missing)
    if isinstance(term, Levels):
        sums = (by * term.values, by * term.other, by * term.missing)
        return Levels(term.feature, term.codes, *sums)
    return replace(term, values=by * term.values)
