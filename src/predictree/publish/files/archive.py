"""Fitted models in files that hold data and no code.

A file is a zip archive: ``predictree.json`` says what wrote it, ``summary.json`` is for those who
only want to read about the model (`summary_of`), the rest is skops' format: one description,
``schema.json``, and the arrays. Our own objects are in it as plain records (`records`), the
learners' models as skops keeps them. Loading is parse, judge, build: nothing is imported or built
before every type in the file is known to be wanted.

To the maintainer: raise `PROTOCOL` when an older version could not read, or would misread, what
this one writes; keep reading the older protocols, and keep a file of each in the tests.
"""

import io
import json
import os
import warnings
import zipfile
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import sklearn
from sklearn.exceptions import InconsistentVersionWarning

from predictree import __version__
from predictree.errors import (
    DamagedModelError,
    InvalidInputError,
    MissingExtraError,
    ModelVersionWarning,
    UntrustedTypeError,
)
from predictree.explain.summary import summarise
from predictree.model import Model, SurvivalModel
from predictree.publish.files.compiled import check_compiled
from predictree.publish.files.records import from_record, to_record
from predictree.publish.files.soundness import check_model

T = TypeVar("T")

PROTOCOL = 4
HEADER, SCHEMA, SUMMARY = "predictree.json", "schema.json", "summary.json"
FORMAT = "predictree model"
MAX_BYTES, SHARE = 1 << 30, 50  # by default loading may take so much, or so many times the file
MAX_HEADER = 1 << 16
MAX_MEMBERS = 1_000_000
COPIES = 2  # of an array while it is read
COSTS = {b"{": 300, b"[": 100, b",": 64, b"\\u": 100, b"__loader__": 1500}
"""Bytes that a description takes once it is read, by what occurs in it."""
AT_ONCE = 1 << 20  # bytes of a description that are looked at
WITHIN = -1  # the size of a node that is still being counted: it must not occur within itself

TRUSTED = (
    "predictree.learners.metric.calibration.Calibration",
    "predictree.learners.metric.estimators.MetricKernelClassifier",
    "predictree.learners.metric.estimators.MetricKernelRegressor",
    "predictree.learners.metric.machine.Machine",
    "predictree.learners.metric.machine.Setting",
    "predictree.learners.metric.scaling.Scaling",
    "predictree.learners.sharp_trees.SharpExtraTrees",
    "predictree.learners.sized_logistic.SizedLogistic",
    "functools.partial",  # of the function that follows
    "sklearn.utils.validation.check_array",
    "numpy.dtype",
    "sklearn.impute._iterative.IterativeImputer",
    "sklearn.impute._iterative._ImputerTriplet",
    # skops leaves these to us, because their content must be checked: see `compiled`
    "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",
    "sklearn.tree._tree.Tree",
)
UNCHECKED = tuple(
    f"sklearn.svm._classes.{name}" for name in ("SVC", "SVR", "NuSVC", "NuSVR", "OneClassSVM")
)
"""What skops trusts and we do not: libsvm follows numbers of the file that nobody checked."""


def dumps(model: Model | SurvivalModel) -> bytes:
    """Return the content of a file that holds a model."""
    return packed(model, zipfile.ZIP_DEFLATED, {SUMMARY: json.dumps(summarise(model))})


def loads(
    content: bytes,
    build: Callable[[Model | SurvivalModel], T],
    *,
    trusted: Iterable[str | type] | None = None,
    max_bytes: int | None = None,
) -> T:
    """Return what is built around the model of which `dumps` returned the content."""
    names, limit = names_of(trusted), limit_of(max_bytes, len(content))

    def built(model: Any) -> T:
        check_model(model)
        return build(model)

    found, header = unpacked(content, names, limit, built)
    _warn_of_versions(header)
    return found


def packed(
    value: Any, compression: int = zipfile.ZIP_STORED, more: Mapping[str, str] | None = None
) -> bytes:
    """Return the content of a file that holds a value, and further members."""
    skops = need_skops()
    try:
        content = skops.dumps(to_record(value), compression=compression)
    except Exception as error:
        raise InvalidInputError(
            f"a learner of this model cannot be saved ({error}): use joblib.dump instead, whose "
            "files you must not load from a source that you do not trust"
        ) from error
    buffer = io.BytesIO(content)
    with zipfile.ZipFile(buffer, "a", compression) as archive:
        for name, text in {HEADER: json.dumps(_header()), **(more or {})}.items():
            archive.writestr(name, text)
        _check_members(archive)
    return buffer.getvalue()


def unpacked(
    content: bytes, names: list[str], limit: int, build: Callable[[Any], T]
) -> tuple[T, dict[str, Any]]:
    """Return what is built of the value in a file, and the file's header."""
    skops = need_skops()
    try:
        header, types = _look_at(content, limit)
        _check_types(types.intersection(UNCHECKED), names)
        record = _build(skops, content, [*TRUSTED, *names])
        check_compiled(record)
        return build(from_record(record)), header
    except (DamagedModelError, UntrustedTypeError):
        raise
    except Exception as error:
        raise _unreadable(error) from error


def summary_of(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Return what there is to read about a saved model; no learner is built, no skops needed.

    Parameters
    ----------
    path : str or path

    Returns
    -------
    dict
        See `predictree.explain.summarise`.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            sizes = _check_members(archive)
            _read_header(archive, sizes)
            _require(SUMMARY in sizes, f"it has no {SUMMARY}")
            limit = limit_of(None, Path(path).stat().st_size)
            _check_cost(_cost_of_text(archive, SUMMARY, limit), limit)
            summary = json.loads(archive.read(SUMMARY))
    except (DamagedModelError, OSError):
        raise
    except Exception as error:
        raise _unreadable(error) from error
    _require(_is_summary(summary), f"bad {SUMMARY}")
    return dict(summary)


def _is_summary(found: Any) -> bool:
    """Whether there is a tree to print, or one for every horizon, or for all of them."""
    if not isinstance(found, dict) or not isinstance(found.get("task"), str):
        return False
    if "models" not in found:
        verdict = found.get("verdict")
        told = isinstance(verdict, dict) and isinstance(verdict.get("text"), str)
        trees = isinstance(found.get("trees"), list)
        return bool(told and trees and isinstance(found.get("text"), str))
    models, horizons = found["models"], found.get("horizons")
    return (
        isinstance(models, list)
        and isinstance(horizons, list)
        and len(models) in (1, len(horizons))
        and all(isinstance(horizon, int | float) for horizon in horizons)
        and all(_is_summary(each) and "models" not in each for each in models)
    )


def need_skops() -> Any:
    """Return what writes and reads the objects of other libraries, or say how to get it."""
    try:
        import skops.io  # noqa: PLC0415 -- an extra
    except ImportError as error:
        raise MissingExtraError(
            "models in files, and checkpoints, need skops: pip install 'predictree[persist]'"
        ) from error
    return skops.io


def _build(skops: Any, content: bytes, trusted: list[str]) -> Any:
    """Return the record in a file; skops looks at all types before it builds any."""
    from skops.io.exceptions import UntrustedTypesFoundException  # noqa: PLC0415 -- an extra

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", InconsistentVersionWarning)  # said once, later
            return skops.loads(content, trusted=trusted)
    except UntrustedTypesFoundException:
        _check_types(skops.get_untrusted_types(data=content), trusted)
        raise


def _unreadable(error: Exception) -> DamagedModelError:
    return DamagedModelError(
        f"the file cannot be read as a model ({type(error).__name__}: {error}): it is damaged, "
        "or was not written by predictree.save"
    )


def _header() -> dict[str, Any]:
    return {
        "format": FORMAT,
        "protocol": PROTOCOL,
        "predictree": __version__,
        "scikit-learn": sklearn.__version__,
    }


def _look_at(content: bytes, limit: int) -> tuple[dict[str, Any], set[str]]:
    """Check the shape of a file, without building anything; return its header and its types."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        sizes = _check_members(archive)
        header = _read_header(archive, sizes)
        _require(SCHEMA in sizes, f"it has no {SCHEMA}")
        cost = _cost_of_text(archive, SCHEMA, limit)
        _check_cost(cost, limit)
        nodes = Nodes(sizes)
        types = nodes.types_of(json.loads(archive.read(SCHEMA)))
        _check_cost(cost + nodes.cost, limit)
        for name in sizes:
            if name.endswith(".npy"):
                _check_array(archive, name)
    return header, types


def types_in(content: bytes, limit: int) -> set[str]:
    """Return the names of the types in a file, of which nothing is built."""
    return _look_at(content, limit)[1]


def limit_of(max_bytes: int | None, size: int) -> int:
    """Return how many bytes of memory a file of a size may take."""
    if max_bytes is None:
        return max(MAX_BYTES, SHARE * size)
    if type(max_bytes) is not int or max_bytes <= 0:
        raise InvalidInputError(f"max_bytes={max_bytes!r}: it must be a number of bytes, or None")
    return max_bytes


def _cost_of_text(archive: zipfile.ZipFile, name: str, limit: int) -> int:
    """Return what a description takes once it is read, without reading more of it than may be."""
    cost, last = 0, b""
    with archive.open(name) as file:
        while cost <= limit and (some := file.read(AT_ONCE)):
            cost += COPIES * len(some)
            for word, each in COSTS.items():
                edge = last[len(last) - len(word) + 1 :] + some[: len(word) - 1]
                cost += each * (some.count(word) + edge.count(word))
            last = some
    return cost


def _check_cost(cost: int, limit: int) -> None:
    if cost > limit:
        raise DamagedModelError(
            f"reading the file would take some {cost} bytes of memory or more, and at most {limit} "
            "are allowed: if you trust whoever made it, load it with a larger max_bytes="
        )


def _check_members(archive: zipfile.ZipFile) -> dict[str, int]:
    """Check number and names of the members, and return their sizes, unpacked, by name."""
    members = archive.infolist()
    sizes = {member.filename: member.file_size for member in members}
    _require(len(members) <= MAX_MEMBERS, f"it has {len(members)} members")
    _require(len(sizes) == len(members), "two members have one name")
    known = (HEADER, SCHEMA, SUMMARY)
    odd = [name for name in sizes if name not in known and not name.endswith((".npy", ".bin"))]
    _require(not odd, f"it holds {odd[:1]}, which is neither an array nor a description")
    return sizes


def _read_header(archive: zipfile.ZipFile, sizes: Mapping[str, int]) -> dict[str, Any]:
    _require(sizes.get(HEADER, MAX_HEADER + 1) <= MAX_HEADER, f"it has no {HEADER}")
    header: dict[str, Any] = json.loads(archive.read(HEADER))
    _check_header(header)
    return header


def _check_header(header: Any) -> None:
    _require(isinstance(header, dict) and header.get("format") == FORMAT, f"bad {HEADER}")
    protocol = header.get("protocol")
    _require(type(protocol) is int and protocol > 0, f"its protocol is {protocol!r}")
    if protocol > PROTOCOL:
        raise DamagedModelError(
            f"the file has protocol {protocol}, and this version of predictree reads up to "
            f"{PROTOCOL}: it was written by predictree {header.get('predictree')}; upgrade to that"
        )


def _check_array(archive: zipfile.ZipFile, name: str) -> None:
    """Check that an array is as large as it says, so that no more is allotted than is there."""
    size = archive.getinfo(name).file_size
    with archive.open(name) as file:
        version = np.lib.format.read_magic(file)
        read = {
            (1, 0): np.lib.format.read_array_header_1_0,
            (2, 0): np.lib.format.read_array_header_2_0,
        }
        _require(version in read, f"array {name} has an unknown version")
        shape, _, dtype = read[version](file)
        _require(not dtype.hasobject, f"array {name} holds objects")
        count = int(np.prod(shape, dtype=object))
        expected = file.tell() + dtype.itemsize * count
    sound = size == expected and count <= size
    _require(sound, f"array {name} has {size} bytes and should have {expected}")


class Nodes:
    """The nodes of a description, counted to see that it is as large as it looks.

    A node with the number of an earlier one stands for that. skops writes it out nevertheless; a
    short stand-in for a large node, again and again, would unfold to any size. So would a member
    of the file that many nodes name: each of them reads it once more.
    """

    def __init__(self, members: Mapping[str, int]) -> None:
        self.members = members
        self.cost = 0  # of the members that are read
        self.sizes: dict[Any, int] = {}
        self.types: set[str] = set()

    def types_of(self, schema: Any) -> set[str]:
        """Return the names of all types in a description."""
        self._count(schema)
        return self.types

    def _count(self, state: Any) -> int:
        if isinstance(state, list):
            return sum(map(self._count, state))
        if not isinstance(state, dict):
            return 0
        if "__loader__" not in state:
            return 1 + sum(map(self._count, state.values()))
        _require(state["__loader__"] != "CachedNode", "its description refers to itself")
        _require(str(state.get("file", ".npy")).endswith(_suffix(state)), "a file out of place")
        self.types.add(f"{state.get('__module__')}.{state.get('__class__')}")
        number = state.get("__id__")
        before = self.sizes.get(number)
        self.sizes[number] = WITHIN
        size = 1 + sum(map(self._count, state.values()))
        _require(number is None or before in (None, size), "its description contradicts itself")
        if before is None or not number:  # skops remembers a node by its number, if it has one
            self.cost += COPIES * self.members.get(state.get("file", ""), 0)
        self.sizes[number] = size
        return size


def _suffix(state: dict[str, Any]) -> str:
    """Return how the file of a node must end, so that arrays are those that were checked."""
    return "" if state["__loader__"] in ("BytesNode", "BytearrayNode") else ".npy"


def _check_types(found: Iterable[str], trusted: list[str]) -> None:
    """Raise if there are types that nobody trusts."""
    unknown = sorted(set(found).difference(trusted))
    if unknown:
        raise UntrustedTypeError(unknown)


def names_of(trusted: Any) -> list[str]:
    """Return the names of the types that a user trusts."""
    kinds = [] if trusted is None else trusted
    if isinstance(kinds, str | bytes | type) or not isinstance(kinds, Iterable):
        raise InvalidInputError(f"trusted={kinds!r}: give a list of types or of their names")
    kinds = list(kinds)
    for kind in kinds:
        if not isinstance(kind, str | type):
            raise InvalidInputError(f"trusted has {kind!r}: it must be a type or the name of one")
    return [_name_of(kind) for kind in kinds]


def _name_of(kind: str | type) -> str:
    return kind if isinstance(kind, str) else f"{kind.__module__}.{kind.__qualname__}"


def _warn_of_versions(header: Mapping[str, Any]) -> None:
    written = header.get("scikit-learn")
    if written != sklearn.__version__:
        warnings.warn(
            f"the model was saved with scikit-learn {written} and is loaded with "
            f"{sklearn.__version__}: its predictions may differ or fail. Fit it again, or install "
            "that version",
            ModelVersionWarning,
            stacklevel=5,  # of who called `load`
        )


def _require(condition: Any, what: str) -> None:
    if not condition:
        raise DamagedModelError(f"the file does not hold a sound model: {what}")
