"""How accurate the default estimator is beside a stack of its own learners, and each alone.

    python benchmarks/accuracy.py --data-dir DIR --out results.jsonl [--sets NAME ...] [--rows 4000]
    python benchmarks/accuracy.py --out results.jsonl --table
    python benchmarks/accuracy.py --data-dir DIR --bank [--repeats 4]

Every data set is split at random 70/30, three times; at most ``--rows`` rows of the larger part
train. Results are written as they come, one JSON object a line, and a run that is started again
goes on where it stopped. The reference is the tree's own root: one convex stack of the same
cross-fitted learners, on the same folds. Losses are log loss and root mean squared error on test
rows.
"""

import argparse
import json
import sys
import time
import warnings
from collections import defaultdict
from pathlib import Path

import numpy as np
from sklearn.linear_model import LinearRegression
from sklearn.metrics import log_loss, roc_auc_score, root_mean_squared_error
from suite import TARGETS, bank_split, load

from predictree import ToPsClassifier, ToPsRegressor
from predictree.learners import resolve_learners


def estimator(task, **params):
    return (ToPsRegressor if task == "regression" else ToPsClassifier)(**params)


def test_loss(task, model, X, y, n_classes):
    if task == "regression":
        return float(root_mean_squared_error(y, model.predict(X)))
    return float(log_loss(y, model.predict_proba(X), labels=np.arange(n_classes)))


def variants(task, seed, args):
    """Name and parameters of everything that is fitted on one split."""
    settings = {"random_state": seed, "n_jobs": args.jobs, "learners": args.learners}
    kind = "regression" if task == "regression" else "classification"
    learners = dict(resolve_learners(args.learners, kind))
    yield "stack", settings | {"max_depth": 0}
    for shrinkage in args.shrinkage:
        for se in args.min_gain_se:
            params = {"shrinkage": shrinkage, "min_gain_se": se}
            yield f"tree λ={shrinkage:g} se={se:g}", settings | params
    for repeats in args.repeats:
        yield f"stack × {repeats}", settings | {"max_depth": 0, "n_repeats": repeats}
        yield f"tree × {repeats}", settings | {"n_repeats": repeats}
    if args.singles:
        for key, learner in learners.items():
            yield f"only {key}", settings | {"learners": [(key, learner)], "max_depth": 0}


def run(args):
    done = set()
    if args.out.exists():
        done = {tuple(r[k] for k in ("set", "split", "what")) for r in records(args.out)}
    for split in range(args.splits):
        for name in args.sets:
            X, y, task = load(args.data_dir, name)
            order = np.random.default_rng(split).permutation(len(X))
            cut = int(0.7 * len(X))
            train, test = order[:cut][: args.rows], order[cut:]
            for what, params in variants(task, split, args):
                if (name, split, what) in done:
                    continue
                start = time.perf_counter()
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    model = estimator(task, **params).fit(X[train], y[train])
                record = {
                    "set": name,
                    "split": split,
                    "what": what,
                    "task": task,
                    "rows": len(train),
                    "loss": test_loss(task, model, X[test], y[test], len(np.unique(y))),
                    "out_of_fold": model.verdict_.loss,
                    "leaves": [tree.get_n_leaves() for tree in model.trees_],
                    "gain_on_stack": model.verdict_.stack.gain,
                    "gain_error": model.verdict_.stack.error,
                    "seconds": round(time.perf_counter() - start, 1),
                }
                with args.out.open("a") as out:
                    out.write(json.dumps(record) + "\n")
                print(record, file=sys.stderr, flush=True)


def bank(args):
    """Print 1 − AUC of linear regression and of ToPs/LR on Bank Marketing."""
    for split in range(args.splits):
        X, y, X_test, y_test = bank_split(args.data_dir, split)
        line = LinearRegression().fit(X, y).predict(X_test)
        losses = {"linear": 1 - roc_auc_score(y_test, line)}
        for repeats in [1, *args.repeats]:
            model = ToPsClassifier("lr", loss="auc", n_repeats=repeats, random_state=split)
            score = model.fit(X, y).decision_function(X_test)
            losses[f"ToPs/LR × {repeats}"] = 1 - roc_auc_score(y_test, score)
        print(split, {name: round(loss, 4) for name, loss in losses.items()}, flush=True)


def records(path):
    with path.open() as lines:
        return [json.loads(line) for line in lines]


def table(path):
    """Print for every set what each variant's loss is relative to the stack's."""
    losses = defaultdict(dict)
    leaves = defaultdict(list)
    for r in records(path):
        losses[r["set"], r["split"]][r["what"]] = r["loss"]
        leaves[r["set"], r["what"]].append(np.mean(r["leaves"]))
    whats = sorted({what for row in losses.values() for what in row} - {"stack"})
    names = sorted({name for name, _ in losses}, key=list(TARGETS).index)
    print("| data set | " + " | ".join(whats) + " |\n|---|" + "---|" * len(whats))
    means = defaultdict(list)
    for name in names:
        cells = []
        for what in whats:
            reference = f"stack × {what.split(' × ')[1]}" if what.startswith("tree ×") else "stack"
            ratios = [
                row[what] / row[reference] - 1
                for (s, _), row in losses.items()
                if s == name and what in row and reference in row
            ]
            if ratios:
                means[what].append(np.mean(ratios))
                grown = f" ({np.mean(leaves[name, what]):.1f})" if what.startswith("tree") else ""
                cells.append(f"{np.mean(ratios):+.2%}{grown}")
            else:
                cells.append("")
        if any(cells):
            print(f"| {name} | " + " | ".join(cells) + " |")
    for title, of in (("mean", np.mean), ("median", np.median), ("worst", np.max)):
        print(f"| **{title}** | " + " | ".join(f"{of(means[w]):+.2%}" for w in whats) + " |")
    better = (f"{sum(m < 0 for m in means[w])} of {len(means[w])}" for w in whats)
    print("| **better on** | " + " | ".join(better) + " |")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data-dir", type=Path)
    parser.add_argument("--out", type=Path, default=Path("results.jsonl"))
    parser.add_argument("--bank", action="store_true")
    parser.add_argument("--sets", nargs="*", choices=TARGETS, default=list(TARGETS))
    parser.add_argument("--splits", type=int, default=3)
    parser.add_argument("--rows", type=int, default=4000)
    parser.add_argument("--learners", default="default")
    parser.add_argument("--shrinkage", nargs="*", type=float, default=[100.0])
    parser.add_argument("--min-gain-se", nargs="*", type=float, default=[2.5])
    parser.add_argument("--repeats", nargs="*", type=int, default=[])
    parser.add_argument("--singles", action="store_true")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--table", action="store_true")
    args = parser.parse_args()
    if args.table:
        table(args.out)
    elif args.data_dir is None:
        parser.error("--data-dir is needed to run")
    elif args.bank:
        bank(args)
    else:
        run(args)


if __name__ == "__main__":
    main()
