"""Write ``first-hour.md``: what a stranger types in the first minutes, and what comes, with times.

    python docs/first_hour.py --data-dir DIR

DIR has ``suite/*.csv.gz``, as the benchmarks want it; the tables are three that no test has. It
runs in an empty folder, in an environment that has predictree with its extras ``frames``,
``persist`` and ``report``. Times are of the clock on the wall, on a machine at work.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

PAGE = Path(__file__).with_name("first-hour.md")
PYTHON = f'"{sys.executable}" -m predictree'
MOST_LINES = 45

TABLES = {"concrete": "strength", "energy_efficiency": "heating_load", "german_credit": "class"}

OPENING = """\
# The first minutes

A record, written by `docs/first_hour.py`: an empty folder, three tables that no test of predictree
has, and the commands that a stranger would type first. Behind each command stands how long it took,
on the wall clock of a machine at work.
"""


def main() -> None:
    """Run all commands and write the page."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data-dir", type=Path, required=True)
    data = parser.parse_args().data_dir / "suite"
    parts, start = [OPENING], time.monotonic()
    with TemporaryDirectory() as folder:
        for name, target in TABLES.items():
            shutil.copy(data / f"{name}.csv.gz", folder)
            parts.append(f"## {name}\n")
            parts += [step(command, folder) for command in commands(name, target)]
    parts.append(f"All of it took {time.monotonic() - start:.0f} seconds.\n")
    PAGE.write_text("\n".join(parts), encoding="utf-8")


def commands(name: str, target: str) -> list[str]:
    """Return what is typed for one table."""
    table = f"{name}.csv.gz"
    return [
        f"predictree fit {table} --target {target} --max-depth 2 -o {name}.tops",
        f"predictree explain {name}.tops {table} --row 1",
        f"predictree predict {name}.tops {table} | head -3",
        f"predictree report {name}.tops --data {table} --target {target} -o {name}.html",
    ]


def step(command: str, folder: str) -> str:
    """Return a command with its time and its answer."""
    start = time.monotonic()
    done = subprocess.run(
        re.sub("^predictree", lambda _: PYTHON, command),
        shell=True,
        cwd=folder,
        env={**os.environ, "COLUMNS": "100", "NO_COLOR": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        encoding="utf-8",
        check=False,
    )
    seconds = time.monotonic() - start
    lines = done.stdout.strip().splitlines()
    more = [f"… and {len(lines) - MOST_LINES} more lines"] if len(lines) > MOST_LINES else []
    answer = "\n".join(lines[:MOST_LINES] + more)
    return f"```\n$ {command}    # {seconds:.1f} s\n{answer}\n```\n"


if __name__ == "__main__":
    main()
