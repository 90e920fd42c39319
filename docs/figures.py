"""Draw the tree of the README, and those of the paper's Figs. 4 and 5.

    python docs/figures.py
    python docs/figures.py --data-dir DIR [--only lr | b]

The first draws the bike rentals of ``predictree demo``: four regions, with the curves of each
beside those of one model for all rows, in ``docs/images/regions.svg``. It needs the extras
``plot`` and ``frames``.

The second draws Bank Marketing, by ToPs/LR and by ToPs/B, in ``docs/images/bank-tops-lr.svg`` and
``bank-tops-b.svg``. DIR holds ``paper/bank-additional-full.csv.gz`` (UCI Bank Marketing). It needs
the extras ``paper`` and ``frames``. The trees are the paper's but for bounds on depth and sizes,
without which they would have hundreds of nodes, and for racing in place of the exhaustive search of
ToPs/B. ToPs/LR takes seconds, ToPs/B some minutes.
"""

import argparse
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from predictree import ToPsClassifier, ToPsRegressor
from predictree.data.datasets import load_data
from predictree.explain.additive import AdditiveTree
from predictree.explain.figure import COLOURS
from predictree.explain.marginal import marginal
from predictree.explain.portraits import portraits
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
    parser.add_argument("--data-dir", type=Path)
    parser.add_argument("--only", choices=LEARNERS)
    args = parser.parse_args()
    mpl.use("Agg")
    mpl.rcParams["svg.fonttype"] = "none"  # text stays text
    mpl.rcParams["svg.hashsalt"] = "predictree"  # the same file every time
    if args.data_dir is None:
        draw_regions(IMAGES / "regions.svg")
        return
    values, y, names = fetch_bank_marketing(args.data_dir / "paper")
    X = pd.DataFrame(values, columns=names)
    order = np.random.default_rng(0).permutation(len(X))
    train, test = order[:N_TRAIN], order[N_TRAIN:]
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


def draw_regions(path: Path) -> None:
    """Draw the regions of the demo: who is in each, and its curves beside those of all rows."""
    X, y, _ = load_data("bikes")
    model = ToPsRegressor(max_depth=2, random_state=0).fit(X, y)
    read, told = AdditiveTree.of(model), portraits(model)
    regions = sorted(told.regions, key=lambda region: region.leaf)
    terms = [read.columns.index((X.columns.get_loc(name),)) for name in SHOWN]
    size = (10.5, 1.75 * len(regions) + 0.4)
    figure, axes = plt.subplots(
        len(regions), 1 + len(terms), figsize=size, layout="constrained", sharey="col"
    )
    for region, row, colour in zip(regions, axes, COLOURS, strict=False):
        words = f"{region.rule.replace(' and ', chr(10))}\n\n{region.share:.0%} of the hours"
        row[0].axis("off")
        row[0].text(0, 0.9, words, va="top", fontsize=10, color=colour, weight="bold")
        level = f"\n\n\n\n\n{told.told(region.observed)} bikes an hour"
        row[0].text(0, 0.9, level, va="top", fontsize=10)
        for ax, term, name in zip(row[1:], terms, SHOWN, strict=True):
            curve(ax, read, region.leaf, term, colour)
            ax.set_xticks(TICKS[name])
            ax.set_title(SHOWN[name] if row[0] is axes[0, 0] else "", fontsize=10)
    axes[0, 1].set_ylabel("bikes more or less", fontsize=8)
    figure.text(0, 0, "grey: one model for all hours", fontsize=9, color="#666666")
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)
    print(f"{path}: {path.stat().st_size / 1000:.0f} kB")


SHOWN = {"hour": "hour of the day", "temperature": "temperature, °C", "month": "month"}
TICKS = {"hour": [0, 6, 12, 18], "temperature": [0, 10, 20, 30], "month": [1, 4, 7, 10]}


def curve(ax: plt.Axes, read: AdditiveTree, leaf: int, term: int, colour: str) -> None:
    """Draw a curve of a region, with its 95 % band, beside that of all rows."""
    for node, shade, wide in ((0, "#999999", 1.5), (leaf, colour, 2.2)):
        shape = marginal(read, node, term)
        x, y = shape.codes[:, 0], shape.effect[:, 0]
        ax.plot(x, y, color=shade, lw=wide)
        if node:
            margin = 1.96 * shape.error[:, 0]
            ax.fill_between(x, y - margin, y + margin, color=shade, alpha=0.2, lw=0)
    ax.axhline(0, color="#cccccc", lw=0.8, zorder=0)
    ax.spines[["top", "right"]].set_visible(False)
    ax.tick_params(labelsize=8)


if __name__ == "__main__":
    main()
