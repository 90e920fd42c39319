"""Rows for tests of additive forms, made by hand."""

import numpy as np

from predictree.learners.forms.additive.basis import Sizes
from predictree.learners.forms.additive.correction import Sample
from predictree.learners.forms.additive.family import FAMILIES, Classes, Squares, TwoClasses
from predictree.learners.forms.additive.ground import Ground

SMALL = Sizes(smooth=8, steps=10)
GROUP = np.array([0, 0, 1])


def family_named(name):
    """A family by name; "classes" has three."""
    return {"squares": Squares(), "two classes": TwoClasses(), "classes": Classes(3)}.get(
        name
    ) or FAMILIES[name]


def labels_of(rng, f, family):
    """Labels of a family around scores."""
    if family.name == "squares":
        return f + 0.3 * rng.normal(size=len(f))
    if family.name == "two classes":
        return (rng.random(len(f)) < 1 / (1 + np.exp(-2 * f))).astype(int)
    if family.name == "classes":
        return np.digitize(f + 0.3 * rng.logistic(size=len(f)), [-0.7, 0.7])
    mean = np.exp(f)
    return rng.poisson(mean).astype(float) if family.name == "poisson" else rng.gamma(3, mean / 3)


def sample_of(name, n=240, n_folds=3, free=0, seed=0):
    """Rows of three columns in two groups; the first rows are in no fold."""
    rng, family = np.random.default_rng(seed), family_named(name)
    B = np.column_stack([np.ones(n), rng.normal(size=(n, 3))])
    y = labels_of(rng, B[:, 1] - 0.5 * B[:, 2], family)
    weight = rng.integers(1, 3, n).astype(float)
    offset = np.zeros((n, n_folds + 1, family.n_scores))
    ends = free + np.linspace(0, n - free, n_folds + 1).astype(int)
    return Sample(B, y, weight, offset, ends, family, GROUP)


def ground_of(X, y, name="squares", n_folds=3, weight=None, categories=(), sizes=SMALL):
    """A ground on all columns, whose rows are in the folds 0, 1, … in turn."""
    fold = np.arange(len(X)) % n_folds
    columns = tuple(range(X.shape[1]))
    return Ground.of(X, y, weight, fold, family_named(name), columns, frozenset(categories), sizes)
