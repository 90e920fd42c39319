from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from predictree.data import datasets
from predictree.data.datasets import load_data, make_regimes
from predictree.errors import InvalidInputError

# Sets by name


@pytest.mark.parametrize(
    ("name", "shape", "task"),
    [
        ("toy", (40, 2), "classification"),
        ("breast-cancer", (569, 30), "classification"),
        ("diabetes", (442, 10), "regression"),
        ("digits49", (361, 64), "classification"),
    ],
)
def test_sets_by_name(name, shape, task, monkeypatch):
    X, y, of_task = load_data(name)
    assert isinstance(X, pd.DataFrame)
    assert X.shape == shape
    assert y.shape == shape[:1]
    assert of_task == task
    assert task == "regression" or set(y) == {0, 1}
    monkeypatch.setattr(datasets, "find_spec", lambda name: None)
    np.testing.assert_array_equal(load_data(name).X, X.to_numpy())


def test_bikes_are_in_units_and_words():
    X, y, task = load_data("bikes")
    assert (X.shape, task, int(y.sum())) == ((17_379, 9), "regression", 3_292_679)
    assert X["temperature"].between(-8, 39).all()
    assert X["humidity"].between(0, 100).all()
    assert set(X["working_day"]) == {"yes", "no"}
    assert y[X["weather"] == "clear"].mean() > 1.5 * y[X["weather"] == "light rain or snow"].mean()


def test_wines_are_good_or_fair():
    X, y, task = load_data("wines")
    assert (X.shape, task) == ((6_497, 12), "classification")
    assert dict(zip(*np.unique(y, return_counts=True), strict=True)) == {"fair": 2384, "good": 4113}
    assert X["colour"].value_counts().to_dict() == {"white": 4898, "red": 1599}


def test_without_pandas_words_are_their_places_in_the_alphabet(monkeypatch):
    X = load_data("wines").X
    monkeypatch.setattr(datasets, "find_spec", lambda name: None)
    found = load_data("wines").X
    np.testing.assert_array_equal(found[:, :-1], X.drop(columns="colour"))
    np.testing.assert_array_equal(found[:, -1], X["colour"] == "white")


def test_shipped_tables_are_small_and_name_their_sources():
    folder = Path(datasets.__file__).with_name("tables")
    assert sum(file.stat().st_size for file in folder.glob("*.csv.gz")) < 1e6
    told = (folder / "SOURCES.md").read_text()
    assert all(f"`{file.name}`" in told for file in folder.glob("*.csv.gz"))
    assert "Fanaee-T" in told
    assert "CC BY 4.0" in told


def test_an_unknown_name_is_told_the_known_ones():
    with pytest.raises(InvalidInputError, match=r"'iris'.*'bikes', 'breast-cancer', 'diabetes'"):
        load_data("iris")


# Regimes


def test_the_labels_follow_the_tree():
    made = make_regimes(1000, noise=0, random_state=0)
    X, y = made.data, made.target
    left = X[:, made.tree.feature] < made.tree.threshold
    slopes = np.linalg.lstsq(np.column_stack([X[left], np.ones(left.sum())]), y[left])[0]
    np.testing.assert_allclose(slopes, [0, 3, 3, 3, -3, 0, -3], atol=1e-10)
    cell = np.column_stack([X[:, 1] < 0.5, X[:, 2] < 0.5, X[:, 3] < 0.5])[~left]
    values = {tuple(c): set(y[~left][(cell == c).all(axis=1)]) for c in np.unique(cell, axis=0)}
    assert {c: values[c] for c in values if c[0]} == {
        (True, True, True): {2.0},
        (True, True, False): {2.0},
        (True, False, True): {-1.0},
        (True, False, False): {-1.0},
    }
    assert {c: values[c] for c in values if not c[0]} == {
        (False, True, True): {1.0},
        (False, False, True): {1.0},
        (False, True, False): {-2.0},
        (False, False, False): {-2.0},
    }
    assert made.tree.learners == ("linear", "tree")


@pytest.mark.parametrize("n_samples", [10, 1000, 4000])
def test_the_threshold_is_a_decile(n_samples):
    made = make_regimes(n_samples, random_state=1)
    assert (made.data[:, 0] < made.tree.threshold).sum() == 4 * n_samples // 10


def test_classes_are_the_sign_of_the_noisy_signal():
    real = make_regimes(500, random_state=2)
    classes = make_regimes(500, task="classification", random_state=2)
    np.testing.assert_array_equal(classes.data, real.data)
    np.testing.assert_array_equal(classes.target, real.target > 0)
    assert 0.3 < classes.target.mean() < 0.7


def test_noise_has_the_spread_that_was_asked_for():
    made = make_regimes(4000, noise=2.0, random_state=3)
    assert np.std(made.target - made.tree.signal(made.data)) == pytest.approx(2.0, rel=0.05)


def test_seeds_and_shapes():
    one, same, other = (make_regimes(50, n_features=8, random_state=s) for s in (0, 0, 1))
    np.testing.assert_array_equal(one.data, same.data)
    np.testing.assert_array_equal(one.target, same.target)
    assert not np.array_equal(one.data, other.data)
    assert one.data.shape == (50, 8)
    assert one.feature_names == [f"x{i}" for i in range(8)]


@pytest.mark.parametrize("wrong", [{"n_features": 4}, {"task": "ranking"}])
def test_what_cannot_be_made_is_refused(wrong):
    with pytest.raises(InvalidInputError, match=next(iter(wrong))):
        make_regimes(50, **wrong)
