"""Files from the net: checked by their SHA-256, and kept in a folder for the next time."""

import gzip
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from http.client import HTTPException
from io import BytesIO
from pathlib import Path, PurePosixPath
from urllib.request import urlopen
from zipfile import BadZipFile, ZipFile

from predictree.errors import PredictreeError
from predictree.run.files import replacing

TIMEOUT = 60.0  # seconds without an answer
ZIPPED, GZIPPED = b"PK\x03\x04", b"\x1f\x8b"
CORRUPT = (BadZipFile, RuntimeError, EOFError, OSError, zlib.error)


class DatasetError(PredictreeError, OSError):
    """A data set could not be downloaded or read, or is not the one it should be."""


@dataclass(frozen=True, slots=True)
class Source:
    """A table that can be downloaded.

    Attributes
    ----------
    url : str
        Of a zip archive.
    files : tuple of str
        Names of files that will do; the first is that under which the archive is kept.
    members : tuple of str
        Names inside archives that lead to the table: the table's own, then an inner archive's.
    digest : str
        SHA-256 of the table, or of an archive that holds it.
    """

    url: str
    files: tuple[str, ...]
    members: tuple[str, ...]
    digest: str


def read_source(source: Source, folder: Path) -> bytes:
    """Return a table as bytes: from a file in the folder, else from the net, and then keep it."""
    for path in (folder / name for name in source.files):
        if path.is_file():
            return _checked(source, path.read_bytes(), str(path))
    packed = _download(source, folder)
    table = _checked(source, packed, source.url)
    with replacing(folder / source.files[0]) as file:
        file.write(packed)
    return table


def unpacked(content: bytes, origin: str, members: tuple[str, ...] = ()) -> list[bytes]:
    """Return a file, then what it unpacks to, down to what is no archive."""
    try:
        return list(_layers(content, members))
    except CORRUPT as error:
        raise DatasetError(
            f"{origin} cannot be unpacked ({error}): delete it if it is a file of yours, and try "
            "again"
        ) from error


def _download(source: Source, folder: Path) -> bytes:
    try:
        with urlopen(source.url, timeout=TIMEOUT) as answer:
            content: bytes = answer.read()
    except (OSError, HTTPException) as error:
        raise DatasetError(
            f"{source.url} could not be downloaded ({error}): check the connection, or put "
            f"{' or '.join(source.files)} into {folder}"
        ) from error
    return content


def _checked(source: Source, content: bytes, origin: str) -> bytes:
    """Return the table in a file, if the file or what it holds has the right digest."""
    layers = unpacked(content, origin, source.members)
    if source.digest not in [sha256(layer).hexdigest() for layer in layers]:
        raise DatasetError(
            f"{origin} is not the file it should be: neither it nor what it holds has the SHA-256 "
            f"{source.digest}. Delete it if it is a file of yours, and try again"
        )
    return layers[-1]


def _layers(content: bytes, members: tuple[str, ...]) -> Iterator[bytes]:
    yield content
    while content.startswith((ZIPPED, GZIPPED)):
        zipped = content.startswith(ZIPPED)
        content = _member(content, members) if zipped else gzip.decompress(content)
        yield content


def _member(archive: bytes, members: tuple[str, ...]) -> bytes:
    """Return the first of some members that a zip archive has, in whatever folder."""
    with ZipFile(BytesIO(archive)) as opened:
        inside = {PurePosixPath(path).name: path for path in opened.namelist()}
        for name in members:
            if name in inside:
                return opened.read(inside[name])
    raise BadZipFile(f"there is none of {list(members)} in it")
