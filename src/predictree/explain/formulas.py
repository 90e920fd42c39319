"""The additive function of a region as a formula in words: a line for each term that matters."""

import numpy as np

from predictree.errors import shown
from predictree.explain.additive import LEAST, AdditiveTree, Shape
from predictree.explain.panels import simplified
from predictree.model.tree import BoolArray, FloatArray

POINTS = 8  # of a curve
NEAR = 0.02  # of the size of the largest term: how near to the curve the points are
MOST_TERMS = 12
MOST_LEVELS = 8
ROUNDING = 1e-9  # of the largest term: what is smaller is nothing
CHANGED = "*"


def formulas(read: AdditiveTree) -> str:
    """Return the formulas of all rows, and of the regions that depart from them, the most first."""
    nodes = list(dict.fromkeys([0, *read.leaves]))
    parts = ["\n".join(formula_of(read, node)) for node in nodes]
    if len(nodes) > 1:
        parts.append(f"{CHANGED} another than for all rows")
    return "\n\n".join(parts)


def formula_of(read: AdditiveTree, node: int) -> list[str]:
    """Return the formula of a node, line by line; several of them for several classes."""
    share = f"{read.tree.n_rows[node, 0]:,} rows, {read.share[node]:.0%}"
    lines = [f"node {node}: {read.rule(node)} ({share})"]
    for k, target in enumerate(read.targets):
        name = read.scale if target is None else f"{read.scale} of {shown(str(target))}"
        lines.append(f"  {name} = {read.functions[node].intercept[k]:.4g}")
        lines += [f"    {line}" for line in _terms(read, node, k)]
    return lines


def _terms(read: AdditiveTree, node: int, k: int) -> list[str]:
    size = read.census.size[node, :, k]
    order = [int(t) for t in np.argsort(-size, kind="stable") if size[t] > LEAST * size.max()]
    told = order[:MOST_TERMS]
    words = [_words(read, read.shape(node, term), k) for term in told]
    names = {term: shown(read.name(term)) for term in told}
    width = max(map(len, names.values()), default=0)
    marks = [CHANGED if read.source(node, term) else " " for term in told]
    named = zip(marks, told, words, strict=True)
    lines = [f"+{mark}{names[term]:<{width}}  {text}" for mark, term, text in named]
    least = ROUNDING * size.max(initial=0.0)
    silent = [t for t in range(len(size)) if t not in told and size[t] > least]
    if silent:
        terms = "1 term" if len(silent) == 1 else f"{len(silent)} terms"
        lines.append(f"+ {terms} with a standard deviation below {size[silent].max():.2g} each")
    return lines


def _words(read: AdditiveTree, shape: Shape, k: int) -> str:
    effect = shape.effect[:, k]
    if len(shape.columns) > 1:
        return _surface(shape, effect)
    if read.model.schema.columns[shape.columns[0]].levels:
        return _levels(shape, effect)
    known = ~np.isnan(shape.codes[:, 0])
    parts = [_curve(read, shape, k, known)] if known.any() else []
    parts += [f"missing {effect[i]:+.3g}" for i in np.flatnonzero(~known)]
    return "; ".join(parts)


def _curve(read: AdditiveTree, shape: Shape, k: int, known: BoolArray) -> str:
    """Return a line as its slope, or the points between which a curve is nearly straight."""
    x, y = shape.codes[known, 0], shape.effect[known, k]
    values = [value for (value,), here in zip(shape.values, known, strict=True) if here]
    near = NEAR * max(float(np.ptp(y)), 1e-300)
    kept = simplified(x, y, near, POINTS)
    numbers = read.model.schema.columns[shape.columns[0]].kind == "number"
    if len(kept) == 2 and numbers and np.ptp(y) > 0:
        slope = (y[-1] - y[0]) / (x[-1] - x[0])
        zero = x[0] - y[0] / slope
        return f"{slope:+.3g} a unit from {zero:.4g}, between {x[0]:.4g} and {x[-1]:.4g}"
    return ", ".join(f"{y[i]:+.3g} at {_value(values[i])}" for i in kept)


def _levels(shape: Shape, effect: FloatArray) -> str:
    order = np.argsort(-shape.share, kind="stable")[:MOST_LEVELS]
    told = ", ".join(f"{_value(shape.values[i][0])} {effect[i]:+.3g}" for i in order)
    n_others = len(shape.values) - len(order)
    return told + (f", and {n_others} rarer levels" if n_others else "")


def _surface(shape: Shape, effect: FloatArray) -> str:
    """Return where a surface is lowest and highest."""
    ends = [int(np.argmin(effect)), int(np.argmax(effect))]
    told = [f"{effect[i]:+.3g} at {' and '.join(map(_value, shape.values[i]))}" for i in ends]
    return f"from {told[0]} to {told[1]}"


def _value(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else shown(str(value))
