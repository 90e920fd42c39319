"""Results as lines of JSON: a header for every run of the command, then one line for every fit.

A file can be added to after any interruption: a last line that was cut off is dropped, and what is
known is not computed again.
"""

import json
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from predictree.errors import InvalidInputError

Key = tuple[str, int, int, str]  # column, run, fold, algorithm


@dataclass(frozen=True)
class Results:
    """What a file holds: its headers, and the last line of every fit."""

    headers: list[dict[str, Any]] = field(default_factory=list)
    lines: dict[Key, dict[str, Any]] = field(default_factory=dict)

    @property
    def done(self) -> set[Key]:
        """Fits that ended with a loss; the others are to be tried again."""
        return {key for key, line in self.lines.items() if line["loss"] is not None}


def key_of(line: dict[str, Any]) -> Key:
    """Return what tells one fit from another."""
    return line["column"], line["run"], line["fold"], line["algorithm"]


def read_results(path: Path) -> Results:
    """Read a file of results; none is an empty one, and a torn last line is left out."""
    results = Results()
    for number, text in enumerate(_whole_lines(path), start=1):
        try:
            line = json.loads(text)
            if "experiment" in line:
                results.headers.append(line)
            else:
                results.lines[key_of(line)] = line
        except (ValueError, KeyError, TypeError) as error:
            raise InvalidInputError(
                f"{path}, line {number} is no result ({error}): delete the line, and its fit will "
                "be made again"
            ) from error
    if results.lines and not results.headers:
        raise InvalidInputError(f"{path} has no header: it was not written by this command")
    return results


def _whole_lines(path: Path) -> list[str]:
    """Return the lines that are finished: with their end, or at least well-formed."""
    if not path.exists():
        return []
    *lines, rest = path.read_text(encoding="utf-8").split("\n")
    return [*lines, rest] if _is_json(rest) else lines


def _is_json(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except ValueError:
        return False


def mend(path: Path) -> None:
    """Cut a torn last line off a file, or end a whole one; what is before it is not touched."""
    content = path.read_bytes() if path.exists() else b""
    rest = content[content.rfind(b"\n") + 1 :]
    if rest and _is_json(rest.decode(errors="replace")):
        with path.open("ab") as file:
            file.write(b"\n")
    elif rest:
        os.truncate(path, len(content) - len(rest))


def append(path: Path, line: dict[str, Any]) -> None:
    """Add a line to a file, at once."""
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(line) + "\n")  # ASCII: a torn line tears no character
