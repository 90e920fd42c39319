"""A journal of a growing tree, so that a fit that was cut off goes on where it stood.

It is a folder with a file of lines: one for each node that was decided and for each predictor that
was fitted, written once their arrays and models are on the disk. The last line may be torn; any
other damage is refused. Nothing in it is code: models are kept as `predictree.save` keeps them.
"""

import hashlib
import io
import json
import os
import re
import warnings
import zipfile
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeVar

import numpy as np

from predictree.errors import CheckpointError, CheckpointWarning
from predictree.model.tree import Fitted, IntArray
from predictree.run.files import Unbuffered, clear_drafts, replacing
from predictree.run.guard import heard_warnings

FORMAT, PROTOCOL = "predictree checkpoint", 4
"""Raise the protocol when older journals cannot be continued any more."""
ODD = (ArithmeticError, AssertionError, AttributeError, LookupError, TypeError, ValueError)
"""What comes of a line that is not as it was written."""

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
        """Return the choice that was written; raise one of `ODD` if it makes no sense."""

    def kept(self, choice: C | None, line: Line) -> C | None:
        """Return it with everything that making it would leave."""


class Pack(Protocol):
    """Turns the models of a predictor into the content of a file and back."""

    def dumps(self, models: Models) -> bytes:
        """Return the content of a file; raise if these models cannot be written or not be read."""

    def loads(self, content: bytes) -> Models:
        """Return the models in a file that may be anything; raise if it is not sound."""


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
    """A journal in a folder.

    Parameters
    ----------
    folder : Path
    identity : mapping of str to str
        A digest of everything that the tree depends on, by name.
    pack : Pack
        How models are written.
    check_owner : callable
        Raises if a file of the user with a number, which has a name, is not to be used.
    """

    def __init__(
        self,
        folder: Path,
        identity: Mapping[str, str],
        pack: Pack,
        check_owner: Callable[[int, str], None] = lambda owner, what: None,
    ) -> None:
        self.folder, self._pack, self._check_owner = folder, pack, check_owner
        try:
            self._file: Unbuffered | None = self._opened()
        except OSError as error:
            raise self._damaged(f"its journal cannot be used ({error})") from error
        try:
            lines = self._begin(identity)
        except BaseException:
            self.close()
            raise
        self._steps = {line["node"]: line for line in lines if "node" in line}
        self._fitted = {tuple(line["predictor"]): line for line in lines if "predictor" in line}

    def _opened(self) -> Unbuffered:
        if self.folder.is_symlink():
            raise OSError(f"{self.folder.name} is a link")
        self.folder.mkdir(exist_ok=True, parents=True)
        file = Unbuffered(self.folder / "journal", os.O_RDWR | os.O_CREAT | os.O_APPEND)
        self._check_owner(file.owner, f"{self.folder.name}/journal")
        return file

    def _begin(self, identity: Mapping[str, str]) -> list[Line]:
        """Return the lines of the journal, which is of this fit; if there are none, begin it."""
        header: Line = {"format": FORMAT, "protocol": PROTOCOL, "identity": dict(identity)}
        lines = self._read(header)
        clear_drafts(self.folder)
        if lines:
            self._check_identity(lines[0], identity)
        else:
            self._append(header)
        return lines[1:]

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
        try:
            return self._pack.loads(self._content(line))
        except CheckpointError:
            raise
        except Exception as error:
            raise self._damaged(f"{line['file']} holds no sound models ({error})") from error

    def keep_models(self, origin: Origin, models: Models) -> None:
        """Write the models of a predictor."""
        key = origin.key
        if key in self._fitted or self._file is None:
            return
        try:
            content = self._pack.dumps(models)
        except Exception as error:  # a model may refuse in any way it likes
            _warn(
                f"models cannot be written to the checkpoint {self.folder} ({error}): if the fit "
                "is cut off they are fitted again"
            )
        else:
            line = self._write({"predictor": key}, "models", content)
            if self._file is not None:
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
                line = self._steps[key]
                return steps.kept(self._step(leaf, line, steps), line)
            begun = steps.begin()
            choice = choose(leaf)
            self._keep_step(key, *steps.written(choice, begun))
            return choice

        return remembered

    def _step(self, leaf: L, line: Line, steps: Translator[L, C]) -> C | None:
        """Return the choice that a line tells of."""
        arrays = self._arrays(line) if "file" in line else {}
        try:
            return steps.read(leaf, line, arrays)
        except ODD as error:
            what = f"what its journal says of node {line['node']!r} makes no sense ({error!r})"
            raise self._damaged(what) from error

    def _arrays(self, line: Line) -> Arrays:
        """Return the arrays of a line."""
        content = self._content(line)
        try:
            return _arrays_in(content)
        except Exception as error:  # whatever a file that is no such makes of its reader
            raise self._damaged(f"{line['file']} holds no arrays ({error})") from error

    def _keep_step(self, key: str, line: Line, arrays: Arrays) -> None:
        """Write a line, after its arrays if there are any."""
        line = {"node": key, **line}
        if arrays:
            buffer = io.BytesIO()
            np.savez(buffer, **arrays)  # type: ignore[arg-type]
            self._write(line, "npz", buffer.getvalue())
        else:
            self._append(line)

    def _read(self, header: Line) -> list[Line]:
        """Return the lines of the journal, and cut off a torn last one.

        A file that does not begin as a journal does stays as it is.
        """
        assert self._file is not None
        content = self._file.read()
        given = content.splitlines(keepends=True)
        lines = [self._parsed(raw, number) for number, raw in enumerate(given, 1)]
        if None in lines[:-1]:
            raise self._damaged(
                f"line {lines.index(None) + 1} of its journal is not what was written"
            )
        if lines[:1] == [None] and not _written(header).startswith(content):
            raise self._damaged("its journal does not begin as one")
        if lines[-1:] == [None]:
            self._file.cut(len(content) - len(given[-1]))
        return [line for line in lines if line is not None]

    def _parsed(self, raw: bytes, number: int) -> Line | None:
        """Return a line of the journal; None if it is not what was written."""
        checksum, _, text = raw.rstrip(b"\n").partition(b" ")
        if not raw.endswith(b"\n") or checksum != b"%08x" % zlib.crc32(text):
            return None
        try:
            line = json.loads(text)
        except (RecursionError, ValueError):
            line = None
        if not (isinstance(line, dict) and (number == 1 or _is_sound(line))):
            raise self._damaged(f"line {number} of its journal makes no sense")
        return line

    def _check_identity(self, header: Line, identity: Mapping[str, str]) -> None:
        if header.get("format") != FORMAT or header.get("protocol") != PROTOCOL:
            raise self._damaged("it was written by another version of predictree")
        known = header.get("identity")
        if not isinstance(known, dict):
            raise self._damaged("line 1 of its journal makes no sense")
        other = [name for name in {**known, **identity} if known.get(name) != identity.get(name)]
        if other:
            raise another_fit(self.folder, other)

    def _damaged(self, what: str) -> CheckpointError:
        return CheckpointError(
            f"the checkpoint {self.folder} cannot be continued: {what}. Remove the folder to start "
            "anew"
        )

    def _content(self, line: Line) -> bytes:
        """Return the content of a line's file, after checking that it is the one written."""
        name, digest = line["file"], line["sha256"]
        try:
            with Unbuffered(self.folder / name, os.O_RDONLY) as file:
                self._check_owner(file.owner, f"{self.folder.name}/{name}")
                content = file.read()
        except OSError as error:
            raise self._damaged(f"{name} cannot be read ({error})") from error
        if hashlib.sha256(content).hexdigest() != digest:
            raise self._damaged(f"{name} is not what was written")
        return content

    def _write(self, line: Line, suffix: str, content: bytes) -> Line:
        """Write a file and then the line that tells of it."""
        digest = hashlib.sha256(content).hexdigest()
        line = {**line, "file": f"{digest[:16]}.{suffix}", "sha256": digest}
        self._append(line, content)
        return line

    def _append(self, line: Line, content: bytes | None = None) -> None:
        """Write a line, after its file; if that is not possible, go on without a checkpoint."""
        if self._file is None:
            return
        try:
            if content is not None:
                with replacing(self.folder / line["file"]) as file:
                    file.write(content)
            self._file.write(_written(line))
            self._file.keep()
        except OSError as error:
            self.close()
            _warn(
                f"the checkpoint {self.folder} cannot be written ({error}): the fit goes on, and "
                "if it is cut off all since the last line is lost"
            )


def _warn(message: str) -> None:
    with heard_warnings():
        warnings.warn(message, CheckpointWarning, stacklevel=3)


def another_fit(folder: Path, names: list[str]) -> CheckpointError:
    """Return what to raise for a folder that was written by another call."""
    return CheckpointError(
        f"{folder} is the checkpoint of another fit, with other {', '.join(names)}: make the same "
        "call to go on with it, or give another folder"
    )


def _written(line: Line) -> bytes:
    """Return a line as it is in the file, after its checksum."""
    text = json.dumps(line).encode()
    return b"%08x %s\n" % (zlib.crc32(text), text)


def _is_sound(line: Line) -> bool:
    """Whether a line tells of a node or of a predictor, and names no file but one of its own."""
    if "predictor" in line:
        if not (_is_key(line["predictor"]) and "file" in line):
            return False
    elif not isinstance(line.get("node"), str):
        return False
    if "file" not in line:
        return True
    name, digest = line["file"], line.get("sha256")
    if not (isinstance(name, str) and isinstance(digest, str)):
        return False
    sound = re.fullmatch(r"[0-9a-f]{16}\.(npz|models)", name) and len(digest) == 64
    return bool(sound) and digest.startswith(name[:16])


def _is_key(given: Any) -> bool:
    """Whether this is the key of an origin."""
    if not isinstance(given, list) or len(given) != 4:
        return False
    return [type(part) for part in given] == [int, int, int, str]


def _arrays_in(content: bytes) -> Arrays:
    """Return the arrays in a file that is no larger than they are."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        if sum(member.file_size for member in archive.infolist()) > len(content):
            raise ValueError("its arrays are larger than their file")
    with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
        return dict(arrays)
