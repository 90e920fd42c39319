"""The function of a region as a formula: every term in words, exact where that is possible."""

import numpy as np
import pandas as pd
import pytest

from handmade import additive_model, additive_tree
from predictree import ToPsRegressor, export_text
from predictree.errors import InvalidInputError
from predictree.explain.additive import AdditiveTree
from predictree.explain.formulas import formula_of, formulas


def test_a_formula_by_hand():
    read = AdditiveTree.of(additive_model())
    assert formula_of(read, 1) == [
        "node 1: dose < 0.5 (4 rows, 50%)",
        "  score = 1.5",
        "    +*heat         -1 at 0, +0 at 10, +2 at 20",
        "    + job          cook +1, poet -1",
        "    + heat × dose  from -0.25 at 0 and 0 to +0 at 10 and 0",
    ]


def test_gaps_have_an_effect_of_their_own():
    read = AdditiveTree.of(additive_model())
    assert "    + heat         -2 at 0, +0 at 10, +4 at 20; missing +0.5" in formula_of(read, 2)
    assert "    +*job          cook +3, poet -3, other or missing +0" in formula_of(read, 2)


def test_all_rows_come_first_then_regions_by_what_they_matter():
    text = formulas(AdditiveTree.of(additive_model()))
    heads = [line.split(" (")[0] for line in text.splitlines() if line.startswith("node")]
    assert heads == ["node 0: all rows", "node 2: dose ≥ 0.5", "node 1: dose < 0.5"]
    assert text.endswith("* another than for all rows")


def test_classes_have_a_formula_each():
    two = "\n".join(formula_of(AdditiveTree.of(additive_model(1, "logit")), 0))
    assert "log-odds of b = 2" in two
    three = formula_of(AdditiveTree.of(additive_model(3, "softmax")), 0)
    assert [line.strip() for line in three if "log-odds" in line] == [
        "log-odds of a = 2",
        "log-odds of b = -2",
        "log-odds of c = 1",
    ]


def test_a_line_is_told_by_its_slope():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"heat": rng.uniform(0, 10, 400), "noise": rng.normal(size=400)})
    model = ToPsRegressor("additive", max_depth=0, random_state=0).fit(X, 2 * X.heat)
    text = model.export_text(formulas=True)
    assert "heat  +2 a unit from" in text
    assert "another than" not in text


def test_text_of_a_tree_has_no_weights_where_a_leaf_has_one_function():
    text = export_text(additive_model())
    assert "w=" not in text
    assert "node 1" not in text
    assert export_text(additive_tree()).splitlines()[1].startswith("├─ x2 < 0.5: additive")


def test_formulas_follow_the_tree_under_any_names():
    text = export_text(additive_model(), feature_names=["a", "b", "c"], formulas=True)
    assert text.splitlines()[0].startswith("all rows: additive")
    assert "    +*a      -1 at 0, +0 at 10, +2 at 20" in text
    assert "node 1: c < 0.5" in text


def test_other_trees_have_no_formulas(regimes):
    X, y = regimes
    with pytest.raises(InvalidInputError, match="learners='additive'"):
        ToPsRegressor("lr", max_depth=0).fit(X, y).export_text(formulas=True)
    with pytest.raises(InvalidInputError, match="no fitted model"):
        export_text(additive_tree(), formulas=True)


def test_conditions_that_a_later_one_implies_are_left_out():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"x": rng.uniform(0, 1, 600), "k": rng.choice(list("abc"), 600)})
    y = np.where(X.x < 0.5, 0, np.where(X.x < 0.75, 5, -5)) + np.where(X.k == "a", 9 * X.x, 0)
    model = ToPsRegressor("additive", max_depth=3, random_state=0).fit(X, y)
    read = AdditiveTree.of(model)
    for node in range(len(read.tree)):
        parts = read.rule(node).split(" and ")
        below, above = ([p for p in parts if p.startswith(f"x {sign}")] for sign in "<≥")
        assert len(below) <= 1
        assert len(above) <= 1
        whole = model.model_.rules(node)
        assert set(parts) <= {*whole, "all rows"}
        if below:
            assert below[0] == [rule for rule in whole if rule.startswith("x <")][-1]
