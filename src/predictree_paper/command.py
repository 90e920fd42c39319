"""``predictree reproduce``: an experiment of the paper, from its data to its table.

The command line loads this module to list its commands; all else is imported when it runs.
"""

import argparse
import json
import shlex
from functools import partial
from pathlib import Path
from typing import Any

from predictree.cli.command import add_command
from predictree.cli.console import tell, warn
from predictree.errors import InvalidInputError, MissingExtraError

NAMES = (
    "toy", "mnist49", "mnist", "bank", "news", "heart", "heart-flchain", "heart-support2",
    "heart-transplant",
)  # fmt: skip
RECORDED = ("runs", "folds", "algorithms", "imputations", "jobs", "seed")

WORDS = """\
  predictree reproduce toy
  predictree reproduce bank --data-dir DIR --out results
  predictree reproduce bank --data-dir DIR --out results --runs 1 --algorithms lr tops-lr
  predictree reproduce bank --out results --table

An experiment that is interrupted goes on where it was if the command is given again. Every fit is a
line of OUT/NAME.jsonl; at the end there are OUT/NAME.md, .tex, .json and .svg, too.

DIR/paper has the files of UCI and MNIST; without --data-dir they are downloaded. heart reads
DIR/survival/heart.csv, which you must bring: the paper's data are not public. heart-flchain,
heart-support2 and heart-transplant are public stand-ins for it, read from DIR/survival."""


def add_to(commands: Any) -> None:
    """Add the command."""
    summary = "run an experiment of the paper and print its table"
    parser = add_command(commands, "reproduce", summary, WORDS, run)
    parser.add_argument("name", choices=NAMES, help="the experiment")
    parser.add_argument(
        "--runs", type=partial(whole, 1), metavar="N", help="repetitions (default: the paper's)"
    )
    parser.add_argument(
        "--folds", type=partial(whole, 2), metavar="N", help="folds (default: the paper's)"
    )
    parser.add_argument(
        "--algorithms",
        nargs="+",
        metavar="NAME",
        help="rows of the table (default: the paper's, and tops); also ablations, such as "
        "tops-lr-leaf, and leaks, such as tops-lr-leak-v1",
    )
    parser.add_argument(
        "--imputations", type=partial(whole, 1), default=10, metavar="N", help="default: 10"
    )
    parser.add_argument("--data-dir", type=Path, metavar="DIR", help="folder with the data")
    parser.add_argument("--out", type=Path, default=Path("reproduced"), metavar="DIR")
    parser.add_argument(
        "--jobs",
        type=processes,
        default=1,
        metavar="N",
        help="fits at a time, or processes for a ToPs that is alone; -1: all cores",
    )
    parser.add_argument("--seed", type=partial(whole, 0), default=0, metavar="N", help="default: 0")
    parser.add_argument("--table", action="store_true", help="only tables, from what is computed")


def processes(text: str) -> int:
    """Return a number of processes: from 1 on, or -1 for as many as there are cores."""
    return -1 if text == "-1" else whole(1, text)


def whole(least: int, text: str) -> int:
    """Return a whole number that is large enough."""
    if not text.isdecimal() or int(text) < least:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of at least {least}")
    return int(text)


def run(args: argparse.Namespace) -> None:
    """Compute what is missing, and print and write the table."""
    from predictree_paper.experiments import EXPERIMENTS  # noqa: PLC0415
    from predictree_paper.lines import read_results  # noqa: PLC0415

    experiment = EXPERIMENTS[args.name]
    path = args.out / f"{args.name}.jsonl"
    if args.table and args.algorithms:
        raise InvalidInputError("--table shows all that is computed: leave out --algorithms")
    results = read_results(path) if args.table else compute(args, experiment, path)
    if not results.lines:
        raise InvalidInputError(f"{path} has no results yet: give the command without --table")
    write(experiment, results, args.out)


def compute(args: argparse.Namespace, experiment: Any, path: Path) -> Any:
    """Run what the file of results lacks."""
    from joblib import effective_n_jobs  # noqa: PLC0415

    from predictree_paper.algorithms import find  # noqa: PLC0415
    from predictree_paper.protocol import Plan  # noqa: PLC0415
    from predictree_paper.protocol import run as run_plan  # noqa: PLC0415

    if args.data_dir is not None and not args.data_dir.is_dir():
        raise InvalidInputError(f"--data-dir {args.data_dir}: there is no such folder")
    plan = Plan(
        experiment,
        tuple(a.name for a in find(args.algorithms or experiment.algorithms)),
        args.runs or experiment.runs,
        experiment.check_folds(args.folds),
        args.imputations,
        args.seed,
        effective_n_jobs(args.jobs),
    )
    columns = experiment.read(args.data_dir)
    for column in columns:
        name = f"{experiment.title}, {column.name}" if column.name else experiment.title
        tell(f"{name}: {column.X.shape[0]} rows, {column.X.shape[1]} features")
    return run_plan(plan, columns, path, command_of(args), tell)


def command_of(args: argparse.Namespace) -> str:
    """Return the command that gives these results, for their file; folders are the user's own."""
    words = ["predictree", "reproduce", args.name]
    for name in RECORDED:
        value = getattr(args, name)
        if value is not None:
            words += [f"--{name}", *map(str, value if isinstance(value, list) else [value])]
    words += ["--data-dir", "DIR"] * (args.data_dir is not None) + ["--out", "OUT"]
    return shlex.join(words)


def write(experiment: Any, results: Any, out: Path) -> None:
    """Print the table, and write it in every form."""
    from predictree_paper import figure, tables  # noqa: PLC0415

    stem, forms = out / experiment.name, [".jsonl", ".md", ".tex", ".json"]
    stem.with_suffix(".md").write_text(tables.markdown(experiment, results), encoding="utf-8")
    stem.with_suffix(".tex").write_text(tables.latex(experiment, results), encoding="utf-8")
    content = json.dumps(tables.plain(experiment, results), indent=2, ensure_ascii=False)
    stem.with_suffix(".json").write_text(content + "\n", encoding="utf-8")
    print(tables.text(experiment, results))
    try:
        figure.draw(experiment, results, stem.with_suffix(".svg"))
        forms.append(".svg")
    except MissingExtraError as error:
        warn(f"no figure: {error}")
    tell(f"{stem}: {', '.join(forms)}")
    failed = [line["error"] for line in results.lines.values() if line["loss"] is None]
    if failed and len(failed) == len(results.lines):
        raise InvalidInputError(f"no fit succeeded, the first for {failed[0]}")
    if failed:
        warn(f"{len(failed)} fits failed; give the command again to try them again")
