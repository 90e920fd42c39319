"""Trees grown by hand, below the estimators."""

from functools import partial

import numpy as np

from predictree.data.partition import Partition
from predictree.grow.algorithm import argmin, best_split, grow
from predictree.grow.fits import Fits
from predictree.grow.growth import Growth
from predictree.grow.problem import Problem, Seeds
from predictree.grow.rows import Rows
from predictree.learners import adapt
from predictree.losses import SquaredError
from predictree.run.tasks import Executor


def fits_of(X, y, partition, estimators, loss=None):
    """What fits these estimators to a table."""
    loss = loss or SquaredError()
    k = 1 if loss.task == "regression" else int(y.max()) + 1
    task = "regression" if k == 1 else "classification"
    learners = tuple(
        adapt(f"a{i}", a, task, k, proper=loss.proper) for i, a in enumerate(estimators)
    )
    return Fits(Problem(X, y, None, partition, learners, loss, Seeds(0)), Executor())


def root_of(way, fits):
    """The root of a tree that is about to grow."""
    return way.combine.plant(Rows.of(fits.problem))


def found_at(leaf, way):
    """The best split that the search finds, proved or not."""
    return argmin(leaf, way)


def rehearsed(leaf, way):
    """The scores of all rows, each by what would be chosen without its part."""
    return way.proof.scores(leaf, partial(argmin, method=way))


def grown(way, fits):
    """A whole tree."""
    growth = Growth(fits, way.finish)
    root = growth.plant(root_of(way, fits))
    for decision in grow(root, partial(best_split, method=way)):
        growth.take(decision)
    return growth


def held_out(n):
    """Half of the rows train, a quarter judges, a quarter weighs."""
    return Partition.from_codes((np.arange(n) % 4).clip(max=2).astype(np.int8))


def in_folds(n, n_folds):
    """Every row trains in all folds but one, and is judged in that."""
    return Partition.from_folds(np.arange(n) % n_folds)
