"""What a tree makes of a weak learner: ToPs/LR, cross-fitted, beside linear regression.

    python benchmarks/weak.py --data-dir DIR --out weak.jsonl [--sets NAME ...] [--splits 0 1 2]
    python benchmarks/weak.py --data-dir DIR --out weak.jsonl --sets bank --repeats 8
    python benchmarks/weak.py --out weak.jsonl --table

Sets are those of the suite, split as in `accuracy.py`, and ``bank``, all of Bank Marketing. Losses
on test rows are 1 − AUC, the mean over classes against the rest, or RMSE. ``--min-gain-se`` takes
one number, or two with a comma between them: of the root and of the nodes below it. Results are
written as they come, one JSON object a line, and a run that is started again goes on.
"""

import argparse
import time
from collections import defaultdict
from functools import partial
from itertools import product
from pathlib import Path

import lines
import numpy as np
from sklearn.linear_model import LinearRegression
from sklearn.metrics import roc_auc_score, root_mean_squared_error
from suite import TARGETS, bank_split, split_of

from predictree import ToPsClassifier, ToPsRegressor

LINE = "linear regression"


def demand(text):
    """Return what ``--min-gain-se`` asks for."""
    if text == "auto":
        return text
    numbers = tuple(map(float, text.split(",")))
    return numbers[0] if len(numbers) == 1 else numbers


def data_of(args, name, split):
    """Return training rows, test rows and the task."""
    if name == "bank":
        return *bank_split(args.data_dir, split), "binary"
    return split_of(args.data_dir, name, split, args.rows)


def line_of(task, X, y):
    """Return linear regression; of classes, on their 0/1 indicators."""
    return LinearRegression().fit(X, y if task == "regression" else np.eye(y.max() + 1)[y])


def tree_of(params, task, X, y):
    loss, make = ("mse", ToPsRegressor) if task == "regression" else ("auc", ToPsClassifier)
    return make("lr", loss=loss, **params).fit(X, y)


def variants(args, split):
    """Name and fit of everything that is fitted on one split."""
    yield LINE, line_of
    for se, repeats in product(args.min_gain_se, [1, *args.repeats]):
        params = {"min_gain_se": demand(se), "n_repeats": repeats, "random_state": split}
        yield named(se, repeats), partial(tree_of, params)


def named(se, repeats):
    demanded = "" if se == "auto" else f", min_gain_se={se}"
    return f"ToPs/LR{demanded}" + (f" × {repeats}" if repeats > 1 else "")


def loss_of(task, model, X, y):
    if task == "regression":
        return root_mean_squared_error(y, model.predict(X))
    grown = isinstance(model, ToPsClassifier)
    score = model.decision_function(X) if grown else model.predict(X)
    score = np.column_stack([-score, score]) if score.ndim == 1 else score
    aucs = [roc_auc_score(y == c, score[:, c]) for c in np.unique(y)]
    return 1 - float(np.mean(aucs))


def run(args):
    done = {(r["set"], r["split"], r["what"]) for r in lines.read(args.out)}
    for split, name in product(args.splits, args.sets):
        wanted = [v for v in variants(args, split) if (name, split, v[0]) not in done]
        if not wanted:
            continue
        X, y, X_test, y_test, task = data_of(args, name, split)
        for what, fit in wanted:
            start = time.perf_counter()
            model = fit(task, X, y)
            seconds = round(time.perf_counter() - start, 1)
            record = {
                "set": name, "split": split, "what": what, "rows": len(X),
                "loss": loss_of(task, model, X_test, y_test), "seconds": seconds,
            }  # fmt: skip
            if what != LINE:
                record["leaves"] = [tree.get_n_leaves() for tree in model.trees_]
            lines.append(args.out, record)


def table(path):
    """Print the mean loss of every set, relative to linear regression on the same splits."""
    found = defaultdict(dict)
    for r in lines.read(path):
        found[r["set"], r["what"]][r["split"]] = r
    whats = sorted({what for _, what in found} - {LINE})
    print(f"| data set | {LINE} | " + " | ".join(whats) + " |\n|---|---|" + "---|" * len(whats))
    for name in [*TARGETS, "bank"]:
        rows = [found[name, what] for what in (LINE, *whats)]
        if any(rows):
            print(f"| {name} | " + " | ".join(cell(row, rows[0]) for row in rows) + " |")
    for what, other in product(whats, whats):
        if what < other:
            compare(found, what, other)


def cell(row, line):
    """Return the mean loss of some splits and, of a tree, what it gains and how large it is."""
    if not row:
        return ""
    loss = np.mean([r["loss"] for r in row.values()])
    if row is line:
        return f"{loss:.4g}"
    gain = loss / np.mean([line[split]["loss"] for split in row]) - 1
    leaves = np.mean([np.mean(r["leaves"]) for r in row.values()])
    splits = "" if len(row) == len(line) else f", {len(row)} splits"
    return f"{loss:.4g} ({gain:+.1%}, {leaves:.1f} leaves{splits})"


def compare(found, what, other):
    """Print how one column does against another, on the splits that both have."""
    ratios = []
    for name in [*TARGETS, "bank"]:
        a, b = found[name, what], found[name, other]
        both = a.keys() & b.keys()
        if both:
            ratios.append(np.mean([b[s]["loss"] / a[s]["loss"] - 1 for s in both]))
    if ratios:
        fewer, more = sum(r < 0 for r in ratios), sum(r > 0 for r in ratios)
        print(
            f"- {other} against {what}: {np.mean(ratios):+.1%} on average, "
            f"lower on {fewer} and higher on {more} of {len(ratios)} sets"
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data-dir", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--sets", nargs="*", choices=[*TARGETS, "bank"], default=list(TARGETS))
    parser.add_argument("--splits", nargs="*", type=int, default=[0, 1, 2])
    parser.add_argument("--rows", type=int, default=4000)
    parser.add_argument("--min-gain-se", nargs="*", default=["auto"], metavar="ROOT[,BELOW]")
    parser.add_argument("--repeats", nargs="*", type=int, default=[])
    parser.add_argument("--table", action="store_true")
    args = parser.parse_args()
    if not args.table:
        if args.data_dir is None:
            parser.error("--data-dir is needed to run")
        run(args)
    table(args.out)


if __name__ == "__main__":
    main()
