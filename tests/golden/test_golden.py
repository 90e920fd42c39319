"""Fits of fixed settings give what they gave when the golden files were made.

A change that is meant to change them runs ``python tests/golden/make.py``; nothing here writes.
"""

import json
from difflib import unified_diff
from math import isclose, isnan

import pytest

from golden import make


@pytest.mark.parametrize("setting", make.SETTINGS)
def test_fits_are_as_they_were(setting):
    kept = json.loads(make.golden(setting).read_text(encoding="utf-8"))
    found = json.loads(json.dumps(make.records(setting)))  # tuples are lists, as in the file
    found_lines = list(differences(kept, found))
    assert not found_lines, "\n".join([f"{setting} is not as it was:", *found_lines[:60]])


def test_every_golden_file_has_its_setting():
    assert {path.stem for path in make.FOLDER.glob("*.json")} == set(make.SETTINGS)


def test_most_settings_have_a_tree_with_splits():
    fits = [json.loads(make.golden(setting).read_text()) for setting in make.SETTINGS]
    assert sum(max(max(fit["leaves"]) for fit in of) > 1 for of in fits) >= 10


@pytest.mark.parametrize(
    ("kept", "found", "told"),
    [
        ({"a": [1, 2.0]}, {"a": [1, 2.0 + 1e-7]}, []),
        ({"a": float("nan")}, {"a": float("nan")}, []),
        ({"a": [1, 2.0]}, {"a": [1, 2.0 + 1e-5]}, ["a.1: was 2.0, is 2.00001"]),
        ({"n": 1}, {"n": 2}, ["n: was 1, is 2"]),
        ({"n": 1}, {"n": 1.0}, ["n: was 1, is 1.0"]),
        ({"split": None}, {"split": {"feature": 0}}, ["split: was None, is {'feature': 0}"]),
        ({"trees": [[1, 2]]}, {"trees": [[1]]}, ["trees.0: had 2 entries, has 1"]),
        ({"a": 1}, {"b": 1}, ["had ['a'], has ['b']"]),
        ({"text": ["x", "y"]}, {"text": ["x", "z"]}, ["text:", "- y", "+ z"]),
    ],
)
def test_differences_are_told(kept, found, told):
    assert [line for line in differences(kept, found) if line.strip() != "x"] == told


def differences(kept, found, place=""):
    """Tell where two values differ: numbers by more than rounding, all else at all."""
    name = place.removeprefix(".")
    if isinstance(kept, dict) and isinstance(found, dict):
        if kept.keys() != found.keys():
            yield f"{name}: ".removeprefix(": ") + f"had {sorted(kept)}, has {sorted(found)}"
        for key in sorted(kept.keys() & found.keys()):
            yield from differences(kept[key], found[key], f"{place}.{key}")
    elif name.endswith("text") and kept != found:
        yield f"{name}:"
        yield from (
            line[0] + " " + line[1:] for line in list(unified_diff(kept, found, lineterm=""))[3:]
        )
    elif isinstance(kept, list) and isinstance(found, list):
        if len(kept) != len(found):
            yield f"{name}: had {len(kept)} entries, has {len(found)}"
        for i, (a, b) in enumerate(zip(kept, found)):
            yield from differences(a, b, f"{place}.{i}")
    elif not same(kept, found):
        yield f"{name}: was {kept}, is {found}"


def same(kept, found):
    if isinstance(kept, float) and isinstance(found, float):
        close = isclose(found, kept, rel_tol=1e-6, abs_tol=1e-8)
        return close or (isnan(kept) and isnan(found))
    return type(kept) is type(found) and kept == found
