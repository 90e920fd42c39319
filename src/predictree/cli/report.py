"""``predictree report``: a model as one page for a browser."""

import argparse
from typing import Any

from predictree.cli.command import add_command
from predictree.cli.console import size, tell
from predictree.cli.fit import labels, parted
from predictree.cli.models import add_model, read_model, read_rows
from predictree.cli.tables import add_reading, blaming, check_writable
from predictree.errors import InvalidInputError
from predictree.publish.report import write

WORDS = """\
  predictree report model.tops -o report.html
  predictree report model.tops --data new.csv --target outcome -o report.html
  predictree report model.tops --data new.csv --target outcome -o report.html --rows 5

One file with everything in it: whether the tree is worth it, the tree to click through, how good
each region is, what matters where, and who answers. Without data it says what the fit's own
held-out rows do. No single row is in it, unless --rows asks for the first few of the data."""


def add_to(commands: Any) -> None:
    """Add the command."""
    parser = add_command(commands, "report", "write a model as a page to read", WORDS, run)
    add_model(parser)
    parser.add_argument(
        "-o", "--output", required=True, metavar="FILE", help="page to write, such as report.html"
    )
    parser.add_argument(
        "--data", metavar="DATA", help="rows to judge the regions on, best unseen by the model"
    )
    parser.add_argument("--target", metavar="COL", help="the column of DATA to predict")
    parser.add_argument(
        "--rows", type=int, default=0, metavar="N", help="show the first N rows of DATA one by one"
    )
    add_reading(parser)


def run(args: argparse.Namespace) -> None:
    """Write the page."""
    check_writable(args.output)
    _check_data(args)
    model = read_model(args)
    if args.data is None:
        path = write(model, args.output)
    else:
        file, X = read_rows(args, model)
        y = None
        if args.target is not None:
            y = labels(file, parted(file, args.target)[1], model.task)
        with blaming(file):
            judging = (None, None) if y is None else (X, y)
            rows = X[: args.rows] if args.rows else None
            title = f"Predicting {args.target} from {file.path.name}" if args.target else None
            path = write(model, args.output, *judging, rows=rows, title=title)
    tell(f"wrote {path}, {size(path.stat().st_size)}: open it in a browser")


def _check_data(args: argparse.Namespace) -> None:
    """Raise for options that lack one another."""
    if args.data is None and (args.target is not None or args.rows):
        raise InvalidInputError("--target and --rows are about --data: give that, too")
    if args.data is not None and args.target is None and not args.rows:
        raise InvalidInputError(
            "--data needs --target COL, to judge the regions on its rows, or --rows N, to show the "
            "first N of them"
        )
