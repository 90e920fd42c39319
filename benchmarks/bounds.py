"""Whether the loss bounds hold, how large they are, and how they shrink with rows.

    python benchmarks/bounds.py [--draws 200] [--delta 0.05] [--seed 0]

Labels are ±x₁ by the side of a binary x₀, and noise uniform in ±0.2: the loss, mean absolute error,
is at most 2.4 for a predictor that stays within the labels. ToPs/LR with one split is trained on n
rows; n others are held out; the true loss is that on 100,000 more. A bound holds if it is at least
the true loss; the slope is that of bound − loss on the same rows against n, both as logarithms. The
last line compares the closed form of a ball of linear functions with the mean over sampled signs.
"""

import argparse

import numpy as np

from predictree import ToPsRegressor
from predictree_paper.complexity import ball_complexity
from predictree_paper.theorem import paper_bound

ROWS = (250, 1000, 4000)
LARGEST = 2.4
SETTINGS = {"default": ToPsRegressor, "paper": ToPsRegressor.paper}


def draw(rng, n):
    X = np.column_stack([rng.integers(0, 2, n), rng.uniform(-1, 1, (n, 2))])
    return X, np.where(X[:, 0] == 1, X[:, 1], -X[:, 1]) + rng.uniform(-0.2, 0.2, n)


def measure(settings, n, seed, delta, fresh):
    """Return true loss, loss on S, and both bounds of one draw."""
    rng = np.random.default_rng([seed, n])
    training, held_out = draw(rng, n), draw(rng, n)
    model = SETTINGS[settings]("lr", loss="mae", max_depth=1, random_state=seed).fit(*training)
    found = paper_bound(model, *held_out, delta, training=training, loss_range=LARGEST)
    theorem, unseen = found.overall, found.held_out.overall
    true = np.abs(model.predict(fresh[0]) - fresh[1]).mean()
    return true, theorem.empirical, theorem.total, unseen.loss, unseen.bound


def slope(sizes, prices):
    return np.polyfit(np.log(sizes), np.log(prices), 1)[0]


def coverage(args):
    fresh = draw(np.random.default_rng(args.seed + 10**9), 100_000)
    print("| settings | rows | true loss | Theorem 1 | holds | held out | holds |")
    print("|---|---|---|---|---|---|---|")
    for settings in SETTINGS:
        prices = []
        for n in ROWS:
            seeds = range(args.seed, args.seed + args.draws)
            runs = np.array([measure(settings, n, s, args.delta, fresh) for s in seeds])
            true, on_s, theorem, loss, held_out = runs.T
            prices.append([(theorem - on_s).mean(), (held_out - loss).mean()])
            print(f"| {settings} | {n:,} | {true.mean():.4f} ", end="")
            for bound in (theorem, held_out):
                print(f"| {bound.mean():.4f} | {(bound >= true).sum()} of {len(true)} ", end="")
            print("|", flush=True)
        theorem, held_out = (slope(ROWS, price) for price in np.transpose(prices))
        print(f"| {settings} | slope | | {theorem:.3f} | | {held_out:.3f} | |", flush=True)


def rademacher(args):
    rng = np.random.default_rng(args.seed)
    Z = rng.normal(size=(200, 5))
    sums = np.linalg.norm(rng.choice([-1, 1], (20_000, 200)) @ Z, axis=1) / 200
    print(
        f"\nball of radius 1, 200 rows, 5 columns: closed form {ball_complexity(Z, 1.0):.5f}, ",
        end="",
    )
    print(f"mean over 20,000 signs {sums.mean():.5f} ± {sums.std() / np.sqrt(len(sums)):.5f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=200)
    parser.add_argument("--delta", type=float, default=0.05)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    coverage(args)
    rademacher(args)


if __name__ == "__main__":
    main()
