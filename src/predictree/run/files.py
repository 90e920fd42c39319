"""Writing files that are there whole or not at all, and nowhere but where they were asked for."""

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Self
from uuid import uuid4

NO_LINK = getattr(os, "O_NOFOLLOW", 0)  # where there is none, links are looked for before
FLAGS = NO_LINK | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
AT_ONCE = 1 << 20  # bytes that are read


class Unbuffered:
    """An open file that is written at once: what did not fit is not tried again at its end.

    It is a file of its own: a link to another is refused, and so is what is no file.
    """

    def __init__(self, path: Path, flags: int) -> None:
        if not NO_LINK and path.is_symlink():
            raise OSError(f"{path.name} is a link")
        self.descriptor = os.open(path, flags | FLAGS, 0o666)
        if not stat.S_ISREG(os.fstat(self.descriptor).st_mode):
            self.close()
            raise OSError(f"{path.name} is no file")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def read(self) -> bytes:
        """Return what is in the file from where it stands."""
        return b"".join(iter(lambda: os.read(self.descriptor, AT_ONCE), b""))

    def write(self, content: bytes) -> None:
        """Write all of a content, or raise."""
        left = memoryview(content)
        while left:
            left = left[os.write(self.descriptor, left) :]

    def keep(self) -> None:
        """See that what was written is on the disk."""
        os.fsync(self.descriptor)

    def cut(self, size: int) -> None:
        """Remove all after so many bytes."""
        os.ftruncate(self.descriptor, size)

    def close(self) -> None:
        """Close the file; what matters was kept before."""
        with suppress(OSError):
            os.close(self.descriptor)

    @property
    def owner(self) -> int:
        """The number of the user whose file it is."""
        return os.fstat(self.descriptor).st_uid


@contextmanager
def replacing(target: Path) -> Iterator[Unbuffered]:
    """Open a file that takes the place of the target once it is written and on the disk."""
    draft = target.with_name(f".{uuid4().hex}.tmp")
    try:
        with Unbuffered(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL) as file:
            yield file
            file.keep()
        if target.exists():
            draft.chmod(stat.S_IMODE(target.stat().st_mode))
        draft.replace(target)
        _keep_names(target.parent)
    finally:
        draft.unlink(missing_ok=True)


def _keep_names(folder: Path) -> None:
    """Write a folder's names to the disk, where folders can be opened: a power cut keeps them."""
    if os.name != "posix":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def clear_drafts(folder: Path) -> None:
    """Remove what a program that was killed while it wrote has left in a folder."""
    for draft in folder.glob(".*.tmp"):
        draft.unlink(missing_ok=True)
