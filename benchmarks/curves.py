"""How shrinkage, min_gain_se and the portfolio matter, over the whole suite.

    python benchmarks/curves.py --data-dir DIR --cache DIR --out curves.jsonl [--rows 4000]
    python benchmarks/curves.py --out curves.jsonl --table

The learners are fitted once, for every fold, and their answers are kept in ``--cache``; trees are
then grown over these frozen answers, which takes seconds, so that every setting can be tried on
every set. No learner is trained below the root here: this shows how safe and how useful the choice
of splits and weights is by itself. Stacks without one of the learners, or with another in its
place, show what the portfolio is worth. Test losses (log loss, RMSE) are relative to the stack of
the default's learners; means over splits, then over sets. Results are written as they come, one
JSON object a line, and a run that is started again goes on.
"""

import argparse
import warnings
from collections import defaultdict
from pathlib import Path
from zlib import crc32

import lines
import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, clone
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.metrics import log_loss, root_mean_squared_error
from sklearn.model_selection import KFold, PredefinedSplit, StratifiedKFold
from suite import TARGETS, split_of

from predictree import ToPsClassifier, ToPsRegressor
from predictree.learners import resolve_learners

CURVES = {
    "shrinkage": [10.0, 30.0, 100.0, 300.0, 1000.0, 3000.0],
    "min_gain_se": [1.0, 1.645, 2.0, 2.25, 2.5, 3.0],
}
LEARNERS = [
    "linear model", "boosting", "small boosting", "random boosting", "extra trees", "forest",
    "kernel",
]  # fmt: skip
STACK = "stack"
SETTINGS = {STACK: {"max_depth": 0}} | {
    f"tree, {name}={value:g}": {name: value} for name, values in CURVES.items() for value in values
}
SETTINGS |= {f"stack without {name}": {"max_depth": 0, "without": name} for name in LEARNERS}
INSTEAD = {  # a title, for which task, in the place of which learner, and what stands there
    "stack, votes of extra trees as they are": (
        "classification", "extra trees", lambda trees: ExtraTreesClassifier(**trees.get_params()),
    ),
    "stack, random boosting of 600 rounds, 8 leaves": (
        "classification", "random boosting",
        lambda boosting: boosting.set_params(max_iter=600, max_leaf_nodes=8),
    ),
    "stack, random boosting of 150 rounds, 31 leaves": (
        "regression", "random boosting",
        lambda boosting: boosting.set_params(max_iter=150, max_leaf_nodes=31),
    ),
}  # fmt: skip
SETTINGS |= {title: {"max_depth": 0, "instead": title} for title in INSTEAD}


class Frozen:
    """Answers with what a learner said before; the last column is the row's place there."""

    def __init__(self, answers=None, n_classes=None):
        self.answers, self.n_classes = answers, n_classes

    def fit(self, X, y):
        if self.n_classes is not None:
            self.classes_ = np.unique(y)
        return self

    def said(self, X):
        return self.answers[X[:, -1].astype(int)]


class FrozenClassifier(Frozen, ClassifierMixin, BaseEstimator):
    """Of a classifier."""

    def predict_proba(self, X):
        p = self.said(X)[:, self.classes_] + 1e-12
        return p / p.sum(axis=1, keepdims=True)

    def predict(self, X):
        return self.classes_[self.predict_proba(X).argmax(axis=1)]


class FrozenRegressor(Frozen, RegressorMixin, BaseEstimator):
    """Of a regressor."""

    def predict(self, X):
        return self.said(X)


def answers(name, split, args):
    """Return the rows, their folds, and what every learner says of each: kept in the cache."""
    X, y, X_test, y_test, task = split_of(args.data_dir, name, split, args.rows)
    n = len(X)
    X, y = np.vstack([X, X_test[: args.rows]]), np.append(y, y_test[: args.rows])
    kind = "regression" if task == "regression" else "classification"
    learners = resolve_learners("strong", kind)
    learners += others(dict(learners), kind)
    portfolio = crc32(repr(learners).encode())
    path = args.cache / f"{name}-{split}-{args.rows}-{portfolio:08x}.npz"
    if path.exists():
        kept = np.load(path)
        return X, y, n, task, kept["fold"], dict(zip(kept["names"], kept["said"], strict=True))
    folds = KFold if task == "regression" else StratifiedKFold
    fold, said = np.empty(n, dtype=int), {}
    parts = list(folds(5, shuffle=True, random_state=split).split(X[:n], y[:n]))
    for f, (_, held) in enumerate(parts):
        fold[held] = f
    k = None if task == "regression" else len(np.unique(y))
    for key, learner in learners:
        out = np.zeros(len(X) if k is None else (len(X), k))
        for fitted_on, held in parts:
            model = clone(learner)
            if "random_state" in model.get_params():
                model.set_params(random_state=split)
            model.fit(X[fitted_on], y[fitted_on])
            for place, share in ((held, 1.0), (np.arange(n, len(X)), 0.2)):
                if k is None:
                    out[place] += share * model.predict(X[place])
                else:
                    out[np.ix_(place, model.classes_)] += share * model.predict_proba(X[place])
        said[key] = out
    np.savez(path, fold=fold, names=list(said), said=np.array(list(said.values())))
    return X, y, n, task, fold, said


def others(learners, kind):
    """Return what could stand in the place of some of the learners."""
    return [
        (title, other(clone(learners[name])))
        for title, (task, name, other) in INSTEAD.items()
        if task == kind
    ]


def members(said, without=None, instead=None):
    """Return the names of the learners of a stack or tree, the default's or others."""
    names = [name for name in said if name not in INSTEAD]
    if without is not None:
        place = LEARNERS.index(without)
        names = names[:place] + names[place + 1 :]
    if instead is not None:
        names[LEARNERS.index(INSTEAD[instead][1])] = instead
    return names


def loss_of(data, without=None, instead=None, **params):
    """Return the loss of a tree on test rows, and its leaves; with learners other than all."""
    X, y, n, task, fold, said = data
    regression = task == "regression"
    frozen, k = (FrozenRegressor, None) if regression else (FrozenClassifier, len(np.unique(y)))
    names = members(said, without, instead)
    table = np.column_stack([X, np.arange(len(X))])
    model = (ToPsRegressor if regression else ToPsClassifier)(
        [(name, frozen(said[name], k)) for name in names],
        validation=PredefinedSplit(fold),
        feature_roles={X.shape[1]: "fit"},
        random_state=0,
        **params,
    ).fit(table[:n], y[:n])
    if regression:
        return root_mean_squared_error(y[n:], model.predict(table[n:])), model.get_n_leaves()
    p = model.predict_proba(table[n:])
    return log_loss(y[n:], p, labels=np.arange(k)), model.get_n_leaves()


def run(args):
    done = {(r["setting"], r["set"], r["split"]) for r in lines.read(args.out)}
    for split in range(args.splits):
        for name in args.sets:
            wanted = [
                title for title in SETTINGS
                if (title, name, split) not in done and is_meant(title, TARGETS[name][1])
            ]  # fmt: skip
            data = answers(name, split, args) if wanted else None
            for title in wanted:
                loss, leaves = loss_of(data, **SETTINGS[title])
                record = {"setting": title, "set": name, "split": split, "rows": args.rows}
                lines.append(args.out, record | {"loss": float(loss), "leaves": leaves})


def is_meant(title, task):
    """Whether a setting is for a task: another learner in place of one may be for one kind."""
    return title not in INSTEAD or (INSTEAD[title][0] == "regression") == (task == "regression")


def table(path):
    """Print for every setting what losses are relative to the stack of all learners."""
    found = {(r["setting"], r["set"], r["split"]): r for r in lines.read(path)}
    print("| setting | sets | mean | median | worst | better | worse | leaves |")
    print("|---|---|---|---|---|---|---|---|")
    for title in SETTINGS:
        ratios, leaves = defaultdict(list), []
        for (setting, name, split), r in found.items():
            if setting == title != STACK:
                ratios[name].append(r["loss"] / found[STACK, name, split]["loss"] - 1)
                leaves.append(r["leaves"])
        if ratios:
            means = np.array([np.mean(values) for values in ratios.values()])
            print(
                f"| {title} | {len(means)} | {means.mean():+.2%} | {np.median(means):+.2%} "
                f"| {means.max():+.2%} | {(means < -1e-6).sum()} | {(means > 1e-6).sum()} "
                f"| {np.mean(leaves):.1f} |"
            )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data-dir", type=Path)
    parser.add_argument("--cache", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--sets", nargs="*", choices=TARGETS, default=list(TARGETS))
    parser.add_argument("--rows", type=int, default=4000)
    parser.add_argument("--splits", type=int, default=1)
    parser.add_argument("--table", action="store_true")
    args = parser.parse_args()
    if not args.table:
        if args.data_dir is None or args.cache is None:
            parser.error("--data-dir and --cache are needed to run")
        args.cache.mkdir(parents=True, exist_ok=True)
        warnings.simplefilter("ignore")
        run(args)
    table(args.out)


if __name__ == "__main__":
    main()
