"""How long fits take now and at an earlier commit, side by side: each work by turns, in processes.

    git worktree add /tmp/before 49787fe
    python benchmarks/before_after.py --before /tmp/before/src [--work NAME ...] [--rounds 3]

CPU seconds are those of the process and of its children, after a first fit that compiles; the least
of the rounds counts. Both sides have one thread and the same data, made by NumPy.
"""

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

# ruff: noqa: E501
HERE = Path(__file__).parent.parent / "src"

MADE = """
import json, resource, sys, time, warnings
import numpy as np
warnings.simplefilter("ignore")
start = time.process_time()
import predictree
from predictree import ToPsClassifier, ToPsRegressor
imported = time.process_time() - start
from predictree.learners import PRESETS
STRONG = "strong" if "strong" in PRESETS["regression"] else "default"  # its name before

def values(n, d, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    return X, np.where(X[:, 0] > 0, X[:, 1], -X[:, 2]) + 0.5 * rng.standard_normal(n)

def labels(n, d, seed=0, k=2):
    X, y = values(n, d, seed)
    return X, np.digitize(y, np.quantile(y, np.arange(1, k) / k))

def measured(make, X, y, small=600):
    make().fit(X[:small], y[:small])
    before, wall = resource.getrusage(resource.RUSAGE_SELF), time.perf_counter()
    kids = resource.getrusage(resource.RUSAGE_CHILDREN)
    model = make().fit(X, y)
    wall = time.perf_counter() - wall
    after, kids2 = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = sum(getattr(b, f) - getattr(a, f) for a, b in ((before, after), (kids, kids2)) for f in ("ru_utime", "ru_stime"))
    print(json.dumps({"cpu": cpu, "wall": wall, "leaves": model.get_n_leaves(), "import": imported}))
"""

WORKS = {
    "cross-fitted lr, 30k × 12": 'measured(lambda: ToPsRegressor("lr", random_state=0), *values(30_000, 12))',
    "paper's ToPs/LR, 50k × 20, depth 3": 'measured(lambda: ToPsRegressor.paper("lr", loss="mse", max_depth=3, random_state=0), *values(50_000, 20))',
    "paper's ToPs/LR by AUC, 20k × 20, depth 3": 'measured(lambda: ToPsClassifier.paper("lr", max_depth=3, random_state=0), *labels(20_000, 20))',
    "default portfolio, values, 2k × 8": "measured(lambda: ToPsRegressor(STRONG, random_state=0), *values(2_000, 8))",
    "default portfolio, classes, 2k × 8": "measured(lambda: ToPsClassifier(STRONG, random_state=0), *labels(2_000, 8))",
    "cross-fitted lr, 3 classes, 6k × 8": 'measured(lambda: ToPsClassifier("lr", random_state=0), *labels(6_000, 8, k=3))',
    "ToPs/B raced, 4k × 8, depth 2": 'measured(lambda: ToPsClassifier.paper("paper", search="racing", max_depth=2, random_state=0), *labels(4_000, 8))',
}


def run(source, work):
    """Return what one work takes with the package in a folder."""
    env = {
        **os.environ,
        "PYTHONPATH": str(source),
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
    }
    done = subprocess.run(
        [sys.executable, "-c", MADE + WORKS[work]],
        env=env,
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(done.stdout.splitlines()[-1])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--before", type=Path, required=True)
    parser.add_argument("--work", nargs="*", choices=WORKS, default=list(WORKS))
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    print("| work | before, CPU s | now, CPU s | ratio | leaves |\n|---|---|---|---|---|")
    for work in args.work:
        best = {}
        for _ in range(args.rounds):
            for side, source in (("before", args.before), ("now", HERE)):
                found = run(source, work)
                if side not in best or found["cpu"] < best[side]["cpu"]:
                    best[side] = found
        old, new = best["before"], best["now"]
        leaves = f"{old['leaves']} / {new['leaves']}"
        print(
            f"| {work} | {old['cpu']:.2f} | {new['cpu']:.2f} | {new['cpu'] / old['cpu']:.2f} | {leaves} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
