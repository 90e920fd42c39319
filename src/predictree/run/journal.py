"""A journal of a growing tree, so that a fit that was cut off goes on where it stood.

A folder holds ``fit.json`` with the entropy of the seeds, and for every tree a folder with a
journal: a line for each node that was decided and for each predictor that was fitted, written once
their arrays and models are on the disk. The last line may be torn; any other damage is refused.
"""

import hashlib
import io
import json
import os
import warnings
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, FunctionType
from typing import IO, Any, Protocol, TypeVar

import joblib
import numpy as np

from predictree.errors import CheckpointError, CheckpointWarning
from predictree.model.tree import Fitted, IntArray
from predictree.run.files import clear_drafts, replacing
from predictree.run.guard import heard_warnings

try:
    import fcntl
except ImportError:  # where files cannot be locked, two fits in one folder go unnoticed
    fcntl = None  # type: ignore[assignment]

FORMAT, PROTOCOL = "predictree checkpoint", 3
"""Raise the protocol when older journals cannot be continued any more."""

Models = tuple[Fitted, ...]
Line = dict[str, Any]
Arrays = Mapping[str, np.ndarray[Any, Any]]
L = TypeVar("L")
C = TypeVar("C")
Leaf = TypeVar("Leaf", contravariant=True)


class Translator(Protocol[Leaf, C]):
    """Turns what became of a leaf into plain data and back; see `predictree.grow.record`."""

    def key(self, leaf: Leaf) -> str | None:
        """Return what tells a leaf from any other; None if it is not worth a line."""

    def begin(self) -> Any:
        """Return the state before a leaf is looked at."""

    def written(self, choice: C | None, begun: Any) -> tuple[Line, Arrays]:
        """Return a choice, and what has happened since a state, as a line and arrays."""

    def read(self, leaf: Leaf, line: Line, arrays: Arrays) -> C | None:
        """Return the choice that was written, with everything that making it would leave."""


@dataclass(frozen=True, slots=True)
class Origin:
    """What the models of a predictor were fitted on, and for which node.

    The path alone does not tell: a node that is decided again may be split elsewhere.
    """

    path: int
    learner: int
    train: IntArray
    refitted: bool = False

    @property
    def key(self) -> tuple[int, int, int, str]:
        """The same as a journal has it."""
        rows = hashlib.sha256(self.train.tobytes()).hexdigest()[:16]
        return self.path, self.learner, int(self.refitted), rows


class Journal:
    """What a tree is grown from again; this one remembers nothing."""

    def models(self, origin: Origin) -> Models | None:
        """Return the models of a predictor, if they were fitted before."""
        return None

    def keep_models(self, origin: Origin, models: Models) -> None:
        """Remember the models of a predictor."""

    def remembering(
        self, choose: Callable[[L], C | None], steps: Translator[L, C]
    ) -> Callable[[L], C | None]:
        """Return what chooses for a leaf what was chosen before, or else chooses and remembers."""
        return choose

    def close(self) -> None:
        """Let others have what it is written in."""


class FileJournal(Journal):
    """A journal in a folder; it is locked until it is closed.

    Parameters
    ----------
    folder : Path
    identity : mapping of str to str
        A digest of everything that the tree depends on, by name.
    """

    def __init__(self, folder: Path, identity: Mapping[str, str]) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self._file: IO[bytes] | None = (folder / "journal").open("a+b")
        try:
            lines = self._begin(identity)
        except BaseException:
            self.close()
            raise
        self._steps = {line["node"]: line for line in lines if "node" in line}
        self._fitted = {tuple(line["predictor"]): line for line in lines if "predictor" in line}

    def _begin(self, identity: Mapping[str, str]) -> list[dict[str, Any]]:
        """Return the lines of the journal, which is of this fit; if there are none, begin it."""
        self._lock()
        clear_drafts(self.folder)
        lines = self._read()
        if lines:
            self._check_identity(lines[0], identity)
        else:
            self._append({"format": FORMAT, "protocol": PROTOCOL, "identity": dict(identity)})
        return lines

    def close(self) -> None:
        """Let others have the folder."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def models(self, origin: Origin) -> Models | None:
        """Return the models of a predictor, if they were fitted before."""
        line = self._fitted.get(origin.key)
        if line is None:
            return None
        return tuple(joblib.load(io.BytesIO(self._content(line))))

    def keep_models(self, origin: Origin, models: Models) -> None:
        """Write the models of a predictor."""
        key = origin.key
        if key in self._fitted:
            return
        try:
            line = self._write({"predictor": key}, "models", lambda f: joblib.dump(models, f))
        except Exception as error:  # a model may refuse in any way it likes
            _warn(
                f"models cannot be written to the checkpoint {self.folder} ({error}): if the fit "
                "is cut off they are fitted again"
            )
        else:
            self._fitted[key] = line

    def remembering(
        self, choose: Callable[[L], C | None], steps: Translator[L, C]
    ) -> Callable[[L], C | None]:
        """Return what chooses for a leaf what was chosen before, or else chooses and remembers."""

        def remembered(leaf: L) -> C | None:
            key = steps.key(leaf)
            if key is None:
                return choose(leaf)
            if key in self._steps:
                return steps.read(leaf, *self._step(key))
            begun = steps.begin()
            choice = choose(leaf)
            self._keep_step(key, *steps.written(choice, begun))
            return choice

        return remembered

    def _step(self, key: str) -> tuple[Line, Arrays]:
        """Return a line and its arrays."""
        line = self._steps[key]
        if "file" not in line:
            return line, {}
        with np.load(io.BytesIO(self._content(line)), allow_pickle=False) as arrays:
            return line, dict(arrays)

    def _keep_step(self, key: str, line: Line, arrays: Arrays) -> None:
        """Write a line, after its arrays if there are any."""
        line = {"node": key, **line}
        if arrays:
            self._write(line, "npz", lambda file: np.savez(file, **arrays))  # type: ignore[arg-type]
        else:
            self._append(line)

    def _lock(self) -> None:
        assert self._file is not None
        if fcntl is None:
            return
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise CheckpointError(
                f"another fit is writing to the checkpoint {self.folder}: give each its own folder"
            ) from error

    def _read(self) -> list[dict[str, Any]]:
        """Return the lines of the journal, and cut off a torn last one."""
        assert self._file is not None
        self._file.seek(0)
        lines, sound = [], 0
        given = self._file.read().splitlines(keepends=True)
        for number, raw in enumerate(given, 1):
            line = _parsed(raw)
            if line is None:
                if number < len(given):
                    raise self._damaged(f"line {number} of its journal is not what was written")
                self._file.truncate(sound)
                break
            lines.append(line)
            sound += len(raw)
        return lines

    def _check_identity(self, header: dict[str, Any], identity: Mapping[str, str]) -> None:
        if header.get("format") != FORMAT or header.get("protocol") != PROTOCOL:
            raise self._damaged("it was written by another version of predictree")
        known = header["identity"]
        other = [name for name in {**known, **identity} if known.get(name) != identity.get(name)]
        if other:
            raise another_fit(self.folder, other)

    def _damaged(self, what: str) -> CheckpointError:
        return CheckpointError(
            f"the checkpoint {self.folder} cannot be continued: {what}. Remove the folder to start "
            "anew"
        )

    def _content(self, line: dict[str, Any]) -> bytes:
        """Return the content of a line's file, after checking that it is the one written."""
        try:
            content: bytes = (self.folder / line["file"]).read_bytes()
        except OSError as error:
            raise self._damaged(f"{line['file']} cannot be read ({error})") from error
        if hashlib.sha256(content).hexdigest() != line["sha256"]:
            raise self._damaged(f"{line['file']} is not what was written")
        return content

    def _write(
        self, line: dict[str, Any], suffix: str, write: Callable[[IO[bytes]], Any]
    ) -> dict[str, Any]:
        """Write a file and then the line that tells of it."""
        buffer = io.BytesIO()
        write(buffer)
        content = buffer.getvalue()
        digest = hashlib.sha256(content).hexdigest()
        line = {**line, "file": f"{digest[:16]}.{suffix}", "sha256": digest}
        self._append(line, content)
        return line

    def _append(self, line: dict[str, Any], content: bytes | None = None) -> None:
        """Write a line, after its file; if that is not possible, go on without a checkpoint."""
        if self._file is None:
            return
        text = json.dumps(line).encode()
        try:
            if content is not None:
                with replacing(self.folder / line["file"]) as file:
                    file.write(content)
            self._file.write(b"%08x %s\n" % (zlib.crc32(text), text))
            self._file.flush()
            os.fsync(self._file.fileno())
        except OSError as error:
            self.close()
            _warn(
                f"the checkpoint {self.folder} cannot be written ({error}): the fit goes on, and "
                "if it is cut off all since the last line is lost"
            )


def _warn(message: str) -> None:
    with heard_warnings():
        warnings.warn(message, CheckpointWarning, stacklevel=3)


class Checkpoint:
    """A folder for the journals of one fit."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)

    def entropy(self, drawn: int, seeded: bool) -> int:
        """Return the entropy of the fit that the folder is of; if there is none, what was drawn.

        If it was drawn from a seed of the user's, it must be the same. Nothing is written.
        """
        try:
            kept = int(json.loads(self._path.read_bytes())["entropy"])
        except FileNotFoundError:
            return drawn
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise self._unusable(error) from error
        if seeded and kept != drawn:
            raise another_fit(self.folder, ["random_state"])
        return kept

    def begin(self, entropy: int) -> None:
        """Keep the entropy of a fit that begins; all that can be refused was checked before."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            if not self._path.exists():
                with replacing(self._path) as file:
                    file.write(json.dumps({"format": FORMAT, "entropy": entropy}).encode())
        except OSError as error:
            raise self._unusable(error) from error

    @property
    def _path(self) -> Path:
        return self.folder / "fit.json"

    def _unusable(self, error: Exception) -> CheckpointError:
        return CheckpointError(
            f"checkpoint={os.fspath(self.folder)!r} cannot be used ({error}): give a folder that "
            "can be written to, new or of the same fit"
        )

    def journal(self, tree: int, identity: Mapping[str, str]) -> FileJournal:
        """Return the journal of one tree."""
        return FileJournal(self.folder / f"tree-{tree}", identity)


def another_fit(folder: Path, names: list[str]) -> CheckpointError:
    """Return what to raise for a folder that was written by another call."""
    return CheckpointError(
        f"{folder} is the checkpoint of another fit, with other {', '.join(names)}: make the same "
        "call to go on with it, or give another folder"
    )


def digest_of(*values: Any) -> str:
    """Return a digest of values: the same in every process, for arrays, parameters and views."""
    return str(joblib.hash([_plain(value) for value in values]))


def _plain(value: Any) -> Any:
    """Return what to take of a value for its digest: nothing that has an address."""
    if hasattr(value, "get_params") and not isinstance(value, type):
        params = sorted(value.get_params(deep=False).items())
        return [_name_of(type(value)), [(key, _plain(param)) for key, param in params]]
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, Mapping):
        return [(str(key), _plain(item)) for key, item in sorted(value.items(), key=str)]
    if isinstance(value, (set, frozenset)):
        return sorted(map(digest_of, value))
    if value is None or isinstance(value, (str, bytes, int, float, np.generic, np.ndarray)):
        return value
    if isinstance(value, FunctionType):
        return [_name_of(value), _plain(value.__code__), _plain(value.__defaults__), _held(value)]
    if isinstance(value, CodeType):
        return [value.co_code, value.co_names, _plain(value.co_consts)]
    try:
        return joblib.hash(value)
    except Exception:  # what cannot be pickled is known by its name alone
        return _name_of(value if callable(value) else type(value))


def _held(function: FunctionType) -> list[Any]:
    """Return what a function has from around it; functions by name, for one may hold itself."""
    held = [cell.cell_contents for cell in function.__closure__ or ()]
    return [_name_of(value) if isinstance(value, FunctionType) else _plain(value) for value in held]


def _name_of(kind: Any) -> str:
    return f"{getattr(kind, '__module__', '')}.{getattr(kind, '__qualname__', type(kind))}"


def _parsed(raw: bytes) -> dict[str, Any] | None:
    """Return a line of a journal; None if it is not what was written."""
    checksum, _, text = raw.rstrip(b"\n").partition(b" ")
    if not raw.endswith(b"\n") or checksum != b"%08x" % zlib.crc32(text):
        return None
    line = json.loads(text)
    return line if isinstance(line, dict) else None
