"""A CSV file before it is read: its separator, its header, and its first fault by line.

The whole file is walked through, a line at a time, because a reader of columns tells neither the
line of a fault nor that a row is too short.
"""

import csv
import gzip
import re
import zlib
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from io import TextIOWrapper
from itertools import islice
from pathlib import Path
from typing import BinaryIO, TextIO, cast

from predictree.errors import InvalidInputError

SEPARATORS = (",", ";", "\t")
UNUSUAL = ("|", ":", " ")
GZIP = b"\x1f\x8b"


@dataclass(frozen=True, slots=True)
class Layout:
    """How a CSV file is laid out.

    Attributes
    ----------
    sep : str
    names : tuple of str
        The header.
    n_blank : int
        Blank lines at the end, which are no rows.
    """

    sep: str
    names: tuple[str, ...]
    n_blank: int


def examine(path: Path, sep: str | None) -> Layout:
    """Return the layout of a CSV file; raise for the first thing that is wrong with it."""
    try:
        with _text(path) as lines:
            sep = _separator(path, lines.readline(), sep)
        with _text(path) as lines:
            records = _records(path, lines, sep)
            _, header = next(records)
            _check_header(path, header)
            return Layout(sep, tuple(header), _check_rows(path, records, len(header), sep))
    except UnicodeDecodeError as error:
        raise InvalidInputError(
            f"{path}, line {_undecodable(path)}: this is not UTF-8 text. Save the table as CSV in "
            f"UTF-8, or convert it: iconv -f latin1 -t utf-8 {path} > utf8.csv"
        ) from error
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise InvalidInputError(
            f"{path} is damaged ({error}): compress or copy it once more"
        ) from error


def line_of(path: Path, sep: str, row: int) -> int:
    """Return the line on which a row begins; rows count from 0, lines from 1."""
    with _text(path) as lines:
        start, _ = next(islice(_records(path, lines, sep), row + 1, None))
        return start


def _separator(path: Path, header: str, sep: str | None) -> str:
    """Return the separator that a header is made with."""
    if not header.strip():
        raise InvalidInputError(f"{path} has no header: its first line must name the columns")
    counts = {s: _count(header, s) for s in (*SEPARATORS, *UNUSUAL)}
    likely = max(SEPARATORS, key=lambda s: counts[s])
    chosen = likely if sep is None else sep
    if _count(header, chosen) > 1:
        return chosen
    if sep is None:
        likely = max(UNUSUAL, key=lambda s: counts[s])
    if counts[likely] > 1:
        name = header.strip()
        raise InvalidInputError(
            f"{path}, line 1: the header is a single column, "
            f"{name if len(name) <= 60 else name[:57] + '...'!r}: try --sep {spelled(likely)}"
        )
    return chosen


def spelled(sep: str) -> str:
    """Return a separator as it is given on the command line."""
    return "tab" if sep == "\t" else f"'{sep}'"


def _count(header: str, sep: str) -> int:
    """Return how many columns a header has; what is in quotes separates nothing."""
    return re.sub('"[^"]*"', "", header).count(sep) + 1


def _records(path: Path, lines: TextIO, sep: str) -> Iterator[tuple[int, list[str]]]:
    """Give every record with the line it begins on."""
    reader = csv.reader(lines, delimiter=sep, strict=True)
    while True:
        start = reader.line_num + 1
        try:
            record = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            raise InvalidInputError(
                f"{path}, line {start}: {error}. Close the quote that begins here, and double the "
                "quotes within a value"
            ) from error
        yield start, record


def _check_header(path: Path, header: list[str]) -> None:
    name, count = Counter(header).most_common(1)[0]
    if count > 1:
        places = " and ".join(str(j) for j, other in enumerate(header, 1) if other == name)
        raise InvalidInputError(
            f"{path}, line 1: columns {places} have the same name {name!r}: rename one of them"
        )


def _check_rows(
    path: Path, records: Iterator[tuple[int, list[str]]], n_columns: int, sep: str
) -> int:
    """Raise for the first row that is longer or shorter than the header; count blank last lines."""
    n_rows = n_blank = 0
    for line, record in records:
        if not record:
            n_blank += 1
        elif n_blank:
            raise InvalidInputError(f"{path}, line {line - 1} is blank: delete it")
        elif len(record) != n_columns:
            raise InvalidInputError(
                f"{path}, line {line}: {len(record)} values under a header of {n_columns}: correct "
                f"the line, and quote a value that contains {spelled(sep)}"
            )
        else:
            n_rows += 1
    return n_blank


def _undecodable(path: Path) -> int:
    """Return the first line that is not UTF-8."""
    with _bytes(path) as lines:
        for number, line in enumerate(lines, 1):
            try:
                line.decode("utf-8")
            except UnicodeDecodeError:
                return number
    return 1


@contextmanager
def _text(path: Path) -> Iterator[TextIO]:
    with _bytes(path) as file, TextIOWrapper(file, encoding="utf-8-sig", newline="") as lines:
        yield lines


def _bytes(path: Path) -> BinaryIO:
    with path.open("rb") as file:
        zipped = file.read(len(GZIP)) == GZIP
    return cast(BinaryIO, gzip.open(path, "rb")) if zipped else path.open("rb")
