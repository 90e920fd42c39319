"""Results as JSON lines: written as they come, read again by a run that goes on."""

import json
import sys


def read(path):
    """Return the records of a file, none if there is no such file."""
    if not path.exists():
        return []
    with path.open() as lines:
        return [json.loads(line) for line in lines]


def append(path, record):
    """Write one more record, and show it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as out:
        out.write(json.dumps(record) + "\n")
    print(record, file=sys.stderr, flush=True)
