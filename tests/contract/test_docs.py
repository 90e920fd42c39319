"""The site: every name that the API page lists is there, and every page has a way to it."""

import re
from importlib import import_module
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"


def listed():
    home, found = "predictree", []
    for line in (DOCS / "api.rst").read_text().splitlines():
        if line.startswith(".. currentmodule::"):
            home = line.split()[-1]
        elif match := re.fullmatch(r"   ([\w.]+)", line):
            found.append(f"{home}.{match[1]}")
    return found


@pytest.mark.parametrize("name", listed())
def test_what_the_api_lists_is_there(name):
    module, _, last = name.rpartition(".")
    assert getattr(import_module(module), last).__doc__


def prose(page):
    """A page without its code."""
    return re.sub(r"```.*?```|`[^`]*`", "", page.read_text(), flags=re.S)


def test_links_between_pages_lead_somewhere():
    pages = [*DOCS.rglob("*.md"), DOCS.parent / "README.md"]
    lost = [
        (page.name, target)
        for page in pages
        for target in re.findall(r"\]\((?!https?:|#)([^)#]+)", prose(page))
        if "_build" not in page.parts
        and "auto_gallery" not in target
        and not (page.parent / target).exists()
    ]
    assert lost == []
