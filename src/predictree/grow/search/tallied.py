"""Ranking splits from sums: rows are looked at once a node, and each split is a matter of cells.

It serves where errors are squared and every learner is linear. What is inherited may be anything:
its errors are columns of the rows. The node without a part of its rows is a slice of the same
sums, so that rehearsals see no row at all.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np

from predictree.data.tallies import BLOCK, Binned, Spread, grams, sides
from predictree.grow.leaf import Leaf, Trial
from predictree.grow.rows import Limits, Rows
from predictree.grow.search.trials import Trials
from predictree.grow.squares import Squares
from predictree.learners.forms import linear_model, penalised
from predictree.learners.forms.squares import Penalised, coefficients_of_sides, products_of_errors
from predictree.learners.forms.whitened import Whitened
from predictree.losses import SquaredError
from predictree.model.tree import BoolArray, Fitted, FloatArray, IntArray, Split

AT_ONCE = 1 << 20  # numbers in hand at a time
WORTHWHILE = 1 << 18  # numbers that are worth a call
WELL = 1e-6  # variance, in the basis, of a direction that the rows of a side tell well
KEPT = 1 << 23  # numbers that are kept for rehearsals; more are summed again


@dataclass(frozen=True, eq=False)
class Groups:
    """The rows of a node by who trains on them, who judges, and what is left out with them.

    Attributes
    ----------
    rows : array of shape (n,)
        All rows of the node, group after group.
    code : array of shape (n,)
        The group of each.
    ends : list of int
        Where each group ends.
    trains, judges : arrays of shape (groups,)
    fold, weighing, part : arrays of shape (groups,)
        -1 where there is none.
    """

    rows: IntArray
    code: IntArray
    ends: list[int]
    trains: BoolArray
    judges: BoolArray
    fold: IntArray
    weighing: IntArray
    part: IntArray

    @classmethod
    def of(cls, rows: Rows) -> "Groups":
        """Find the groups of a node's rows."""
        every, told = rows.all, np.full((5, len(rows.problem.X)), -1)
        told[0, rows.train] = told[1, rows.v1] = 1
        told[2:4] = rows.problem.partition.fold, rows.problem.partition.weighing
        told[4, rows.v1] = rows.part
        told = told[:, every] + 1
        size = told.max(axis=1) + 1
        key = np.ravel_multi_index(tuple(told), size)
        found = np.flatnonzero(np.bincount(key))
        code = np.searchsorted(found, np.arange(found[-1] + 1)).astype(np.int16)[key]
        order = np.argsort(code, kind="stable")
        groups = np.array(np.unravel_index(found, size)) - 1
        ends = np.cumsum(np.bincount(code)).tolist()
        return cls(every[order], code[order], ends, groups[0] > 0, groups[1] > 0, *groups[2:])

    def judged(self, without: int | None) -> IntArray:
        """Return the groups that judge, without those of a part."""
        return np.flatnonzero(self.judges & (self.part != without))

    def training(self, without: int | None) -> BoolArray:
        """Return which groups train, without those of a part."""
        return np.asarray(self.trains & ~(self.judges & (self.part == without)))


@dataclass(frozen=True, eq=False)
class Columns:
    """What is summed of a node, row by row.

    Attributes
    ----------
    rows : array of shape (n, p)
        Ones, the features in a basis, the label less its fit, and the errors of what is inherited
        on the rows that judge; all by the root of the row's weight.
    basis : Whitened
    before : array of shape (r,)
        The fit that was taken off the labels, in the basis.
    level, unit : float
        The label's mean, and what labels and errors are divided by.
    """

    rows: FloatArray
    basis: Whitened
    before: FloatArray
    level: float
    unit: float

    @classmethod
    def of(cls, leaf: Leaf, order: IntArray, spread: Spread) -> "Columns":
        """Look at the rows of a leaf in some order; NaN where a feature is not finite."""
        problem, n_pool = leaf.rows.problem, len(leaf.pool)
        d = problem.seen.shape[1]
        rows = np.empty((len(order), d + 2 + n_pool))
        features = rows[:, 1 : d + 1]
        blocks, seen = _blocks(len(order)), problem.seen

        def gather(some: slice) -> None:
            features[some] = seen[order[some]]

        for _ in spread(gather, blocks):
            pass
        basis = Whitened.of(features)
        r, known = basis.rank, len(basis.columns)
        rows[:, 0] = 1.0
        label = problem.y[order]
        level, unit = float(label.mean()), float(label.std()) or 1.0
        label = (label - level) / unit

        def turn(some: slice) -> None:
            rows[some, 1 : r + 1] = features[some, :known] @ basis.to

        for _ in spread(turn, blocks):
            pass
        before = label @ rows[:, 1 : r + 1] / len(order)
        rows[:, r + 1] = label - rows[:, 1 : r + 1] @ before
        place = np.full(len(problem.X), -1)
        place[leaf.rows.v1] = np.arange(len(leaf.rows.v1))
        place = place[order]
        for column, h in zip(rows.T[r + 2 :], leaf.pool, strict=False):
            error = (problem.y[order] - h.scores[place, 0]) / unit
            column[:] = np.where(place < 0, 0.0, error)
        rows = rows[:, : r + 2 + n_pool]
        if problem.weight is not None:
            rows *= np.sqrt(problem.weight[order])[:, None]
        return cls(rows, basis, before, level, unit)


@dataclass(frozen=True, eq=False)
class Tallied:
    """A node, summed by the bins of every feature and by groups of its rows.

    Attributes
    ----------
    leaf : Leaf
    learners : list of Penalised
    groups : Groups
    features : list of Binned
    basis, before, level, unit
        As in `Columns`.
    kept : list of arrays of shape (bins, groups, p (p + 1) / 2)
        The Gram matrices of the cells of every feature, lower triangles, if they are few enough.
    columns : array of shape (n, p)
        What to sum again otherwise.
    spread : callable
        Takes the place of ``map``.
    """

    leaf: Leaf
    learners: list[Penalised]
    groups: Groups
    features: list[Binned]
    basis: Whitened
    before: FloatArray
    level: float
    unit: float
    kept: list[FloatArray]
    columns: FloatArray
    spread: Spread

    @classmethod
    def of(cls, leaf: Leaf, trials: Trials, spread: Spread) -> "Tallied | None":
        """Look at the rows of a leaf; None where its learners or its loss want their scores."""
        learners = _learners(leaf)
        if not learners or not (by_feature := trials.splits):
            return None
        groups = Groups.of(leaf.rows)
        told = Columns.of(leaf, groups.rows, spread)
        if not np.isfinite(told.before).all():
            return None
        features = list(spread(partial(_binned, leaf.rows.problem.X, groups.rows), by_feature))
        p, n_cells = told.rows.shape[1], sum(feature.n_bins for feature in features)
        kept, columns, triangle = list[FloatArray](), told.rows, np.tril_indices(p)
        if n_cells * len(groups.ends) * len(triangle[0]) <= KEPT:
            cells = grams(columns, features, groups.ends, spread)
            kept, columns = [each[..., *triangle] for each in cells], np.empty((0, p))
        units = told.basis, told.before, told.level, told.unit
        return cls(leaf, learners, groups, features, *units, kept, columns, spread)

    @cached_property
    def splits(self) -> list[Split]:
        """All splits, in the order in which ties are broken."""
        return [split for feature in self.features for split in feature.splits]

    @cached_property
    def counts(self) -> FloatArray:
        """How many rows of every group fall on both sides of every split."""
        code, n_groups = self.groups.code, len(self.groups.ends)
        return np.concatenate([sides(f.left, f.counts(code, n_groups)) for f in self.features])

    def admitted(self, limits: Limits, without: int | None) -> BoolArray:
        """Whether the sides of every split keep the rows that they need without a part."""
        judged = self.counts[:, :, self.groups.judged(without)].sum(axis=2)
        trained = self.counts[:, :, self.groups.training(without)].sum(axis=2)
        enough = trained.min(axis=1) >= limits.min_samples_leaf
        return np.asarray(enough & (judged.min(axis=1) >= limits.min_samples_val))

    def squares(self, without: int | None = None) -> Squares:
        """Return what all splits come to, as if a part of the rows had never been there."""
        judged = self.groups.judged(without)
        told = list(self.spread(partial(self._told, without), self._by_side()))
        products, mass = (np.concatenate(each) for each in zip(*told, strict=True))
        weighing = self.groups.weighing[judged]
        return Squares(products, mass, self.counts[:, :, judged], weighing, len(self.learners))

    def trial(self, leaf: Leaf, place: int, without: int | None) -> Trial | None:
        """Return one split of the leaf, maybe as it is without a part of the rows.

        Without a part it has its models. None if rows leave it open what a learner says: its own
        fit has a way to choose then.
        """
        split, rows, problem = self.splits[place], leaf.rows, leaf.rows.problem
        n_folds = problem.partition.n_folds
        systems, targets = self._systems(self._at(place), without, np.arange(n_folds))
        if without is None and not self._determined(systems):
            return None
        found = self._solved(systems, targets)
        goes_left = rows.goes_left(split)
        asked = n_folds * np.where(goes_left, 0, 1) + problem.partition.fold[rows.v1]
        own: list[FloatArray] = []
        models: dict[tuple[int, int], tuple[Fitted, ...]] = {}
        for i, (learner, each) in enumerate(zip(problem.learners, found, strict=True)):
            slopes, levels = self._functions(each.reshape(2 * n_folds, -1))
            scores = [problem.seen[rows.v1[some]] @ slopes.T for some in _blocks(len(rows.v1))]
            told = np.concatenate(scores) + levels
            own.append(np.take_along_axis(told, asked[:, None], axis=1))
            fitted = [linear_model(learner, *one) for one in zip(slopes, levels, strict=True)]
            models |= {(i, 0): tuple(fitted[:n_folds]), (i, 1): tuple(fitted[n_folds:])}
        return Trial(split, goes_left, own, True, models if without is not None else {})

    def _determined(self, systems: FloatArray) -> bool:
        """Whether the rows of all training sets tell every coefficient."""
        if self.basis.rank < len(self.basis.columns):
            return False
        count = np.maximum(systems[..., :1, :1], 1.0)
        mean, second = systems[..., :1, 1:] / count, systems[..., 1:, 1:] / count
        size = np.linalg.eigvalsh(second - np.swapaxes(mean, -1, -2) * mean)
        return bool((size[..., 0] > WELL).all()) if size.size else True

    def _functions(self, found: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return slopes and intercepts for the columns as they were: (b, d) and (b,)."""
        slopes = np.zeros((len(found), self.leaf.rows.problem.seen.shape[1]))
        mine = self.basis.slopes(found[:, 1:] + self.before) * self.unit
        slopes[:, self.basis.columns] = mine
        return slopes, self.level + self.unit * found[:, 0] - mine @ self.basis.center

    def _by_side(self) -> Iterator[FloatArray]:
        """Yield the Gram matrices of both sides of some splits: (splits, 2, groups, p, p)."""
        cells = map(_whole, self.kept) if self.kept else self._summed(self.features)
        return _together(_sides(self.features, cells))

    def _at(self, place: int) -> FloatArray:
        """Return the Gram matrices of both sides of one split: (1, 2, groups, p, p)."""
        ends = np.cumsum([len(feature.left) for feature in self.features])
        i = int(np.searchsorted(ends, place, side="right"))
        feature = self.features[i]
        cells = _whole(self.kept[i]) if self.kept else next(self._summed([feature]))
        here = place - int(ends[i]) + len(feature.left)
        return sides(feature.left[here : here + 1], cells)

    def _summed(self, features: list[Binned]) -> Iterator[FloatArray]:
        return grams(self.columns, features, self.groups.ends, self.spread)

    def _systems(
        self, sums: FloatArray, without: int | None, folds: IntArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return what is solved on the rows that train without each fold: (splits, 2, folds, …)."""
        kept, m = self.groups.training(without), self.basis.rank + 1
        cells = sums[..., : m + 1, : m + 1]
        total = np.zeros((len(sums), 2, m + 1, m + 1))
        for g in np.flatnonzero(kept):
            total += cells[:, :, g]
        systems = np.empty((len(sums), 2, len(folds), m, m))
        targets = np.empty(systems.shape[:-1])
        for place, fold in enumerate(folds.tolist()):
            training = total
            for g in np.flatnonzero(kept & (self.groups.fold == fold)):
                training = training - cells[:, :, g]
            systems[:, :, place], targets[:, :, place] = training[..., :m, :m], training[..., :m, m]
        return systems, targets

    def _solved(self, systems: FloatArray, targets: FloatArray) -> list[FloatArray]:
        """Return the coefficients of each learner: (splits, 2, folds, r + 1); all is used up."""
        m = systems.shape[-1]
        flat, right = systems.reshape(-1, m, m), targets.reshape(-1, m)
        copies = [(flat.copy(), right.copy()) for _ in self.learners[1:]] + [(flat, right)]
        return [
            coefficients_of_sides(*some, one, self.basis, self.before).reshape(targets.shape)
            for some, one in zip(copies, self.learners, strict=True)
        ]

    def _told(self, without: int | None, sums: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the products of errors on both sides of some splits by judging group, and mass."""
        judged = self.groups.judged(without)
        folds, mine = np.unique(self.groups.fold[judged], return_inverse=True)
        found = self._solved(*self._systems(sums, without, folds))
        products = [
            products_of_errors(
                sums[:, :, g], [each[:, :, f] for each in found], self.basis.rank + 2
            )
            for g, f in zip(judged, mine, strict=True)
        ]
        return np.stack(products, axis=2) * self.unit**2, sums[:, :, judged, 0, 0]


def _binned(X: FloatArray, rows: IntArray, splits: list[Split]) -> Binned:
    return Binned.of(splits, X[rows, splits[0].feature])


def _blocks(n: int) -> list[slice]:
    return [slice(a, a + 8 * BLOCK) for a in range(0, n, 8 * BLOCK)]


def _sides(features: list[Binned], cells: Iterable[FloatArray]) -> Iterator[FloatArray]:
    """Add the cells of every feature to both sides of some of its splits at a time."""
    for feature, each in zip(features, cells, strict=True):
        some = max(1, AT_ONCE // (2 * each[0].size))
        for start in range(0, len(feature.left), some):
            yield sides(feature.left[start : start + some], each)


def _whole(triangles: FloatArray) -> FloatArray:
    """Return symmetric matrices by their lower triangles, (..., p (p + 1) / 2)."""
    p = int(np.sqrt(2 * triangles.shape[-1]))
    a, b = np.tril_indices(p)
    found = np.empty((*triangles.shape[:-1], p, p))
    found[..., a, b] = found[..., b, a] = triangles
    return found


def _together(sums: Iterable[FloatArray]) -> Iterator[FloatArray]:
    """Join arrays to a size that is worth a call."""
    waiting: list[FloatArray] = []
    for some in sums:
        waiting.append(some)
        if sum(each.size for each in waiting) >= WORTHWHILE:
            yield np.concatenate(waiting)
            waiting = []
    if waiting:
        yield np.concatenate(waiting)


def _learners(leaf: Leaf) -> list[Penalised]:
    """Return the learners of a leaf if all answer from sums, else none."""
    problem = leaf.rows.problem
    if type(problem.loss) is not SquaredError or leaf.barred or leaf.one_by_one:
        return []
    found = [penalised(learner, problem.weight) for learner in problem.learners]
    return [one for one in found if one is not None] if None not in found else []
