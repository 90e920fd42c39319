"""A folder from which a fit that was cut off goes on."""

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from shutil import rmtree

from predictree.errors import CheckpointError, InvalidInputError
from predictree.run.files import Unbuffered, replacing
from predictree.run.journal import FORMAT, FileJournal, Pack, another_fit
from predictree.run.lock import HeldError, Lock

LARGEST = 2**31  # of the entropy of a fit


@dataclass(frozen=True)
class Checkpoint:
    """A folder for the journals of one fit.

    Parameters
    ----------
    folder : str or path
        It holds ``fit.json`` with the entropy of the seeds, a lock, and a folder for each tree.
    trusted : bool, default=False
        Go on with it though the folder, or a file in it, belongs to another user of the machine,
        who can change what is in it.
    """

    folder: str | os.PathLike[str]
    trusted: bool = False

    @classmethod
    def of(cls, given: "str | os.PathLike[str] | Checkpoint") -> "Checkpoint":
        """Return a checkpoint itself, or that in a folder."""
        return given if isinstance(given, Checkpoint) else cls(given)

    def inside(self, name: str) -> "Checkpoint":
        """Return a checkpoint in a folder of this one."""
        return Checkpoint(self.place / name, self.trusted)

    @property
    def place(self) -> Path:
        """The folder as a path."""
        return Path(self.folder)

    @property
    def path(self) -> Path:
        """The file of the entropy, which every fit has."""
        return self.place / "fit.json"

    def entropy(self, drawn: int, seeded: bool) -> int:
        """Return the entropy of the fit that the folder is of; if there is none, what was drawn.

        If it was drawn from a seed of the user's, it must be the same. Nothing is written.
        """
        try:
            kept = self._kept()
        except FileNotFoundError:
            return drawn
        except (ArithmeticError, LookupError, OSError, RecursionError, TypeError) as error:
            raise self._unusable(error) from error
        if seeded and kept != drawn:
            raise another_fit(self.place, ["random_state"])
        return kept

    @contextmanager
    def begun(self, entropy: int) -> Iterator["Begun"]:
        """Hold the folder for a fit; all that can be refused was checked before.

        What a fit that is refused nevertheless has written is removed.
        """
        with self._held():
            begun = Begun(self)
            if not self.path.exists():
                self._begin(entropy)
                begun.made.append(self.path)
            self.entropy(entropy, seeded=True)  # another fit may have been quicker
            try:
                yield begun
            except InvalidInputError:
                begun.forget()
                raise

    def check_owner(self, owner: int, what: str) -> None:
        """Raise unless something in the folder is the user's own, or the user trusts it."""
        if not self.trusted and hasattr(os, "geteuid") and owner != os.geteuid():
            raise CheckpointError(
                f"{what} of the checkpoint {self.place} belongs to user {owner}, who may have "
                "changed it: give a new folder, or if you trust it checkpoint="
                f"Checkpoint({os.fspath(self.folder)!r}, trusted=True)"
            )

    def _held(self) -> Lock:
        """Make the folder and hold it."""
        try:
            self.place.mkdir(parents=True, exist_ok=True)
            self.check_owner(self.place.stat().st_uid, "the folder")
            return Lock(self.place / "lock")
        except HeldError as error:
            raise CheckpointError(
                f"another fit is writing to the checkpoint {self.place} ({error}): give each its "
                "own folder"
            ) from error
        except OSError as error:
            raise self._unusable(error) from error

    def _begin(self, entropy: int) -> None:
        """Keep the entropy of a fit that begins."""
        try:
            with replacing(self.path) as file:
                file.write(json.dumps({"format": FORMAT, "entropy": entropy}).encode())
        except OSError as error:
            raise self._unusable(error) from error

    def _kept(self) -> int:
        """Return the entropy that is kept in the folder."""
        with Unbuffered(self.path, os.O_RDONLY) as file:
            self.check_owner(file.owner, "fit.json")
            content = file.read()
        try:
            known = json.loads(content)["entropy"]
        except ValueError as error:
            raise TypeError(f"fit.json holds no description: {error}") from error
        if type(known) is not int or not 0 <= known < LARGEST:
            raise TypeError(f"fit.json has no entropy but {known!r}")
        return known

    def _unusable(self, error: Exception) -> CheckpointError:
        return CheckpointError(
            f"checkpoint={os.fspath(self.folder)!r} cannot be used ({error}): give a folder that "
            "can be written to, new or of the same fit"
        )


@dataclass
class Begun:
    """A checkpoint that is held, and what this fit has made in it."""

    checkpoint: Checkpoint
    made: list[Path] = field(default_factory=list)

    def journal(self, tree: int, identity: Mapping[str, str], pack: Pack) -> FileJournal:
        """Return the journal of one tree."""
        folder = self.checkpoint.place / f"tree-{tree}"
        if not folder.exists():
            self.made.append(folder)
        return FileJournal(folder, identity, pack, self.checkpoint.check_owner)

    def forget(self) -> None:
        """Remove what a new fit has made; an earlier one's stays."""
        if self.checkpoint.path not in self.made:
            return
        for made in self.made:
            rmtree(made, ignore_errors=True)
        for name in (self.checkpoint.path, self.checkpoint.place / "lock"):
            name.unlink(missing_ok=True)
        with suppress(OSError):  # there is more in it
            self.checkpoint.place.rmdir()
