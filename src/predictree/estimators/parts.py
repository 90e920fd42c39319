"""Who trains, judges and weighs in each repetition of a fit."""

from collections.abc import Callable
from functools import partial
from typing import Any

from predictree.data.partition import (
    Partition,
    assign_folds,
    check_codes,
    check_groups,
    check_parts,
    check_unrepeated,
    folds_of,
    hold_out,
    parts_of,
    rounds_of,
)
from predictree.data.table import Table
from predictree.errors import InvalidInputError
from predictree.estimators.adjustable import Adjustable
from predictree.estimators.parameters import check_validation
from predictree.grow.problem import Seeds
from predictree.model.tree import IntArray


def partitions(
    estimator: Adjustable, table: Table, partition: Any, groups: Any
) -> list[Callable[[Seeds], Partition]]:
    """Return what draws the partition of each repetition."""
    if partition is not None and groups is not None:
        raise InvalidInputError("give partition or groups, not both: a partition is final")
    if partition is not None:
        codes = check_parts(check_codes(partition, table.n_given)[table.kept])
        check_unrepeated(estimator.n_repeats)
        return [lambda seeds: Partition.from_codes(codes)]
    together = None if groups is None else check_groups(groups, table.n_given)[table.kept]
    strata = None if table.classes is None else table.y
    rows, validation = (table.X, strata, together), check_validation(estimator.validation)
    if isinstance(validation, int):
        return estimator.n_repeats * [
            lambda seeds: Partition.from_folds(assign_folds(*rows, validation, seeds.generator()))
        ]
    if isinstance(validation, tuple):
        return estimator.n_repeats * [
            lambda seeds: Partition.from_codes(hold_out(*rows, validation, seeds.generator()))
        ]

    def drawn(fold: IntArray) -> Callable[[Seeds], Partition]:
        return lambda seeds: parts_of(fold, *rows, seeds.generator())

    split = partial(folds_of, validation, table.X, table.y, together, table.kept, table.n_given)
    return [drawn(fold) for fold in rounds_of(validation, estimator.n_repeats, split)]
