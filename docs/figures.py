"""Draw the trees of the paper's Figs. 4 and 5: Bank Marketing, by ToPs/LR and by ToPs/B.

    python docs/figures.py --data-dir DIR [--only lr | b]

DIR holds ``paper/bank-additional-full.csv.gz`` (UCI Bank Marketing). Needs the extras
``paper`` and ``frames``. The trees are the paper's but for bounds on depth and sizes, without
which they would have hundreds of nodes, and for racing in place of the exhaustive search of ToPs/B.
ToPs/LR takes seconds, ToPs/B some minutes. Writes ``docs/images/bank-tops-lr.svg`` and
``bank-tops-b.svg``.
"""

import argparse
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from predictree import ToPsClassifier
from predictree_paper.datasets import fetch_bank_marketing

IMAGES = Path(__file__).with_name("images")
N_TRAIN = 32_950  # of 41,188: four folds in five
BOUNDS = {
    "lr": {"max_depth": 4, "min_samples_leaf": 800, "min_samples_val": 160},
    "b": {
        "max_depth": 3,
        "min_samples_leaf": 2000,
        "min_samples_val": 400,
        "search": "racing",
    },
}
LEARNERS = {"lr": "lr", "b": "paper"}


def main() -> None:
    """Fit and draw."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data-dir", type=Path, required=True)
    parser.add_argument("--only", choices=LEARNERS)
    args = parser.parse_args()
    values, y, names = fetch_bank_marketing(args.data_dir / "paper")
    X = pd.DataFrame(values, columns=names)
    order = np.random.default_rng(0).permutation(len(X))
    train, test = order[:N_TRAIN], order[N_TRAIN:]
    mpl.use("Agg")
    mpl.rcParams["svg.hashsalt"] = "predictree"  # the same file every time
    for name in [args.only] if args.only else LEARNERS:
        model = ToPsClassifier.paper(LEARNERS[name], random_state=0, verbose=1, **BOUNDS[name])
        model.fit(X.iloc[train], y[train])
        print(model.export_text(), model.verdict_, sep="\n")
        draw(model, X.iloc[test], IMAGES / f"bank-tops-{name}.svg")


def draw(model: ToPsClassifier, X, path: Path) -> None:
    """Draw a tree, and a path on which many nodes have weight."""
    leaves = model.apply(X)
    focus = {i: sum(record.weight**2 for record in model.tree_[i].weights) for i in set(leaves)}
    row = int(np.flatnonzero(leaves == min(focus, key=focus.get))[0])
    ax = model.plot(x=X.iloc[row])
    ax.figure.savefig(path, metadata={"Date": None})
    plt.close(ax.figure)
    print(f"{path}: {path.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
