"""Which rows train, which judge splits and which weigh paths: D = S ∪ V¹ ∪ V².

Every stage after this one asks only a `Partition`. A held-out partition has a single fold; an
assignment of rows to several folds is the same object with ``n_folds > 1``, every row in all
three parts, and out-of-fold scores in place of held-out ones.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from sklearn.model_selection import PredefinedSplit

from predictree.errors import InvalidInputError
from predictree.model.tree import FloatArray, IntArray

S, V1, V2 = 0, 1, 2
ALWAYS = -1  # fold of a row that every model may train on


@dataclass(frozen=True, slots=True)
class Partition:
    """Row indices of S, V¹ and V², and the fold in which each row is held out.

    Model ``f`` of a predictor trains on the rows of ``train`` with ``fold != f`` and gives the
    held-out scores of the rows with ``fold == f``. Where predictors are combined, the weights of a
    row are found on the rows of the other ``weighing`` folds.
    """

    train: IntArray
    v1: IntArray
    v2: IntArray
    fold: IntArray
    n_folds: int
    weighing: IntArray

    @classmethod
    def from_codes(cls, codes: NDArray[np.int8]) -> "Partition":
        """Hold out V¹ and V²: codes are 0, 1 or 2 for S, V¹ or V²."""
        return cls(
            train=np.flatnonzero(codes == S),
            v1=np.flatnonzero(codes == V1),
            v2=np.flatnonzero(codes == V2),
            fold=np.where(codes == S, ALWAYS, 0),
            n_folds=1,
            weighing=np.where(codes == S, ALWAYS, codes - V1),
        )

    def pooled(self) -> "Partition":
        """Let V¹ and V² both judge and weigh, each with weights that were found on the other."""
        if self.n_folds > 1:
            return self
        both = np.union1d(self.v1, self.v2)
        return replace(self, v1=both, v2=both)

    def on(self, rows: IntArray) -> "Partition":
        """Return the same for some of the rows, in ascending order; parts that are one stay one."""
        place = np.full(len(self.fold), -1)
        place[rows] = np.arange(len(rows))
        parts = {id(part): place[part] for part in (self.train, self.v1, self.v2)}
        kept = {key: found[found >= 0] for key, found in parts.items()}
        return replace(
            self,
            train=kept[id(self.train)],
            v1=kept[id(self.v1)],
            v2=kept[id(self.v2)],
            fold=self.fold[rows],
            weighing=self.weighing[rows],
        )

    @property
    def codes(self) -> IntArray:
        """The part of every row, 0, 1 or 2; with folds the fold, -1 for rows held out in none."""
        return self.fold if self.n_folds > 1 else self.weighing + V1

    @classmethod
    def from_folds(cls, fold: IntArray) -> "Partition":
        """Cross-fit: every row trains, and judges and weighs out of its fold."""
        held = np.flatnonzero(fold != ALWAYS)
        train = held if len(held) == len(fold) else np.arange(len(fold))
        return cls(train, held, held, fold, int(fold.max()) + 1, fold)


def check_codes(partition: ArrayLike, n_rows: int) -> NDArray[np.int8]:
    """Check a user's own partition: one of 0, 1, 2 per row."""
    codes = np.asarray(partition)
    if codes.shape != (n_rows,):
        raise InvalidInputError(
            f"partition has shape {codes.shape}, but X has {n_rows} rows: give one code per row"
        )
    unknown = set(codes.tolist()) - {S, V1, V2}
    if unknown:
        raise InvalidInputError(
            f"partition holds {sorted(unknown, key=str)}: use 0 for S (training), 1 for V1 "
            "(choosing splits) and 2 for V2 (weighing paths)"
        )
    return codes.astype(np.int8)


def check_parts(codes: NDArray[np.int8]) -> NDArray[np.int8]:
    """Check that no part of a user's own partition is empty."""
    for code, part in enumerate(("S", "V1", "V2")):
        if not (codes == code).any():
            raise InvalidInputError(
                f"partition leaves {part} empty: give code {code} to some rows with weight"
            )
    return codes


def check_unrepeated(n_repeats: int) -> None:
    """Check that a user's own partition, which is the same every time, is used once."""
    if n_repeats > 1:
        raise InvalidInputError(
            f"n_repeats={n_repeats} needs different parts each time, and partition is one: leave "
            "n_repeats at 1, or give validation instead of partition"
        )


def check_groups(groups: ArrayLike, n_rows: int) -> NDArray[Any]:
    """Check a user's groups: one per row."""
    checked = np.asarray(groups)
    if checked.shape != (n_rows,):
        raise InvalidInputError(
            f"groups has shape {checked.shape}, but X has {n_rows} rows: give one group per row"
        )
    return checked


def check_fractions(validation: object) -> tuple[float, float, float]:
    """Check ``validation=(s, v1, v2)``: three positive shares that sum to one."""
    if isinstance(validation, tuple | list) and len(validation) == 3:
        s, v1, v2 = validation
        numbers = all(isinstance(share, float | int) and share > 0 for share in validation)
        if numbers and np.isclose(s + v1 + v2, 1.0):
            return float(s), float(v1), float(v2)
    raise InvalidInputError(
        f"validation={in_short(validation)}: give a number of folds, a scikit-learn splitter, a "
        "list of (train, test) pairs of row numbers, or the shares of S, V1 and V2 as three "
        "positive numbers that sum to one, such as (0.75, 0.15, 0.10); or pass partition= to fit"
    )


def is_splitter(validation: Any) -> bool:
    """Whether it splits rows as scikit-learn's splitters do."""
    return hasattr(validation, "split") and not isinstance(validation, str | bytes)


def are_splits(validation: Any) -> bool:
    """Whether these are (train, test) pairs, which scikit-learn, too, takes for a splitter."""
    return isinstance(validation, list | tuple) and all(
        isinstance(pair, list | tuple) and len(pair) == 2 for pair in validation
    )


def in_short(validation: Any) -> str:
    """Return how it reads, cut off where it is long."""
    text = " ".join(repr(validation).split())
    return text if len(text) <= 80 else f"{text[:77]}..."


def train_share(validation: Any) -> float:
    """Return the share of the rows that one model trains on; 1 where that is not known before."""
    if isinstance(validation, int):
        return 1 - 1 / validation
    return float(validation[0]) if isinstance(validation, tuple) else 1.0


def assign_folds(
    X: FloatArray,
    strata: IntArray | None,
    groups: NDArray[Any] | None,
    n_folds: int,
    rng: np.random.Generator,
) -> IntArray:
    """Draw the fold of every row at random, in whole blocks, within strata (see `hold_out`).

    Fewer blocks than folds, because rows repeat, are a fold each. Groups may differ in size, and
    are dealt by it: by their rows, so that a row that is repeated may move them.
    """
    names, block = np.unique(blocks(X, groups), return_inverse=True)
    if len(names) < 2 or len(X) < n_folds:
        raise InvalidInputError(
            f"{len(X)} sample(s) (n_samples={len(X)}) that must stay together in {len(names)} "
            f"block(s) of equal features or groups are too few for {n_folds} folds: add rows, or "
            "lower validation"
        )
    if groups is not None:
        _check_count(groups, n_folds)
        return np.asarray(_dealt_by_size(block, strata, n_folds, rng)[block])
    dealt = np.concatenate(_shuffled_strata(block, len(names), strata, rng))
    fold = np.empty(len(names), dtype=np.int64)
    fold[dealt] = np.arange(len(names)) % min(n_folds, len(names))
    return np.asarray(fold[block])


def _check_count(groups: NDArray[Any], n_folds: int) -> None:
    n_groups = len(np.unique(groups))
    if n_groups < n_folds:
        raise InvalidInputError(
            f"groups has {n_groups} groups, too few for {n_folds} folds, as a group is in one: "
            f"give validation={n_groups}, or finer groups"
        )


def _dealt_by_size(
    block: IntArray, strata: IntArray | None, n_folds: int, rng: np.random.Generator
) -> IntArray:
    """Return the fold of each block: the largest first, each to where its rows are fewest.

    Rows are counted as shares of all and of each class, so that both are spread evenly.
    """
    labels = np.zeros(len(block), dtype=np.int64) if strata is None else strata
    counts = np.zeros((block.max() + 1, labels.max() + 2))
    np.add.at(counts, (block, labels), 1)
    counts[:, -1] = counts.sum(axis=1)
    worth = counts / np.maximum(counts.sum(axis=0), 1) ** 2
    drawn = rng.permutation(len(counts))
    held = np.zeros((n_folds, counts.shape[1]))
    fold = np.empty(len(counts), dtype=np.int64)
    for i in drawn[np.argsort(-counts[drawn, -1], kind="stable")]:
        fold[i] = np.argmin(held @ worth[i])
        held[fold[i]] += counts[i]
    return np.unique(fold, return_inverse=True)[1]


def folds_of(
    validation: Any,
    X: FloatArray,
    y: Any,
    groups: NDArray[Any] | None,
    kept: IntArray,
    n_given: int,
) -> list[IntArray]:
    """Return the folds of a splitter or of a list of splits, once for each of its repetitions.

    Pairs and a PredefinedSplit know rows by their place in the user's data, which is ``kept``.
    """
    splits = validation if are_splits(validation) else validation.split(X, y, groups)
    if not (are_splits(validation) or isinstance(validation, PredefinedSplit)):
        kept, n_given = np.arange(len(X)), len(X)
    assignments: list[IntArray] = []
    for split in splits:
        train, test = (_times(part, n_given, validation)[kept] for part in split)
        if (train + test != 1).any():
            raise InvalidInputError(
                f"validation={in_short(validation)} leaves rows out of a split, or has some twice: "
                "every row must be in its training or its test part. For a split in time pass "
                "partition= to fit"
            )
        if not test.any():  # all its rows have weight zero
            continue
        if not assignments or (assignments[-1] != ALWAYS).all():
            assignments.append(np.full(len(X), ALWAYS))
        fold = assignments[-1]
        if (fold[test == 1] != ALWAYS).any():
            raise InvalidInputError(
                f"validation={in_short(validation)} tests rows more than once: give one whose test "
                "parts do not overlap, such as KFold"
            )
        fold[test == 1] = fold.max() + 1
    if not assignments:
        raise InvalidInputError(f"validation={in_short(validation)} has no rows to test on")
    return assignments


def rounds_of(
    validation: Any, n_repeats: int, split: Callable[[], list[IntArray]]
) -> list[IntArray]:
    """Return the folds of every repeat: the repetitions of a splitter, or a call to it for each."""
    rounds = split()
    if len(rounds) > 1 and n_repeats not in (1, len(rounds)):
        raise InvalidInputError(
            f"validation={in_short(validation)} has {len(rounds)} repetitions, and n_repeats="
            f"{n_repeats}: leave n_repeats at 1 for a tree of each, or give a splitter of one"
        )
    while len(rounds) < n_repeats:
        rounds += split()
    if len({fold.tobytes() for fold in rounds}) < len(rounds):
        raise InvalidInputError(
            f"{len(rounds)} repeats (n_repeats={n_repeats}) need different folds each time, and "
            f"validation={in_short(validation)} gives the same again: give a number of folds, such "
            "as validation=5, or a splitter that shuffles without a random_state"
        )
    return rounds


def parts_of(
    fold: IntArray,
    X: FloatArray,
    strata: IntArray | None,
    groups: NDArray[Any] | None,
    rng: np.random.Generator,
) -> Partition:
    """Return the partition of a splitter's folds.

    A single one is held out: weights must be found on other rows than they are judged on, so that
    half of it is V¹ and half V², in whole blocks.
    """
    if fold.max() > 0:
        return Partition.from_folds(fold)
    test = fold != ALWAYS
    if test.all():
        raise InvalidInputError("validation has one test part, with all rows: leave some to train")
    codes = np.full(len(fold), S, dtype=np.int8)
    labels = None if strata is None else strata[test]
    together = None if groups is None else groups[test]
    try:
        codes[test] = V1 + assign_folds(X[test], labels, together, 2, rng)
    except InvalidInputError as error:
        raise InvalidInputError(
            "validation has one test part, which cannot be halved to judge splits and to weigh: "
            f"give more folds or pass partition= to fit ({error})"
        ) from error
    return Partition.from_codes(codes)


def _times(rows: ArrayLike, n_rows: int, validation: Any) -> IntArray:
    """Return how often each row is in a part of a split, which has row numbers or a mask."""
    try:
        found = np.asarray(rows)
        return np.bincount(np.arange(n_rows)[found if found.size else []], minlength=n_rows)
    except (IndexError, ValueError) as error:
        raise InvalidInputError(
            f"validation={in_short(validation)} does not fit the {n_rows} rows of X: {error}"
        ) from error


def hold_out(
    X: FloatArray,
    strata: IntArray | None,
    groups: NDArray[Any] | None,
    shares: tuple[float, float, float],
    rng: np.random.Generator,
) -> NDArray[np.int8]:
    """Draw S, V¹ and V² at random, in whole blocks, within strata.

    Rows that must stay together (equal features, same group) form a block. Blocks are drawn
    in an order that depends on their content and not on the order or number of their rows, so
    that repeating a row, weighting it and shuffling the data all give the same partition.
    """
    names, block = np.unique(blocks(X, groups), return_inverse=True)
    members = _shuffled_strata(block, len(names), strata, rng)
    sizes = np.array([len(stratum) for stratum in members])
    n_v1, n_v2 = (max(1, round(share * len(names))) for share in shares[1:])
    from_v1 = _quota(n_v1, sizes, sizes - 1)  # one block of every stratum stays in S
    from_v2 = _quota(n_v2, sizes, sizes - 1 - from_v1)
    codes = np.full(len(names), S, dtype=np.int8)
    for stratum, v1, v2 in zip(members, from_v1, from_v2, strict=True):
        codes[stratum[:v1]] = V1
        codes[stratum[v1 : v1 + v2]] = V2
    _check_parts(codes, len(X))
    return np.asarray(codes[block])


def partition_by_time(
    times: ArrayLike, shares: tuple[float, float, float] = (0.75, 0.15, 0.10)
) -> NDArray[np.int8]:
    """Return a partition for ``fit``: the earliest rows train, later ones judge, the last weigh.

    Parameters
    ----------
    times : array-like of shape (n_samples,)
        Dates, or numbers that grow with time. Rows of the same time share a part.
    shares : (float, float, float), default=(0.75, 0.15, 0.10)
        Of S, V¹ and V²; the borders are the nearest times.

    Returns
    -------
    array of shape (n_samples,)
        0, 1 or 2 for S, V¹ or V², to be given as ``partition``.

    Examples
    --------
    >>> from predictree import partition_by_time
    >>> partition_by_time([2001, 2003, 2002, 2004], (0.5, 0.25, 0.25))
    array([0, 1, 0, 2], dtype=int8)
    """
    moments = np.asarray(times)
    if moments.ndim != 1 or len(moments) == 0:
        raise InvalidInputError(f"times has shape {moments.shape}: give one time per row")
    if moments.dtype == object:
        moments = moments.astype("datetime64[us]")
    if np.isnat(moments).any() if moments.dtype.kind in "mM" else np.isnan(moments).any():
        raise InvalidInputError("times has missing values: give every row a time, or drop it")
    s, v1, _ = check_fractions(shares)
    known, place, count = np.unique(moments, return_inverse=True, return_counts=True)
    middle = (np.cumsum(count) - count / 2) / len(moments)
    codes = np.searchsorted([s, s + v1], middle, side="right").astype(np.int8)
    if len(np.unique(codes)) < 3:
        raise InvalidInputError(
            f"times has {len(known)} different values, too few or too uneven for shares {shares}: "
            "give finer times or other shares, or your own codes as partition"
        )
    return np.asarray(codes[place])


def _shuffled_strata(
    block: IntArray, n_blocks: int, strata: IntArray | None, rng: np.random.Generator
) -> list[IntArray]:
    """Return the blocks of each stratum in random order; a block is in its rows' least."""
    if strata is None:
        return [rng.permutation(n_blocks)]
    least = np.full(n_blocks, strata.max(), dtype=np.int64)
    np.minimum.at(least, block, strata)
    return [rng.permutation(np.flatnonzero(least == label)) for label in np.unique(least)]


def _quota(total: int, sizes: IntArray, room: IntArray) -> IntArray:
    """Share out ``total`` over strata in proportion to their sizes, as far as there is room."""
    target = total * sizes / sizes.sum()
    quota = np.minimum(np.floor(target).astype(np.int64), room)
    for _ in range(min(total, room.sum()) - quota.sum()):
        quota[np.argmax(np.where(quota < room, target - quota, -np.inf))] += 1
    return np.asarray(quota)


def _check_parts(codes: NDArray[np.int8], n_rows: int) -> None:
    if len(np.unique(codes)) < 3:
        raise InvalidInputError(
            f"{n_rows} sample(s) (n_samples={n_rows}) that must stay together in {len(codes)} "
            "block(s) of equal features or groups are too few for three parts S, V1 and V2, with "
            "every class in S: add rows, or pass partition= to fit"
        )


def blocks(X: FloatArray, groups: NDArray[Any] | None) -> NDArray[np.uint64]:
    """Return one key per row; rows with equal keys must share a part.

    Equal feature rows always do. With groups, so do the rows of a group and, in turn, the
    groups that share a feature row.
    """
    keys = row_keys(X)
    if groups is None:
        return keys
    try:
        _, by_group = np.unique(groups, return_inverse=True)
    except TypeError as error:
        raise InvalidInputError(f"groups holds values that cannot be compared: {error}") from error
    _, by_row = np.unique(keys, return_inverse=True)
    size = by_group.max() + by_row.max() + 2
    edges = coo_array(
        (np.ones(len(X)), (by_group, by_row + by_group.max() + 1)), shape=(size, size)
    )
    _, component = connected_components(edges, directed=False)
    component = component[by_group]
    least = np.full(component.max() + 1, np.iinfo(np.uint64).max, dtype=np.uint64)
    np.minimum.at(least, component, keys)
    return np.asarray(least[component])


def row_keys(X: FloatArray) -> NDArray[np.uint64]:
    """Hash every row of X to 64 bits: equal rows get equal keys.

    A splitmix64 round per column. Two different rows share a key once in about 10¹⁹ pairs,
    and then merely share a part.
    """
    keys = np.zeros(len(X), dtype=np.uint64)
    for column in X.T:
        values = np.where(np.isnan(column), np.nan, column + 0.0)  # one NaN, one zero
        keys = _mix(keys ^ values.view(np.uint64))
    return keys


def _mix(z: NDArray[np.uint64]) -> NDArray[np.uint64]:
    z = z + np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))
