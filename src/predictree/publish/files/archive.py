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
MAX_BYTES = 8 << 30  # of everything in a file, unpacked
MAX_SCHEMA = 1 << 30  # of the description, unpacked
MAX_HEADER = 1 << 16
MAX_SUMMARY = 1 << 28
MAX_MEMBERS = 1_000_000
WITHIN = -1  # the size of a node that is still being counted: it must not occur within itself

TRUSTED = (
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
    skops = _skops()
    try:
        content = skops.dumps(to_record(model), compression=zipfile.ZIP_DEFLATED)
    except Exception as error:
        raise InvalidInputError(
            f"a learner of this model cannot be saved ({error}): use joblib.dump instead, whose "
            "files you must not load from a source that you do not trust"
        ) from error
    buffer = io.BytesIO(content)
    with zipfile.ZipFile(buffer, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(HEADER, json.dumps(_header()))
        archive.writestr(SUMMARY, json.dumps(summarise(model)))
        _check_members(archive)
    return buffer.getvalue()


def loads(
    content: bytes,
    build: Callable[[Model | SurvivalModel], T],
    *,
    trusted: Iterable[str | type] | None = None,
) -> T:
    """Return what is built around the model of which `dumps` returned the content."""
    skops = _skops()
    names = [_name_of(kind) for kind in trusted or ()]
    try:
        header, types = _look_at(content)
        _check_types(types.intersection(UNCHECKED), names)
        record = _build(skops, content, [*TRUSTED, *names])
        check_compiled(record)
        model = from_record(record)
        check_model(model)
        found = build(model)
    except (DamagedModelError, UntrustedTypeError):
        raise
    except Exception as error:
        raise _unreadable(error) from error
    _warn_of_versions(header)
    return found


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
            _require(sizes.get(SUMMARY, MAX_SUMMARY + 1) <= MAX_SUMMARY, f"it has no {SUMMARY}")
            summary = json.loads(archive.read(SUMMARY))
    except (DamagedModelError, OSError):
        raise
    except Exception as error:
        raise _unreadable(error) from error
    _require(isinstance(summary, dict) and "task" in summary, f"bad {SUMMARY}")
    return dict(summary)


def _skops() -> Any:
    try:
        import skops.io  # noqa: PLC0415 -- an extra
    except ImportError as error:
        raise MissingExtraError(
            "saving and loading models needs skops: pip install 'predictree[persist]'"
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


def _look_at(content: bytes) -> tuple[dict[str, Any], set[str]]:
    """Check the shape of a file, without building anything; return its header and its types."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        sizes = _check_members(archive)
        header = _read_header(archive, sizes)
        _require(sizes.get(SCHEMA, MAX_SCHEMA + 1) <= MAX_SCHEMA, f"it has no {SCHEMA}")
        types = Nodes().types_of(json.loads(archive.read(SCHEMA)))
        for name in sizes:
            if name.endswith(".npy"):
                _check_array(archive, name)
    return header, types


def _check_members(archive: zipfile.ZipFile) -> dict[str, int]:
    """Check number, names and sizes of the members, and return the sizes by name."""
    members = archive.infolist()
    sizes = {member.filename: member.file_size for member in members}
    _require(len(members) <= MAX_MEMBERS, f"it has {len(members)} members")
    _require(len(sizes) == len(members), "two members have one name")
    _require(sum(sizes.values()) <= MAX_BYTES, f"it unpacks to {sum(sizes.values())} bytes")
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
    short stand-in for a large node, again and again, would unfold to any size.
    """

    def __init__(self) -> None:
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
