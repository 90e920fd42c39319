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
    finally:
        draft.unlink(missing_ok=True)


def clear_drafts(folder: Path) -> None:
    """Remove what a program that was killed while it wrote has left in a folder."""
    for draft in folder.glob(".*.tmp"):
        draft.unlink(missing_ok=True)
