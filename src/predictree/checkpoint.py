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
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from types import CodeType, FunctionType
from typing import IO, Any

import joblib
import numpy as np

from predictree.appraisal import ITSELF, Candidate, Pool, Side
from predictree.exceptions import CheckpointError, CheckpointWarning
from predictree.execution import heard_warnings
from predictree.files import clear_drafts, replacing
from predictree.mixing import Mixture
from predictree.problem import Region
from predictree.search import FitCount
from predictree.tree import FloatArray, IntArray, Model, Split

try:
    import fcntl
except ImportError:  # where files cannot be locked, two fits in one folder go unnoticed
    fcntl = None  # type: ignore[assignment]

FORMAT, PROTOCOL = "predictree checkpoint", 1
"""Raise the protocol when older journals cannot be continued any more."""
OWN = 0  # in a journal: the path of the very node, which is none of a node's ancestors

Loss = tuple[str, str, int]  # a learner, why it failed, and how often
Models = tuple[Model, ...]


@dataclass(frozen=True, slots=True)
class Step:
    """What became of one node: a split with its two sides, or none."""

    split: Split | None
    loss: float | None
    sides: tuple[Side, ...]
    losses: tuple[Loss, ...]
    fits: FitCount


@dataclass(frozen=True, slots=True)
class Names:
    """Nodes have ids by the order of growth, and in a journal paths, which depend on no order."""

    path_of: Callable[[int], int]
    id_of: Callable[[int], int]

    def written(self, key: tuple[int | None, int]) -> list[int]:
        """Return a predictor's key as the journal has it."""
        owner, learner = key
        return [OWN if owner is ITSELF else self.path_of(owner), learner]

    def read(self, key: Sequence[int]) -> tuple[int | None, int]:
        """Return the key of a predictor in a journal."""
        return (ITSELF if key[0] == OWN else self.id_of(key[0])), key[1]


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

    def step(
        self, path: int, roots: list[int], names: Names, pool: Pool, divide: "Divide"
    ) -> Step | None:
        """Return what became of the node at a path, if that was decided by the same learners."""
        return None

    def keep_step(self, path: int, roots: list[int], names: Names, step: Step) -> None:
        """Remember what became of the node at a path."""

    def close(self) -> None:
        """Let others have what it is written in."""


Divide = Callable[[Split], tuple[tuple[Region, Any], tuple[Region, Any]]]


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

    def step(
        self, path: int, roots: list[int], names: Names, pool: Pool, divide: Divide
    ) -> Step | None:
        """Return what became of the node at a path, if that was decided by the same learners."""
        line = self._steps.get(path)
        if line is None or line["roots"] != roots:
            return None
        losses, fits = tuple(map(tuple, line["losses"])), FitCount(*line["fits"])
        if line["split"] is None:
            return Step(None, None, (), losses, fits)
        split = Split(**line["split"])
        with np.load(io.BytesIO(self._content(line)), allow_pickle=False) as arrays:
            sides = tuple(
                _read_side(side, {k[2:]: arrays[k] for k in arrays if k[0] == str(s)}, *where)
                for s, (side, where) in enumerate(
                    (side, (names, pool, region, rows))
                    for side, (region, rows) in zip(line["sides"], divide(split), strict=True)
                )
            )
        return Step(split, line["loss"], sides, losses, fits)

    def keep_step(self, path: int, roots: list[int], names: Names, step: Step) -> None:
        """Write what became of the node at a path."""
        line = {
            "node": path,
            "roots": roots,
            "split": None if step.split is None else asdict(step.split),
            "loss": step.loss,
            "losses": step.losses,
            "fits": [step.fits.made, step.fits.exhaustive],
            "sides": [_written_side(side, names) for side in step.sides],
        }
        if step.split is None:
            self._append(line)
            return
        arrays = {
            f"{s}/{name}": array
            for s, side in enumerate(step.sides)
            for name, array in _arrays_of(side).items()
        }
        self._write(line, "npz", lambda file: np.savez(file, **arrays))  # type: ignore[arg-type]

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
        """Return the entropy of the fit that the folder is of; if there is none, keep this.

        If it was drawn from a seed of the user's, it must be the same.
        """
        path = self.folder / "fit.json"
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            if path.exists():
                kept = int(json.loads(path.read_bytes())["entropy"])
            else:
                kept = drawn
                with replacing(path) as file:
                    file.write(json.dumps({"format": FORMAT, "entropy": drawn}).encode())
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise CheckpointError(
                f"checkpoint={os.fspath(self.folder)!r} cannot be used ({error}): give a folder "
                "that can be written to, new or of the same fit"
            ) from error
        if seeded and kept != drawn:
            raise another_fit(self.folder, ["random_state"])
        return kept

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


def _written_side(side: Side, names: Names) -> dict[str, Any]:
    return {
        "pool": [names.written(h.key) for h in side.pool],
        "choice": names.written(side.choice.key),
        "mixed": None
        if side.mixture is None
        else [names.written(key) for key in side.mixture.weights],
    }


def _arrays_of(side: Side) -> dict[str, FloatArray]:
    """Return the numbers of a side: its own candidates' scores, and its weights."""
    arrays = {f"own/{h.learner}": h.scores for h in side.pool if h.owner is ITSELF}
    if side.mixture is not None:
        keys = list(side.mixture.weights)
        arrays["scores"] = side.mixture.scores
        arrays["weights"] = _in_order(side.mixture.weights, keys)
        arrays["by_fold"] = np.array([_in_order(w, keys) for w in side.mixture.by_fold])
    return arrays


def _in_order(weights: Mapping[Any, float], keys: Iterable[Any]) -> FloatArray:
    return np.array([weights[key] for key in keys])


def _read_side(
    line: dict[str, Any],
    arrays: Mapping[str, FloatArray],
    names: Names,
    inherited: Pool,
    region: Region,
    rows: Any,
) -> Side:
    """Return a side; what it has from its ancestors is in the pool of its parent."""
    known = {h.key: h for h in inherited}
    pool = [
        Candidate(ITSELF, key[1], arrays[f"own/{key[1]}"])
        if key[0] is ITSELF
        else known[key].on(rows)
        for key in map(names.read, line["pool"])
    ]
    choice = names.read(line["choice"])
    mixture = None
    if line["mixed"] is not None:
        keys = [names.read(key) for key in line["mixed"]]
        mixture = Mixture(
            dict(zip(keys, arrays["weights"].tolist(), strict=True)),
            [dict(zip(keys, w.tolist(), strict=True)) for w in arrays["by_fold"]],
            arrays["scores"],
        )
    offered = {h.key: h for h in pool}
    gone = Candidate(*choice, np.empty((0, 0)))  # a mixture's choice needs no scores of its own
    return Side(region, pool, offered.get(choice, gone), mixture)
