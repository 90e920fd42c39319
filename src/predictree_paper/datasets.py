"""The paper's public data: Bank Marketing, Online News and MNIST, from a folder or the net.

Functions look for the files in a folder, download what is not there and keep it there. The default
is scikit-learn's data folder.
"""

from hashlib import sha256
from io import BytesIO
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import fetch_openml, get_data_home

from predictree.errors import need
from predictree.model.tree import FloatArray, IntArray
from predictree_paper.downloads import DatasetError, Source, read_source, unpacked

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


class Labelled(NamedTuple):
    """A table in numbers: features in [0, 1], labels 0, 1, …, and the names of the features."""

    X: FloatArray
    y: IntArray
    names: list[str]


def fetch_bank_marketing(folder: Path | None = None) -> Labelled:
    """Return the paper's Bank Marketing data: who accepts a bank's offer.

    41,188 clients, 10 continuous and 52 binary features. The label is 1 for the 11.3 % who
    accepted. It is UCI's ``bank-additional-full.csv`` with a column for every category, but only
    one for the two kinds of contact. The folder may hold the archive, the table or the table
    gzipped, as UCI names them.
    """
    table = read_table(BANK, folder, sep=";")
    y = (table["y"] == "yes").to_numpy(dtype=np.int64)
    columns = pandas_for("Bank Marketing").get_dummies(table.drop(columns="y"), dtype=float)
    return _scaled(columns.drop(columns="contact_telephone"), y)


def fetch_online_news(folder: Path | None = None) -> Labelled:
    """Return the paper's Online News Popularity data: which articles are shared often.

    39,644 articles and 58 features, 14 of them binary. The label is 1 for those shared more than
    5,000 times. It is UCI's ``OnlineNewsPopularity.csv`` without the two columns that predict
    nothing, ``url`` and ``timedelta``. The paper speaks of 39,397 articles and 57 features and does
    not say which it left out; here nothing is.
    """
    return news_of(read_table(NEWS, folder, skipinitialspace=True))


def news_of(table: Any) -> Labelled:
    """Return the paper's features and labels from a table of Online News Popularity."""
    y = (table["shares"] > POPULAR).to_numpy(dtype=np.int64)
    return _scaled(table.drop(columns=["url", "timedelta", "shares"]), y)


def fetch_mnist(folder: Path | None = None) -> tuple[FloatArray, IntArray]:
    """Return all of MNIST as the paper's footnote has it: ten digits, 400 features.

    70,000 images, of which the last 10,000 are MNIST's own for testing. The features are the
    brightness of the central 20 × 20 pixels, in [0, 1]. The folder has MNIST's four ``idx`` files,
    gzipped or not, or will keep what OpenML sends.
    """
    images, labels = _mnist(folder)
    return _pixels(images), labels.astype(np.int64)


def fetch_mnist49(folder: Path | None = None) -> tuple[FloatArray, IntArray]:
    """Return the paper's OCR-49 data: 6,824 fours (label 0) and 6,958 nines (label 1) of MNIST."""
    images, labels = _mnist(folder)
    kept = np.isin(labels, (4, 9))
    return _pixels(images[kept]), (labels[kept] == 9).astype(np.int64)


def pandas_for(purpose: str) -> Any:
    """Return pandas, or say how to get it."""
    return need("pandas", "paper", purpose)


def read_table(source: Source, folder: Path | None, **how: Any) -> Any:
    """Return the table of a source as a frame."""
    pandas = pandas_for(f"reading {source.members[0]}")
    return pandas.read_csv(BytesIO(read_source(source, _home(folder))), **how)


def _home(folder: Path | None) -> Path:
    return Path(get_data_home(folder))


def _scaled(table: Any, y: IntArray) -> Labelled:
    X = table.to_numpy(dtype=np.float64)
    low, high = X.min(axis=0), X.max(axis=0)
    return Labelled((X - low) / np.where(high > low, high - low, 1.0), y, list(table.columns))


def _mnist(folder: Path | None) -> tuple[Pixels, Pixels]:
    """Return images, a row each, and digits; raise if they are not MNIST's."""
    home = _home(folder)
    images, labels = _mnist_on_disk(home) or _mnist_from_openml(home)
    kept = np.isin(labels, (4, 9))
    check_images(images[kept], labels[kept], home)
    return images, labels


def _pixels(images: Pixels) -> FloatArray:
    """Return the brightness of the central pixels."""
    inner = slice(MARGIN, SIDE - MARGIN)
    return images.reshape(-1, SIDE, SIDE)[:, inner, inner].reshape(len(images), -1) / 255


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
    pandas_for("reading MNIST from OpenML")
    try:
        bunch = fetch_openml("mnist_784", version=1, data_home=str(folder), as_frame=False)
    except OSError as error:
        raise DatasetError(
            f"MNIST could not be downloaded from OpenML ({error}): check the connection, or put "
            f"{', '.join(name for names in MNIST_FILES.values() for name in names)} into {folder}"
        ) from error
    return bunch.data.astype(np.uint8), bunch.target.astype(np.uint8)


def check_images(images: Pixels, labels: Pixels, folder: Path) -> None:
    """Raise if these are not MNIST's fours and nines, whatever their order."""
    rows = np.column_stack([labels, images])
    if sha256(b"".join(sorted(row.tobytes() for row in rows))).hexdigest() != MNIST49_DIGEST:
        raise DatasetError(
            f"the fours and nines in {folder} are not MNIST's: their SHA-256 is another. Delete "
            "the files and try again"
        )
