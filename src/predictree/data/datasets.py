"""Data to try trees of predictors on: small sets that need no download, and made ones."""

import csv
import gzip
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from importlib.resources import files
from importlib.util import find_spec
from io import StringIO
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits
from sklearn.utils import check_random_state

from predictree.errors import InvalidInputError
from predictree.model.tree import FloatArray

# Patients with hypertension, of five each, by decade of age: 20-29, 30-39, 40-49, 50 and over.
HYPERTENSION = {"diabetic": (1, 0, 4, 3), "non-diabetic": (0, 2, 2, 3)}
PATIENTS = 5


class Toy(NamedTuple):
    """The toy data: unpacks into X and y."""

    X: FloatArray
    y: NDArray[np.int64]


class Dataset(NamedTuple):
    """A data set by name: unpacks into X, y and the task."""

    X: Any
    y: NDArray[Any]
    task: str


@dataclass(frozen=True, slots=True)
class TrueTree:
    """The tree that data of `make_regimes` follow: one split, and a function on each side.

    Attributes
    ----------
    feature : int
    threshold : float
        Rows with a smaller value go left.
    learners : tuple of str
        The kind of learner that is right on the left and on the right: ``"linear"``, ``"tree"``.
    """

    feature: int = 0
    threshold: float = 0.4
    learners: tuple[str, str] = ("linear", "tree")

    def signal(self, X: FloatArray) -> FloatArray:
        """Return the label of each row before noise; a class is whether it is above zero."""
        linear = 3 * (X[:, 1] + X[:, 2] + X[:, 3] - X[:, 4] - 1)
        low = np.where(X[:, 2] < 0.5, 2.0, -1.0)
        high = np.where(X[:, 3] < 0.5, 1.0, -2.0)
        steps = np.where(X[:, 1] < 0.5, low, high)
        return np.where(X[:, self.feature] < self.threshold, linear, steps)


@dataclass(frozen=True, slots=True)
class Regimes:
    """Data of two regimes, and the tree that they follow."""

    data: FloatArray
    target: NDArray[Any]
    feature_names: list[str]
    tree: TrueTree


def load_toy() -> Toy:
    """Return the paper's toy example (its Fig. 1): hypertension by diabetes and age.

    Forty patients, five in each of eight categories. Feature 0 is 1 for diabetics, feature 1 the
    lower end of the decade of age (20, 30, 40, 50); the label is 1 for hypertension.

    Returns
    -------
    X : array of shape (40, 2)
    y : array of shape (40,)
    """
    rows, labels = [], []
    for diabetic, group in ((1.0, "diabetic"), (0.0, "non-diabetic")):
        for age, ill in zip((20.0, 30.0, 40.0, 50.0), HYPERTENSION[group], strict=True):
            rows += [(diabetic, age)] * PATIENTS
            labels += [1] * ill + [0] * (PATIENTS - ill)
    return Toy(np.array(rows), np.array(labels))


def load_data(name: str) -> Dataset:
    """Return a small data set by name; nothing is downloaded.

    Parameters
    ----------
    name : {"bikes", "wines", "toy", "breast-cancer", "diabetes", "digits49"}
        ``"bikes"``: how many bikes were rented in Washington in each of 17,379 hours of 2011 and
        2012, with the weather (Fanaee-T and Gama, 2013). ``"wines"``: whether tasters found 6,497
        Portuguese wines good, with their chemical analysis (Cortez and others, 2009). Both are from
        the UCI repository, CC BY 4.0; ``tables/SOURCES.md`` beside this module says what was
        changed. Then the paper's toy example, and three that scikit-learn ships; ``"digits49"``
        are its 4 and 9 (label 1).

    Returns
    -------
    X : DataFrame, or array if pandas is not installed
        In such an array words are numbers, by their place in the alphabet.
    y : array
    task : {"classification", "regression"}

    Examples
    --------
    >>> from predictree.data.datasets import load_data
    >>> X, y, task = load_data("diabetes")
    >>> X.shape, task
    ((442, 10), 'regression')
    """
    if name not in LOADERS:
        raise InvalidInputError(f"there is no data set {name!r}: choose one of {sorted(LOADERS)}")
    return LOADERS[name]()


def _toy() -> Dataset:
    X, y = load_toy()
    return Dataset(_named(X, ["diabetic", "age"]), y, "classification")


def _breast_cancer() -> Dataset:
    bunch = load_breast_cancer()
    return Dataset(_named(bunch.data, bunch.feature_names), bunch.target, "classification")


def _diabetes() -> Dataset:
    bunch = load_diabetes(scaled=False)
    return Dataset(_named(bunch.data, bunch.feature_names), bunch.target, "regression")


def _digits49() -> Dataset:
    bunch = load_digits()
    kept = np.isin(bunch.target, (4, 9))
    y = (bunch.target[kept] == 9).astype(np.int64)
    return Dataset(_named(bunch.data[kept], bunch.feature_names), y, "classification")


def _shipped(name: str, task: str) -> Dataset:
    """Return a table of the package; its last column is the target."""
    packed = files("predictree.data").joinpath("tables", f"{name}.csv.gz").read_bytes()
    header, *rows = csv.reader(StringIO(gzip.decompress(packed).decode()))
    columns = [_values(column) for column in zip(*rows, strict=True)]
    return Dataset(_framed(columns[:-1], header[:-1]), columns[-1], task)


def _values(texts: Sequence[str]) -> NDArray[Any]:
    """Return whole numbers, numbers or words, whichever the texts are."""
    for kind in (np.int64, np.float64):
        try:
            return np.array(texts, dtype=kind)
        except ValueError:
            continue
    return np.array(texts)


def _framed(columns: Sequence[NDArray[Any]], names: Sequence[str]) -> Any:
    if find_spec("pandas") is not None:
        return import_module("pandas").DataFrame(dict(zip(names, columns, strict=True)))
    return np.column_stack(
        [np.unique(c, return_inverse=True)[1] if c.dtype.kind == "U" else c for c in columns]
    ).astype(np.float64)


LOADERS: dict[str, Callable[[], Dataset]] = {
    "bikes": partial(_shipped, "bikes", "regression"),
    "wines": partial(_shipped, "wines", "classification"),
    "toy": _toy,
    "breast-cancer": _breast_cancer,
    "diabetes": _diabetes,
    "digits49": _digits49,
}


def make_regimes(
    n_samples: int = 4000,
    *,
    n_features: int = 6,
    noise: float = 1.0,
    task: str = "regression",
    random_state: Any = None,
) -> Regimes:
    """Make data from two regions that need different learners, with the tree that tells them apart.

    Features are uniform on [0, 1]. Where feature 0 is below 0.4 the label is linear in features 1
    to 4; elsewhere it is one of four constants, by features 1 to 3. Any further feature means
    nothing. Four tenths of the rows are below 0.4, so that a decile of feature 0 is the split.

    Parameters
    ----------
    n_samples : int, default=4000
    n_features : int, default=6
        At least 5.
    noise : float, default=1.0
        Standard deviation of what is added to the label; to its signal, if it is a class.
    task : {"regression", "classification"}, default="regression"
        In a classification the label is whether the noisy signal is above zero.
    random_state : int, RandomState or None, default=None

    Returns
    -------
    Regimes
        With ``data``, ``target``, ``feature_names``, and ``tree``: the true split and the right
        learner on each side.

    Examples
    --------
    >>> from predictree.data.datasets import make_regimes
    >>> made = make_regimes(100, random_state=0)
    >>> made.data.shape, made.tree.threshold, made.tree.learners
    ((100, 6), 0.4, ('linear', 'tree'))
    """
    if n_features < 5:
        raise InvalidInputError(f"n_features={n_features}: the regimes need at least 5")
    if task not in ("regression", "classification"):
        raise InvalidInputError(f"task={task!r}: it must be 'regression' or 'classification'")
    rng, tree = check_random_state(random_state), TrueTree()
    X = rng.uniform(size=(n_samples, n_features))
    X[:, tree.feature] = (rng.permutation(n_samples) + X[:, tree.feature]) / n_samples
    y = tree.signal(X) + noise * rng.normal(size=n_samples)
    if task == "classification":
        y = (y > 0).astype(np.int64)
    return Regimes(X, y, [f"x{i}" for i in range(n_features)], tree)


def _named(X: FloatArray, names: Any) -> Any:
    """Return X as a frame, if pandas is there."""
    if find_spec("pandas") is None:
        return X
    return import_module("pandas").DataFrame(X, columns=names)
