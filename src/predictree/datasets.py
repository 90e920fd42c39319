"""Data to try trees of predictors on: small sets, made ones, and those of the paper."""

from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256
from importlib import import_module
from importlib.util import find_spec
from inspect import cleandoc
from io import BytesIO
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import (
    fetch_openml,
    get_data_home,
    load_breast_cancer,
    load_diabetes,
    load_digits,
)
from sklearn.utils import Bunch, check_random_state

from predictree.downloads import Source, read_source, unpacked
from predictree.exceptions import DatasetError, InvalidInputError, MissingExtraError
from predictree.tree import FloatArray, IntArray

# Patients with hypertension, of five each, by decade of age: 20-29, 30-39, 40-49, 50 and over.
HYPERTENSION = {"diabetic": (1, 0, 4, 3), "non-diabetic": (0, 2, 2, 3)}
PATIENTS = 5

BANK = Source(
    url="https://archive.ics.uci.edu/static/public/222/bank+marketing.zip",
    files=(
        "bank+marketing.zip",
        "bank-additional.zip",
        "bank-additional-full.csv",
        "bank-additional-full.csv.gz",
    ),
    members=("bank-additional-full.csv", "bank-additional.zip"),
    digest="74adfc578bf77a7ff4bb1ba4a9f8709d9e3c6907342959c2c8416847e0afb4d8",  # of the table
)
NEWS = Source(
    url="https://archive.ics.uci.edu/static/public/332/online+news+popularity.zip",
    files=("OnlineNewsPopularity.zip", "online+news+popularity.zip"),
    members=("OnlineNewsPopularity.csv",),
    digest="dba2ae526f62ccef6f2f8efb53b0268319f4d0d2719bb98d88958cfe31d58a22",  # of the archive
)
POPULAR = 5000  # shares above which an article counts as popular

MNIST_FILES = {
    "images": ("train-images-idx3-ubyte", "t10k-images-idx3-ubyte"),
    "labels": ("train-labels-idx1-ubyte", "t10k-labels-idx1-ubyte"),
}
MNIST49_DIGEST = "2f6b74fe614b594a5833ee2b2e4a180406e53ac7b8cbff2553f40071bdfb5fb1"
SIDE, MARGIN = 28, 4  # pixels of an image, and of the border that the paper leaves out

Pixels = NDArray[np.uint8]
Features = tuple[FloatArray, list[str]]  # the numbers, and the names of the columns


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


def load(name: str) -> Dataset:
    """Return a small data set by name; nothing is downloaded.

    Parameters
    ----------
    name : {"toy", "breast-cancer", "diabetes", "digits49"}
        The paper's toy example, or one that scikit-learn ships. ``"digits49"`` are its 4 and 9
        (label 1).

    Returns
    -------
    X : DataFrame, or array if pandas is not installed
    y : array
    task : {"classification", "regression"}

    Examples
    --------
    >>> from predictree.datasets import load
    >>> X, y, task = load("diabetes")
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


LOADERS: dict[str, Callable[[], Dataset]] = {
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
    >>> from predictree.datasets import make_regimes
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


def fetch_bank_marketing(
    data_home: Any = None, *, return_X_y: bool = False, as_frame: bool = False
) -> Any:
    """Return the paper's Bank Marketing data: who accepts a bank's offer.

    41,188 clients, 10 continuous and 52 binary features, all in [0, 1]. The label is 1 for the
    11.3 % who accepted. It is UCI's ``bank-additional-full.csv`` with a column for every category,
    but only one for the two kinds of contact.

    Parameters
    ----------
    data_home : path, optional
        Folder that holds the file, or that will keep it once it is downloaded: the archive, the
        table or the table gzipped, as UCI names them. Defaults to scikit-learn's data folder.
    return_X_y : bool, default=False
        Whether to return ``(data, target)`` instead of a Bunch.
    as_frame : bool, default=False
        Whether the data are a DataFrame and the labels a Series.

    Returns
    -------
    Bunch
        With ``data``, ``target``, ``feature_names`` and ``DESCR``.

    Raises
    ------
    DatasetError
        If the file cannot be had, or is not the right one.
    """
    table = _table(BANK, data_home, sep=";")
    X, y = bank_features(table)
    return _bunch(fetch_bank_marketing, X, y, "accepted", return_X_y, as_frame)


def bank_features(table: Any) -> tuple[Features, IntArray]:
    """Return the paper's features and labels from a table of Bank Marketing."""
    y = (table["y"] == "yes").to_numpy(dtype=np.int64)
    columns = import_module("pandas").get_dummies(table.drop(columns="y"), dtype=float)
    return _scaled(columns.drop(columns="contact_telephone")), y


def fetch_online_news(
    data_home: Any = None, *, return_X_y: bool = False, as_frame: bool = False
) -> Any:
    """Return the paper's Online News Popularity data: which articles are shared often.

    39,644 articles and 58 features, 14 of them binary, all in [0, 1]. The label is 1 for those
    shared more than 5,000 times. It is UCI's ``OnlineNewsPopularity.csv`` without the two columns
    that predict nothing, ``url`` and ``timedelta``. The paper speaks of 39,397 articles and 57
    features and does not say which it left out; here nothing is.

    Parameters
    ----------
    data_home : path, optional
        Folder that holds UCI's archive, ``OnlineNewsPopularity.zip``, or that will keep it once it
        is downloaded. Defaults to scikit-learn's data folder.
    return_X_y : bool, default=False
        Whether to return ``(data, target)`` instead of a Bunch.
    as_frame : bool, default=False
        Whether the data are a DataFrame and the labels a Series.

    Returns
    -------
    Bunch
        With ``data``, ``target``, ``feature_names`` and ``DESCR``.

    Raises
    ------
    DatasetError
        If the file cannot be had, or is not the right one.
    """
    table = _table(NEWS, data_home, skipinitialspace=True)
    X, y = news_features(table)
    return _bunch(fetch_online_news, X, y, "popular", return_X_y, as_frame)


def news_features(table: Any) -> tuple[Features, IntArray]:
    """Return the paper's features and labels from a table of Online News Popularity."""
    y = (table["shares"] > POPULAR).to_numpy(dtype=np.int64)
    return _scaled(table.drop(columns=["url", "timedelta", "shares"])), y


def fetch_mnist49(
    data_home: Any = None, *, return_X_y: bool = False, as_frame: bool = False
) -> Any:
    """Return the paper's OCR-49 data: handwritten fours and nines.

    13,782 images of MNIST, 6,824 fours (label 0) and 6,958 nines (label 1). The 400 features are
    the brightness of the central 20 × 20 pixels, in [0, 1].

    Parameters
    ----------
    data_home : path, optional
        Folder with MNIST's four ``idx`` files, gzipped or not; if they are not there, it will keep
        what OpenML sends. Defaults to scikit-learn's data folder.
    return_X_y : bool, default=False
        Whether to return ``(data, target)`` instead of a Bunch.
    as_frame : bool, default=False
        Whether the data are a DataFrame and the labels a Series.

    Returns
    -------
    Bunch
        With ``data``, ``target``, ``feature_names`` and ``DESCR``.

    Raises
    ------
    DatasetError
        If the images cannot be had, or are not the right ones.
    """
    images, labels = _mnist(Path(get_data_home(data_home)))
    kept = np.isin(labels, (4, 9))
    y = (labels[kept] == 9).astype(np.int64)
    return _bunch(fetch_mnist49, _pixels(images[kept]), y, "nine", return_X_y, as_frame)


def fetch_mnist(data_home: Any = None, *, return_X_y: bool = False, as_frame: bool = False) -> Any:
    """Return all of MNIST as the paper's footnote has it: ten digits, 400 features.

    70,000 images, of which the last 10,000 are MNIST's own for testing. The 400 features are the
    brightness of the central 20 × 20 pixels, in [0, 1].

    Parameters, what is returned and what is raised are those of `fetch_mnist49`.
    """
    images, labels = _mnist(Path(get_data_home(data_home)))
    y = labels.astype(np.int64)
    return _bunch(fetch_mnist, _pixels(images), y, "digit", return_X_y, as_frame)


def _mnist(folder: Path) -> tuple[Pixels, Pixels]:
    """Return images, a row each, and digits; raise if they are not MNIST's."""
    images, labels = _mnist_on_disk(folder) or _mnist_from_openml(folder)
    kept = np.isin(labels, (4, 9))
    _check_images(images[kept], labels[kept], folder)
    return images, labels


def _pixels(images: Pixels) -> Features:
    """Return the brightness of the central pixels, and their names."""
    inner = slice(MARGIN, SIDE - MARGIN)
    X = images.reshape(-1, SIDE, SIDE)[:, inner, inner].reshape(len(images), -1) / 255
    names = [f"pixel_{i}_{j}" for i in range(SIDE)[inner] for j in range(SIDE)[inner]]
    return X, names


def _mnist_on_disk(folder: Path) -> tuple[Pixels, Pixels] | None:
    """Return images, a row each, and digits from the original files, if all are there."""
    found = {}
    for kind, names in MNIST_FILES.items():
        paths = [path for name in names for path in sorted(folder.glob(f"{name}*"))[:1]]
        if len(paths) < len(names):
            return None
        found[kind] = np.concatenate([_read_idx(path) for path in paths])
    n = len(found["labels"])
    if len(found["images"]) != n * SIDE**2:
        raise DatasetError(f"the MNIST files in {folder} do not belong together: replace them")
    return found["images"].reshape(n, -1), found["labels"]


def _read_idx(path: Path) -> Pixels:
    """Return the bytes behind the header, which tells its own length."""
    content = unpacked(path.read_bytes(), str(path))[-1]
    n_dimensions = content[3] if len(content) > 3 else 0
    return np.frombuffer(content[4 + 4 * n_dimensions :], dtype=np.uint8)


def _mnist_from_openml(folder: Path) -> tuple[Pixels, Pixels]:
    """Return images, a row each, and digits from OpenML, which scikit-learn caches."""
    _pandas("reading MNIST from OpenML")
    try:
        bunch = fetch_openml("mnist_784", version=1, data_home=str(folder), as_frame=False)
    except OSError as error:
        raise DatasetError(
            f"MNIST could not be downloaded from OpenML ({error}): check the connection, or put "
            f"{', '.join(name for names in MNIST_FILES.values() for name in names)} into {folder}"
        ) from error
    return bunch.data.astype(np.uint8), bunch.target.astype(np.uint8)


def _check_images(images: Pixels, labels: Pixels, folder: Path) -> None:
    """Raise if these are not MNIST's fours and nines, whatever their order."""
    rows = np.column_stack([labels, images])
    if sha256(b"".join(sorted(row.tobytes() for row in rows))).hexdigest() != MNIST49_DIGEST:
        raise DatasetError(
            f"the fours and nines in {folder} are not MNIST's: their SHA-256 is another. Delete "
            "the files and try again"
        )


def _table(source: Source, data_home: Any, **how: Any) -> Any:
    """Return the table of a source as a frame."""
    pandas = _pandas(f"reading {source.members[0]}")
    return pandas.read_csv(BytesIO(read_source(source, Path(get_data_home(data_home)))), **how)


def _scaled(table: Any) -> Features:
    """Return a table as numbers in [0, 1], and the names of its columns."""
    X = table.to_numpy(dtype=np.float64)
    low, high = X.min(axis=0), X.max(axis=0)
    return (X - low) / np.where(high > low, high - low, 1.0), list(table.columns)


def _named(X: FloatArray, names: Any) -> Any:
    """Return X as a frame, if pandas is there."""
    if find_spec("pandas") is None:
        return X
    return import_module("pandas").DataFrame(X, columns=names)


def _bunch(
    fetch: Callable[..., Any],
    features: Features,
    y: IntArray,
    target: str,
    return_X_y: bool,
    as_frame: bool,
) -> Any:
    """Return what a fetcher returns, described by its documentation's first paragraphs."""
    X, names = features
    if as_frame:
        pandas = _pandas("as_frame=True")
        data, labels = pandas.DataFrame(X, columns=names), pandas.Series(y, name=target)
    else:
        data, labels = X, y
    if return_X_y:
        return data, labels
    about = cleandoc(fetch.__doc__ or "").partition("\nParameters\n")[0]
    return Bunch(data=data, target=labels, feature_names=names, DESCR=about.strip())


def _pandas(purpose: str) -> Any:
    if find_spec("pandas") is None:
        raise MissingExtraError(f"{purpose} needs pandas: install predictree[frames]")
    return import_module("pandas")
