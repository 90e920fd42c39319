"""A file that one process at a time may hold."""

import json
import os
import subprocess
import sys

import pytest

from predictree.run.lock import HeldError, Lock

pytest.importorskip("fcntl")


def test_a_held_file_says_who_holds_it(tmp_path):
    with (
        Lock(tmp_path / "lock"),
        pytest.raises(HeldError, match=rf"process {os.getpid()} on .*, for a second"),
    ):
        Lock(tmp_path / "lock")


def test_it_is_let_go_at_the_end(tmp_path):
    for _ in range(2):
        with Lock(tmp_path / "lock"):
            pass


def test_it_is_let_go_by_a_death(tmp_path):
    code = "import os, sys; from pathlib import Path; from predictree.run.lock import Lock\n"
    code += "Lock(Path(sys.argv[1])); os.kill(os.getpid(), 9)"
    subprocess.run([sys.executable, "-c", code, str(tmp_path / "lock")], check=False)
    assert json.loads((tmp_path / "lock").read_text())["process"] != os.getpid()
    with Lock(tmp_path / "lock"):
        pass


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"process": 1, "host": 2, "since": "x"}'])
def test_whoever_did_not_say_is_not_named(tmp_path, content):
    with Lock(tmp_path / "lock"):
        (tmp_path / "lock").write_text(content)
        with pytest.raises(HeldError, match="by a process that did not say which"):
            Lock(tmp_path / "lock")
