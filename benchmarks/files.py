"""How large the file of a model is, and how long it takes to write and to read.

    python benchmarks/files.py --data-dir DIR [--rows 5000] [--learners paper] [--max-depth 1]

ToPs on Bank Marketing by `predictree.save`, beside joblib's dumps of the same model and of its best
single learner, trained on the same rows. joblib's files are compressed at its level 3, and they are
pickles: reading one runs whatever it says. A split needs only any gain here, so that there is a
tree to save. Times are the best of three.
"""

import argparse
import os
import sys
import time
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory

import joblib
import numpy as np
from suite import bank

from predictree import ToPsClassifier, load, save
from predictree.learners import resolve_learners


def best_of(action, repeats=3):
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        action()
        times.append(time.perf_counter() - start)
    return min(times)


def row(what, size, writes, reads):
    return f"| {what} | {size / 1024:,.0f} | {writes:.3f} | {reads:.3f} |"


def by_joblib(model, path):
    writes = best_of(lambda: joblib.dump(model, path, compress=3))
    return path.stat().st_size, writes, best_of(lambda: joblib.load(path))


def by_save(model, path):
    writes = best_of(lambda: save(model, path))
    return path.stat().st_size, writes, best_of(lambda: load(path))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data-dir", type=Path, required=True)
    parser.add_argument("--rows", type=int, default=5000)
    parser.add_argument("--learners", default="paper")
    parser.add_argument("--max-depth", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    X, y = bank(args.data_dir)
    rows = np.random.default_rng(args.seed).permutation(len(y))[: args.rows]
    X, y = X[rows], y[rows]
    start = time.perf_counter()
    model = ToPsClassifier(
        args.learners,
        loss="auc",
        max_depth=args.max_depth,
        min_gain_se=0.0,
        random_state=args.seed,
    ).fit(X, y)
    print(
        f"fitted in {time.perf_counter() - start:.0f} s, {len(model.tree_)} nodes", file=sys.stderr
    )
    learners = dict(resolve_learners(args.learners, "classification"))
    name = next(name for name in learners if f"({name})" in model.verdict_.best.name)
    best = learners[name].fit(X, y)
    n_models = sum(len(predictor.models) for predictor in model.tree_.predictors)
    print(
        f"{len(X)} rows, {X.shape[1]} features; {len(model.tree_)} nodes, {n_models} models; "
        f"scikit-learn {version('scikit-learn')}, skops {version('skops')}, "
        f"{os.cpu_count()} cores\n"
    )
    print("| file | KiB | write, s | read, s |")
    print("|---|---|---|---|")
    with TemporaryDirectory() as folder:
        path = Path(folder) / "model"
        print(row(f"ToPs ({args.learners}), predictree.save", *by_save(model, path)))
        again = load(path)
        print(row(f"ToPs ({args.learners}), joblib", *by_joblib(model, path)))
        print(row(f"best single learner ({name}), joblib", *by_joblib(best, path)))
    assert np.array_equal(model.predict_proba(X), again.predict_proba(X))


if __name__ == "__main__":
    main()
