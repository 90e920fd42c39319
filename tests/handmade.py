"""A tree of additive models made by hand: two regions of a table of heat, job and dose."""

from dataclasses import replace

import numpy as np
import pandas as pd

from predictree.explain.census import census_of
from predictree.losses import LogLoss, SquaredError
from predictree.model import Account, Background, Comparison, Model, Schema, Settings, Verdict
from predictree.model.additive import AdditiveFunction, Axis, Curve, Surface
from predictree.model.schema import Column, Span
from predictree.model.tree import Node, PathWeight, Predictor, Split, Tree

HEAT = Axis(0, np.array([0.0, 10.0, 20.0]))
JOB = Axis(1, np.array([0.0, 1.0]), is_category=True)  # "cook", "poet"; the last cell: others
DOSE = Axis(2, np.array([0.0, 1.0]))
COLUMNS = (
    Column("heat", span=Span(0.0, 10.0, 20.0, True)),
    Column("job", "category", ("cook", "poet")),
    Column("dose", span=Span(0.0, 0.0, 1.0, True)),
)
ROWS = np.array(
    [
        [0.0, 0.0, 0.0],
        [5.0, 1.0, 0.0],
        [10.0, 0.0, 0.0],
        [20.0, 1.0, 0.0],
        [0.0, 0.0, 1.0],
        [10.0, 1.0, 1.0],
        [15.0, 0.0, 1.0],
        [np.nan, -1.0, 1.0],
    ]
)
FRAME = pd.DataFrame(
    {
        "heat": ROWS[:, 0],
        "job": [{0.0: "cook", 1.0: "poet"}.get(code, "king") for code in ROWS[:, 1]],
        "dose": ROWS[:, 2],
    }
)
SCALE = np.array([[1.0], [-1.0], [0.5]])  # of three classes, by the scores of one


def column(*values):
    return np.array(values, dtype=float)[:, None]


def functions(k=1, link="identity", span=(-np.inf, np.inf)):
    """Of all rows, of dose 0 (heat counts less) and of dose 1 (itself and a job that counts)."""
    by = SCALE[:k, 0]
    surface = np.zeros((4, 3, 1))
    surface[2, 1], surface[0, 0] = 0.5, -0.25
    root = AdditiveFunction(
        2.0 * by,
        (
            Curve(HEAT, column(-2, 0, 4, 0.5) * by, column(0.04, 0.01, 0.09, 0.25) * by**2),
            Curve(JOB, column(1, -1, 0) * by, column(0.01, 0.01, 0.04) * by**2),
            Curve(DOSE, column(0, 0, 0) * by, column(0, 0, 0) * by**2),
        ),
        (Surface((HEAT, DOSE), surface * by, 0.01 * np.ones((4, 3, 1)) * by**2),),
        link,
        span,
    )
    zero = Curve(JOB, column(0, 0, 0) * by, column(0, 0, 0) * by)
    dose = Curve(DOSE, column(0, 0, 0) * by, column(0, 0, 0) * by)
    less = AdditiveFunction(
        -0.5 * by,
        (Curve(HEAT, column(1, 0, -2, 0) * by, column(0.01, 0, 0.04, 0) * by), zero, dose),
    )
    other = AdditiveFunction(
        1.5 * by,
        (
            Curve(HEAT, column(0, 0, 0, 0) * by, column(0, 0, 0, 0) * by),
            Curve(JOB, column(2, -2, 0) * by, column(0.03, 0.03, 0) * by),
            dose,
        ),
    )
    return root, root.plus(less), root.plus(other)


def additive_tree(k=1, link="identity", span=(-np.inf, np.inf)):
    """The tree that splits by dose."""
    known = [
        Node(0, None, 0, (1, 2), Split(2, 0.5), "additive", 0, 2.0, 1.0, 8, 8, 8, None),
        *(
            Node(
                i, 0, 1, None, None, "additive", i, 1.0, None, 4, 4, 4,
                (PathWeight(i, "additive", i, 1.0),),
            )
            for i in (1, 2)
        ),
    ]  # fmt: skip
    found = functions(k, link, span)
    predictors = [Predictor("additive", i, (f,)) for i, f in enumerate(found)]
    return Tree.from_nodes(known, predictors, max(k, 2) if link != "identity" else 1)


def additive_model(k=1, link="identity", span=(-np.inf, np.inf), n_trees=1):
    """A model of it, with the census of eight rows."""
    tree = additive_tree(k, link, span)
    census = census_of(tree, ROWS, np.ones(len(ROWS)))
    background = Background(np.zeros((3, 3)), np.zeros((3, 3)), None, census)
    duel = Comparison("another", 2.0, 1.0, 0.1)
    classes = None if link == "identity" else np.array(list("abc")[: max(k, 2)])
    return Model(
        schema=Schema(COLUMNS, from_frame=True),
        named=True,
        needed=(),
        classes=classes,
        trees=(tree,) * n_trees,
        imputations=(),
        backgrounds=(background,) * n_trees,
        loss=SquaredError() if classes is None else LogLoss(),
        account=Account(Verdict("mse", 1.0, duel, replace(duel, name="one more"))),
        settings=Settings("ToPsRegressor" if classes is None else "ToPsClassifier", {}),
    )
