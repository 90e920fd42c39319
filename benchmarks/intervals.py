"""How often intervals and sets hold what they promise, on the sets of the suite.

    python benchmarks/intervals.py --data-dir DIR --out FILE [--learners additive lr] [--splits 0]
    python benchmarks/intervals.py --out FILE --table

Every set is split at random 70/30; at most ``--rows`` of the larger part train. Of the test rows it
is counted how many have their label inside, over all and in each region of at least 200 of them.
One JSON object a line; a run that is started again goes on where it stopped.
"""

import argparse
import time
from itertools import product
from pathlib import Path

import lines
import numpy as np
from suite import TARGETS, frame, rows_of

from predictree import ToPsClassifier, ToPsRegressor

KEY = ("set", "split", "learners", "coverage")
REGION = 200  # test rows


def held(model, X, y, task, coverage):
    """Return which labels are inside, and how wide that is: in units of the labels, or classes."""
    if task == "regression":
        low, high = model.predict_interval(X, coverage).T
        return (low <= y) & (y <= high), (high - low) / np.std(y)
    found = model.predict_set(X, coverage)
    return found[np.arange(len(y)), np.searchsorted(model.classes_, y)], found.sum(axis=1)


def records(args, name, split, learners):
    X, y, task = frame(args.data_dir, name)
    train, test = rows_of(len(y), split, args.rows)
    make = ToPsRegressor if task == "regression" else ToPsClassifier
    start = time.process_time()
    model = make(learners, random_state=split).fit(X.iloc[train], y[train])
    seconds, leaf = time.process_time() - start, model.apply(X.iloc[test])
    regions = [one for one in np.unique(leaf) if (leaf == one).sum() >= REGION]
    for coverage in args.coverage:
        inside, width = held(model, X.iloc[test], y[test], task, coverage)
        large = [inside[leaf == one].mean() for one in regions]
        yield dict(zip(KEY, (name, split, learners, coverage), strict=True)) | {
            "held": float(inside.mean()), "n_test": len(test), "width": float(np.mean(width)),
            "regions": len(large), "least": float(min(large, default=np.nan)),
            "leaves": model.get_n_leaves(), "seconds": round(seconds, 2),
        }  # fmt: skip


def run(args):
    done = {tuple(r[k] for k in KEY) for r in lines.read(args.out)}
    for split, learners, name in product(args.splits, args.learners, args.sets):
        if any((name, split, learners, c) not in done for c in args.coverage):
            for record in records(args, name, split, learners):
                lines.append(args.out, record)


def table(args):
    found = lines.read(args.out)
    print(
        "| learners | promised | sets | held, mean | least and most of a set | least of a region |"
    )
    print("|---|---|---|---|---|---|")
    for learners, coverage in sorted({(r["learners"], r["coverage"]) for r in found}):
        some = [r for r in found if (r["learners"], r["coverage"]) == (learners, coverage)]
        by_set = [
            np.mean([r["held"] for r in some if r["set"] == s]) for s in {r["set"] for r in some}
        ]
        regions = [r["least"] for r in some if r["regions"]]
        least = f"{min(regions):.1%} of {sum(r['regions'] for r in some)}" if regions else "none"
        print(
            f"| {learners} | {coverage:.0%} | {len(by_set)} | {np.mean(by_set):.1%} | "
            f"{min(by_set):.1%}, {max(by_set):.1%} | {least} |"
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data-dir", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--rows", type=int, default=4000)
    parser.add_argument("--splits", type=int, nargs="*", default=[0, 1, 2])
    parser.add_argument("--learners", nargs="*", default=["additive"])
    parser.add_argument("--coverage", type=float, nargs="*", default=[0.8, 0.9, 0.95])
    parser.add_argument("--sets", nargs="*", default=list(TARGETS))
    parser.add_argument("--table", action="store_true")
    args = parser.parse_args()
    table(args) if args.table else run(args)


if __name__ == "__main__":
    main()
