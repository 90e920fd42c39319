"""``predictree explain``: one prediction taken apart, in words."""

import argparse
from dataclasses import replace
from typing import Any

from predictree.cli.command import add_command, add_json
from predictree.cli.console import print_json, say
from predictree.cli.models import add_model, read_model, read_rows
from predictree.cli.tables import add_reading, blaming
from predictree.errors import InvalidInputError
from predictree.explain import Explanation, explain
from predictree.model import Model

WORDS = """\
  predictree explain model.tops new.csv --row 1
  predictree explain model.tops new.csv --row 1 --json

The rules from the root to the leaf; then every predictor with weight there: its learner, the node
whose rows trained it, its answer, its weight, and its share, which is the two multiplied. The
shares sum to the prediction. Then the other leaves that are one change of a value away, and what
each column adds, where the predictors are linear."""


def add_to(commands: Any) -> None:
    """Add the command."""
    parser = add_command(commands, "explain", "take the answer for one row apart", WORDS, run)
    add_model(parser)
    parser.add_argument("data", metavar="DATA", help="a CSV, CSV.gz or Parquet file")
    parser.add_argument(
        "--row", type=row_number, required=True, metavar="N", help="the row, counted from 1"
    )
    add_json(parser)
    add_reading(parser)


def run(args: argparse.Namespace) -> None:
    """Explain one row."""
    model = read_model(args)
    file, rows = read_rows(args, model)
    if args.row > len(rows):
        raise InvalidInputError(f"{file.name} has {len(rows)} rows, and none is number {args.row}")
    row = rows[args.row - 1 : args.row]
    with blaming(file):
        explanation = _named(model, explain(model, row))
    if args.json:
        print_json({"row": args.row, **explanation.to_dict()})
    else:
        say(f"{file.place(args.row - 1)}\n{explanation}")


def _named(model: Model, explanation: Explanation) -> Explanation:
    """Return an explanation with the classes as they are written in files."""
    names = model.class_words
    if names is None:
        return explanation
    return replace(explanation, classes=names, prediction=names[explanation.target])


def row_number(text: str) -> int:
    """Return the number of a row, counted from 1."""
    if not text.isdecimal() or not int(text):
        raise argparse.ArgumentTypeError(f"{text!r} is no row: rows count from 1")
    return int(text)
