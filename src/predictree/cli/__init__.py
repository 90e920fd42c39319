"""The command ``predictree``: one module a command, each with its options and a ``run``.

Exit codes: 0, done; 1, the data or the model cannot be used; 2, wrong usage.
"""

import argparse
import os
import re
import sys
import warnings
from collections.abc import Sequence
from importlib.metadata import EntryPoint, entry_points
from typing import Any, NoReturn

from predictree import __version__
from predictree.cli import audit, demo, doctor, explain, fit, predict, report, serve, show, view
from predictree.cli.console import UsageError, complain, nearest, speak_utf8, warn
from predictree.errors import MissingExtraError, PredictreeError

DONE, UNUSABLE, MISUSED, INTERRUPTED = 0, 1, 2, 130

COMMANDS = (demo, fit, predict, explain, show, report, view, serve, audit, doctor)
PLUGINS = "predictree.commands"  # entry points: modules with an ``add_to``, as those above
PROMISED = {"reproduce": "predictree[paper]"}  # what to install for commands that are elsewhere

EXAMPLES = """\
examples:
  predictree demo
      see a tree grow
  predictree fit patients.csv --target outcome -o model.tops
      grow one on your own table
  predictree predict model.tops new.csv -o answers.csv
      let it answer for new rows
  predictree explain model.tops new.csv --row 1
      take one answer apart
  predictree report model.tops -o report.html
      a page to read and to share
  predictree view model.tops
      a page to try it on
  predictree serve model.tops --port 8000
      answers for programs

`predictree COMMAND --help` begins with examples, too."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    speak_utf8()
    try:
        return _run(list(sys.argv[1:] if argv is None else argv))
    except BrokenPipeError:  # who reads has had enough, as `head` has
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return DONE
    except KeyboardInterrupt:
        complain("interrupted")
        return INTERRUPTED
    except (PredictreeError, ValueError, OSError) as error:
        complain(str(error))
        return UNUSABLE


def _run(argv: list[str]) -> int:
    parser = make_parser()
    try:
        args, unknown = parser.parse_known_args(_with_run_file(argv))
    except UsageError as error:
        parser.error(str(error))
    if unknown:
        _refuse(unknown[0], getattr(args, "parser", parser))
    if "run" not in args:
        parser.print_help(sys.stderr)
        return MISUSED
    with warnings.catch_warnings():
        warnings.simplefilter("default", UserWarning)
        warnings.showwarning = _show_warning
        args.run(args)
    sys.stdout.flush()
    return DONE


def _refuse(word: str, parser: argparse.ArgumentParser) -> NoReturn:
    """End with the options that are most like one that does not exist."""
    if not word.startswith("-"):
        parser.error(f"{word!r} is one argument too many")
    option = word.partition("=")[0]
    known = sorted(set(re.findall(r"--[a-z][a-z0-9-]*", parser.format_usage())))
    parser.error(f"there is no option {option!r}: {nearest(option, known)}")


def _with_run_file(argv: list[str]) -> list[str]:
    return ["fit", *fit.with_config(argv[1:])] if argv[:1] == ["fit"] else argv


def make_parser() -> argparse.ArgumentParser:
    """Return the parser of all commands."""
    parser = argparse.ArgumentParser(
        prog="predictree",
        description=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"predictree {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND")
    for command in COMMANDS:
        command.add_to(commands)
    for plugin in entry_points(group=PLUGINS):
        _add_plugin(plugin, commands)
    for name in PROMISED.keys() - commands.choices.keys():
        _add_missing(name, PROMISED[name], "is not installed", commands)
    return parser


def _add_plugin(plugin: EntryPoint, commands: Any) -> None:
    """Add a command of another package, or one that says why it cannot be had."""
    try:
        plugin.load().add_to(commands)
    except ImportError as error:
        package = PROMISED.get(plugin.name) or plugin.module.partition(".")[0]
        _add_missing(plugin.name, package, f"cannot be loaded ({error})", commands)


def _add_missing(name: str, package: str, what: str, commands: Any) -> None:
    """Add a command that takes any words and says what to install."""

    def run(args: argparse.Namespace) -> NoReturn:
        raise MissingExtraError(f"the command {name} {what}: pip install '{package}'")

    about = f"needs pip install '{package}'"
    parser = commands.add_parser(name, help=about, prefix_chars="\0", add_help=False)
    parser.add_argument("words", nargs="*")
    parser.set_defaults(run=run, parser=parser)


def _show_warning(message: Warning | str, *where: Any, **more: Any) -> None:
    warn(str(message))
