"""How often the default estimator grows a tree where there is nothing to find.

    python benchmarks/noise.py --out noise.jsonl [--seeds 100] [--rows 300] [--min-gain-se 2.5]

Features and labels are independent, the learners are the default ones; even seeds are a regression,
odd ones a classification. Results are written as they come; a run that is started again goes on.
"""

import argparse
import warnings
from pathlib import Path

import lines
import numpy as np

from predictree import ToPsClassifier, ToPsRegressor


def leaves(seed, n_rows, **params):
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.normal(size=(n_rows, 4)), rng.integers(0, 2, (n_rows, 2))])
    estimator = ToPsClassifier if seed % 2 else ToPsRegressor
    y = rng.integers(0, 2, n_rows) if seed % 2 else rng.normal(size=n_rows)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return estimator(random_state=seed, **params).fit(X, y).get_n_leaves()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seeds", type=int, default=100)
    parser.add_argument("--rows", type=int, default=300)
    parser.add_argument("--min-gain-se", type=float, default=2.5)
    args = parser.parse_args()
    found = {record["seed"]: record["leaves"] for record in lines.read(args.out)}
    for seed in range(args.seeds):
        if seed not in found:
            found[seed] = leaves(seed, args.rows, min_gain_se=args.min_gain_se)
            lines.append(args.out, {"seed": seed, "leaves": found[seed]})
    alone = sum(n == 1 for n in found.values())
    print(f"a lone root in {alone} of {len(found)} seeds, {args.rows} rows of noise each")


if __name__ == "__main__":
    main()
