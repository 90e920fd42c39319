"""Bank Marketing, Online News and MNIST: from files, from the net, and what is refused."""

import gzip
import hashlib
import io
import sys
import zipfile
from urllib.error import URLError

import numpy as np
import pytest
from sklearn.utils import Bunch

from predictree.errors import MissingExtraError, PredictreeError
from predictree_paper import datasets, downloads
from predictree_paper.datasets import fetch_bank_marketing, fetch_mnist49, fetch_online_news
from predictree_paper.downloads import DatasetError, Source, read_source

TABLE = b"a,b\n1,2\n"
BANK = b"""age;contact;job;y
20;"telephone";"cook";"no"
30;"cellular";"nurse";"yes"
40;"cellular";"cook";"no"
"""
NEWS = b"""url, timedelta, words, is_weekend, shares
http://a, 3, 10, 0, 5000
http://b, 2, 30, 1, 5001
http://c, 1, 20, 0, 10
"""


def zipped(**members):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in members.items():
            archive.writestr(name.replace("__", "/"), content)
    return buffer.getvalue()


def digest(content):
    return hashlib.sha256(content).hexdigest()


def source(genuine):
    """A table.csv, inside inner.zip, inside outer.zip; ``genuine`` has the digest."""
    return Source(
        "https://example.org/outer.zip",
        ("outer.zip", "inner.zip", "table.csv", "table.csv.gz"),
        ("table.csv", "inner.zip"),
        digest(genuine),
    )


INNER = zipped(**{"folder__table.csv": TABLE, "other__._table.csv": b"not this"})
OUTER = zipped(**{"inner.zip": INNER, "else.zip": b""})


@pytest.fixture
def net(monkeypatch):
    """A network that serves what it is told to, and counts; by default there is none."""

    class Net:
        content, error, asked = b"", URLError("no route"), 0

        def open(self, url, timeout):
            self.asked += 1
            if self.error is not None:
                raise self.error
            return io.BytesIO(self.content)

        def serve(self, content):
            self.content, self.error = content, None

    net = Net()
    monkeypatch.setattr(downloads, "urlopen", net.open)
    return net


# Files


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("table.csv", TABLE),
        ("table.csv.gz", gzip.compress(TABLE, mtime=0)),
        ("inner.zip", INNER),
        ("outer.zip", OUTER),
    ],
)
def test_a_file_in_the_folder_is_enough(tmp_path, net, name, content):
    (tmp_path / name).write_bytes(content)
    assert read_source(source(TABLE), tmp_path) == TABLE
    assert net.asked == 0


def test_the_digest_may_be_that_of_an_archive(tmp_path):
    (tmp_path / "outer.zip").write_bytes(OUTER)
    assert read_source(source(INNER), tmp_path) == TABLE
    assert read_source(source(OUTER), tmp_path) == TABLE


def test_a_download_is_kept_for_the_next_time(tmp_path, net):
    net.serve(OUTER)
    assert read_source(source(TABLE), tmp_path) == TABLE
    assert read_source(source(TABLE), tmp_path) == TABLE
    assert net.asked == 1
    assert [path.name for path in tmp_path.iterdir()] == ["outer.zip"]


def test_a_download_with_another_digest_is_refused_and_not_kept(tmp_path, net):
    net.serve(zipped(**{"table.csv": b"a,b\n1,3\n"}))
    with pytest.raises(DatasetError, match=r"outer\.zip is not the file it should be.*SHA-256"):
        read_source(source(TABLE), tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_file_with_another_digest_is_refused_and_left_to_its_owner(tmp_path, net):
    (tmp_path / "table.csv").write_bytes(b"a,b\n1,3\n")
    with pytest.raises(DatasetError, match=r"table\.csv is not the file it should be"):
        read_source(source(TABLE), tmp_path)
    assert (tmp_path / "table.csv").exists()
    assert net.asked == 0


@pytest.mark.parametrize(
    "content",
    [
        INNER[:-30],
        gzip.compress(TABLE, mtime=0)[:-9],
        b"\x1f\x8bnonsense",
        zipped(**{"other.csv": TABLE}),
    ],
)
def test_a_file_that_cannot_be_unpacked_is_named(tmp_path, content):
    (tmp_path / "outer.zip").write_bytes(content)
    with pytest.raises(DatasetError, match=r"outer\.zip cannot be unpacked"):
        read_source(source(TABLE), tmp_path)


def test_without_a_network_the_error_says_what_to_put_where(tmp_path, net):
    with pytest.raises(DatasetError, match=r"no route.*put outer\.zip or inner\.zip") as caught:
        read_source(source(TABLE), tmp_path)
    assert str(tmp_path) in str(caught.value)
    assert isinstance(caught.value, PredictreeError)
    assert isinstance(caught.value, OSError)


def test_a_write_that_fails_leaves_nothing_behind(tmp_path, net, monkeypatch):
    net.serve(OUTER)

    def full(*args):
        raise OSError("disk full")

    monkeypatch.setattr(downloads.Path, "replace", full)
    with pytest.raises(OSError, match="disk full"):
        read_source(source(TABLE), tmp_path)
    assert list(tmp_path.iterdir()) == []


# The paper's sets


def stand_in(monkeypatch, tmp_path, name, content):
    """Put a small table in place of one of the paper's."""
    real = getattr(datasets, name)
    small = Source(real.url, real.files, real.members, digest(content))
    monkeypatch.setattr(datasets, name, small)
    (tmp_path / real.files[0]).write_bytes(zipped(**{real.members[0]: content}))


def test_bank_marketing_has_a_column_a_category_and_one_for_contact(tmp_path, monkeypatch):
    stand_in(monkeypatch, tmp_path, "BANK", BANK)
    X, y, names = fetch_bank_marketing(tmp_path)
    assert names == ["age", "contact_cellular", "job_cook", "job_nurse"]
    assert X.tolist() == [[0, 0, 1, 0], [0.5, 1, 0, 1], [1, 1, 1, 0]]
    assert y.tolist() == [0, 1, 0]


def test_online_news_is_popular_above_5000_shares(tmp_path, monkeypatch):
    stand_in(monkeypatch, tmp_path, "NEWS", NEWS)
    X, y, names = fetch_online_news(tmp_path)
    assert names == ["words", "is_weekend"]
    assert X.tolist() == [[0, 0], [1, 1], [0.5, 0]]
    assert y.tolist() == [0, 1, 0]


def test_the_default_folder_is_that_of_scikit_learn(tmp_path, monkeypatch, net):
    monkeypatch.setenv("SCIKIT_LEARN_DATA", str(tmp_path))
    stand_in(monkeypatch, tmp_path, "NEWS", NEWS)
    assert fetch_online_news().X.shape == (3, 2)
    assert net.asked == 0


def test_tables_need_pandas_and_say_so(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(MissingExtraError, match=r"needs pandas: .*predictree\[paper\]"):
        fetch_bank_marketing(tmp_path)


# MNIST


@pytest.fixture
def digits(monkeypatch):
    """Ten images, one a digit; the digest is that of the four and the nine, in either order."""
    images = np.random.default_rng(0).integers(0, 256, (10, 784), dtype=np.uint8)
    labels = np.arange(10, dtype=np.uint8)
    rows = [bytes([digit]) + images[digit].tobytes() for digit in (4, 9)]
    monkeypatch.setattr(datasets, "MNIST49_DIGEST", digest(b"".join(rows)))
    return images, labels


def write_idx(folder, images, labels, pack=lambda content: content, suffix=""):
    for part, rows in (("train", slice(0, 6)), ("t10k", slice(6, None))):
        n = len(labels[rows]).to_bytes(4, "big")
        size = (28).to_bytes(4, "big")
        content = b"\0\0\x08\x03" + n + size + size + images[rows].tobytes()
        (folder / f"{part}-images-idx3-ubyte{suffix}").write_bytes(pack(content))
        content = b"\0\0\x08\x01" + n + labels[rows].tobytes()
        (folder / f"{part}-labels-idx1-ubyte{suffix}").write_bytes(pack(content))


@pytest.mark.parametrize(("pack", "suffix"), [(bytes, ""), (gzip.compress, ".gz")])
def test_mnist49_is_the_middle_of_the_fours_and_nines(tmp_path, digits, pack, suffix):
    images, labels = digits
    write_idx(tmp_path, images, labels, pack, suffix)
    X, y = fetch_mnist49(tmp_path)
    assert y.tolist() == [0, 1]
    middle = images.reshape(10, 28, 28)[[4, 9], 4:24, 4:24]
    np.testing.assert_array_equal(X, middle.reshape(2, 400) / 255)


def test_mnist49_comes_from_openml_where_there_are_no_files(tmp_path, digits, monkeypatch):
    images, labels = digits

    def openml(name, version, data_home, as_frame):
        assert (name, version, data_home) == ("mnist_784", 1, str(tmp_path))
        order = slice(None, None, -1)  # the order of the rows is not to matter
        return Bunch(data=images[order].astype(float), target=labels[order].astype(str))

    monkeypatch.setattr(datasets, "fetch_openml", openml)
    X, y = fetch_mnist49(tmp_path)
    assert X.shape == (2, 400)
    assert y.tolist() == [1, 0]


def test_mnist49_without_a_network_says_what_to_put_where(tmp_path, monkeypatch):
    def openml(*args, **kwargs):
        raise URLError("no route")

    monkeypatch.setattr(datasets, "fetch_openml", openml)
    with pytest.raises(DatasetError, match=r"no route.*put train-images-idx3-ubyte"):
        fetch_mnist49(tmp_path)


def test_other_images_than_mnists_are_refused(tmp_path, digits):
    images, labels = digits
    images[4, 100] ^= 1
    write_idx(tmp_path, images, labels)
    with pytest.raises(DatasetError, match="are not MNIST's"):
        fetch_mnist49(tmp_path)


def test_cut_off_images_are_refused(tmp_path, digits):
    write_idx(tmp_path, *digits)
    path = tmp_path / "train-images-idx3-ubyte"
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(DatasetError, match="do not belong together"):
        fetch_mnist49(tmp_path)
