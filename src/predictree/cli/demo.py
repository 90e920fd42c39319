"""``predictree demo``: a tree on data that is at hand, and the data and the tree as files."""

import argparse
from pathlib import Path
from typing import Any

import numpy as np

from predictree import save
from predictree.cli.command import add_command
from predictree.cli.console import size, tell
from predictree.cli.examples import EXAMPLES, show, show_toy
from predictree.cli.tables import require_polars, write_table
from predictree.data.datasets import LOADERS, load
from predictree.estimators.classifier import ToPsClassifier
from predictree.estimators.regressor import ToPsRegressor

TARGET = "target"

WORDS = """\
  predictree demo                       the paper's toy example, at once
  predictree demo diabetes              trees beside their learners, in half a minute
  predictree demo diabetes --out try    and the table and a model as files, to go on with"""


def add_to(commands: Any) -> None:
    """Add the command."""
    parser = add_command(commands, "demo", "see trees grow on data that is at hand", WORDS, run)
    parser.add_argument("name", nargs="?", default="toy", choices=list(LOADERS), help="the data")
    parser.add_argument("--out", metavar="DIR", help="folder for the table and a ToPs/LR model")


def run(args: argparse.Namespace) -> None:
    """Show one data set, and write its files if asked to."""
    if args.out is not None:
        require_polars()
        Path(args.out).mkdir(parents=True, exist_ok=True)
    if args.name == "toy":
        show_toy()
    else:
        show(next(example for example in EXAMPLES if example.name == args.name))
    if args.out is not None:
        write_files(args.name, Path(args.out))


def write_files(name: str, folder: Path) -> None:
    """Write a data set as CSV and a tree of linear models grown on it, and say how to go on."""
    X, y, task = load(name)
    pl = require_polars()
    values, names = np.asarray(X), getattr(X, "columns", [f"x{j}" for j in range(X.shape[1])])
    frame = pl.DataFrame({str(c): values[:, j] for j, c in enumerate(names)})
    data, model = folder / f"{name}.csv", folder / f"{name}.tops"
    write_table(frame.with_columns(pl.Series(TARGET, y)), str(data))
    estimator = ToPsRegressor if task == "regression" else ToPsClassifier
    n_bytes = save(estimator("lr", random_state=0).fit(frame, y), model)
    tell(f"\nwrote {data} and {model} ({size(n_bytes)}). Go on with:")
    tell(f"  predictree explain {model} {data} --row 1")
    tell(f"  predictree fit {data} --target {TARGET} -o my.tops")
