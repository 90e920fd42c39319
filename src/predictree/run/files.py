"""Writing files that are there whole or not at all."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO
from uuid import uuid4


@contextmanager
def replacing(target: Path) -> Iterator[IO[bytes]]:
    """Open a file that takes the place of the target once it is written and on the disk."""
    draft = target.with_name(f".{uuid4().hex}.tmp")
    try:
        with draft.open("xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        if target.exists():
            draft.chmod(target.stat().st_mode)
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
