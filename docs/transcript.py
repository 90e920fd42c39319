"""Write ``command-line.md``: what a new user types, and what the commands answer.

Run with ``python docs/transcript.py`` in an environment that has predictree with its extras
``frames`` and ``persist``. Commands run in an empty temporary folder.
"""

import os
import re
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

PAGE = Path(__file__).with_name("command-line.md")
PYTHON = f'"{sys.executable}" -m predictree'

OPENING = """\
# The command line

`pip install 'predictree[frames,persist]'` brings the command `predictree`; `python -m predictree`
is the same. This page is a record, written by `docs/transcript.py`: what follows a `$` was typed,
the rest is the answer.
"""

RUN_FILE = """\
target = "effect"
output = "again.tops"
learners = "lr"
max-depth = 1
role = { patient = "ignore" }
"""

STEPS = [
    (
        "A table of 600 patients: two kinds respond to a dose in opposite ways.",
        "head -4 patients.csv",
    ),
    (
        "Grow a tree of linear regressions. The tree and its verdict go to stdout, everything else "
        "to stderr; the number of a patient must not be learned from.",
        "predictree fit patients.csv --target effect -o model.tops --learners lr "
        "--role patient=ignore",
    ),
    (
        "Answers for new rows, in their order. Columns that the model does not need may be "
        "missing. `-o answers.csv`, `.csv.gz` or `.parquet` writes a file instead.",
        "predictree predict model.tops new.csv",
    ),
    (
        "Why this answer? The rules from the root to the leaf, and what every predictor there "
        "adds: its answer times its weight is its share, and the shares sum to the prediction. "
        "Then the leaves that are one change away, and what each column adds.",
        "predictree explain model.tops new.csv --row 2",
    ),
    (
        "The tree once more, from its file. `--json` gives all of it.",
        "predictree show model.tops",
    ),
    ("Options can stand in a file, by the same names; the command line wins.", "cat run.toml"),
    (None, "predictree fit patients.csv --config run.toml --repeats 3"),
    (
        "What cannot be used is told with its place and the remedy. The exit code is 1; it is 2 "
        "for wrong usage.",
        "predictree fit patients.csv --target efect -o model.tops",
    ),
    (None, "predictree fit torn.csv --target effect -o model.tops; echo $?"),
    (None, "predictree predict model.tops torn.csv --sep ';'; echo $?"),
    (
        "Text, true and false, or a few whole numbers are classes, and answers come with the "
        "probability of each.",
        "predictree fit better.csv --target better -o class.tops --learners lr",
    ),
    (None, "predictree predict class.tops better.csv | head -4"),
    ("No data at hand? Two tables are in the package.", "predictree demo bikes --no-files"),
    ("And every command begins its help with examples.", "predictree fit --help"),
]


def main() -> None:
    """Run all steps and write the page."""
    with TemporaryDirectory() as folder:
        subprocess.run(f"{PYTHON} --version", shell=True, cwd=folder, check=True)  # is it here?
        write_files(Path(folder))
        parts = [
            OPENING,
            *(part for words, command in STEPS for part in step(words, command, folder)),
        ]
    PAGE.write_text("\n".join(parts), encoding="utf-8")


def write_files(folder: Path) -> None:
    """Write the tables and the run file that the steps use."""
    rng = np.random.default_rng(0)
    n = 600
    kind, dose = rng.choice(["A", "B"], n), rng.uniform(0, 10, n)
    age = rng.integers(20, 80, n)
    effect = np.where(kind == "A", 2 * dose, -dose) + 0.1 * age + rng.normal(size=n)
    rows = [
        f"{i},{k},{d:.2f},{a},{e:.2f}"
        for i, (k, d, a, e) in enumerate(zip(kind, dose, age, effect, strict=True), 1)
    ]
    better = ["better", *("yes" if e > 5 else "no" for e in effect)]
    header = "patient,kind,dose,age,effect"
    write(folder / "patients.csv", [header, *rows])
    write(folder / "new.csv", ["kind,dose,age", "A,8.50,40", "B,8.50,40", "B,1.20,71"])
    write(folder / "torn.csv", [header, *rows[:3], "4,A,1.5", *rows[4:]])
    lines = ["kind,dose,age", *(",".join(row.split(",")[1:4]) for row in rows)]
    write(folder / "better.csv", [",".join(pair) for pair in zip(lines, better, strict=True)])
    (folder / "run.toml").write_text(RUN_FILE)


def write(path: Path, lines: list[str]) -> None:
    """Write lines of text."""
    path.write_text("\n".join(lines) + "\n")


def step(words: str | None, command: str, folder: str) -> list[str]:
    """Return the words of a step, and its command with what it answers."""
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
    answer = f"```\n$ {command}\n{done.stdout.strip()}\n```\n"
    return [answer] if words is None else [f"{words}\n", answer]


if __name__ == "__main__":
    main()
