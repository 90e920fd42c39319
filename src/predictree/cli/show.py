"""``predictree show``: a model's tree as text."""

import argparse
from textwrap import fill
from typing import Any

from predictree.cli.command import add_command, add_json
from predictree.cli.console import print_json, say, tell
from predictree.cli.models import add_model_file, read_summary
from predictree.errors import shown

WIDTH = 100

WORDS = """\
  predictree show model.tops
  predictree show model.tops --json | jq '.trees[0].nodes[0].split'"""


def add_to(commands: Any) -> None:
    """Add the command."""
    parser = add_command(commands, "show", "print the tree of a model and its verdict", WORDS, run)
    add_model_file(parser)
    add_json(parser)


def run(args: argparse.Namespace) -> None:
    """Print the tree; no learner is built for that."""
    summary = read_summary(args)
    if args.json:
        print_json(summary)
    else:
        print_tree(summary)


def print_tree(summary: dict[str, Any]) -> None:
    """Print the first tree of a model, and whether it is worth it."""
    if "models" in summary:
        horizons = summary["horizons"]
        for place, each in enumerate(summary["models"]):
            shared = len(summary["models"]) < len(horizons)
            say("all horizons\n" if shared else f"horizon {horizons[place]:g}\n")
            print_tree(each)
            say()
        return
    tree = summary.get("words") or summary["text"]  # an older file has no words
    say(f"{tree}\n\n{fill(shown(summary['verdict']['text']), WIDTH)}")
    if len(summary["trees"]) > 1:
        tell(f"this is the first of {len(summary['trees'])} trees, whose answers are averaged")
