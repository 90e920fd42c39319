"""Golden files: what fits of fixed settings on fixed data give, one JSON file a setting.

``python tests/golden/make.py`` writes them all, and nothing else does: run it only after a change
that is meant to change what fits give, and read the diff. Settings named on the command line are
the only ones written then. ``test_golden.py`` fits again and compares.

Nodes are named by their path (the root is 1, the children of p are 2p and 2p + 1), so that the
order in which a tree grew does not matter.
"""

import json
import sys
import time
import warnings
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.multiclass import OneVsRestClassifier
from sklearn.neighbors import KNeighborsRegressor
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from predictree import ToPsClassifier, ToPsRegressor, export_text

FOLDER = Path(__file__).parent
SEEDS = (0, 1, 2)
FRESH = 20  # rows to predict

QUICK = LogisticRegression(solver="newton-cholesky", tol=1e-8)
TWO_QUICK = [("loose", Ridge(alpha=0.1)), ("tight", Ridge(alpha=100.0))]
RIDGE_AND_TREE = [("ridge", Ridge()), ("tree", DecisionTreeRegressor(max_depth=3))]
SLOW = [
    ("stump", DecisionTreeRegressor(max_depth=1)),
    ("tree", DecisionTreeRegressor(max_depth=3, min_samples_leaf=5)),
    ("neighbours", KNeighborsRegressor(15)),
]
LOGISTIC_AND_TREE = [
    ("logistic", LogisticRegression()),
    ("tree", DecisionTreeClassifier(max_depth=3, min_samples_leaf=5)),
]
SEVERAL_CLASSES = [
    ("logistic", OneVsRestClassifier(QUICK)),
    ("tree", DecisionTreeClassifier(max_depth=3, min_samples_leaf=5)),
]
BOUNDED = {"max_depth": 2, "min_samples_leaf": 20, "min_samples_val": 10}


def features(rng, n):
    return rng.normal(size=(n, 4))


def signal(X):
    """Two regimes, parted by the first feature."""
    return np.where(X[:, 0] < 0.3, 2 * X[:, 1], -2 * X[:, 2])


def values(rng, n):
    X = features(rng, n)
    return X, signal(X) + 0.5 * rng.normal(size=n)


def two_classes(rng, n):
    X = features(rng, n)
    return X, np.where(2 * signal(X) + rng.logistic(size=n) > 0, "yes", "no")


def three_classes(rng, n):
    X = features(rng, n)
    turned = np.where(X[:, :1] < 0.3, X[:, 1:], -X[:, 1:])
    return X, (4 * turned + rng.gumbel(size=(n, 3))).argmax(axis=1)


def patients(rng, n):
    """A frame with text and a switch, and gaps in numbers and in text."""
    X = features(rng, n)
    town = rng.choice(["Bonn", "Kiel", "Ulm"], size=n)
    y = np.where(town == "Kiel", 2 * X[:, 1], -2 * X[:, 2]) + 0.5 * rng.normal(size=n)
    gap = rng.random(n) < 0.1
    y += 3.0 * gap
    frame = pd.DataFrame(
        {"age": X[:, 0], "dose": X[:, 1], "income": X[:, 2], "town": town, "male": X[:, 3] > 0}
    )
    frame.loc[gap, "age"] = None
    frame.loc[rng.random(n) < 0.05, "town"] = None
    return frame, y


def some_weights(rng, n):
    return {"sample_weight": rng.integers(0, 4, n).astype(float)}


def some_groups(rng, n):
    return {"groups": rng.integers(0, n // 6, n)}


def some_parts(rng, n):
    return {"partition": rng.choice(3, size=n, p=[0.6, 0.2, 0.2])}


def nothing(rng, n):
    return {}


# What makes the data, how many rows, the unfitted estimator, and what else fit is given.
SETTINGS = {
    "paper_mae": (values, 400, ToPsRegressor.paper("lr", max_depth=4), nothing),
    "paper_mse": (values, 500, ToPsRegressor.paper("lr", "mse", **BOUNDED), nothing),
    "paper_auc": (two_classes, 500, ToPsClassifier.paper(LOGISTIC_AND_TREE, **BOUNDED), nothing),
    "paper_multiclass": (
        three_classes, 600, ToPsClassifier.paper(SEVERAL_CLASSES, "log_loss", **BOUNDED), nothing,
    ),
    "folds_values": (values, 500, ToPsRegressor("lr"), nothing),
    "folds_classes": (two_classes, 800, ToPsClassifier("lr", loss="log_loss"), nothing),
    "eager_classes": (
        two_classes, 600,
        ToPsClassifier("lr", loss="log_loss", min_gain_se=1.0, max_depth=1), nothing,
    ),
    "folds_brier": (two_classes, 600, ToPsClassifier("lr"), nothing),
    "folds_multiclass": (three_classes, 600, ToPsClassifier(SEVERAL_CLASSES), nothing),
    "folds_auc": (two_classes, 800, ToPsClassifier([("quick", QUICK)], loss="auc"), nothing),
    "two_quick": (values, 500, ToPsRegressor(TWO_QUICK), nothing),
    "slow_beside_quick": (values, 600, ToPsRegressor(RIDGE_AND_TREE), nothing),
    "race_of_paths": (
        values, 1200,
        ToPsRegressor(RIDGE_AND_TREE, weights="path", search="racing", max_depth=2), nothing,
    ),
    "all_slow": (values, 500, ToPsRegressor(SLOW, min_gain_se=1.0), nothing),
    "weighted": (values, 500, ToPsRegressor("lr"), some_weights),
    "frame": (patients, 600, ToPsRegressor("lr"), nothing),
    "groups": (values, 500, ToPsRegressor("lr"), some_groups),
    "repeats": (values, 400, ToPsRegressor("lr", n_repeats=2), nothing),
    "refit": (two_classes, 600, ToPsClassifier([("quick", QUICK)], refit=True), nothing),
    "partition": (values, 600, ToPsRegressor("lr"), some_parts),
    "no_demand": (values, 400, ToPsRegressor(TWO_QUICK, min_gain_se=0, max_depth=2), nothing),
}  # fmt: skip


def records(setting):
    """Fit a setting for every seed and return what a golden file holds."""
    return [record(*SETTINGS[setting], seed) for seed in SEEDS]


def record(data, n, estimator, more, seed):
    rng = np.random.default_rng(seed)
    X, y = data(rng, n)
    fresh, _ = data(rng, FRESH)
    model = type(estimator)(**{**estimator.get_params(deep=False), "random_state": seed})
    model.fit(X, y, **more(rng, n))
    predict = getattr(model, "predict_proba", model.predict)
    return {
        "depth": model.get_depth(),
        "fits": {"made": model.fits_.made, "exhaustive": model.fits_.exhaustive},
        "leaves": [tree.get_n_leaves() for tree in model.trees_],
        "labels": model.predict(fresh).tolist(),
        "predictions": predict(fresh).tolist(),
        "seed": seed,
        "stopped": model.stopped_,
        "text": export_text(model).splitlines(),
        "trees": [nodes_of(tree) for tree in model.trees_],
        "verdict": asdict(model.verdict_),
    }


def nodes_of(tree):
    """Return the nodes of a tree, sorted by path."""
    path = {0: 1}
    for node in tree:
        if node.children is not None:
            path |= {child: 2 * path[node.id] + i for i, child in enumerate(node.children)}
    return sorted((fields_of(node, path) for node in tree), key=lambda fields: fields["path"])


def fields_of(node, path):
    split = node.split and {
        "feature": node.split.feature,
        "had_missing": node.split.had_missing,
        "is_level": node.split.is_level,
        "missing_left": node.split.missing_left,
        "threshold": node.split.threshold,
    }
    return {
        "children": node.children and [path[child] for child in node.children],
        "learner": node.learner,
        "loss": node.loss,
        "n_train": node.n_train,
        "n_v1": node.n_v1,
        "n_v2": node.n_v2,
        "parent": None if node.parent is None else path[node.parent],
        "path": path[node.id],
        "split": split,
        "split_loss": node.split_loss,
        "trained_on": path[node.trained_on],
        "weights": node.weights
        and sorted([path[w.node], w.learner, path[w.trained_on], w.weight] for w in node.weights),
    }


def golden(setting):
    """Return where the golden file of a setting is."""
    return FOLDER / f"{setting}.json"


def write(setting):
    """Write the golden file of a setting and return its records."""
    found = records(setting)
    text = json.dumps(found, sort_keys=True, indent=1) + "\n"
    golden(setting).write_text(text, encoding="utf-8")
    return found


def main(settings):
    warnings.simplefilter("error")
    print(f"{'setting':<18} {'leaves, a seed':<20} {'KiB':>5} {'seconds':>8}")
    n_split = 0
    for setting in settings:
        start = time.perf_counter()
        found = write(setting)
        leaves = [max(fit["leaves"]) for fit in found]
        n_split += max(leaves) > 1
        size = golden(setting).stat().st_size / 1024
        seconds = time.perf_counter() - start
        print(f"{setting:<18} {' '.join(map(str, leaves)):<20} {size:>5.0f} {seconds:>8.1f}")
    print(f"{n_split} of {len(settings)} settings have a tree with splits")


if __name__ == "__main__":
    main(sys.argv[1:] or list(SETTINGS))
