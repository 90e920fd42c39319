"""Tables in files: CSV, gzipped CSV and Parquet, read and written with polars."""

import argparse
import atexit
import gzip
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory, TemporaryFile
from typing import Any

from predictree.cli.console import tell, warn
from predictree.cli.csvfile import Layout, examine, line_of
from predictree.errors import InvalidInputError, MissingExtraError, PredictreeError
from predictree.model.words import cell

MISSING = ("", "NA", "N/A", "NaN", "nan", "NULL", "null")
LOOKED_AT = 10_000  # rows that tell what a column is, unless a later one contradicts
PARQUET = b"PAR1"
STDIN, SPOKEN = "-", "standard input"
WRITTEN = (".csv", ".csv.gz", ".parquet")
NAMED = 5  # columns that a message names
AT_ONCE = 100_000  # rows that are written at a time


@dataclass(frozen=True)
class TableFile:
    """A table that was read, with where it came from."""

    path: Path
    frame: Any
    layout: Layout | None = None
    name: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", self.name or str(self.path))

    def place(self, row: int) -> str:
        """Return where a row stands, for a message; rows count from 0."""
        if self.layout is None:
            return f"{self.name}, row {row + 1}"
        return f"{self.name}, line {line_of(self.path, self.layout.sep, row)}"


@contextmanager
def blaming(file: TableFile) -> Iterator[None]:
    """Name the file in what a model says of its rows."""
    try:
        yield
    except (PredictreeError, ValueError) as error:
        raise InvalidInputError(f"{file.name}: {error}") from error


def add_reading(parser: argparse.ArgumentParser) -> None:
    """Add the options that say how a CSV file is to be read."""
    parser.set_defaults(empty=False)  # whether a table without rows will do
    for name, how in READING.items():
        parser.add_argument(f"--{name}", **how)


def separator(text: str) -> str:
    """Return a separator as a user spells it."""
    sep = {"tab": "\t", "\\t": "\t"}.get(text, text)
    if len(sep) != 1 or not sep.isascii() or sep in '"\r\n':
        raise argparse.ArgumentTypeError(f"{text!r} is not one character, such as ';' or tab")
    return sep


READING: dict[str, dict[str, Any]] = {
    "sep": {
        "type": separator,
        "metavar": "CHAR",
        "help": "separator of a CSV file (default: the most frequent of ',', ';' and tab)",
    },
    "missing": {
        "action": "append",
        "default": [],
        "metavar": "TEXT",
        "help": "a further text that stands for a missing value, such as '?'; may be repeated",
    },
}


def read_table(args: argparse.Namespace, texts: Sequence[str] = ()) -> TableFile:
    """Read the table that a command is given.

    Parameters
    ----------
    args : Namespace
        With ``data``, ``sep`` and ``missing``.
    texts : sequence of str
        Columns that are text, even if this file has nothing but numbers there.
    """
    require_polars()
    if args.data != STDIN:
        return _read(Path(args.data), args, texts)
    path = Path(atexit_folder()) / "table"
    path.write_bytes(sys.stdin.buffer.read())
    try:
        file = _read(path, args, texts)
    except InvalidInputError as error:
        raise InvalidInputError(str(error).replace(str(path), SPOKEN)) from error
    return replace(file, name=SPOKEN)


def atexit_folder() -> str:
    """Return a folder that is gone when the command ends."""
    folder = TemporaryDirectory()
    atexit.register(folder.cleanup)
    return folder.name


def _read(path: Path, args: argparse.Namespace, texts: Sequence[str]) -> TableFile:
    if not path.exists():
        raise InvalidInputError(f"{path}: there is no such file")
    if not path.is_file():
        raise InvalidInputError(f"{path} is not a file: give a CSV or Parquet file")
    if not path.stat().st_size:
        raise InvalidInputError(f"{path} is empty: give a table with a header and rows")
    with path.open("rb") as content:
        is_parquet = content.read(len(PARQUET)) == PARQUET
    file = _parquet(path) if is_parquet else _csv(path, args.sep, args.missing, texts)
    if not len(file.frame) and not args.empty:
        raise InvalidInputError(f"{path} has a header and no rows: there is nothing to read")
    return file


def _parquet(path: Path) -> TableFile:
    pl = require_polars()
    try:
        frame = pl.read_parquet(path)
    except pl.exceptions.PolarsError as error:
        raise InvalidInputError(f"{path} is damaged ({error}): copy or write it again") from error
    return TableFile(path, frame)


def _csv(path: Path, sep: str | None, missing: Sequence[str], texts: Sequence[str]) -> TableFile:
    pl = require_polars()
    layout = examine(path, sep)
    how = {
        "separator": layout.sep,
        "null_values": [*MISSING, *missing],
        "schema_overrides": {name: pl.String for name in texts if name in layout.names},
        "try_parse_dates": True,
    }
    try:
        frame = pl.read_csv(path, infer_schema_length=LOOKED_AT, **how)
    except pl.exceptions.PolarsError:  # a later row has something else: look at all
        frame = _read_all(path, how)
    frame.columns = list(layout.names)  # polars keeps doubled quotes
    file = TableFile(path, frame.head(len(frame) - layout.n_blank), layout)
    return _with_numbers(file, texts)


def _read_all(path: Path, how: dict[str, Any]) -> Any:
    pl = require_polars()
    try:
        return pl.read_csv(path, infer_schema_length=None, **how)
    except pl.exceptions.PolarsError as error:
        raise InvalidInputError(f"{path} cannot be read: {error}") from error


def _with_numbers(file: TableFile, texts: Sequence[str]) -> TableFile:
    """Turn columns of text that are all numbers into such; warn of those that mostly are.

    Where a comma separates no values, it may be the point of a number.
    """
    pl = require_polars()
    commas = file.layout is not None and file.layout.sep != ","
    numbers, with_comma = [], []
    for column in file.frame.iter_columns():
        if column.dtype != pl.String or column.name in texts:
            continue
        pointed = _as_numbers(column, comma=True)
        cast = pointed if commas else _as_numbers(column, comma=False)
        words = (column.is_not_null() & cast.is_null()).arg_true()
        if not len(words):
            numbers.append(cast)
            with_comma += [column.name] if column.str.contains(",", literal=True).any() else []
        elif pointed.drop_nulls().len() > 0.5 * column.drop_nulls().len():
            _warn_of_text(file, column, int(words[0]))
    if with_comma:
        tell(f"{file.name}: decimal commas in {_listed(with_comma)}")
    return replace(file, frame=file.frame.with_columns(numbers))


def _as_numbers(column: Any, comma: bool) -> Any:
    """Return text as numbers, missing where it is none."""
    pl = require_polars()
    text = column.str.strip_chars()
    pointed = text.str.replace(",", ".", literal=True) if comma else text
    return pointed.cast(pl.Float64, strict=False)


def _warn_of_text(file: TableFile, column: Any, first: int) -> None:
    word = column[first]
    remedy = (
        "Write numbers with a point and without separators of thousands"
        if re.fullmatch(r"\s*[-+]?\d[\d.,]*\s*", word)
        else f"Correct it, or give --missing {word!r} if it stands for a missing value"
    )
    warn(
        f"{file.place(first)}: column {column.name!r} is read as text because of {word!r}; "
        f"most of it is numbers. {remedy}"
    )


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - NAMED} more columns" if len(names) > NAMED else ""
    return ", ".join(map(repr, names[:NAMED])) + more


def check_writable(output: str | None, endings: Sequence[str] = ()) -> None:
    """Raise now if a file could not be written later, after the work is done."""
    if output is None:
        return
    path = Path(output)
    if endings and not path.name.endswith(tuple(endings)):
        raise InvalidInputError(f"{path}: the name must end in {' or '.join(endings)}")
    if path.is_dir():
        raise InvalidInputError(f"{path} is a folder: give the name of a file")
    if not path.parent.is_dir():
        raise InvalidInputError(f"{path}: there is no folder {path.parent}: make it first")
    try:
        with TemporaryFile(dir=path.parent):
            pass
    except OSError as error:
        raise InvalidInputError(
            f"{path}: nothing can be written to the folder {path.parent} "
            f"({error.strerror}): choose another"
        ) from error


def write_table(frame: Any, output: str | None, raw: bool = False) -> None:
    """Write a frame as its name says, or as CSV to stdout; in CSV text is safe, unless raw."""
    if not (raw or (output or "").endswith(".parquet")):
        frame = _safe(frame)
    if output is None:
        for start in range(0, max(len(frame), 1), AT_ONCE):
            sys.stdout.write(frame[start : start + AT_ONCE].write_csv(include_header=not start))
    elif output.endswith(".parquet"):
        frame.write_parquet(output)
    elif output.endswith(".gz"):
        with gzip.open(output, "wb") as file:
            frame.write_csv(file)
    else:
        frame.write_csv(output)


def _safe(frame: Any) -> Any:
    """Return a frame whose text no spreadsheet runs and no terminal obeys."""
    pl = require_polars()
    texts = [column for column in frame.iter_columns() if column.dtype == pl.String]
    words = [column.unique().drop_nulls().to_list() for column in texts]
    safe = [c.replace(w, list(map(cell, w))) for c, w in zip(texts, words, strict=True)]
    return frame.with_columns(safe).rename(cell)


def require_polars() -> Any:
    """Return polars, or say how to get it."""
    if any(find_spec(name) is None for name in ("polars", "narwhals")):
        raise MissingExtraError(
            "tables are read with polars, which is not here: pip install 'predictree[frames]'"
        )
    return import_module("polars")
