"""What readable trees reach beside others: tables of what `readable.py` found.

    python benchmarks/reach.py --out benchmarks/results/readable.jsonl [--rows 4000]

A comparison is the mean over sets of the mean over splits of ours / theirs − 1, of log loss or root
mean squared error on test rows; in brackets, on how many of how many sets it is below zero.
Settings were chosen on the development sets; the others tell what they are worth.
"""

import argparse
from collections import defaultdict
from pathlib import Path

import lines
import numpy as np
from readable import MADE, OURS, PEERS, rows_asked
from suite import SHIPPED, TARGETS

DEVELOPMENT = {
    "abalone", "california_housing", "energy_efficiency", "naval_propulsion", "adult",
    "electricity", "higgs_11k", "mammography", "pima_diabetes", "telco_churn",
    "covertype_kaggle15k", "satimage", "wine_cultivars",
}  # fmt: skip
SETS = [*TARGETS, *SHIPPED]
MULTICLASS = {name for name, (_, task) in TARGETS.items() if task == "multiclass"} | {*SHIPPED}
COLUMNS = {
    "development": DEVELOPMENT,
    "report": {*SETS} - DEVELOPMENT,
    "all": {*SETS},
    "all but multiclass": {*SETS} - MULTICLASS,
}
ROOT = "root"
SHOWN = (ROOT, *OURS, *PEERS)
ENOUGH = 1000  # rows of a set whose trees are asked never to be worse than their roots
ASKED = [  # ours, theirs, of which sets, what is asked
    ("tree", "EBM main effects", {*SETS}, "≤ −15 %, 85 % of sets"),
    ("tree", "EBM", {*SETS}, "≤ −3 %, 55 % of sets"),
    ("tree × 4", "EBM", {*SETS}, "≤ −5 %"),
    ("tree", "EBM", MULTICLASS, "level, on multiclass sets"),
    ("tree × 4", "EBM", MULTICLASS, "better, on multiclass sets"),
    ("tree", "Cubist", {*SETS}, "≤ −7 %"),
    ("tree × 4", "Cubist × 20", {*SETS}, "≤ −1 %"),
    ("tree", "LightGBM", {*SETS}, "≤ +1 %"),
    ("tree × 4", "LightGBM", {*SETS}, "≤ −1 %"),
    ("tree", "PILOT", {*SETS}, ""),
    ("tree", "linear-tree", {*SETS}, ""),
    ("tree", "strong", {*SETS}, ""),
    ("tree × 4", "tree", {*SETS}, ""),
]


class Found:
    """What is known of all fits to so many rows: records by set and method, and by split."""

    def __init__(self, path, rows):
        self.fits = defaultdict(dict)
        for r in lines.read(path):
            if r["rows"] == rows:
                self.fits[r["set"], r["what"]][r["split"]] = r
                if "root_loss" in r and r["what"] == "tree":
                    self.fits[r["set"], ROOT][r["split"]] = r | {"loss": r["root_loss"]}

    def get(self, name, what, key):
        """Return something of a method's fits to a set, by split."""
        return {split: r[key] for split, r in self.fits[name, what].items() if key in r}

    def ratios(self, ours, theirs, names, key="loss"):
        """Return ours / theirs − 1 in the mean of splits, for every set that has both."""
        found = {}
        for name in names:
            mine, its = (self.get(name, what, key) for what in (ours, theirs))
            if both := mine.keys() & its.keys():
                found[name] = np.mean([mine[split] / its[split] - 1 for split in both])
        return found

    def large(self):
        """Return the sets that have enough rows for a tree to be held against its root."""
        n = {name: self.get(name, "tree", "n_train") for name in SETS}
        return {name for name in SETS if any(rows >= 0.7 * ENOUGH for rows in n[name].values())}


def in_words(ratios):
    values = [*ratios.values()]
    wins = sum(value < 0 for value in values)
    return f"{np.mean(values):+.1%} ({wins}/{len(values)})" if values else ""


def worst(ratios):
    name = max(ratios, key=ratios.get, default=None)
    return f"{ratios[name]:+.2%} ({name})" if ratios else ""


def row(*cells):
    return f"| {' | '.join(cells)} |"


def heading(*cells):
    return f"{row(*cells)}\n|{'---|' * len(cells)}"


def reach(found):
    """Print what is asked and what is so."""
    print(heading("", "against", "asked", *COLUMNS))
    large = found.large()
    of_roots = (worst(found.ratios("tree", ROOT, names & large)) for names in COLUMNS.values())
    print(row("tree", "its root", "at worst +0.5 %, sets of 1,000 rows", *of_roots))
    for ours, theirs, sets, asked in ASKED:
        cells = (in_words(found.ratios(ours, theirs, names & sets)) for names in COLUMNS.values())
        print(row(ours, theirs, asked, *cells))


def cell(found, name, what):
    """Return the mean loss of a method on a set, and the leaves of a tree."""
    losses = [*found.get(name, what, "loss").values()]
    if not losses:
        return "failed" if found.fits[name, what] else ""
    leaves = [*found.get(name, what, "leaves").values()] if what in OURS else []
    grown = f" ({np.mean(np.concatenate(leaves)):.1f})" if leaves else ""
    return f"{np.mean(losses):.4g}{grown}"


def by_set(found):
    """Print the loss of every method on every set, in the mean of its splits."""
    print(heading("set", *SHOWN))
    for name in SETS:
        print(row(name, *(cell(found, name, what) for what in SHOWN)))


def seconds(found):
    """Print what fits take; of EBM at least five times the time of a tree is hoped for."""
    print(heading("", "sets", "mean CPU s", "most CPU s", "in the mean of sets, × that of a tree"))
    for what in (*OURS, *PEERS):
        took = {name: [*found.get(name, what, "seconds").values()] for name in SETS}
        means = {name: np.mean(some) for name, some in took.items() if some}
        if means:
            most = max(means, key=means.get)
            times = [*found.ratios(what, "tree", SETS, "seconds").values()]
            ratio = f"{1 + np.mean(times):.1f}" if times else ""
            mean = f"{np.mean([*means.values()]):.1f}"
            print(row(what, str(len(means)), mean, f"{means[most]:.1f} ({most})", ratio))


def made(found):
    """Print what fits to made tables take; 3 and 30 CPU seconds are asked of a tree."""
    print(heading("CPU s", *OURS, *PEERS))
    for name in MADE:
        took = [[*found.get(name, what, "seconds").values()] for what in (*OURS, *PEERS)]
        print(row(name, *(f"{np.mean(some):.1f}" if some else "" for some in took)))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results/readable.jsonl"))
    parser.add_argument("--rows", type=rows_asked, default=4000, metavar="N or all")
    args = parser.parse_args()
    for show in (reach, by_set, seconds):
        show(Found(args.out, args.rows))
        print()
    made(Found(args.out, None))


if __name__ == "__main__":
    main()
