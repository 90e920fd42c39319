"""``predictree demo``: trees on tables that are in the package, and their files to go on with."""

import argparse
from pathlib import Path
from typing import Any

from predictree.cli.command import add_command
from predictree.cli.examples import EXAMPLES, show

FOLDER = "predictree-demo"

WORDS = f"""\
  predictree demo              both tables, in half a minute; files in {FOLDER}/
  predictree demo bikes        one of them
  predictree demo --out try    files in another folder
  predictree demo --no-files   nothing is written"""


def add_to(commands: Any) -> None:
    """Add the command."""
    parser = add_command(commands, "demo", "see trees grow on tables at hand", WORDS, run)
    parser.add_argument("name", nargs="?", choices=list(EXAMPLES), help="one table (default: both)")
    where = parser.add_mutually_exclusive_group()
    where.add_argument(
        "--out",
        metavar="DIR",
        default=FOLDER,
        help=f"folder for model, report and rows (default: {FOLDER})",
    )
    where.add_argument("--no-files", action="store_true", help="write nothing")


def run(args: argparse.Namespace) -> None:
    """Show the tables."""
    folder = None if args.no_files else Path(args.out)
    for name in [args.name] if args.name else EXAMPLES:
        show(EXAMPLES[name], folder)
