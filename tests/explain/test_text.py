import pandas as pd

from conftest import HELD_OUT
from predictree import ToPsRegressor, export_text
from predictree.model.tree import Node, PathWeight, Predictor, Split, Tree


def test_every_part_of_a_node_is_shown():
    weights = (PathWeight(0, "linear", 0, 0.25), PathWeight(1, "linear", 0, 0.75))
    nodes = [
        Node(0, None, 0, (1, 2), Split(1, 41.5), "linear", 0, 0.5, 0.25, 30, 5, 4, None),
        Node(1, 0, 1, None, None, "linear", 0, 0.2, None, 10, 5, 4, weights),
        Node(2, 0, 1, None, None, "linear", 2, 0.3, None, 20, 5, 4, weights),
    ]
    tree = Tree.from_nodes(nodes, [Predictor("linear", 0, ()), Predictor("linear", 2, ())], 1)
    assert export_text(tree, feature_names=["sex", "age"], decimals=2) == (
        "all rows: linear  n=30/5/4  loss=0.50→0.25  Δv=0.25\n"
        "├─ age < 41.5: linear↑  n=10/5/4  loss=0.20  w=[0.25, 0.75]\n"
        "└─ age ≥ 41.5: linear  n=20/5/4  loss=0.30  w=[0.25, 0.75]"
    )


def test_weights_of_several_learners_have_names():
    weights = (
        PathWeight(0, "forest", 0, 0.5),
        PathWeight(1, "forest", 0, 0.25),
        PathWeight(1, "linear", 1, 0.249),
        PathWeight(1, "linear", 0, 0.001),
    )
    nodes = [
        Node(0, None, 0, (1, 2), Split(0, 1.0), "forest", 0, 0.5, 0.25, 30, 5, 4, None),
        Node(1, 0, 1, None, None, "forest", 0, 0.2, None, 10, 5, 4, weights),
        Node(2, 0, 1, None, None, "forest", 0, 0.2, None, 10, 5, 4, weights[:1]),
    ]
    predictors = [
        Predictor("forest", 0, ()),
        Predictor("linear", 1, ()),
        Predictor("linear", 0, ()),
    ]
    lines = export_text(Tree.from_nodes(nodes, predictors, 1)).splitlines()
    assert lines[1].endswith("w=[forest↑ 0.75, linear 0.25]")
    assert lines[2].endswith("w=[forest↑ 0.50]")


def test_an_estimator_shows_its_tree(regimes):
    X, y = regimes
    model = ToPsRegressor("lr", random_state=0, max_depth=2, **HELD_OUT).fit(X, y)
    text = model.export_text()
    assert text == export_text(model)
    assert text.splitlines()[1].startswith("├─ x0 < 0.5: linear")
    assert len(text.splitlines()) == len(model.tree_)


def test_column_names_are_used(regimes):
    X, y = regimes
    frame = pd.DataFrame(X, columns=["sex", "age", "bmi"])
    assert "sex < 0.5" in ToPsRegressor("lr", random_state=0).fit(frame, y).export_text()


def test_the_side_of_missing_values_is_told_where_there_were_any():
    splits = [Split(0, 1.0, missing_left=True, had_missing=True), Split(0, 1.0, missing_left=True)]
    shown = []
    for split in splits:
        nodes = [
            Node(0, None, 0, (1, 2), split, "a", 0, 0.5, 0.25, 30, 5, 4, None),
            Node(1, 0, 1, None, None, "a", 0, 0.2, None, 10, 5, 4, (PathWeight(0, "a", 0, 1.0),)),
            Node(2, 0, 1, None, None, "a", 0, 0.3, None, 20, 5, 4, (PathWeight(0, "a", 0, 1.0),)),
        ]
        shown.append(export_text(Tree.from_nodes(nodes, [Predictor("a", 0, ())], 1)))
    assert "x0 < 1 or missing:" in shown[0]
    assert "missing" not in shown[1]
