"""What racing's shortlists are worth: the gain of the root's split by their length.

    python benchmarks/shortlists.py --data-dir DIR
    python benchmarks/shortlists.py --data-dir DIR --trees [--rows 4000 12000]

The splits of a root are ranked by the quick learners, and the slow ones trained on the first
sixteen; a shortlist of length k would have found the best of the first k. Printed is the mean share
of the gain on V1 that it keeps, over sets and draws, and the least.

``--trees`` grows whole trees of ToPs/B on so many rows, with shortlists twice as long and as they
are, and prints the losses on the rows that are left, the fits of slow learners and the CPU time.
"""

import argparse
import time
from pathlib import Path

import numpy as np
from predictree.grow.search_ import RACES, SEARCHES, most_promising
from sklearn.metrics import log_loss, mean_squared_error, roc_auc_score
from suite import load

from predictree import ToPsClassifier, ToPsRegressor
from predictree.grow import search_ as search

SETS = [
    ("adult", "auc"),
    ("phoneme", "auc"),
    ("magic_telescope", "auc"),
    ("spambase", "auc"),
    ("credit_default_taiwan", "auc"),
    ("electricity", "log_loss"),
    ("california_housing", "mse"),
    ("kin8nm", "mse"),
]
ROWS = (400, 1200, 3600)  # of S
LENGTHS = (1, 2, 3, 4, 6, 8, 16)


def losses_in_order(search):
    """Return the losses of the root and of its sixteen most promising splits, best guess first."""
    splits = most_promising(search.appraiser, search.ranking_trials(), -np.inf)[: LENGTHS[-1]]
    outlooks = [
        search.appraiser.outlook(trial, np.inf)
        for split in splits
        for trial in search.trials([[split]])
    ]
    return search.site.loss, [np.inf if o is None else o.loss for o in outlooks]


def kept(data_dir, name, loss, n_rows, seed):
    """Return the share of the gain that shortlists of every length keep; None without a gain."""
    X, y, task = load(data_dir, name, 10**9)
    rows = np.random.default_rng(seed).permutation(len(y))[: int(n_rows / 0.75)]
    found = []
    SEARCHES["racing"] = lambda search: found.append(losses_in_order(search))
    estimator = ToPsRegressor if task == "regression" else ToPsClassifier
    estimator.paper("paper", loss=loss, search="racing", max_depth=1, random_state=seed).fit(
        X[rows], y[rows]
    )
    root, losses = found[0]
    gains = root - np.minimum(np.minimum.accumulate(losses), root)
    if gains[-1] == 0:
        return None
    return [gains[min(k, len(gains)) - 1] / gains[-1] for k in LENGTHS]


def twice(races):
    """Return races with shortlists twice as long."""
    return tuple(
        (least, tuple((share, 2 * length) for share, length in rounds)) for least, rounds in races
    )


def grown(data_dir, name, loss, n_rows, seed, races):
    """Grow a tree by races; return its loss on test rows, the fits it took and CPU seconds."""
    X, y, task = load(data_dir, name)
    order = np.random.default_rng(seed).permutation(len(y))
    train, test = order[:n_rows], order[n_rows:]
    estimator = ToPsRegressor if task == "regression" else ToPsClassifier
    search.RACES, start = races, time.process_time()
    model = estimator.paper("paper", loss=loss, search="racing", random_state=seed)
    model.fit(X[train], y[train])
    seconds = time.process_time() - start
    if task == "regression":
        judged = mean_squared_error(y[test], model.predict(X[test]))
    elif loss == "auc":
        judged = 1 - roc_auc_score(y[test], model.decision_function(X[test]))
    else:
        judged = log_loss(y[test], model.predict_proba(X[test]))
    return judged, model.fits_.made, seconds


def print_trees(data_dir, sizes, seed=0):
    print("| data set | rows | loss, twice as long | as it is | difference | fits | CPU time |")
    print("|---|---|---|---|---|---|---|")
    for n_rows in sizes:
        for name, loss in SETS:
            if len(load(data_dir, name)[1]) < 1.25 * n_rows:  # too few would be left to test on
                continue
            (long, *cost), (short, *less) = (
                grown(data_dir, name, loss, n_rows, seed, races) for races in (twice(RACES), RACES)
            )
            fits, seconds = (b / a for a, b in zip(cost, less, strict=True))
            print(
                f"| {name} | {n_rows} | {long:.4g} | {short:.4g} | {short / long - 1:+.1%} | "
                f"× {fits:.2f} | × {seconds:.2f} |",
                flush=True,
            )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data-dir", type=Path, required=True)
    parser.add_argument("--seeds", type=int, default=2, help="draws of every set")
    parser.add_argument("--trees", action="store_true")
    parser.add_argument("--rows", nargs="*", type=int, default=[4000, 12000], help="with --trees")
    args = parser.parse_args()
    if args.trees:
        print_trees(args.data_dir, args.rows)
        return
    print("| rows of S | " + " | ".join(f"{k}" for k in LENGTHS) + " |")
    print("|---|" + "---|" * len(LENGTHS))
    for n_rows in ROWS:
        shares = [
            kept(args.data_dir, name, loss, n_rows, seed)
            for name, loss in SETS
            for seed in range(args.seeds)
        ]
        table = np.array([share for share in shares if share is not None])
        cells = (f"{m:.2f} ({w:.2f})" for m, w in zip(table.mean(0), table.min(0), strict=True))
        print(f"| {n_rows} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
