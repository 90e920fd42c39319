"""What a command says: data on stdout, messages on stderr, colours on a terminal only."""

import json
import os
import sys
from io import TextIOWrapper
from typing import Any, TextIO

from predictree.errors import nearest as nearest
from predictree.errors import shown
from predictree.explain.summary import as_json

RED, YELLOW = "31", "33"


class UsageError(Exception):
    """The command was called in a way that cannot work."""


def speak_utf8() -> None:
    """Write trees and class names as they are, whatever the platform's encoding."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(encoding="utf-8")


def say(text: str = "") -> None:
    """Print what was asked for, with names from files shown and not obeyed."""
    print(shown(text, keep="\n"))


def tell(message: str, mark: str = "") -> None:
    """Print a message for the person at the terminal, after the data that came before it."""
    sys.stdout.flush()
    print(mark + shown(message, keep="\n"), file=sys.stderr)


def complain(message: str) -> None:
    """Print an error, in one line."""
    tell(" ".join(message.split()), _painted("error: ", RED, sys.stderr))


def warn(message: str) -> None:
    """Print a warning, in one line."""
    tell(" ".join(message.split()), _painted("warning: ", YELLOW, sys.stderr))


def print_json(content: Any) -> None:
    """Print plain data as JSON; a number that is none is null."""
    found = json.dumps(as_json(content), indent=2, ensure_ascii=False, allow_nan=False)
    print("".join(c if shown(c, keep="\n") == c else json.dumps(c)[1:-1] for c in found))


def size(n_bytes: int) -> str:
    """Return a size in words."""
    for unit, scale in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if n_bytes >= scale:
            return f"{n_bytes / scale:.3g} {unit}"
    return f"{n_bytes} bytes"


def _painted(word: str, colour: str, stream: TextIO) -> str:
    plain = "NO_COLOR" in os.environ or os.environ.get("TERM") == "dumb" or not stream.isatty()
    return word if plain else f"\033[{colour}m{word}\033[0m"
