"""A model in plain data: trees of additive models in words, too."""

from dataclasses import replace

import numpy as np
import pytest

from handmade import additive_model
from predictree import ToPsRegressor
from predictree.explain import summary
from predictree.explain.summary import summarise


def test_trees_of_additive_models_are_told_in_words():
    words = summarise(additive_model())["words"]
    assert words.startswith("all rows: 8 rows\n├─ dose < 0.5: 50%")
    assert "What is special there, against one model for all rows:\n" in words
    assert "job matters 3.0 times as much" in words


def test_of_many_regions_the_first_are_told(monkeypatch):
    monkeypatch.setattr(summary, "TOLD", 1)
    words = summarise(additive_model())["words"]
    assert "in the 1 regions that depart most from it; 1 more:" in words
    assert words.partition("depart most")[2].count("% of the rows") == 1


@pytest.mark.parametrize("census", [True, False])
def test_other_trees_and_older_ones_have_no_words(census):
    model = additive_model()
    if census:
        X = np.random.default_rng(0).random((90, 2))
        model = ToPsRegressor("lr", max_depth=0).fit(X, X[:, 0] + X[:, 1] ** 2)
    else:
        bare = replace(model.backgrounds[0], census=None)
        model = replace(model, backgrounds=(bare,))
    assert summarise(model)["words"] is None
