"""Results as JSON lines: written as they come, read again by a run that goes on."""

import json
import sys


def read(path):
    """Return the records of a file, none if there is no such file.

    A last line without an end was cut off while it was written, and does not count.
    """
    if not path.exists():
        return []
    *whole, _ = path.read_text().split("\n")
    return [json.loads(line) for line in whole]


def append(path, record):
    """Write one more record, in the place of a line that was cut off, and show it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a+") as out:
        out.seek(0)
        out.truncate(out.read().rfind("\n") + 1)
        out.write(json.dumps(record) + "\n")
    print(record, file=sys.stderr, flush=True)
