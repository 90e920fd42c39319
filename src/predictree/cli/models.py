"""Models in files, and the rows of a table as a model wants them."""

import argparse
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import predictree
from predictree.cli.tables import PARQUET, TableFile, read_table, require_polars
from predictree.errors import DamagedModelError, InvalidInputError, UntrustedTypeError
from predictree.model import Model
from predictree.publish.files.archive import summary_of

ZIP = b"PK"
NAMED = 10  # columns that a message names


def add_model_file(parser: argparse.ArgumentParser) -> None:
    """Add the file of a model."""
    parser.add_argument("model", metavar="MODEL", help="a file that `predictree fit` wrote")


def add_model(parser: argparse.ArgumentParser) -> None:
    """Add the model, and what may be in it."""
    add_model_file(parser)
    parser.add_argument(
        "--trust",
        action="append",
        default=[],
        metavar="TYPE",
        help="a further type that the file may build, such as lightgbm.sklearn.LGBMClassifier; "
        "only if you know where the file comes from; may be repeated",
    )


@contextmanager
def naming(path: str) -> Iterator[None]:
    """Name the file of a model in what is wrong with it."""
    try:
        yield
    except FileNotFoundError as error:
        raise InvalidInputError(f"{path}: there is no such file") from error
    except OSError as error:
        raise InvalidInputError(f"{path} cannot be read ({error.strerror})") from error
    except UntrustedTypeError as error:
        trust = " ".join(f"--trust {shlex.quote(name)}" for name in error.types)
        raise InvalidInputError(
            f"{path} would build types that are not known to be harmless. If you know where "
            f"it comes from, add {trust}"
        ) from error
    except DamagedModelError as error:
        raise InvalidInputError(_no_model(path) or f"{path}: {error}") from error


def _no_model(path: str) -> str | None:
    """Return what to do with a file that is no model at all but a table; None of others."""
    with Path(path).open("rb") as file:
        start = file.read(4096)
    is_text = not start.startswith((ZIP, PARQUET)) and b"\0" not in start
    if not is_text and not start.startswith(PARQUET):
        return None
    return (
        f"{path} is a table and not a model. The model comes first on the command line; to make "
        f"one: predictree fit {path} --target COLUMN -o model.tops"
    )


def read_summary(args: argparse.Namespace) -> dict[str, Any]:
    """Read what there is to read about the model that a command is given."""
    with naming(args.model):
        return summary_of(args.model)


def load_model(args: argparse.Namespace) -> Any:
    """Load the model that a command is given, of whatever kind."""
    with naming(args.model):
        return predictree.load(args.model, trusted=args.trust).model_


def read_model(args: argparse.Namespace) -> Model:
    """Load the model that a command is given, which answers for rows."""
    model = load_model(args)
    if not isinstance(model, Model):
        raise InvalidInputError(
            f"{args.model} holds a {model.settings.kind}, which the command line does not know: "
            "load it in Python with predictree.load"
        )
    return model


def read_rows(args: argparse.Namespace, model: Model) -> tuple[TableFile, Any]:
    """Read the table that a command is given, and return it with the columns of the model.

    Further columns, such as the target, are left out. A column that the model was told to ignore
    may be missing.
    """
    columns = model.schema.columns
    texts = [c.name for c in columns if c.levels and all(isinstance(v, str) for v in c.levels)]
    file = read_table(args, texts)
    if not model.named:
        return file, _by_place(file, len(columns))
    pl = require_polars()
    idle = {c.name for c in columns if not (c.splits or c.is_fitted)}
    absent = [c.name for c in columns if c.name not in file.frame.columns]
    known = {column.name for column in columns}
    others = [name for name in file.frame.columns if name not in known]
    _check_all_there(file, [name for name in absent if name not in idle], others)
    frame = file.frame.with_columns([pl.lit(None).alias(name) for name in absent])
    return file, frame.select([c.name for c in columns])


def _check_all_there(file: TableFile, lacking: list[str], others: list[str]) -> None:
    """Raise if columns are lacking: name them all, as far as a line has room."""
    if not lacking:
        return
    close = get_close_matches(lacking[0], others)
    hint = f"did you mean {close[0]!r}?" if close else "add it"
    if len(lacking) == 1:
        raise InvalidInputError(
            f"{file.name} has no column {lacking[0]!r}, which the model needs: {hint}"
        )
    more = f" and {len(lacking) - NAMED} more" if len(lacking) > NAMED else ""
    raise InvalidInputError(
        f"{file.name} lacks {len(lacking)} columns that the model needs: "
        f"{', '.join(map(repr, lacking[:NAMED]))}{more}. For the first, {hint}"
    )


def _by_place(file: TableFile, n_columns: int) -> Any:
    """Return the values for a model that was fitted without names."""
    if file.frame.width != n_columns:
        raise InvalidInputError(
            f"{file.name} has {file.frame.width} columns, and the model was fitted on {n_columns} "
            "without names: give these columns, in the same order"
        )
    return file.frame.to_numpy()
