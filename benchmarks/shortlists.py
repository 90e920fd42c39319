"""What racing's shortlists are worth: the gain of the root's split by their length.

python benchmarks/shortlists.py --data-dir DIR

The splits of a root are ranked by the quick learners, and the slow ones trained on the first
sixteen; a shortlist of length k would have found the best of the first k. Printed is the mean share
of the gain on V1 that it keeps, over sets and draws, and the least.
"""

import argparse
from pathlib import Path

import numpy as np
from suite import load

from predictree import ToPsClassifier, ToPsRegressor
from predictree.search import SEARCHES, most_promising

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
        search.appraiser.outlook(trial) for split in splits for trial in search.trials([[split]])
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


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data-dir", type=Path, required=True)
    parser.add_argument("--seeds", type=int, default=2, help="draws of every set")
    args = parser.parse_args()
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
