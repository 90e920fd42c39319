"""How fast the search is, each row beside what it replaces, in one run and one table.

    python benchmarks/speed.py --data-dir DIR [--rows NAME ...]

DIR holds ``paper/bank-additional-full.csv.gz`` (UCI Bank Marketing, `;` separated). The tests'
naive implementation is imported from ``tests/reference``. Times are wall-clock on the machine at
hand: read the ratios.
"""

import argparse
import platform
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import numpy as np
import sklearn
from scipy.optimize import minimize
from scipy.special import expit, logit
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from suite import bank, load

import predictree
from predictree import ToPsClassifier, ToPsRegressor
from predictree.data.splits import candidate_splits
from predictree.learners import adapt, has_closed_form, resolve_learners
from predictree.learners.forms.design import Bins, Design, cell_grams, gram_of
from predictree.losses.simplex import shrunk_log_loss

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "tests"))
sys.path.insert(0, str(ROOT))

from reference.naive import NaiveToPs, thresholds  # noqa: E402

EXCESS = [
    ("pima_diabetes", "auc", 768),
    ("phoneme", "log_loss", 5404),
    ("abalone", "mse", 4177),
    ("magic_telescope", "auc", 6000),
    ("california_housing", "mse", 6000),
]


def timed(work, repeats=3):
    """Return the least of a few wall-clock times, and the last result."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        result = work()
        times.append(time.perf_counter() - start)
    return min(times), result


HELD_OUT = {"validation": (0.75, 0.15, 0.10), "weights": "path", "min_gain_se": 0.0}


def linear():
    return LinearRegression(tol=1e-12)


def logistic():
    return make_pipeline(StandardScaler(), LogisticRegression(solver="newton-cholesky", tol=1e-8))


LR = [("linear", linear())]
LINEAR_AND_LOGISTIC = [("linear", linear()), ("logistic", logistic())]


def tops(learners, X, y, depth, **params):
    params = HELD_OUT | params | {"max_depth": depth, "random_state": 0}
    model = ToPsClassifier(learners, loss="auc", **params)
    return lambda: model.fit(X, y)


def naive(learners, X, y, part, depth):
    """The tests' oracle, with the same minimum sizes, on the same parts."""
    oracle = NaiveToPs([a for _, a in learners], "auc", 9, (20, 10), depth)
    return lambda: oracle.fit(X, y, part)


def same_tree(tree, nodes):
    """Whether our tree has the oracle's splits and losses, node by node."""
    splits = [node.split and (node.split.feature, node.split.threshold) for node in tree]
    alike = splits == [node.get("split") for node in nodes]
    return alike and np.allclose(
        [n.loss for n in tree], [n["loss"] for n in nodes], atol=1e-6, equal_nan=True
    )


def against_naive(title, learners, data_dir, depth, repeats=3):
    X, y = bank(data_dir)
    fast, model = timed(tops(learners, X, y, depth), repeats)
    alone, _ = timed(tops(learners, X, y, 0))
    slow, oracle = timed(naive(learners, X, y, model.partition_, depth or 10**6), repeats=1)
    return [
        f"{title} ({len(model.tree_)} nodes)",
        "the tests' naive oracle",
        fast,
        slow,
        f"{slow / fast:.0f}×, same tree: {same_tree(model.tree_, oracle.nodes)}; "
        f"{alone:.2f} s of ours is the root's own fit",
    ]


def row_root(data_dir):
    return against_naive("ToPs/LR on Bank, AUC, the root's split", LR, data_dir, 1)


def row_grown(data_dir):
    return against_naive("ToPs/LR on Bank, AUC, grown to the end", LR, data_dir, None, 1)


def row_logistic(data_dir):
    title = "ToPs/{linear, logistic} on Bank, AUC, the root's split"
    return against_naive(title, LINEAR_AND_LOGISTIC, data_dir, 1)


def row_logistic_grown(data_dir):
    title = "ToPs/{linear, logistic} on Bank, AUC, depth 4"
    return against_naive(title, LINEAR_AND_LOGISTIC, data_dir, 4, 1)


def row_racing(data_dir, n_timed=4):
    """Racing on two cores against the oracle, timed on a few of the root's splits and scaled."""
    X, y = bank(data_dir)
    fast, model = timed(tops("paper", X, y, 1, search="racing", n_jobs=2), repeats=1)
    pairs = resolve_learners("paper", "classification")
    n_slow = sum(not has_closed_form(adapt(name, a, "classification", 2)) for name, a in pairs)
    n_splits = model.fits_.exhaustive // (2 * n_slow)
    _, oracle = timed(naive(pairs, X, y, model.partition_, 0), repeats=1)
    everything = np.ones(len(X), bool)
    above = [oracle.A(m, 0, everything) for m in range(len(pairs))]
    rng = np.random.default_rng(0)

    def one_split():
        feature = int(rng.integers(X.shape[1]))
        left = X[:, feature] < rng.choice(thresholds(X[oracle.S, feature], 9))
        sides = [left, ~left]
        candidates = [[*(oracle.A(m, None, z) for m in range(len(pairs))), *above] for z in sides]
        return oracle.pairs((feature, 0.0), *sides, candidates)

    slow = np.mean([timed(one_split, repeats=1)[0] for _ in range(n_timed)]) * n_splits
    return [
        "ToPs/B on Bank, AUC, the root's split, racing, 2 jobs",
        f"the oracle, {n_timed} random splits of {n_splits}, scaled",
        fast,
        slow,
        f"{slow / fast:.0f}×; {model.fits_.made} fits of slow learners, {model.fits_.exhaustive} "
        "without racing",
    ]


def row_fold(data_dir):
    """A whole fold of the paper's Bank, as `predictree reproduce` has it, by both ToPs."""
    X, y = bank(data_dir)
    seconds, nodes = {}, {}
    for learners, params in (("lr", {}), ("paper", {"search": "racing", "n_jobs": 2})):
        model = ToPsClassifier.paper(learners, loss="auc", random_state=0, **params)
        seconds[learners], _ = timed(partial(model.fit, X, y), repeats=1)
        nodes[learners] = len(model.tree_)
    return [
        f"ToPs/B on Bank, AUC, paper(), racing, 2 jobs ({nodes['paper']} nodes)",
        f"ToPs/LR, paper() ({nodes['lr']} nodes)",
        seconds["paper"],
        seconds["lr"],
        "a fold of the paper's experiment; the paper tells of up to 13 hours",
    ]


def row_excess(data_dir):
    """How much worse racing's split is than the best, where the best can be had."""
    excess, seconds = [], np.zeros(2)
    for name, loss, n_rows in EXCESS:
        X, y, task = load(data_dir, name, n_rows)
        estimator = ToPsRegressor if task == "regression" else ToPsClassifier
        found = []
        for i, search in enumerate(("racing", "exhaustive")):
            model = estimator(
                "paper", loss=loss, search=search, max_depth=1, n_jobs=2, random_state=0, **HELD_OUT
            )
            time_taken, _ = timed(partial(model.fit, X, y), repeats=1)
            root = model.tree_[0]
            found.append(root.loss if root.split_loss is None else root.split_loss)
            seconds[i] += time_taken
        excess.append(found[0] / found[1] - 1)
        print(f"  {name} ({loss}): {found[0]:.5g} and {found[1]:.5g}", file=sys.stderr)
    return [
        f"joint V1 loss of racing's root split, {len(EXCESS)} sets",
        "exhaustive search",
        *seconds,
        f"median excess {np.median(excess):.2%}, largest {max(excess):.2%}",
    ]


def model_tree_by_loops(X, y, depth):
    """A model tree as one writes it with scikit-learn: fit both sides of every cut."""
    model = LinearRegression().fit(X, y)
    best = (np.square(y - model.predict(X)).sum(), None)
    for feature in range(X.shape[1]) if depth else ():
        for t in thresholds(X[:, feature], 9):
            left = X[:, feature] < t
            if min(left.sum(), (~left).sum()) >= 20:
                sides = [LinearRegression().fit(X[z], y[z]) for z in (left, ~left)]
                error = sum(
                    np.square(y[z] - m.predict(X[z])).sum()
                    for m, z in zip(sides, (left, ~left), strict=True)
                )
                best = min(best, (error, (feature, t)), key=lambda option: option[0])
    if best[1] is None:
        return lambda Z: model.predict(Z)
    feature, t = best[1]
    left = X[:, feature] < t
    below = model_tree_by_loops(X[left], y[left], depth - 1)
    above = model_tree_by_loops(X[~left], y[~left], depth - 1)

    def predict(Z):
        goes_left = Z[:, feature] < t
        answers = np.empty(len(Z))
        for side, part in ((below, goes_left), (above, ~goes_left)):
            if part.any():
                answers[part] = side(Z[part])
        return answers

    return predict


def rows_neighbours(data_dir, name="california_housing", depth=3):
    """Equal depth, one tree, on the same training rows; errors on a third that none has seen."""
    from lightgbm import LGBMRegressor

    X, y, _ = load(data_dir, name)
    test = np.random.default_rng(0).random(len(X)) < 1 / 3
    X, y, Z, z = X[~test], y[~test], X[test], y[test]
    ours = ToPsRegressor("lr", max_depth=depth, random_state=0, **HELD_OUT)
    boosted = LGBMRegressor(
        n_estimators=1, learning_rate=1.0, linear_tree=True, max_depth=depth,
        num_leaves=2**depth, n_jobs=2, verbose=-1,
    )  # fmt: skip
    mine, _ = timed(partial(ours.fit, X, y))
    results = {
        "LightGBM, one tree, linear_tree=True": (
            timed(partial(boosted.fit, X, y))[0],
            boosted.predict,
        ),
        "a model tree by scikit-learn loops": timed(
            partial(model_tree_by_loops, X, y, depth), repeats=1
        ),
    }
    rmse = {key: np.sqrt(np.mean((z - model(Z)) ** 2)) for key, (_, model) in results.items()}
    error = np.sqrt(np.mean((z - ours.predict(Z)) ** 2))
    return [
        [
            f"ToPs/LR, depth {depth}, {name} ({len(X)} × {X.shape[1]})",
            key,
            mine,
            seconds,
            f"{seconds / mine:.2g}×; test RMSE {error:.3f}, theirs {rmse[key]:.3f}",
        ]
        for key, (seconds, _) in results.items()
    ]


def row_predict(data_dir, n_rows=100_000):
    """Predicting against each predictor alone on the rows that it serves."""
    X, y = bank(data_dir)
    model = tops("paper", X, y, 3, n_jobs=2)()
    rows = np.random.default_rng(0).integers(0, len(X), n_rows)
    Z = X[rows]
    leaf = model.tree_.apply(Z)
    total = 0.0
    for predictor in model.tree_.predictors:
        key = (predictor.learner, predictor.trained_on)
        serves = [
            node.id
            for node in model.tree_
            if any((w.learner, w.trained_on) == key and w.weight > 0 for w in node.weights or ())
        ]
        mine = Z[np.isin(leaf, serves)]
        if len(mine):
            total += timed(partial(predictor.scores, mine))[0]
    ours, _ = timed(partial(model.predict_proba, Z))
    return [
        f"predict_proba of ToPs/B ({len(model.tree_)} nodes), {n_rows:,} rows",
        "its predictors, each on the rows it serves",
        ours,
        total,
        f"{ours / total:.2f}× their sum",
    ]


def row_weights(_, n_rows=100_000, n_predictors=60):
    """Shrunk weights of many predictors by log loss, against SciPy's general solver."""
    rng = np.random.default_rng(0)
    truth = rng.random(n_rows)
    noise = rng.normal(size=(n_rows, n_predictors)) * rng.uniform(0.5, 2, n_predictors)
    p = expit(logit(np.clip(truth, 0.01, 0.99))[:, None] + noise)
    p = np.where((rng.random(n_rows) < truth)[:, None], p, 1 - p)
    mass, toward = np.full(n_rows, 1 / n_rows), np.full(n_predictors, 1 / n_predictors)
    strength = 300 / n_rows

    def value(w):
        return -mass @ np.log(p @ w) + strength * ((w - toward) ** 2).sum()

    def slope(w):
        return -p.T @ (mass / (p @ w)) + 2 * strength * (w - toward)

    ours, w = timed(lambda: shrunk_log_loss(p, mass, toward, strength), 1)
    simplex = {"type": "eq", "fun": lambda w: w.sum() - 1, "jac": np.ones_like}
    theirs, found = timed(
        lambda: minimize(
            value, toward, jac=slope, bounds=[(0, 1)] * n_predictors, constraints=simplex,
            method="SLSQP", options={"ftol": 1e-10, "maxiter": 200},
        ),
        1,
    )  # fmt: skip
    return [
        f"weights of {n_predictors} predictors on {n_rows:,} rows, log loss",
        "SciPy's SLSQP",
        ours,
        theirs,
        f"{theirs / ours:.1f}×; our value minus theirs {value(w) - found.fun:+.1e}",
    ]


def row_growth(_):
    """Sixteen times the rows."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400_000, 50))
    y = np.where(X[:, 0] > 0, X[:, 1], X[:, 2]) + rng.normal(size=len(X))

    def work(n):
        model = ToPsRegressor("lr", max_depth=2, random_state=0, **HELD_OUT)
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
    total = gram_of(design.train, None)
    A, B = design.train, rng.normal(size=design.train.shape)
    grams, _ = timed(lambda: cell_grams(A, None, bins.cells(), total))
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
        f"ToPsRegressor('lr', max_depth=1, random_state=0, **{HELD_OUT}).fit(X, y)\n"
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
        f"peak {peak:.2f}× X, of which {before:.2f}× before the fit",
    ]


ROWS = {
    "root": row_root,
    "grown": row_grown,
    "logistic": row_logistic,
    "logistic-grown": row_logistic_grown,
    "racing": row_racing,
    "fold": row_fold,
    "excess": row_excess,
    "neighbours": rows_neighbours,
    "growth": row_growth,
    "gram": row_gram,
    "memory": row_memory,
    "predict": row_predict,
    "weights": row_weights,
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data-dir", type=Path, required=True)
    parser.add_argument("--rows", nargs="*", choices=ROWS, default=list(ROWS))
    args = parser.parse_args()
    warm = np.random.default_rng(0).normal(size=(400, 3))  # compile before anything is timed
    ToPsClassifier("lr", loss="auc", max_depth=1).fit(warm, (warm[:, 0] > 0).astype(int))
    print(
        f"predictree {predictree.__version__}, scikit-learn {sklearn.__version__}, "
        f"NumPy {np.__version__}, Python {platform.python_version()}\n"
    )
    print("| work | against | ours, s | theirs, s | |\n|---|---|---|---|---|")
    for name in args.rows:
        result = ROWS[name](args.data_dir)
        for work, against, ours, theirs, remark in result if name == "neighbours" else [result]:
            other = "" if np.isnan(theirs) else f"{theirs:.2f}"
            print(f"| {work} | {against} | {ours:.2f} | {other} | {remark} |", flush=True)


if __name__ == "__main__":
    main()
