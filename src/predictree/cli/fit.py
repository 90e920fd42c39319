"""``predictree fit``: grow a tree on a table and save it."""

import argparse
import sys
from pathlib import Path
from typing import Any

import numpy as np

import predictree
from predictree.cli.command import add_command, add_json
from predictree.cli.config import as_options, config_of
from predictree.cli.console import nearest, print_json, say, size, tell
from predictree.cli.show import print_tree
from predictree.cli.tables import (
    READING,
    TableFile,
    add_reading,
    blaming,
    check_writable,
    read_table,
    require_polars,
)
from predictree.errors import InvalidInputError, need
from predictree.estimators.classifier import ToPsClassifier
from predictree.estimators.regressor import ToPsRegressor
from predictree.explain.summary import summarise
from predictree.learners import PRESETS
from predictree.losses import LOSSES
from predictree.model.schema import ROLES
from predictree.run.clock import seconds_of
from predictree.run.forecast import Plan
from predictree.run.memory import bytes_of

LIVE = 2  # verbose: one line that lives
FEW = 10  # different whole numbers that are still taken for classes
TASKS = {"classification": ToPsClassifier, "regression": ToPsRegressor}

WORDS = """\
  predictree fit patients.csv --target outcome -o model.tops
  predictree fit patients.csv --target outcome -o model.tops --learners lr --max-depth 2
  predictree fit patients.csv --target outcome -o model.tops --role id=ignore --role sex=split
  predictree fit patients.csv --target outcome --plan
  predictree fit patients.csv --config run.toml

A run file has the same options by the same names, and the command line wins:
  target = "outcome"
  output = "model.tops"
  max-depth = 2
  validation = [0.75, 0.15, 0.10]
  role = { id = "ignore", sex = "split" }"""


def add_to(commands: Any) -> None:
    """Add the command."""
    parser = add_command(commands, "fit", "grow a tree on a table and save it", WORDS, run)
    parser.add_argument("data", metavar="DATA", help="a CSV, CSV.gz or Parquet file")
    added = {}
    for name, how in OPTIONS.items():
        flags = ["-o", "--output"] if name == "output" else [f"--{name}"]
        added[name] = parser.add_argument(*flags, **how)
    add_reading(parser)
    parser.add_argument(
        "--plan",
        action=Instead,
        of=added["output"],
        help="fit and save nothing: print what the fit would take, and what is cheaper",
    )
    parser.add_argument("--config", metavar="TOML", help="a file with any of these options")
    add_json(parser)


class Instead(argparse.Action):
    """A switch that takes the place of an option which is required otherwise."""

    def __init__(self, of: argparse.Action, **how: Any) -> None:
        super().__init__(nargs=0, default=False, **how)
        self.of = of

    def __call__(self, parser: Any, namespace: argparse.Namespace, *value: Any) -> None:
        """Set the switch; the other option may be missing."""
        setattr(namespace, self.dest, True)
        self.of.required = False


def with_config(argv: list[str]) -> list[str]:
    """Put the options of a run file before those of the command line, which win."""
    path = config_of(argv)
    return argv if path is None else as_options(path, [*OPTIONS, *READING]) + argv


def run(args: argparse.Namespace) -> None:
    """Read, fit, save and show; or plan all that."""
    check_writable(args.output)
    check_writable(args.report)
    check_extras(args)
    file = read_table(args)
    X, target = parted(file, args.target)
    task = task_of(args.task, target)
    y = labels(file, target, task)
    check_roles(file, args.role, X.columns)
    tell(f"{args.data}: {len(X)} rows, {X.width} features; {task} of {args.target!r}")
    if args.checkpoint is not None and (Path(args.checkpoint) / "fit.json").exists():
        tell(f"going on with the checkpoint {args.checkpoint}: nothing in it is fitted again")
    model = (TASKS[task].paper if args.paper else TASKS[task])(**settings(args))
    with blaming(file):
        done = model.plan(X, y) if args.plan else model.fit(X, y)
    if args.plan:
        show_plan(done, args.json)
    else:
        save_and_show(done, args, len(X))


def check_extras(args: argparse.Namespace) -> None:
    """Raise now for a library that would be missed after the fit."""
    require_polars()
    if not args.plan:
        need("skops.io", "persist", "saving a model")
    if args.report is not None:
        need("jinja2", "report", "--report")


def show_plan(plan: Plan, as_json: bool) -> None:
    """Print what a fit would take."""
    if as_json:
        print_json(plan.to_dict())
    else:
        say(str(plan))


def save_and_show(model: Any, args: argparse.Namespace, n_rows: int) -> None:
    """Save a fitted model and print its tree."""
    if model.stopped_ is not None:
        tell(
            f"stopped by --{model.stopped_.replace('_', '-')}: a larger one may grow a larger tree"
        )
    n_bytes = predictree.save(model, args.output)
    summary = summarise(model)
    if args.json:
        print_json({"model": args.output, "bytes": n_bytes, "rows": n_rows, **summary})
    else:
        print_tree(summary)
    tell(f"saved {args.output}, {size(n_bytes)}")
    if args.report is not None:
        title = f"Predicting {args.target} from {Path(args.data).name}"
        tell(f"wrote {model.report(path=args.report, title=title)}: open it in a browser")


def settings(args: argparse.Namespace) -> dict[str, Any]:
    """Return the parameters of the estimator that were given; the others keep its defaults."""
    given = {
        "learners": args.learners,
        "loss": args.loss,
        "validation": args.validation,
        "n_repeats": args.repeats,
        "max_depth": args.max_depth,
        "time_limit": args.time_limit,
        "learner_timeout": args.learner_timeout,
        "checkpoint": args.checkpoint,
        "memory_limit": args.memory_limit,
        "verbose": 1 if args.verbose else LIVE if sys.stderr.isatty() else None,
        "feature_roles": dict(args.role) or None,
        "n_jobs": args.jobs,
        "random_state": args.seed,
    }
    return {name: value for name, value in given.items() if value is not None}


def parted(file: TableFile, target: str) -> tuple[Any, Any]:
    """Return the features and the target of a table."""
    names = file.frame.columns
    if target not in names:
        raise InvalidInputError(f"{file.name} has no column {target!r}: {nearest(target, names)}")
    if len(names) == 1:
        raise InvalidInputError(f"{file.name} has no column beside the target {target!r}")
    column = file.frame.get_column(target)
    missing = column.is_null() | (column.is_nan() if column.dtype.is_float() else False)
    if missing.any():
        first = int(missing.arg_true()[0])
        raise InvalidInputError(
            f"{file.place(first)}: the target {target!r} is missing here, and in {missing.sum()} "
            f"of {len(column)} rows in all: fill them in, or leave these rows out"
        )
    return file.frame.drop(target), column


def task_of(task: str, target: Any) -> str:
    """Return the task; "auto" looks at the target."""
    if task != "auto":
        return task
    if not target.dtype.is_numeric():
        return "classification"
    whole = bool((target == target.round()).all()) if target.dtype.is_float() else True
    return "classification" if whole and target.n_unique() <= FEW else "regression"


def labels(file: TableFile, target: Any, task: str) -> Any:
    """Return the target as an array; raise if it does not suit the task."""
    pl = require_polars()
    if task == "regression" and not target.dtype.is_numeric():
        raise InvalidInputError(
            f"{file.place(0)}: the target {target.name!r} is {target[0]!r}, which is no number: "
            "give --task classification, or another target"
        )
    if task == "classification" and task_of("auto", target) == "regression":
        check_few(file, target)
    if target.dtype.is_numeric() or target.dtype == pl.Boolean:
        return target.to_numpy()
    return np.asarray(target.cast(pl.String).to_list(), dtype=str)


def check_few(file: TableFile, target: Any) -> None:
    """Raise for numbers with a fraction: they are no classes."""
    if target.dtype.is_float() and not bool((target == target.round()).all()):
        raise InvalidInputError(
            f"{file.name}: the target {target.name!r} has {target.n_unique()} different numbers, "
            f"such as {target[0]}, which are no classes: give --task regression"
        )


def check_roles(file: TableFile, roles: list[tuple[str, str]], names: list[str]) -> None:
    """Raise for a role of a column that is not there."""
    for name, role in roles:
        if name not in names:
            raise InvalidInputError(
                f"{file.name} has no feature {name!r} to have the role {role!r}: "
                f"{nearest(name, names)}"
            )


def validation(text: str) -> int | tuple[float, ...]:
    """Return a number of folds, or three shares."""
    try:
        parts = tuple(float(part) for part in text.split(","))
        if len(parts) == 1:
            return int(text)
    except ValueError:
        parts = ()
    if len(parts) != 3:
        raise argparse.ArgumentTypeError(
            f"{text!r} is neither a number of folds, such as 5, nor three shares, such as "
            "0.75,0.15,0.10"
        )
    return parts


def duration(text: str) -> float:
    """Return seconds: a number of them, or of minutes or hours with m or h behind."""
    try:
        seconds = seconds_of("time", text)
    except InvalidInputError:
        seconds = float("inf")
    if seconds == float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is no time, such as 90s, 10m or 2h")
    return seconds


def memory(text: str) -> float:
    """Return bytes: a number of them, or of kB, MB, GB or GiB with that behind."""
    try:
        return bytes_of(float(text) if text.isdecimal() else text)
    except InvalidInputError as error:
        raise argparse.ArgumentTypeError(
            f"{text!r} is no size, such as 512MB, 4GB or 4GiB"
        ) from error


def role(text: str) -> tuple[str, str]:
    """Return a column and its role."""
    name, _, word = text.rpartition("=")
    if not name or word not in ROLES:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not COL=ROLE, with one of the roles {', '.join(ROLES)}"
        )
    return name, word


OPTIONS: dict[str, dict[str, Any]] = {
    "target": {"required": True, "metavar": "COL", "help": "the column to predict"},
    "output": {
        "required": True,
        "metavar": "MODEL",
        "help": "file to write the model to, such as model.tops",
    },
    "report": {"metavar": "FILE", "help": "page to write about the model, such as report.html"},
    "task": {
        "choices": ["auto", *TASKS],
        "default": "auto",
        "help": f"auto (default): text, true/false and up to {FEW} different whole numbers are "
        "classes, other numbers are values",
    },
    "paper": {
        "action": argparse.BooleanOptionalAction,
        "help": "exactly as in the paper: its learners, parts, weights and search",
    },
    "learners": {
        "choices": list(PRESETS["classification"]),
        "help": "lr: linear regression (ToPs/LR); paper: the paper's five (ToPs/B); default: "
        "linear, boosting and forests; boosted: with LightGBM, XGBoost and CatBoost, too",
    },
    "loss": {
        "choices": ["auto", *LOSSES["classification"], *LOSSES["regression"]],
        "help": "what splits are chosen by (default: log_loss, or brier if all learners are "
        "regressions; mse for values)",
    },
    "validation": {
        "type": validation,
        "metavar": "FOLDS|S,V1,V2",
        "help": "folds (default: 5), or the shares that train, judge splits and weigh",
    },
    "repeats": {"type": int, "metavar": "N", "help": "trees to average (default: 1)"},
    "max-depth": {"type": int, "metavar": "N", "help": "no node is deeper (default: any)"},
    "time-limit": {
        "type": duration,
        "metavar": "TIME",
        "help": "begin no further fit after this time, such as 90s, 10m or 2h; what is there then "
        "is saved",
    },
    "learner-timeout": {
        "type": duration,
        "metavar": "TIME",
        "help": "cut off a fit of one learner that takes longer, and go on without it",
    },
    "checkpoint": {
        "metavar": "DIR",
        "help": "journal the fit here; the same command after a crash goes on where it stood",
    },
    "memory-limit": {
        "type": memory,
        "metavar": "SIZE",
        "help": "leave out learners whose fits would not have room, such as 512MB or 4GB; an "
        "estimate",
    },
    "verbose": {
        "action": argparse.BooleanOptionalAction,
        "help": "a line on stderr for every node, in place of one that is kept up to date",
    },
    "seed": {
        "type": int,
        "default": 0,
        "metavar": "N",
        "help": "the same seed gives the same tree (default: 0)",
    },
    "jobs": {"type": int, "metavar": "N", "help": "processes; -1: one a core (default: 1)"},
    "role": {
        "type": role,
        "action": "append",
        "default": [],
        "metavar": "COL=ROLE",
        "help": f"what a column is for: {', '.join(ROLES)}; may be repeated",
    },
}
