"""A file that one process at a time may hold, and that says which."""

import json
import os
import socket
import time
from pathlib import Path
from typing import Self

from predictree.run.files import Unbuffered

try:
    import fcntl
except ImportError:  # where files cannot be locked, two fits in one folder go unnoticed
    fcntl = None  # type: ignore[assignment]

UNITS = (("days", 86400), ("hours", 3600), ("minutes", 60), ("seconds", 1))


class HeldError(Exception):
    """Another process holds the file; the message says which, and since when."""


class Lock:
    """A held file; it is let go when it is closed, or when its process ends in any way."""

    def __init__(self, path: Path) -> None:
        self._file = Unbuffered(path, os.O_RDWR | os.O_CREAT)
        try:
            self._take()
        except BaseException:
            self._file.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self._file.close()

    def _take(self) -> None:
        if fcntl is not None:
            try:
                fcntl.flock(self._file.descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                raise HeldError(_holder(self._file.read())) from error
        self._file.cut(0)
        own = {"process": os.getpid(), "host": socket.gethostname(), "since": time.time()}
        self._file.write(json.dumps(own).encode())


def _holder(content: bytes) -> str:
    """Return in words who holds a file."""
    try:
        found = json.loads(content)
        process, host, since = int(found["process"]), str(found["host"]), float(found["since"])
        return f"process {process} on {host!r}, for {_age(time.time() - since)}"
    except (ArithmeticError, LookupError, RecursionError, TypeError, ValueError):
        return "by a process that did not say which"


def _age(seconds: float) -> str:
    """Return a time in its largest unit."""
    for unit, each in UNITS:
        if seconds >= 2 * each:
            return f"{int(seconds // each)} {unit}"
    return "a second"
