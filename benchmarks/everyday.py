"""Tables straight from ``read_csv``, with no preparation at all.

    python benchmarks/everyday.py --data-dir DIR [--rows 4000] [--sets NAME ...]

Log loss and 1 − AUC on a random 30 % of the rows, for the default estimator on the frame as it is,
beside the same estimator on columns that were one-hot coded and filled beforehand, and beside a
histogram boosting that takes the categories of the frame.
"""

import argparse
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import log_loss, roc_auc_score
from suite import TARGETS, load

from predictree import ToPsClassifier

SETS = ("german_credit", "telco_churn", "adult")


def losses(model, X, y):
    p = model.predict_proba(X)[:, 1]
    return log_loss(y, p), 1 - roc_auc_score(y, p)


def row(name, args):
    frame = pd.read_csv(args.data_dir / "suite" / f"{name}.csv.gz")
    y = pd.factorize(frame.pop(TARGETS[name][0]), sort=True)[0]
    by_hand, y_again, _ = load(args.data_dir, name)
    assert (y == y_again).all()
    order = np.random.default_rng(0).permutation(len(y))
    cut = int(0.7 * len(y))
    train, test = order[:cut][: args.rows], order[cut:]
    start = time.perf_counter()
    straight = ToPsClassifier(random_state=0).fit(frame.iloc[train], y[train])
    seconds = time.perf_counter() - start
    prepared = ToPsClassifier(random_state=0).fit(by_hand[train], y[train])
    text = frame.select_dtypes(exclude="number").columns
    coded = frame.astype(dict.fromkeys(text, "category"))
    boosting = HistGradientBoostingClassifier(random_state=0, max_bins=255)
    wide = [c for c in text if coded[c].nunique() > 255]
    boosting.fit(coded.drop(columns=wide).iloc[train], y[train])
    found = [
        losses(straight, frame.iloc[test], y[test]),
        losses(prepared, by_hand[test], y[test]),
        losses(boosting, coded.drop(columns=wide).iloc[test], y[test]),
    ]
    cells = " | ".join(f"{a:.4f} / {b:.4f}" for a, b in found)
    shape = f"{len(train)} × {frame.shape[1]}, {len(text)} of text"
    print(f"| {name} ({shape}) | {cells} | {straight.get_n_leaves()} | {seconds:.0f} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data-dir", type=Path, required=True)
    parser.add_argument("--rows", type=int, default=4000)
    parser.add_argument("--sets", nargs="*", choices=SETS, default=SETS)
    args = parser.parse_args()
    print("| data set | the frame as it is | prepared by hand | boosting alone | leaves | s |")
    print("|---|---|---|---|---|---|")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in args.sets:
            row(name, args)


if __name__ == "__main__":
    main()
