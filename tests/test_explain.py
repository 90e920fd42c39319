import numpy as np
import pytest

from predictree import ToPsClassifier, ToPsRegressor
from predictree.exceptions import InvalidInputError
from predictree.inspection import explain


def in_order(parts):
    total = np.zeros_like(parts[0].share)
    for part in parts:
        total = total + part.share
    return total


def test_shares_sum_to_the_prediction(regimes):
    X, y = regimes
    model = ToPsRegressor("lr", random_state=0).fit(X, y)
    for i in range(20):
        found = explain(model, X[i : i + 1])
        (path,) = found.paths
        assert (in_order(path.parts) == path.scores).all()
        assert found.scores[0] == model.predict(X[i : i + 1])[0]
        assert sum(part.weight for part in path.parts) == pytest.approx(1)


def test_rules_lead_to_the_leaf(regimes):
    X, y = regimes
    model = ToPsRegressor("lr", max_depth=1, random_state=0).fit(X, y)
    (path,) = explain(model, X[:1]).paths
    rule = "x0 ≥ 0.5" if X[0, 0] else "x0 < 0.5"
    assert [step.rule for step in path.steps] == ["all rows", rule]
    assert [step.column for step in path.steps] == [None, "x0"]
    assert path.leaf == model.apply(X[:1])[0]
    assert {part.trained_on for part in path.parts} <= {step.node for step in path.steps}


def test_trees_are_averaged(regimes):
    X, y = regimes
    label = np.where(y > 0, "up", "down")
    model = ToPsClassifier("lr", n_repeats=3, random_state=0).fit(X, label)
    found = explain(model, X[:1])
    assert len(found.paths) == 3
    assert (found.scores == np.mean([path.scores for path in found.paths], axis=0)).all()
    assert found.scores[1] - 0.5 == model.decision_function(X[:1])[0]


def test_gaps_are_filled_as_in_predict(regimes):
    X, y = regimes
    X = X.copy()
    X[::7, 2] = np.nan
    model = ToPsRegressor("lr", imputation="mice", n_imputations=2, random_state=0).fit(X, y)
    assert explain(model, X[:1]).scores[0] == model.predict(X[:1])[0]


def test_one_row_at_a_time(regimes):
    X, y = regimes
    model = ToPsRegressor("lr", random_state=0).fit(X, y)
    with pytest.raises(InvalidInputError, match="one row is wanted, and there are 2"):
        explain(model, X[:2])
