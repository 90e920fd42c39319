"""How fast the search is, each row beside what it replaces, in one run and one table.

    python benchmarks/speed.py --data-dir DIR [--rows root grown growth gram memory]

DIR holds ``paper/bank-additional-full.csv.gz`` (UCI Bank Marketing, `;` separated). The tests'
naive implementation is imported from ``tests/reference``. Times are wall-clock on the machine at
hand: read the ratios.
"""

import argparse
import platform
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pandas as pd
import sklearn
from sklearn.linear_model import LinearRegression

import predictree
from predictree import ToPsClassifier, ToPsRegressor, learners
from predictree.learners.closed_form import Bins, Design, cell_grams, gram_of
from predictree.splits import candidate_splits

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "tests"))
sys.path.insert(0, str(ROOT))


def bank(data_dir):
    """One training fold of Bank Marketing as in the paper: 32,950 rows, 62 features in [0, 1]."""
    table = pd.read_csv(data_dir / "paper" / "bank-additional-full.csv.gz", sep=";")
    y = (table.pop("y") == "yes").astype(int).to_numpy()
    X = pd.get_dummies(table, dtype=float).drop(columns="contact_telephone")
    X = ((X - X.min()) / (X.max() - X.min())).to_numpy()
    fold = np.random.default_rng(0).permutation(len(X))[:32950]
    return X[fold], y[fold]


@contextmanager
def one_fit_at_a_time():
    """Switch the closed forms off: every learner is fitted on both sides of every split."""
    forms, learners.FORMS = learners.FORMS, ()
    try:
        yield
    finally:
        learners.FORMS = forms


def timed(work, repeats=3):
    """Return the least of a few wall-clock times, and the last result."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        result = work()
        times.append(time.perf_counter() - start)
    return min(times), result


def tops_lr(X, y, depth):
    model = ToPsClassifier("lr", loss="auc", max_depth=depth, random_state=0)
    return lambda: model.fit(X, y)


def same_tree(a, b):
    """Whether two trees have the same splits, training sets and losses."""
    alike = [(n.split, n.trained_on) for n in a] == [(n.split, n.trained_on) for n in b]
    return alike and np.allclose([n.loss for n in a], [n.loss for n in b], equal_nan=True)


def row_root(data_dir):
    """The root's search against the tests' oracle, fitted on the same parts."""
    from reference.naive import NaiveToPs

    X, y = bank(data_dir)
    fast, model = timed(tops_lr(X, y, 1))
    alone, _ = timed(tops_lr(X, y, 0))
    oracle = NaiveToPs([LinearRegression(tol=1e-12)], "auc", 9, (20, 10), 1)
    slow, naive = timed(lambda: oracle.fit(X, y, model.partition_), repeats=1)
    node = naive.nodes[0]
    split = model.tree_[0].split
    same = (split.feature, split.threshold) == node["split"]
    return [
        "ToPs/LR on Bank, root, AUC, whole fit",
        "the tests' naive oracle",
        fast,
        slow,
        f"{slow / fast:.0f}×, same split: {same} ({fast - alone:.2f} s of ours is the search)",
    ]


def row_grown(data_dir, depth=3):
    """A tree of several levels against one fit at a time in our own search."""
    X, y = bank(data_dir)
    fast, model = timed(tops_lr(X, y, depth))
    with one_fit_at_a_time():
        slow, naive = timed(tops_lr(X, y, depth), repeats=1)
    whole, full = timed(tops_lr(X, y, None), repeats=1)
    return [
        f"ToPs/LR on Bank, grown to depth {depth}, AUC",
        "LinearRegression at every split",
        fast,
        slow,
        f"{slow / fast:.0f}×, same tree: {same_tree(model.tree_, naive.tree_)}; "
        f"to the end ({len(full.tree_)} nodes) {whole:.1f} s",
    ]


def row_growth(_):
    """Sixteen times the rows."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400_000, 50))
    y = np.where(X[:, 0] > 0, X[:, 1], X[:, 2]) + rng.normal(size=len(X))

    def work(n):
        model = ToPsRegressor("lr", max_depth=2, random_state=0)
        return lambda: model.fit(X[:n], y[:n])

    small, _ = timed(work(25_000))
    large, _ = timed(work(400_000), repeats=1)
    return [
        "ToPs/LR, depth 2, 400k × 50",
        "itself on 25k rows",
        large,
        small,
        f"{large / small:.1f}× the time for 16× the rows",
    ]


def row_gram(_):
    """The Gram matrices of all bins of a feature against dgemm of the same size."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200_000, 100))
    rows = np.arange(len(X))
    fold = np.full(len(X), -1)
    design = Design.of(X, X[:, 0], rows, rows[:10], 1, fold, 1)
    splits = candidate_splits(0, X[:, 0], None, 9)
    bins = Bins.of(splits, X[:, 0], np.zeros((9, 10), dtype=bool), design)
    total = gram_of(design.train, None, rows)
    A, B = design.train, rng.normal(size=design.train.shape)
    grams, _ = timed(lambda: cell_grams(A, None, bins, total))
    dgemm, _ = timed(lambda: A.T @ B)
    flops = 2 * A.shape[0] * A.shape[1] ** 2
    return [
        "Gram phase of one feature, 200k × 100",
        "dgemm of the same shape",
        grams,
        dgemm,
        f"{dgemm / grams:.0%} of {flops / dgemm / 1e9:.0f} GFLOP/s",
    ]


def row_memory(_):
    """Peak memory of a fit on a million rows, in a process of its own."""
    code = (
        "import re, time, numpy as np\n"
        "from predictree import ToPsRegressor\n"
        "def peak():\n"
        "    status = open('/proc/self/status').read()\n"
        "    return int(re.search(r'VmHWM:\\s+(\\d+)', status)[1]) * 1024 / X.nbytes\n"
        "X = np.random.default_rng(0).normal(size=(1_000_000, 50))\n"
        "y = np.where(X[:, 0] > 0, X[:, 1], X[:, 2])\n"
        "before, start = peak(), time.perf_counter()\n"
        "ToPsRegressor('lr', max_depth=1, random_state=0).fit(X, y)\n"
        "print(time.perf_counter() - start, peak(), before)\n"
    )
    output = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    seconds, peak, before = map(float, output.stdout.split())
    return [
        "ToPs/LR, depth 1, 1,000,000 × 50",
        "the size of X",
        seconds,
        float("nan"),
        f"peak {peak:.1f}× X, of which {before:.1f}× before the fit",
    ]


ROWS = {
    "root": row_root,
    "grown": row_grown,
    "growth": row_growth,
    "gram": row_gram,
    "memory": row_memory,
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data-dir", type=Path, required=True)
    parser.add_argument("--rows", nargs="*", choices=ROWS, default=list(ROWS))
    args = parser.parse_args()
    bank_warm = np.random.default_rng(0).normal(size=(400, 3))  # compile before anything is timed
    ToPsClassifier("lr", loss="auc", max_depth=1).fit(bank_warm, (bank_warm[:, 0] > 0).astype(int))
    print(
        f"predictree {predictree.__version__}, scikit-learn {sklearn.__version__}, "
        f"NumPy {np.__version__}, Python {platform.python_version()}\n"
    )
    print("| work | against | ours, s | theirs, s | |\n|---|---|---|---|---|")
    for name in args.rows:
        work, against, ours, theirs, remark = ROWS[name](args.data_dir)
        other = "" if np.isnan(theirs) else f"{theirs:.2f}"
        print(f"| {work} | {against} | {ours:.2f} | {other} | {remark} |", flush=True)


if __name__ == "__main__":
    main()
