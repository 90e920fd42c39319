"""Files that are there whole or not at all, and nowhere but where they were asked for."""

import os
import stat

import pytest

from predictree.run.files import Unbuffered, clear_drafts, replacing


def test_a_file_appears_once_it_is_whole(tmp_path):
    target = tmp_path / "model"
    with replacing(target) as file:
        file.write(b"new")
        assert not target.exists()
    assert target.read_bytes() == b"new"
    assert list(tmp_path.iterdir()) == [target]


def test_what_fails_leaves_the_old_file_and_nothing_else(tmp_path):
    target = tmp_path / "model"
    target.write_bytes(b"old")

    def interrupted():
        with replacing(target) as file:
            file.write(b"ne")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert target.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [target]


@pytest.mark.skipif(os.name != "posix", reason="modes of files")
def test_a_replaced_file_keeps_its_mode(tmp_path):
    target = tmp_path / "model"
    target.touch(mode=0o600)
    with replacing(target) as file:
        file.write(b"new")
    assert stat.S_IMODE(target.stat().st_mode) == 0o600


@pytest.mark.skipif(os.name != "posix", reason="links")
def test_neither_links_nor_folders_are_written_to(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    for name in ("link", "."):
        with pytest.raises(OSError, match=r"link|no file|directory|symbolic"):
            Unbuffered(tmp_path / name, os.O_RDWR | os.O_CREAT)
    assert not (tmp_path / "elsewhere").exists()


def test_a_file_is_read_and_cut(tmp_path):
    with Unbuffered(tmp_path / "log", os.O_RDWR | os.O_CREAT | os.O_APPEND) as file:
        file.write(b"one line")
        file.cut(3)
        file.write(b" more")
    with Unbuffered(tmp_path / "log", os.O_RDONLY) as file:
        assert file.read() == b"one more"
        assert file.owner == (tmp_path / "log").stat().st_uid


def test_drafts_of_the_killed_are_cleared(tmp_path):
    for name in (".1.tmp", "kept.tmp", ".kept"):
        (tmp_path / name).touch()
    clear_drafts(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == [".kept", "kept.tmp"]
