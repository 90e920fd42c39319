"""How often 95 % intervals cover the truth, of effects in regions and of their contrasts.

    python benchmarks/honesty.py --out benchmarks/results/coverage.jsonl [--seeds 100] [--rows 800]

The truth is additive in each of two regions, which differ in the curves of two of three features.
Regions are told apart "by a flag", or "by a cut" of a number that the tree has to find; labels are
values with normal noise, or classes. A tree is grown on ``--rows`` rows. Its own intervals
(``terms()``, ``contrast()``) are compared with those by as many fresh rows (``honest()``). What is
true of a region that the tree found is the best additive function of that region, whose curves are
means over the other features. Values of a feature count by the rows that have them; a contrast is
one of the two sides of the first split, all values alike. Results are written as they come.
"""

import argparse
import warnings
from itertools import pairwise, product
from pathlib import Path

import lines
import numpy as np

from predictree import ToPsClassifier, ToPsRegressor

NORMAL, DRAWS = 1.96, 2000
WAYS = ("own", "honest")


def score(X, cut):
    """What is true: of both regions one curve is the same, and two are not."""
    here = X[:, 0] >= cut
    first = np.where(here, np.square(X[:, 1]) - 4 / 3, -X[:, 1])
    second = np.where(here, np.sin(2 * X[:, 2]), 0.5 * np.sin(2 * X[:, 2]))
    return first + second + 0.5 * X[:, 3] + 0.5 * here


def flagged(rng, n):
    return np.column_stack([rng.integers(0, 2, n), rng.uniform(-2, 2, (n, 4))]), 0.5


def cut(rng, n):
    return rng.uniform(-2, 2, (n, 5)), 0.3


SHAPES = {"values by a flag": flagged, "values by a cut": cut, "classes by a flag": flagged}


def labels_of(rng, f, shape):
    if shape.startswith("values"):
        return f + 0.7 * rng.normal(size=len(f))
    return (rng.random(len(f)) < 1 / (1 + np.exp(-f))).astype(int)


def truth_of(tree, node, frame, shape, rng):
    """What is true of the values of a frame, in a node; None where that is not defined."""
    X, where = SHAPES[shape](rng, 60 * DRAWS)
    for parent, child in pairwise(tree.path(node)):
        split = tree[parent].split
        X = X[split.goes_left(X[:, split.feature]) == (child == tree[parent].children[0])]
    X = X[:DRAWS]
    pure = len(np.unique(X[:, 0] >= where)) == 1
    if len(X) < DRAWS or not (pure or shape.startswith("values")):
        return None
    found = np.empty(len(frame))
    for i, (feature, value) in enumerate(zip(frame.feature, frame.value, strict=True)):
        there = X.copy()
        there[:, int(feature[1:])] = value
        found[i] = score(there, where).mean()
    return found


def centred(values, frame):
    """Take from each curve its mean over the rows."""
    values = values.copy()
    for feature in frame.feature.unique():
        mine = (frame.feature == feature).to_numpy()
        values[mine] -= np.average(values[mine], weights=frame.share[mine])
    return values


def keys_of(frame):
    return list(zip(frame.feature, frame.value, strict=True))


def of_effects(told, model, shape, rng):
    """Yield, for each region, how often its effects are covered, and how wide intervals are."""
    frame = told.terms()
    frame = frame[frame.feature.ne("(baseline)") & frame.feature_2.isna()]
    for node, mine in frame.groupby("region"):
        true = truth_of(model.tree_, node, mine, shape, rng)
        if true is not None and mine.error.notna().all():
            off = np.abs(mine.effect - centred(true, mine)) <= NORMAL * mine.error + 1e-12
            weight = mine.share * model.tree_[node].n_train
            yield np.average(off, weights=mine.share), np.average(mine.error, weights=weight)


def of_contrast(told, model, shape, rng):
    """Yield the same of the contrast between the two sides of the first split."""
    frame, sides = told.contrast(1, 2), []
    for node in (1, 2):
        whole = told.terms(node)
        whole = whole[whole.feature.ne("(baseline)") & whole.feature_2.isna()].reset_index()
        true = truth_of(model.tree_, node, whole, shape, rng)
        if true is None:
            return
        true = dict(zip(keys_of(whole), centred(true, whole), strict=True))
        sides.append(np.array([true[key] for key in keys_of(frame)]))
    off = np.abs(frame.difference - (sides[0] - sides[1])) <= NORMAL * frame.error + 1e-12
    if frame.error.notna().all():
        yield off.mean(), frame.error.mean()


def record_of(shape, seed, n):
    rng = np.random.default_rng([seed, n])
    X, where = SHAPES[shape](rng, 2 * n)
    y = labels_of(rng, score(X, where), shape)
    make = ToPsRegressor if shape.startswith("values") else ToPsClassifier
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = make(random_state=seed, interactions=0).fit(X[:n], y[:n])
    found = {"leaves": model.get_n_leaves()}
    if found["leaves"] > 1:
        told = {"own": model, "honest": model.honest(X[n:], y[n:])}
        for way, (name, of) in product(WAYS, (("effects", of_effects), ("contrast", of_contrast))):
            each = list(of(told[way], model, shape, rng))
            if each:
                found[f"{way} {name}"] = np.mean(each, axis=0).round(4).tolist()
    return found


def table(path):
    """Print the share of values that is covered, and the mean standard error in brackets."""
    found = {}
    for r in lines.read(path):
        found.setdefault((r["shape"], r["rows"]), []).append(r)
    names = [f"{way} {what}" for what in ("effects", "contrast") for way in WAYS]
    print(f"| truth | rows | fits | with regions | {' | '.join(names)} |")
    print(f"|{'---|' * (4 + len(names))}")
    for (shape, rows), fits in found.items():
        cells = [[r[name] for r in fits if name in r] for name in names]
        told = [f"{np.mean(c, axis=0)[0]:.1%} ({np.mean(c, axis=0)[1]:.3f})" for c in cells if c]
        grown = sum(r["leaves"] > 1 for r in fits)
        print(f"| {shape} | {rows} | {len(fits)} | {grown} | {' | '.join(told)} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seeds", type=int, default=100)
    parser.add_argument("--rows", type=int, default=800)
    parser.add_argument("--shapes", nargs="*", choices=SHAPES, default=[*SHAPES])
    args = parser.parse_args()
    done = {(r["shape"], r["rows"], r["seed"]) for r in lines.read(args.out)}
    for seed, shape in product(range(args.seeds), args.shapes):
        if (shape, args.rows, seed) not in done:
            about = {"shape": shape, "rows": args.rows, "seed": seed}
            lines.append(args.out, about | record_of(shape, seed, args.rows))
    table(args.out)


if __name__ == "__main__":
    main()
