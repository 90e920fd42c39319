"""Every promise of docs/promises.md has a test that is there."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "promises.md").read_text(encoding="utf-8")
NAMED = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", PAGE)
ROWS = [line for line in PAGE.splitlines() if line.startswith("|") and not line.startswith("|--")]


@pytest.mark.parametrize(("path", "name"), NAMED, ids=[name for _, name in NAMED])
def test_the_test_of_a_promise_is_there(path, name):
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    found = [node for node in tree.body if getattr(node, "name", None) == name]
    assert len(found) == 1
    asserts = (ast.Assert, ast.With)
    calls = [n for n in ast.walk(found[0]) if isinstance(n, ast.Call)]
    words = {getattr(call.func, "attr", getattr(call.func, "id", "")) for call in calls}
    proves = any(isinstance(n, asserts) for n in ast.walk(found[0]))
    assert proves or any(word.startswith(("assert", "is_same", "look_at")) for word in words)


def test_no_promise_is_without_a_test():
    heads = [row for row in ROWS if row == "| promise | test |"]
    assert len(ROWS) - len(heads) == len(NAMED)
    assert len({name for _, name in NAMED}) == len(NAMED)
