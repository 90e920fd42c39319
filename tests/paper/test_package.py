"""The paper's package stands beside the library: who may know of whom."""

import ast
from pathlib import Path

import pytest

import predictree
import predictree_paper

PAPER = sorted(Path(predictree_paper.__file__).parent.glob("*.py"))


def test_the_library_knows_nothing_of_the_papers_package():
    modules = Path(predictree.__file__).parent.rglob("*.py")
    assert [path for path in modules if "predictree_paper" in path.read_text("utf-8")] == []


@pytest.mark.parametrize("path", PAPER, ids=lambda path: path.stem)
def test_it_takes_public_names_alone(path):
    taken = []
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom):
            taken += [node.module, *(name.name for name in node.names)]
        elif isinstance(node, ast.Attribute) and ast.unparse(node.value) not in MINE:
            taken.append(node.attr)
    names = {word for name in taken for word in name.split(".")}
    assert not {name for name in names if name.startswith("_") and not name.startswith("__")}


MINE = ("self", "cls", "super()")
