"""How accurate and how fast readable trees are, beside other readable models and boosting.

    make .venv/.peers
    python benchmarks/readable.py --data-dir DIR --out FILE --peers .venv/peers/bin/python

Every data set is split at random 70/30, three times; at most ``--rows`` rows of the larger part
train. Each fit has a process of its own and one thread, and its CPU seconds are counted; one that
takes more than ``--limit`` is ended, and recorded as such. Everything is at its defaults:
interpret's EBM with and without interactions, Cubist with one and with twenty committees, PILOT of
`fast-model-trees`, linear-tree, and LightGBM stopped early on a fifth of the training rows. Losses
are log loss and root mean squared error on test rows. Results are written as they come, one JSON
object a line, and a run that is started again goes on where it stopped.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
from functools import partial
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory

import lines
import numpy as np
import pandas as pd
from sklearn.datasets import make_friedman1
from sklearn.metrics import log_loss, root_mean_squared_error
from suite import SHIPPED, TARGETS, frame, rows_of

WORKER = Path(__file__).with_name("readable_worker.py")
OURS = ("tree", "tree × 4", "strong")
PEERS = ("LightGBM", "Cubist", "Cubist × 20", "PILOT", "linear-tree", "EBM main effects", "EBM")
REGRESSION_ONLY = ("Cubist", "Cubist × 20", "PILOT")
MADE = {  # rows, columns and task of tables that time fits, with --rows all
    "made 4,000 × 10": (4000, 10, "regression"),
    "made 4,000 × 10, classes": (4000, 10, "binary"),
    "made 30,000 × 15": (30000, 15, "regression"),
    "made 30,000 × 15, classes": (30000, 15, "binary"),
}
KEY = ("set", "split", "rows", "what")
ONE_THREAD = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL", "NUMBA")}


def loss_of(task, y, answer):
    if task == "regression":
        return float(root_mean_squared_error(y, answer))
    return float(log_loss(y, answer, labels=np.arange(answer.shape[1])))


def table_of(data_dir, name):
    """Return a table of the suite, or a made one, with its labels and the task."""
    if name not in MADE:
        return frame(data_dir, name)
    n_train, n_columns, task = MADE[name]
    X, y = make_friedman1(int(n_train / 0.7) + 1, n_columns, noise=1.0, random_state=0)
    y = y if task == "regression" else (y > np.median(y)).astype(int)
    return pd.DataFrame(X).add_prefix("x"), y, task


def fitted(python, table, y, task, train, test, what, split, limit):
    """Fit in another process; return its losses on the test rows and what it tells of the fit."""
    with TemporaryDirectory() as folder:
        folder = Path(folder)
        table.iloc[train].assign(**{" label": y[train]}).to_csv(folder / "train.csv", index=False)
        table.iloc[test].to_csv(folder / "test.csv", index=False)
        (folder / "task").write_text(task)
        subprocess.run(
            [python, WORKER, folder, what, str(split)],
            check=True,
            capture_output=True,
            text=True,
            env=os.environ | ONE_THREAD,
            preexec_fn=partial(resource.setrlimit, resource.RLIMIT_CPU, (limit, limit)),
        )
        answers = {"loss": folder / "answer.npy", "root_loss": folder / "root.npy"}
        losses = {
            key: loss_of(task, y[test], np.load(path))
            for key, path in answers.items()
            if path.exists()
        }
        return losses | json.loads((folder / "fit.json").read_text())


def record_of(args, name, split, what):
    """Return what there is to say of one fit."""
    table, y, task = table_of(args.data_dir, name)
    train, test = rows_of(len(y), split, args.rows)
    python = sys.executable if what in OURS else args.peers
    about = {"task": task, "n_train": len(train), "n_columns": table.shape[1]}
    try:
        return about | fitted(python, table, y, task, train, test, what, split, args.limit)
    except subprocess.CalledProcessError as error:
        return about | {"failed": reason(error, args.limit)}


def reason(error, limit):
    """Return why a fit did not end well, in a line."""
    if error.returncode < 0:
        return f"ended by signal {-error.returncode}, limit {limit} CPU seconds"
    return error.stderr.strip().splitlines()[-1]


def applies(name, what):
    """Whether a method is made for the task of a set."""
    *_, task = MADE.get(name) or TARGETS.get(name, ("multiclass",))
    return task == "regression" or what not in REGRESSION_ONLY


def run(args):
    done = {tuple(r[k] for k in KEY) for r in lines.read(args.out)}
    for split, what, name in product(args.splits, args.what, args.sets):
        key = (name, split, args.rows, what)
        if applies(name, what) and key not in done:
            found = record_of(args, name, split, what)
            lines.append(args.out, dict(zip(KEY, key, strict=True)) | found)


def rows_asked(text):
    return None if text == "all" else int(text)


def main():
    sets = [*TARGETS, *SHIPPED]
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data-dir", type=Path, required=True)
    parser.add_argument("--out", type=Path, default=Path("results.jsonl"))
    parser.add_argument("--peers", metavar="PYTHON", default=".venv/peers/bin/python")
    parser.add_argument("--sets", nargs="*", choices=[*sets, *MADE], default=sets)
    parser.add_argument("--splits", nargs="*", type=int, default=[0, 1, 2])
    parser.add_argument("--what", nargs="*", choices=[*OURS, *PEERS], default=[*PEERS])
    parser.add_argument("--rows", type=rows_asked, default=4000, metavar="N or all")
    parser.add_argument("--limit", type=int, default=900, metavar="CPU_SECONDS")
    run(parser.parse_args())


if __name__ == "__main__":
    main()
