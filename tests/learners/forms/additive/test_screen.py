"""Which of very many columns each model may use."""

import numpy as np
import pytest

from predictree import AdditiveRegressor
from predictree.learners.forms.additive import screen as module
from predictree.learners.forms.additive.screen import screen


@pytest.fixture
def few(monkeypatch):
    monkeypatch.setattr(module, "MANY", 5)
    monkeypatch.setattr(module, "CHOSEN", 2)


RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 8))
FOLD = np.arange(300) % 3
COLUMNS = np.arange(8)


def screened(y, n_outputs=1, fold=FOLD, X=X):
    return screen(X, y, np.ones(len(y)), fold, COLUMNS, n_outputs)


def test_a_few_columns_are_all_used():
    assert screened(X[:, 0]).all()
    assert screened(X[:, 0]).shape == (4, 8)


def test_those_that_tell_most_are_chosen(few):
    found = screened(np.square(X[:, 3]) + X[:, 6])
    assert (found.sum(axis=1) == 2).all()
    assert found[:, [3, 6]].all()


def test_rows_of_a_fold_have_no_say_in_what_judges_them(few):
    y = X[:, 3] + X[:, 6]
    other = np.where(FOLD == 1, 50 * X[:, 0], y)
    found = screened(other - other[FOLD == 1].mean() * (FOLD == 1))
    assert found[1, [3, 6]].all()
    assert found[0, 0]
    assert found[3, 0]


def test_gaps_and_levels_tell_something(few):
    gappy = X.copy()
    gappy[::4, 2] = np.nan
    assert screened(np.isnan(gappy[:, 2]).astype(float), X=gappy)[:, 2].all()


def test_several_classes(few):
    y = np.digitize(X[:, 4], [-0.5, 0.5])
    assert screened(y, 3)[:, 4].all()


def test_a_held_out_part_is_judged_by_the_last_model(few):
    found = screened(X[:, 3], fold=np.where(np.arange(300) < 100, 0, -1))
    assert found.shape == (2, 8)
    np.testing.assert_array_equal(found[0], found[1])


def test_a_model_of_many_columns_uses_those_that_tell(few):
    y = 3 * X[:, 3] + 0.1 * RNG.normal(size=300)
    model = AdditiveRegressor(random_state=0).fit(X, y)
    assert len(model.function_.curves) < 8
    assert model.score(X, y) > 0.98
    assert model.feature_importances_.argmax() == 3
