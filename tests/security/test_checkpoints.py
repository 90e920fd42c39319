"""Checkpoint folders that others may have changed: links, owners, odd lines, second processes."""

import json
import os
import subprocess
import sys
import textwrap
import zlib
from pathlib import Path

import numpy as np
import pytest

from predictree import ToPsRegressor
from predictree.errors import CheckpointError
from predictree.run.checkpoint import Checkpoint

rng = np.random.default_rng(0)
X = rng.normal(size=(120, 2))
Y = np.where(X[:, 1] > 0, X[:, 0], -X[:, 0])
HOW = {"max_depth": 1, "min_gain_se": 0.0, "random_state": 0}
posix = pytest.mark.skipif(os.name != "posix", reason="links and owners of POSIX")


def fit(folder, **more):
    return ToPsRegressor("lr", checkpoint=folder, **HOW, **more).fit(X, Y)


@pytest.fixture
def folder(tmp_path):
    place = tmp_path / "c"
    fit(place)
    return place


FILES = ["fit.json", "lock", "tree-0/journal"]


@posix
@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("there", [True, False], ids=["to a file", "to nothing"])
def test_a_link_is_not_followed(folder, tmp_path, name, there):
    target = tmp_path / "precious"
    if there:
        target.write_text("precious")
    (folder / name).unlink()
    (folder / name).symlink_to(target)
    with pytest.raises(CheckpointError):
        fit(folder)
    assert target.exists() == there
    assert not there or target.read_text() == "precious"


@posix
def test_a_link_to_a_folder_is_not_followed(folder, tmp_path):
    (folder / "tree-0").rename(tmp_path / "elsewhere")
    (folder / "tree-0").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(CheckpointError, match="link"):
        fit(folder)


@posix
@pytest.mark.parametrize("name", FILES)
def test_what_is_no_file_is_refused(folder, name):
    (folder / name).unlink()
    os.mkfifo(folder / name)
    with pytest.raises(CheckpointError):
        fit(folder)


@pytest.mark.parametrize("content", [b"precious\n", b"deadbeef {}\n", b"\x00" * 50, b"{}"])
def test_a_file_that_is_no_journal_stays_as_it_is(folder, content):
    journal = folder / "tree-0" / "journal"
    journal.write_bytes(content)
    with pytest.raises(CheckpointError, match="journal"):
        fit(folder)
    assert journal.read_bytes() == content


def written(text):
    return b"%08x %s\n" % (zlib.crc32(text), text)


ODD_LINES = [
    b"[]", b"null", b"3", b"{}", b"1e400", b'{"node": 1}', b'{"node": -1e400}',
    b'{"predictor": [1, 2, 3]}', b'{"predictor": [1, 0, 0, "a"]}', b'{"node": "1", "file": "a"}',
    b'{"node": "1", "file": "../../../etc/passwd", "sha256": "a"}',
    b'{"predictor": [-1, 1e400, 0, "a"], "file": "0123456789abcdef.npz", "sha256": 3}',
    b"[" * 100_000, b'{"node": ' * 50_000, b'{"a": NaN}', b"\xff\xfe",
]  # fmt: skip


@pytest.mark.parametrize("line", ODD_LINES, ids=range(len(ODD_LINES)))
@pytest.mark.parametrize("first", [True, False], ids=["header", "inside"])
def test_an_odd_line_with_a_sound_checksum_is_refused(folder, line, first):
    journal = folder / "tree-0" / "journal"
    header, *rest = journal.read_bytes().splitlines(keepends=True)
    kept = [] if first else [header]
    journal.write_bytes(b"".join([*kept, written(line), *rest]))
    with pytest.raises(CheckpointError):
        fit(folder)


def changed_lines():
    """Every key of every kind of line, gone or with something odd in its place.

    But for a node without a split, which says that it is a leaf: as sound a line as any.
    """
    for key in ("node", "gain", "loss", "split", "children", "predictor", "file", "sha256"):
        for odd in (None, -1, 1e308, float("inf"), "a", [], {}, [[]], "gone"):
            if key != "split" or odd is not None:
                yield key, odd


@pytest.mark.parametrize(("key", "odd"), list(changed_lines()))
def test_a_changed_line_is_refused_or_makes_no_difference(folder, key, odd):
    journal = folder / "tree-0" / "journal"
    expected = fit(folder).predict(X)
    header, *rest = journal.read_bytes().splitlines(keepends=True)
    lines = []
    for raw in rest:
        line = json.loads(raw.partition(b" ")[2])
        if key in line and odd == "gone":
            del line[key]
        elif key in line:
            line[key] = odd
        lines.append(written(json.dumps(line).encode()))
    journal.write_bytes(b"".join([header, *lines]))
    try:
        found = fit(folder).predict(X)
    except CheckpointError:
        return
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(
    "text",
    ["[]", "{}", '{"entropy": -1}', '{"entropy": 1e400}', '{"entropy": true}', "[" * 100_000, "a",
     '{"entropy": 99999999999999999999}', '{"entropy": "1"}'],
)  # fmt: skip
def test_an_odd_description_of_a_fit_is_refused(folder, text):
    (folder / "fit.json").write_text(text)
    with pytest.raises(CheckpointError):
        fit(folder)


@posix
@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="needs root")
@pytest.mark.parametrize("name", ["", "fit.json", "tree-0/journal"])
def test_what_belongs_to_another_user_is_refused_unless_it_is_trusted(folder, name):
    os.chown(folder / name, 12345, -1)
    with pytest.raises(CheckpointError, match=r"belongs to user 12345.*trusted=True"):
        fit(folder)
    fit(Checkpoint(folder, trusted=True))


def test_nothing_in_a_checkpoint_is_a_pickle(folder):
    suffixes = {path.suffix for path in folder.rglob("*") if path.is_file()}
    assert suffixes <= {"", ".json", ".npz", ".models"}
    for path in folder.rglob("*"):
        assert not path.is_file() or not path.read_bytes().startswith(b"\x80")


SECOND = """
    import sys
    from pathlib import Path
    from predictree.run.lock import Lock

    with Lock(Path(sys.argv[1]) / "lock"):
        print("held", flush=True)
        sys.stdin.readline()
"""


def test_a_second_process_is_told_who_holds_the_folder(folder):
    pytest.importorskip("fcntl")
    source = os.pathsep.join(filter(None, [str(Path(__file__).parents[2] / "src"), *sys.path]))
    process = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(SECOND), folder],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": source},
    )
    try:
        assert process.stdout.readline() == "held\n"
        with pytest.raises(CheckpointError, match=f"process {process.pid} on .* for "):
            fit(folder)
    finally:
        process.communicate("\n", timeout=60)
    fit(folder)
