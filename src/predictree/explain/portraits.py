"""What is special in each region, in plain words: who is in it, what is answered, what differs.

The page of a report, a notebook and the command line all say it in these words.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from predictree.errors import shown
from predictree.explain.additive import AdditiveTree, Shape
from predictree.explain.census import functions_of
from predictree.explain.coefficients import tree_with
from predictree.explain.marginal import marginal
from predictree.explain.panels import target_of
from predictree.model import Model, Segment, model_of
from predictree.model.tree import NONE, FloatArray
from predictree.model.words import rounded, word

MOST_REMARKS = 3
NOTABLE = 0.1  # of the strongest term's size: how large a difference is told
SURE = 2.0  # standard errors that a difference needs
HARDLY, LESS, MORE = 0.25, 0.8, 1.25  # as strong as for all rows: what is not told as another shape
TOLD = 0.3  # of the largest change: what is told of the other end
REVERSED = -0.3  # correlation of two curves below which one goes the other way
SAME = 0.9  # and from which on they have one shape


@dataclass(frozen=True, slots=True)
class Remark:
    """How one term differs in a region from what it is for all rows.

    Attributes
    ----------
    term : str
        By the names of its columns.
    ratio : float
        Its standard deviation over the region's rows, of that which the term of all rows has there;
        infinite if that is zero.
    words : str
    """

    term: str
    ratio: float
    words: str


@dataclass(frozen=True, slots=True)
class Portrait:
    """One region.

    Attributes
    ----------
    leaf : int
    rule : str
        Who is in it.
    share : float
        Of the training rows.
    n : int
        Training rows.
    observed, predicted : float or None
        The mean label, or the share of a class, and the mean prediction, on rows held out.
    remarks : tuple of Remark
        The largest difference first; none of trees of other models than additive ones.
    """

    leaf: int
    rule: str
    share: float
    n: int
    observed: float | None
    predicted: float | None
    remarks: tuple[Remark, ...]

    @property
    def special(self) -> str:
        """What is special here, in one line; empty if nothing is."""
        return "; ".join(remark.words for remark in self.remarks)


@dataclass(frozen=True, slots=True)
class Portraits:
    """The regions of a tree, first those that depart most from all rows.

    Attributes
    ----------
    measure : str
        What ``observed`` and ``predicted`` are: "mean", or "share of" a class.
    regions : tuple of Portrait
    """

    measure: str
    regions: tuple[Portrait, ...]

    def __str__(self) -> str:
        return "\n".join(_lines(self, region) for region in self.regions)

    def told(self, value: float | None) -> str:
        """Return a mean, or a share in per cent, in words."""
        is_share = value is not None and self.measure != "mean"
        return f"{value:.1%}" if is_share else rounded(value)


def _lines(found: Portraits, region: Portrait) -> str:
    level = f"{found.measure} {found.told(region.observed)}"
    opening = f"{region.rule} ({region.share:.0%} of the rows, {level})"
    return f"{opening}\n    {region.special or 'as for all rows, but for the level'}"


def portraits(fitted: Any, *, tree: int = 0, target: Any = None) -> Portraits:
    """Return what is special in every region of a tree.

    Parameters
    ----------
    fitted : ToPsClassifier, ToPsRegressor or Model
        A fitted estimator, or its ``model_``.
    tree : int, default=0
        Which of the model's ``trees_``; what was observed is known of the first.
    target : class, optional
        Whose share and whose effects are told; by default the one whose effects vary most, of two
        the second.

    Returns
    -------
    Portraits
        Print them.

    Notes
    -----
    Pairs count for both of their features, averaged over the other one's values in the region. A
    difference is told if it is at least two of its standard errors and a tenth of what the
    strongest term adds. A term matters twice as much if its standard deviation over the region's
    rows is twice that of the curve of all rows over the same rows.
    """
    model = model_of(fitted)
    frozen = tree_with(model, tree, 0)
    told = {} if tree else {each.leaf: each for each in model.account.segments}
    read = AdditiveTree.of(model, tree) if functions_of(frozen) is not None else None
    k = 0 if read is None else target_of(read, target)
    name = _class_of(model, read, k, target)
    leaves = read.leaves if read is not None else np.flatnonzero(frozen.feature == NONE).tolist()
    total = max(int(frozen.n_rows[0, 0]), 1)
    regions = tuple(
        Portrait(
            leaf,
            model.rule(leaf, tree) if read is None else read.rule(leaf),
            int(frozen.n_rows[leaf, 0]) / total,
            int(frozen.n_rows[leaf, 0]),
            *_levels(told.get(leaf), model, name),
            () if read is None else remarks(read, leaf, k),
        )
        for leaf in leaves
    )
    return Portraits("mean" if name is None else f"share of {shown(str(name))}", regions)


def _class_of(model: Model, read: AdditiveTree | None, k: int, target: Any) -> Any:
    """Return the class that is told of; None in a regression."""
    if model.classes is None:
        return None
    if read is not None:
        return read.targets[k]
    return model.classes[-1] if target is None else target


def _levels(told: Segment | None, model: Model, name: Any) -> tuple[float | None, float | None]:
    """Return what was observed and predicted in a leaf."""
    if told is None or told.base_rate is None or told.calibration is None:
        return None, None
    k = 0 if model.classes is None else model.classes.tolist().index(name)
    return told.base_rate[k], told.calibration[k][0]


def remarks(read: AdditiveTree, leaf: int, k: int, most: int = MOST_REMARKS) -> tuple[Remark, ...]:
    """Return how terms differ in a region from those of all rows, the largest difference first."""
    scale = float(read.strength.max(initial=0.0))
    found = [_difference(read, leaf, term, k, scale) for term in range(len(read.root.curves))]
    known = sorted((each for each in found if each is not None), key=lambda each: -each[0])
    return tuple(remark for _, remark in known[:most])


def _difference(
    read: AdditiveTree, leaf: int, term: int, k: int, scale: float
) -> tuple[float, Remark] | None:
    """Return the size of a difference and what it is; None if it is small or may be chance."""
    shape = marginal(read, leaf, term)
    mass = shape.share.sum()
    if not mass or not scale:
        return None
    weight = shape.share / mass
    change, error = shape.change[:, k], shape.change_error[:, k]
    size = _spread(change, weight)
    if size < NOTABLE * scale or weight @ change**2 < SURE**2 * (weight @ error**2):
        return None
    here, there = shape.effect[:, k], shape.effect[:, k] - change
    mine, its = _spread(here, weight), _spread(there, weight)
    ratio = mine / its if its > 0 else np.inf
    alike = _correlation(here, there, weight)
    name = shown(read.name(term))
    return size, Remark(name, float(ratio), _words(name, ratio, alike, shape, k, its / scale))


def _words(name: str, ratio: float, alike: float, shape: Shape, k: int, its: float) -> str:
    if its < HARDLY * NOTABLE:
        return f"{name} matters here and not elsewhere"
    if ratio < HARDLY:
        return f"{name} hardly matters"
    if alike < REVERSED:
        return f"{name} works the other way round"
    if alike < SAME:
        return _moves(name, shape, k)
    if ratio > MORE:
        return f"{name} matters {_times(ratio)} as much"
    if ratio < LESS:
        return f"{name} matters {_part(ratio)} as much"
    return _moves(name, shape, k)


def _times(ratio: float) -> str:
    return "twice" if 1.9 <= ratio < 2.1 else f"{ratio:.1f} times"


def _part(ratio: float) -> str:
    return "half" if 0.45 <= ratio < 0.55 else f"{ratio:.0%}"


def _moves(name: str, shape: Shape, k: int) -> str:
    """Return where a curve is farthest above and below that of all rows."""
    change = np.where(shape.share > 0, shape.change[:, k], 0.0)
    told = []
    for cell, more in ((int(change.argmax()), "more"), (int(change.argmin()), "less")):
        if abs(change[cell]) > TOLD * np.abs(change).max():
            told.append(f"{rounded(abs(change[cell]), 2)} {more} at {_value(shape, cell)}")
    return f"{name} adds {' and '.join(told)} than for all rows"


def _value(shape: Shape, cell: int) -> str:
    value = shape.values[cell][0]
    return rounded(value) if isinstance(value, float) else word(value)


def _spread(values: FloatArray, weight: FloatArray) -> float:
    return float(np.sqrt(weight @ np.square(values - weight @ values)))


def _correlation(a: FloatArray, b: FloatArray, weight: FloatArray) -> float:
    product = _spread(a, weight) * _spread(b, weight)
    return float(weight @ ((a - weight @ a) * (b - weight @ b)) / product) if product else 0.0


def outline(fitted: Any, *, tree: int = 0, found: Portraits | None = None) -> str:
    """Return the tree in plain words: who is where, how many, what is answered.

    Every node has its rule and its share of the rows; a leaf the mean label, or the share of a
    class, among rows held out.
    """
    model = model_of(fitted)
    frozen = tree_with(model, tree, 0)
    found = portraits(model, tree=tree) if found is None else found
    regions = {region.leaf: region for region in found.regions}
    lines, pending = [], [(0, "", "", "all rows")]
    while pending:
        i, indent, branch, rule = pending.pop()
        children = frozen[i].children
        text = f"{frozen.n_rows[i, 0]:,} rows" if i == 0 else f"{_share(model, tree, i):.0%}"
        if children is None:
            text += f", {found.measure} {found.told(regions[i].observed)}"
        lines.append(f"{indent}{branch}{rule}: {text}")
        deeper = indent + {"": "", "├─ ": "│  ", "└─ ": "   "}[branch]
        for child, turn in zip(reversed(children or ()), ("└─ ", "├─ "), strict=False):
            pending.append((child, deeper, turn, model.rules(child, tree)[-1]))
    return "\n".join(lines)


def _share(model: Model, tree: int, node: int) -> float:
    rows = model.trees[tree].n_rows[:, 0]
    return float(rows[node] / max(rows[0], 1))
