"""CONTRIBUTING.md is true: the house is there, and what its blocks add serves at once."""

import re
from pathlib import Path
from pkgutil import iter_modules

import numpy as np
import pytest
from sklearn.dummy import DummyRegressor
from sklearn.linear_model import LinearRegression

import predictree
from predictree import ToPsRegressor, load, save
from predictree.grow.methods import WAYS
from predictree.learners.forms import FORMS
from predictree.losses import LOSSES
from predictree.publish.export import EXPORTS

HOME = Path(__file__).parents[2]
PAGE = (HOME / "CONTRIBUTING.md").read_text("utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
REGISTRIES = (FORMS, LOSSES["regression"], WAYS, EXPORTS)
HELD_OUT = {"validation": (0.5, 0.3, 0.2), "random_state": 0}


@pytest.fixture(scope="module")
def added():
    """What the blocks of the page define; what they register is there for these tests alone."""
    before = [dict(registry) for registry in REGISTRIES]
    names = {}
    try:
        for block in BLOCKS:
            exec(block, names)
        yield names
    finally:
        for registry, kept in zip(REGISTRIES, before, strict=True):
            registry.clear()
            registry.update(kept)


@pytest.fixture(scope="module")
def rows():
    X = np.random.default_rng(0).random((300, 2))
    return X, np.where(X[:, 0] < 0.5, 1.0, 3.0) + 0.1 * X[:, 1]


def test_every_block_registers_one_thing_by_one_line():
    lines = [re.findall(r"(?m)^\w+(?:\[\"\w+\"\])+ = ", block) for block in BLOCKS]
    assert [len(found) for found in lines] == [1, 1, 1, 1]


def test_a_form_gives_the_tree_that_the_learner_gives(added, rows):
    call = ToPsRegressor([("mean", DummyRegressor())], max_depth=2, random_state=0)
    by_form = call.fit(*rows)
    assert by_form.fits_.exhaustive == 0  # no fit of a slow learner
    text, answers = by_form.export_text(), by_form.predict(rows[0])
    form = FORMS.pop("mean")
    try:
        one_by_one = call.fit(*rows)
    finally:
        FORMS["mean"] = form
    assert one_by_one.fits_.exhaustive > 0
    assert one_by_one.export_text() == text
    np.testing.assert_allclose(one_by_one.predict(rows[0]), answers, rtol=1e-9)


def test_a_loss_judges_and_is_saved_by_name(added, rows, tmp_path):
    model = ToPsRegressor("lr", loss="huber", max_depth=1, random_state=0).fit(*rows)
    assert model.verdict_.loss_name == "huber"
    assert model.tree_[0].split is not None
    save(model, tmp_path / "model")
    assert isinstance(load(tmp_path / "model").loss_, added["Huber"])


@pytest.mark.parametrize("n_learners", [1, 2])  # the first alone is searched for by sums
def test_a_combination_is_a_value_of_weights(added, rows, n_learners, tmp_path):
    slow = DummyRegressor(strategy="median")
    learners = [("linear", LinearRegression()), ("slow", slow)][:n_learners]
    call = ToPsRegressor(learners, weights="own", max_depth=2, **HELD_OUT)
    tree = call.fit(*rows).tree_
    assert len(tree) > 1
    assert all(node.trained_on == node.id for node in tree)
    call.set_params(checkpoint=tmp_path)
    assert call.fit(*rows).export_text() == call.fit(*rows).export_text()


def test_an_export_is_there_by_its_name(added, rows):
    model = ToPsRegressor("lr", max_depth=1, random_state=0).fit(*rows)
    assert model.export("rules").splitlines()[0] == f"1: {model.model_.rule(1)}"


def test_the_page_names_every_room_of_the_house():
    house = re.search(r"```\nsrc/predictree/\n(.*?)src/predictree_paper", PAGE, re.DOTALL)[1]
    named = set(re.findall(r"(?m)^  (\w+)", house))
    assert named == {module.name for module in iter_modules(predictree.__path__)} - {"__main__"}


@pytest.mark.parametrize("name", sorted(set(re.findall(r"`((?:\w+/)+\w*(?:\.py)?)`", PAGE))))
def test_files_and_folders_that_the_page_names_are_there(name):
    assert any((home / name).exists() for home in (HOME, HOME / "src", HOME / "src/predictree"))
