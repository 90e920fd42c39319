"""How often an estimator grows a tree where there is nothing to find.

    python benchmarks/noise.py --out noise.jsonl [--learners additive] [--shapes small wide skewed]

Features and labels are independent; even seeds are a regression, odd ones a classification. A
"small" table has 300 rows of four numbers and two flags, a "wide" one 1,000 rows of 60 numbers, and
a "skewed" one 4,000 rows of nine log-normal numbers and a feature of twenty levels, with log-normal
labels or one class in ten. Results are written as they come; a run that is started again goes on.
"""

import argparse
import warnings
from functools import partial
from itertools import product
from pathlib import Path

import lines
import numpy as np
import pandas as pd

from predictree import ToPsClassifier, ToPsRegressor


def small(rng):
    X = np.column_stack([rng.normal(size=(300, 4)), rng.integers(0, 2, (300, 2))])
    return X, (rng.normal, partial(rng.integers, 0, 2))


def wide(rng):
    return rng.normal(size=(1000, 60)), (rng.normal, partial(rng.integers, 0, 2))


def skewed(rng):
    X = pd.DataFrame(rng.lognormal(size=(4000, 9))).add_prefix("x")
    levels = rng.choice(list("abcdefghijklmnopqrst"), len(X))
    return X.assign(level=levels), (rng.lognormal, partial(rng.binomial, 1, 0.1))


SHAPES = {"small": small, "wide": wide, "skewed": skewed}


def leaves(shape, seed, **params):
    """Return how many leaves grow on one table of noise."""
    rng = np.random.default_rng(seed)
    X, labels = SHAPES[shape](rng)
    y = labels[seed % 2](size=len(X))
    estimator = ToPsClassifier if seed % 2 else ToPsRegressor
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return estimator(random_state=seed, **params).fit(X, y).get_n_leaves()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seeds", type=int, default=100)
    parser.add_argument("--learners", default="additive")
    parser.add_argument("--shapes", nargs="*", choices=SHAPES, default=[*SHAPES])
    parser.add_argument("--min-gain-se", type=float)
    args = parser.parse_args()
    asked = {} if args.min_gain_se is None else {"min_gain_se": args.min_gain_se}
    found = {
        (r["shape"], r["seed"]): r["leaves"]
        for r in lines.read(args.out)
        if r["learners"] == args.learners
    }
    for shape, seed in product(args.shapes, range(args.seeds)):
        if (shape, seed) not in found:
            found[shape, seed] = leaves(shape, seed, learners=args.learners, **asked)
            about = {"learners": args.learners, "shape": shape, "seed": seed}
            lines.append(args.out, about | {"leaves": found[shape, seed]})
    for shape in args.shapes:
        grown = [n for (its, _), n in found.items() if its == shape]
        print(f"{shape}: a lone root in {grown.count(1)} of {len(grown)} seeds")


if __name__ == "__main__":
    main()
