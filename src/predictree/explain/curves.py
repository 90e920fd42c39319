"""The curves of regions beside those of all rows, as small drawings: paths and words, no pixels."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from predictree.explain.additive import AdditiveTree, Shape
from predictree.explain.marginal import marginal
from predictree.explain.panels import NORMAL, simplified
from predictree.explain.portraits import Portrait
from predictree.model.tree import FloatArray
from predictree.model.words import rounded, word

WIDTH, HEIGHT, MARGIN = 180.0, 96.0, 6.0
MOST_TERMS = 4
MOST_LEVELS = 8
MOST_REGIONS = 12
NEAR = 0.004  # of the height: how near to the curve its drawing is
LETTERS = 9  # of a level


@dataclass(frozen=True)
class Small:
    """One term of one region.

    Attributes
    ----------
    name : str
    kind : {"line", "dots"}
    mine, every : str or list of (x, y)
        The path of the region's curve and that of all rows; dots of levels.
    band : str
        The path around the 95 % intervals of the region's curve; empty for dots.
    zero : float
        The height of nothing added.
    ends : tuple of (float, str)
        Places and words along the x axis.
    top, bottom : str
        The ends of the y axis in words.
    words : str
        What is drawn, for those who do not see it.
    """

    name: str
    kind: str
    mine: Any
    every: Any
    band: str
    zero: float
    ends: tuple[tuple[float, str], ...]
    top: str
    bottom: str
    words: str


def curves(read: AdditiveTree, k: int, regions: Sequence[Portrait]) -> dict[int, list[Any]]:
    """Return of the first regions, by their leaves, the terms that tell most of them."""
    shown = list(regions[:MOST_REGIONS])
    picked = {region.leaf: _terms(read, region, k) for region in shown}
    spans = {
        term: _span(read, term, k, [leaf for leaf in picked if term in picked[leaf]])
        for term in {term for terms in picked.values() for term in terms}
    }
    return {
        leaf: [asdict(_small(read, leaf, term, k, spans[term])) for term in terms]
        for leaf, terms in picked.items()
    }


def strongest(read: AdditiveTree, k: int, most: int) -> list[Any]:
    """Return the curves of all rows that add most."""
    terms = [t for t in read.ranked() if t < len(read.root.curves)][:most]
    return [asdict(_small(read, 0, term, k, _span(read, term, k, [0]))) for term in terms]


def _terms(read: AdditiveTree, region: Portrait, k: int) -> list[int]:
    """Return the terms that a region differs in, and then the strongest, that vary in it."""
    n_curves = len(read.root.curves)
    special = [remark.term for remark in region.remarks]
    told = [t for name in special for t in range(n_curves) if read.name(t) == name]
    strong = [t for t in read.ranked() if t < n_curves]
    varied = [t for t in dict.fromkeys([*told, *strong]) if len(read.reached(region.leaf, t)) > 1]
    return varied[:MOST_TERMS]


def _span(read: AdditiveTree, term: int, k: int, leaves: Sequence[int]) -> tuple[float, float]:
    """Return the ends of the y axis that all drawings of a term share."""
    shapes = [marginal(read, leaf, term) for leaf in leaves]
    both = [s.effect[:, k] for s in shapes] + [(s.effect - s.change)[:, k] for s in shapes]
    values = np.concatenate([np.zeros(1), *both])
    low, high = float(values.min()), float(values.max())
    return (low, high) if high > low else (low - 1.0, high + 1.0)


def _small(read: AdditiveTree, leaf: int, term: int, k: int, span: tuple[float, float]) -> Small:
    shape, name = marginal(read, leaf, term), read.name(term)
    axis = read.root.curves[term].axis
    column = read.model.schema.columns[axis.feature]
    mine = shape.effect[:, k]
    drawn = _dots if axis.is_category or column.kind == "ordered" else _lines
    parts = drawn(shape, k, span)
    top, bottom = (("+" if end > 0 else "") + rounded(end, 3) for end in reversed(span))
    low, high = int(mine.argmin()), int(mine.argmax())
    told = [f"{rounded(float(mine[i]), 3)} at {_word(shape, i)}" for i in (low, high)]
    words = f"{name}, from {told[0]} to {told[1]}"
    return Small(name=name, zero=_y(0.0, span), top=top, bottom=bottom, words=words, **parts)


def _lines(shape: Shape, k: int, span: tuple[float, float]) -> dict[str, Any]:
    known = np.flatnonzero(~np.isnan(shape.codes[:, 0]))
    codes, mine = shape.codes[known, 0], shape.effect[known, k]
    every, margin = mine - shape.change[known, k], NORMAL * shape.error[known, k]
    near = NEAR * (span[1] - span[0])
    kept = np.union1d(simplified(codes, mine, near), simplified(codes, every, near))
    x, width = codes[kept], float(np.ptp(codes)) or 1.0
    across = MARGIN + (WIDTH - 2 * MARGIN) * (x - codes[0]) / width
    low, high = np.clip(mine - margin, *span)[kept], np.clip(mine + margin, *span)[kept]
    around = _path(np.append(across, across[::-1]), np.append(high, low[::-1]), span) + "Z"
    middle = len(known) // 2
    places = [known[0], known[-1]] if len(known) < 3 else [known[0], known[middle], known[-1]]
    ends = tuple(
        (_x(float(shape.codes[i, 0]), float(codes[0]), width), _word(shape, int(i))) for i in places
    )
    lines = {"mine": _path(across, mine[kept], span), "every": _path(across, every[kept], span)}
    return {"kind": "line", "band": around, "ends": ends, **lines}


def _dots(shape: Shape, k: int, span: tuple[float, float]) -> dict[str, Any]:
    frequent = np.sort(np.argsort(-shape.share, kind="stable")[:MOST_LEVELS])
    across = np.linspace(MARGIN + 12, WIDTH - MARGIN - 12, len(frequent)).round(1)
    mine = shape.effect[frequent, k]
    every = mine - shape.change[frequent, k]
    words = [_word(shape, int(i)) for i in frequent]
    ends = tuple(zip(across.tolist(), (text[:LETTERS] for text in words), strict=True))
    told = {
        name: [(float(x), _y(float(y), span)) for x, y in zip(across, values, strict=True)]
        for name, values in (("mine", mine), ("every", every))
    }
    return {"kind": "dots", "band": "", "ends": _spaced(ends), **told}


def _spaced(ends: tuple[tuple[float, str], ...]) -> tuple[tuple[float, str], ...]:
    """Return as many words as there is room for: the first, the last and some between them."""
    step = max(1, -(-len(ends) // 3))
    return ends[::step]


def _word(shape: Shape, cell: int) -> str:
    value = shape.values[cell][0]
    return rounded(value) if isinstance(value, float) else word(value)


def _x(code: float, first: float, width: float) -> float:
    return round(MARGIN + (WIDTH - 2 * MARGIN) * (code - first) / width, 1)


def _y(value: float, span: tuple[float, float]) -> float:
    share = (value - span[0]) / (span[1] - span[0])
    return round(HEIGHT - MARGIN - (HEIGHT - 2 * MARGIN) * share, 1)


def _path(x: FloatArray, y: FloatArray, span: tuple[float, float]) -> str:
    points = (f"{a:.1f} {_y(float(b), span):g}" for a, b in zip(x, y, strict=True))
    return "M" + "L".join(points)
