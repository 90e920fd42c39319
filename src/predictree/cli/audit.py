"""``predictree audit``: what a model tells of few rows."""

import argparse
from dataclasses import asdict
from typing import Any

from predictree.cli.command import add_command, add_json
from predictree.cli.console import print_json, say, tell
from predictree.cli.models import add_model, load_model
from predictree.explain.wording import table
from predictree.model.schema import CROWD
from predictree.publish.files.audit import Telling, audit

WORDS = """\
  predictree audit model.tops             what comes from fewer than 5 training rows
  predictree audit model.tops --k 20      from fewer than 20
  predictree audit model.tops --json

Before a model leaves the house: the levels, labels, knots, nodes and leaves in its file that tell
of few rows, and learners that keep training rows. SECURITY.md says what else is in a file."""


def add_to(commands: Any) -> None:
    """Add the command."""
    about = "list what a model tells of few rows"
    parser = add_command(commands, "audit", about, WORDS, run)
    add_model(parser)
    parser.add_argument(
        "--k", type=number, default=CROWD, metavar="N", help=f"rows that are enough ({CROWD})"
    )
    add_json(parser)


def run(args: argparse.Namespace) -> None:
    """Print what a model tells of few rows."""
    found = audit(load_model(args), args.k)
    if args.json:
        print_json({"k": args.k, "found": [asdict(one) for one in found]})
        return
    if found:
        say(table([("where", "what", "rows"), *map(_cells, found)], (2,)))
    n = len(found)
    things = "nothing" if not n else "one thing" if n == 1 else f"{n} things"
    tell(f"{things} in {args.model} may come from fewer than {args.k} training rows")


def _cells(one: Telling) -> tuple[str, str, str]:
    return one.where, one.what, "unknown" if one.rows is None else f"≤ {one.rows}"


def number(text: str) -> int:
    """Return a number of rows."""
    if not text.isdecimal() or not int(text):
        raise argparse.ArgumentTypeError(f"{text!r} is no number of rows")
    return int(text)
