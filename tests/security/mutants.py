"""Model files of every kind with one member changed and put back into a sound archive.

The tests look at a few thousand of these, `benchmarks/nightly.py` at many more.
"""

import io
import json
import sys
import warnings
import zipfile
from collections import Counter
from contextlib import redirect_stderr, redirect_stdout
from functools import cache

import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestClassifier
from sklearn.tree import DecisionTreeRegressor

from predictree import ToPsClassifier, ToPsRegressor
from predictree.cli.show import print_tree
from predictree.errors import DamagedModelError, InvalidTreeError, UntrustedTypeError
from predictree.estimators.files import dumps, loads
from predictree.estimators.survival import ToPsSurvival
from predictree.publish.files.archive import HEADER, SCHEMA, SUMMARY, summary_of

TYPED = (DamagedModelError, InvalidTreeError, UntrustedTypeError)
rng = np.random.default_rng(0)
N = 120
X = rng.normal(size=(N, 2))
FRAME = pd.DataFrame({"job": rng.choice(["a", "b", "c"], N), "age": X[:, 0].round(1)})
VALUE = np.where(X[:, 1] > 0, X[:, 0], -X[:, 0])
LONE = {"max_depth": 0, "validation": 2, "random_state": 0}
SPLIT = {"max_depth": 1, "min_gain_se": 0.0, "random_state": 0}


def survival():
    how = ToPsClassifier("lr", max_depth=0, validation=2, random_state=0)
    return ToPsSurvival((0.5, 1), how).fit(X, (rng.random(N) < 0.7, rng.exponential(size=N)))


MAKERS = {
    "additive": lambda: ToPsRegressor("additive", **SPLIT).fit(X, VALUE),
    "additive, classes of a frame": lambda: ToPsClassifier("additive", **SPLIT).fit(
        FRAME, np.where(VALUE > 0, "up", "down")
    ),
    "linear, of a frame": lambda: ToPsRegressor("lr", **SPLIT).fit(FRAME, VALUE),
    "forest": lambda: ToPsClassifier(
        [("forest", RandomForestClassifier(3, max_depth=3, random_state=0))], **LONE
    ).fit(X, VALUE > 0),
    "boosting": lambda: ToPsRegressor(
        [("boosting", HistGradientBoostingRegressor(max_iter=3, random_state=0))], **LONE
    ).fit(FRAME, VALUE),
    "tree": lambda: ToPsRegressor(
        [("tree", DecisionTreeRegressor(max_depth=3, random_state=0))], **LONE
    ).fit(X, VALUE),
    "survival": survival,
}
ROWS = {"additive, classes of a frame": FRAME, "linear, of a frame": FRAME, "boosting": FRAME}
STRANGE = [
    None, True, False, -1, 0, 1, 2, 2**31, -(2**63), 10**30, 1e308, -0.5, "", "a", "os", "system",
    "builtins", "numpy", "NaN", "[]", "1e999", '"x"', [], {}, [[]], {"a": 1}, "\x1b[2J", "9" * 5000,
]  # fmt: skip
NUMBERS = [-(2**62), -2, -1, 0, 1, 5, 10**6, 2**62, np.nan, np.inf, -np.inf, 1e300, 5e-324]


@cache
def original(kind):
    """The members of a file of a kind, and what its model answers."""
    content = dumps(MAKERS[kind]())
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    return parts, answers(loads(content), kind)


def answers(model, kind):
    """What a model answers for some rows."""
    rows = ROWS.get(kind, X)[:20]
    if kind == "survival":
        return model.predict_survival(rows)
    scores = model.predict_proba(rows) if hasattr(model, "classes_") else model.predict(rows)
    return np.asarray(scores)


def places_of(content, found):
    """Every place in plain data, as a container and a key."""
    items = content.items() if isinstance(content, dict) else enumerate(content)
    for key, value in items:
        found.append((content, key))
        if isinstance(value, dict | list):
            places_of(value, found)
    return found


def of_text(draw, member):
    """Change one value of a description: for something strange, or for another one of it."""
    content = json.loads(member)
    places = places_of(content, [])
    into, key = places[draw.integers(len(places))]
    how = draw.integers(4)
    if how == 0 and isinstance(into, dict):
        del into[key]
    elif how == 1:
        other, its = places[draw.integers(len(places))]
        try:
            into[key] = json.loads(json.dumps(other[its]))
        except (KeyError, IndexError, ValueError):
            into[key] = None
    else:
        into[key] = STRANGE[draw.integers(len(STRANGE))]
    return json.dumps(content).encode()


def of_array(draw, member):
    """Change one number, the shape or the type of an array."""
    array = np.load(io.BytesIO(member)).copy()
    how = draw.integers(6)
    with np.errstate(all="ignore"):
        if how == 0:
            array = array.reshape(-1)[: array.size // 2]
        elif how == 1:
            kind = draw.choice(["<f4", "<i8", "|b1", "<c16"])
            array = array[:1] if array.dtype.names else array.astype(kind)
        elif array.size and array.dtype.names:
            name = array.dtype.names[draw.integers(len(array.dtype.names))]
            place = draw.integers(array.size)
            array.reshape(-1)[name][place] = int(draw.integers(0, 200))
        elif array.size and array.dtype.kind in "iufb":
            number = NUMBERS[draw.integers(len(NUMBERS))]
            try:
                array.reshape(-1)[draw.integers(array.size)] = number
            except (OverflowError, ValueError):
                array = -array if array.dtype.kind in "if" else array
    buffer = io.BytesIO()
    np.save(buffer, array, allow_pickle=False)
    return buffer.getvalue()


def of_bytes(draw, member):
    """Flip, cut, put in or repeat some bytes."""
    content = bytearray(member)
    at = int(draw.integers(max(len(content), 1)))
    how = draw.integers(4)
    if how == 0 and content:
        content[at] ^= 1 << int(draw.integers(8))
    elif how == 1:
        del content[at : at + int(draw.integers(1, 64))]
    elif how == 2:
        content[at:at] = draw.bytes(int(draw.integers(1, 64)))
    else:
        content[at:at] = content[at : at + 64]
    return bytes(content)


def mutant(kind, draw):
    """Return a file of a kind with one member changed, and that member's name."""
    parts = dict(original(kind)[0])
    names = [SCHEMA, SCHEMA, SUMMARY, HEADER, *draw.choice(sorted(parts), 2)]
    name = str(names[draw.integers(len(names))])
    member, ways = parts[name], [of_bytes]
    if name.endswith(".json"):
        ways += [of_text] * 5
    elif name.endswith(".npy"):
        ways += [of_array] * 5
    parts[name] = ways[draw.integers(len(ways))](draw, member)
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for each, content in parts.items():
            archive.writestr(each, content)
    return buffer.getvalue(), name


def outcome(kind, content):
    """Say what becomes of a file: refused by a typed error, the same answers, or others.

    Anything else is raised: another error while it is read, a module that it brings along, or
    answers of another shape.
    """
    before = set(sys.modules)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = loads(content)
    except TYPED:
        return "refused"
    assert set(sys.modules) == before
    expected = original(kind)[1]
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            found = answers(model, kind)
    except Exception:  # of a learner that is another one now
        return "an error when asked"
    return "the same answers" if np.array_equal(found, expected) else "other answers"


def read_summary(path, content):
    """Print what there is to read of a file, as `predictree show` does, or see it refused."""
    path.write_bytes(content)
    try:
        with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
            print_tree(summary_of(path))
    except TYPED:
        return "refused"
    return "read"


def look_at(kind, count, seed, path):
    """Return how many of so many mutants had which outcome; those of summaries are read as well."""
    draw, found = np.random.default_rng(seed), Counter()
    for _ in range(count):
        content, name = mutant(kind, draw)
        found[outcome(kind, content)] += 1
        if name in (SUMMARY, HEADER):
            read_summary(path, content)
    return found
