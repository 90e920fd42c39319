"""``predictree predict``: a model's answers for the rows of a table."""

import argparse
from typing import Any

from predictree.cli.command import add_command
from predictree.cli.console import tell
from predictree.cli.models import add_model, read_model, read_rows
from predictree.cli.tables import (
    AT_ONCE,
    WRITTEN,
    add_reading,
    blaming,
    check_writable,
    require_polars,
    write_table,
)
from predictree.model import Model, probabilities

WORDS = """\
  predictree predict model.tops new.csv                    CSV on stdout
  predictree predict model.tops new.csv -o answers.parquet
  predictree predict model.tops new.csv | head -5
  cat new.csv | predictree predict model.tops -

A row of answers for every row of the table, in its order: the value, or the class and the
probability of every class. Columns that the model does not know are left out."""


def add_to(commands: Any) -> None:
    """Add the command."""
    parser = add_command(commands, "predict", "let a model answer for new rows", WORDS, run)
    add_model(parser)
    parser.add_argument(
        "data", metavar="DATA", help="a CSV, CSV.gz or Parquet file, or - for standard input"
    )
    parser.add_argument(
        "-o", "--output", metavar="OUT", help=f"file to write, {', '.join(WRITTEN)}"
    )
    parser.add_argument(
        "--raw-text",
        action="store_true",
        help="write labels in CSV as they are, though a spreadsheet may run those that begin with "
        "=, +, - or @; by default such a label gets a ' in front",
    )
    add_reading(parser)
    parser.set_defaults(empty=True)


def run(args: argparse.Namespace) -> None:
    """Predict and write."""
    check_writable(args.output, WRITTEN)
    model = read_model(args)
    file, rows = read_rows(args, model)
    pl = require_polars()
    with blaming(file):
        starts = range(0, max(len(rows), 1), AT_ONCE)
        parts = [answers(model, rows[i : i + AT_ONCE]) for i in starts]
    write_table(pl.concat(parts), args.output, args.raw_text)
    if args.output is not None:
        tell(f"wrote {len(rows)} answers to {args.output}")


def answers(model: Model, rows: Any) -> Any:
    """Return the answers for some rows as a frame."""
    pl = require_polars()
    scores = model.scores(model.encode(rows))
    p = probabilities(scores)
    shares = {f"probability_{name}": p[:, k] for k, name in enumerate(model.class_words or ())}
    return pl.DataFrame({"prediction": model.decide(scores), **shares})
