"""How long fits take now and at an earlier commit, side by side: each work by turns, in processes.

    git worktree add /tmp/before 49787fe
    python benchmarks/before_after.py --before /tmp/before/src [--work NAME ...] [--rounds 3]
        [--data-dir DIR]

CPU seconds are those of the process and of its children, after a first fit that compiles; the least
of the rounds counts. Both sides have one thread and the same data, made by NumPy, but for works on
magic: these read ``DIR/suite/magic_telescope.csv.gz``. The loss is that of the leaves on the rows
that judge them, weighted by their rows.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

# ruff: noqa: E501
HERE = Path(__file__).parent.parent / "src"

MADE = """
import json, os, resource, sys, time, warnings
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

def houses(n=1200, seed=0):
    # like a table of house sales: areas that add up, and text with mostly rare levels
    import pandas as pd
    rng = np.random.default_rng(seed)
    columns, effect = {}, np.zeros(n)
    for j in range(24):
        columns[f"area {j}"] = np.round(np.exp(rng.normal(6, 0.5, n)) * (rng.random(n) < 0.8))
    for j, parts in enumerate(([0, 1, 2], [3, 4], [5, 6, 7])):
        columns[f"total {j}"] = sum(columns[f"area {i}"] for i in parts)
    for j in range(3):
        columns[f"rooms {j}"] = rng.integers(0, 6, n).astype(float)
    counts = [28, 16, 15] + 4 * [12] + 6 * [9] + 10 * [6] + 10 * [5] + 6 * [3] + 4 * [2]
    for j, k in enumerate(counts):
        share = np.arange(1.0, k + 1) ** -rng.uniform(2, 4)
        level = rng.choice(k, n, p=share / share.sum())
        effect += rng.normal(size=k)[level] * 0.05
        text = np.array([f"level {c}" for c in range(k)], dtype=object)[level]
        text[rng.random(n) < (0.05 if j % 4 == 0 else 0.0)] = None
        columns[f"text {j}"] = text
    sizes = sum(columns[f"total {j}"] for j in range(3))
    price = np.exp(11 + sizes / 4000 + effect + 0.1 * rng.normal(size=n))
    return pd.DataFrame(columns), price

def magic(n, seed=0):
    import pandas as pd
    frame = pd.read_csv(os.environ["DATA_DIR"] + "/suite/magic_telescope.csv.gz")
    rows = np.random.default_rng(seed).permutation(len(frame))[:n]
    return frame.iloc[rows, :-1].to_numpy(float), frame.iloc[rows, -1].to_numpy()

def logistic(scaled, **params):
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    one = LogisticRegression(max_iter=1000, **params)
    return [("logistic", make_pipeline(StandardScaler(), one) if scaled else one)]

def measured(make, X, y, small=600):
    # with small=0 the first fit is what is measured
    if small:
        make().fit(X[:small], y[:small])
    before, wall = resource.getrusage(resource.RUSAGE_SELF), time.perf_counter()
    kids = resource.getrusage(resource.RUSAGE_CHILDREN)
    model = make().fit(X, y)
    wall = time.perf_counter() - wall
    after, kids2 = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = sum(getattr(b, f) - getattr(a, f) for a, b in ((before, after), (kids, kids2)) for f in ("ru_utime", "ru_stime"))
    ends = [node for node in model.tree_ if node.children is None]
    loss = np.average([node.loss for node in ends], weights=[node.n_v1 for node in ends])
    print(json.dumps({"cpu": cpu, "wall": wall, "leaves": model.get_n_leaves(), "loss": loss, "import": imported}))
"""

WORKS = {
    "cross-fitted lr, 100k × 12": 'measured(lambda: ToPsRegressor("lr", random_state=0), *values(100_000, 12))',
    "cross-fitted lr, like house sales, 1,200 × 73": 'measured(lambda: ToPsRegressor("lr", random_state=0), *houses())',
    "paper's ToPs/LR, 200k × 50, depth 3": 'measured(lambda: ToPsRegressor.paper("lr", loss="mse", max_depth=3, random_state=0), *values(200_000, 50))',
    "paper's ToPs/LR, 200k × 50, depth 3, two jobs": 'measured(lambda: ToPsRegressor.paper("lr", loss="mse", max_depth=3, random_state=0, n_jobs=2), *values(200_000, 50))',
    "paper's ToPs/LR, 25k × 50, depth 2": 'measured(lambda: ToPsRegressor.paper("lr", loss="mse", max_depth=2, random_state=0), *values(25_000, 50))',
    "paper's ToPs/LR, 400k × 50, depth 2": 'measured(lambda: ToPsRegressor.paper("lr", loss="mse", max_depth=2, random_state=0), *values(400_000, 50))',
    "first fit, nothing compiled: lr, values": 'measured(lambda: ToPsRegressor("lr", random_state=0), *values(600, 8), small=0)',
    "first fit, nothing compiled: lr, classes": 'measured(lambda: ToPsClassifier("lr", random_state=0), *labels(600, 8), small=0)',
    "first fit, nothing compiled: lr, log loss": 'measured(lambda: ToPsClassifier("lr", loss="log_loss", random_state=0), *labels(600, 8), small=0)',
    "first fit, nothing compiled: paper's ToPs/LR, AUC": 'measured(lambda: ToPsClassifier.paper("lr", random_state=0), *labels(600, 8), small=0)',
    "cross-fitted lr, 30k × 12": 'measured(lambda: ToPsRegressor("lr", random_state=0), *values(30_000, 12))',
    "paper's ToPs/LR, 50k × 20, depth 3": 'measured(lambda: ToPsRegressor.paper("lr", loss="mse", max_depth=3, random_state=0), *values(50_000, 20))',
    "paper's ToPs/LR by AUC, 20k × 20, depth 3": 'measured(lambda: ToPsClassifier.paper("lr", max_depth=3, random_state=0), *labels(20_000, 20))',
    "default portfolio, values, 2k × 8": "measured(lambda: ToPsRegressor(STRONG, random_state=0), *values(2_000, 8))",
    "default portfolio, classes, 2k × 8": "measured(lambda: ToPsClassifier(STRONG, random_state=0), *labels(2_000, 8))",
    "cross-fitted lr, 3 classes, 6k × 8": 'measured(lambda: ToPsClassifier("lr", random_state=0), *labels(6_000, 8, k=3))',
    "paper's ToPs/LR by AUC, 200k × 50, depth 3": 'measured(lambda: ToPsClassifier.paper("lr", max_depth=3, random_state=0), *labels(200_000, 50))',
    "the same, search=racing": 'measured(lambda: ToPsClassifier.paper("lr", search="racing", max_depth=3, random_state=0), *labels(200_000, 50))',
    "tree of logistic regressions, magic, 4k": "measured(lambda: ToPsClassifier(logistic(False), random_state=0), *magic(4_000))",
    "the same, standardised": "measured(lambda: ToPsClassifier(logistic(True), random_state=0), *magic(4_000))",
    "the same, standardised, newton-cholesky": 'measured(lambda: ToPsClassifier(logistic(True, solver="newton-cholesky", tol=1e-8), random_state=0), *magic(4_000))',
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
    with tempfile.TemporaryDirectory() as folder:
        if work.startswith("first fit"):
            env["NUMBA_CACHE_DIR"] = folder
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
    parser.add_argument("--data-dir", type=Path, default=Path("data"))
    args = parser.parse_args()
    os.environ["DATA_DIR"] = str(args.data_dir)
    print(
        "| work | before, CPU s (wall) | now, CPU s (wall) | ratio | leaves | loss |\n|---|---|---|---|---|---|"
    )
    for work in args.work:
        best = {}
        for _ in range(args.rounds):
            for side, source in (("before", args.before), ("now", HERE)):
                found = run(source, work)
                if side not in best or found["cpu"] < best[side]["cpu"]:
                    best[side] = found
        old, new = best["before"], best["now"]
        leaves = f"{old['leaves']} / {new['leaves']}"
        loss = f"{old['loss']:.5f} / {new['loss']:.5f}"
        spent = [f"{one['cpu']:.2f} ({one['wall']:.1f})" for one in (old, new)]
        row = [work, *spent, f"{new['cpu'] / old['cpu']:.2f}", leaves, loss]
        print(f"| {' | '.join(row)} |", flush=True)


if __name__ == "__main__":
    main()
