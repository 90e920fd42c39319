import json

import numpy as np
import pytest

from predictree import ToPsRegressor, export_text
from predictree.errors import InvalidInputError
from predictree.explain import summarise
from predictree.publish.export import EXPORTS


@pytest.fixture(scope="module")
def model():
    X = np.random.default_rng(0).random((120, 2))
    return ToPsRegressor("lr", max_depth=1, random_state=0).fit(X, np.abs(X[:, 0] - 0.5))


def test_json_has_what_the_summary_has(model):
    assert json.loads(model.export("json")) == json.loads(json.dumps(summarise(model)))
    assert model.export("json", indent=2).startswith("{\n  ")


def test_text_is_the_drawn_tree(model):
    assert model.export("text", decimals=2) == export_text(model, decimals=2)


def test_other_forms_are_refused_by_name(model):
    with pytest.raises(InvalidInputError, match="form='pmml' is no export: use one of 'text'"):
        model.export("pmml")


def test_a_form_serves_once_it_is_registered(model, monkeypatch):
    monkeypatch.setitem(EXPORTS, "size", lambda model: len(model.tree))
    assert model.export("size") == len(model.tree_)
