"""Options of ``predictree fit`` from a TOML file."""

import argparse
import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from predictree.cli.console import UsageError, nearest


def config_of(argv: list[str]) -> str | None:
    """Return the run file that a command line names."""
    finder = argparse.ArgumentParser(add_help=False, allow_abbrev=False, exit_on_error=False)
    finder.add_argument("--config")
    try:
        found, _ = finder.parse_known_args(argv)
    except argparse.ArgumentError:
        return None  # the command's own parser says what is wrong
    return None if found.config is None else str(found.config)


def as_options(path: str, names: Iterable[str]) -> list[str]:
    """Return a run file as options of a command line, to be put before the given ones, which win.

    Parameters
    ----------
    path : str
    names : iterable of str
        The options that there are, without their dashes.
    """
    try:
        content = tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"--config {path}: {error.strerror or error}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"--config {path}: this is not TOML: {error}") from error
    known = set(names)
    options = []
    for key, value in content.items():
        if key not in known:
            raise UsageError(f"--config {path}: there is no option {key!r}: {nearest(key, known)}")
        options += _option(key, value)
    return options


def _option(key: str, value: Any) -> list[str]:
    """Return one entry as an option."""
    if isinstance(value, bool):
        return [f"--{key}" if value else f"--no-{key}"]
    if isinstance(value, dict):
        return [f"--{key}={name}={word}" for name, word in value.items()]
    if isinstance(value, list) and all(isinstance(word, str) for word in value):
        return [f"--{key}={word}" for word in value]
    if isinstance(value, list):
        return [f"--{key}={','.join(map(str, value))}"]
    return [f"--{key}={value}"]
