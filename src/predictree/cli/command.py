"""What every command's options begin with."""

import argparse
from collections.abc import Callable
from typing import Any


def add_command(
    commands: Any, name: str, summary: str, examples: str, run: Callable[[argparse.Namespace], None]
) -> argparse.ArgumentParser:
    """Add a command whose help leads with examples, and return its parser."""
    parser: argparse.ArgumentParser = commands.add_parser(
        name,
        help=summary,
        description=f"{summary[0].upper()}{summary[1:]}.\n\nexamples:\n{examples}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.set_defaults(run=run, parser=parser)
    return parser


def add_json(parser: argparse.ArgumentParser) -> None:
    """Let a command answer in JSON."""
    parser.add_argument("--json", action="store_true", help="print JSON instead of text")
