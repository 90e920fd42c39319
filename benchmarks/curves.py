"""How shrinkage, min_gain_se and the portfolio matter, over the whole suite.

    python benchmarks/curves.py --data-dir DIR --cache DIR [--rows 4000] [--curves NAME ...]

The learners are fitted once, for every fold, and their answers are kept in ``--cache``; trees are
then grown over these frozen answers, which takes seconds, so that every setting can be tried on
every set. No learner is trained below the root here: this shows how safe and how useful the choice
of splits and weights is by itself. Test losses (log loss, RMSE) are relative to the stack of the
same learners; means over splits, then over sets.
"""

import argparse
import warnings
from pathlib import Path

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, clone
from sklearn.metrics import log_loss, root_mean_squared_error
from sklearn.model_selection import KFold, PredefinedSplit, StratifiedKFold
from suite import TARGETS, load

from predictree import ToPsClassifier, ToPsRegressor
from predictree.learners import resolve_learners

CURVES = {
    "shrinkage": [10.0, 30.0, 100.0, 300.0, 1000.0, 3000.0],
    "min_gain_se": [1.0, 1.645, 2.0, 2.25, 2.5, 3.0],
}


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
    path = args.cache / f"{name}-{split}-{args.rows}.npz"
    X, y, task = load(args.data_dir, name)
    order = np.random.default_rng(split).permutation(len(X))
    cut = int(0.7 * len(X))
    train, test = order[:cut][: args.rows], order[cut:][: args.rows]
    rows, n = np.concatenate([train, test]), len(train)
    X, y = X[rows], y[rows]
    if path.exists():
        kept = np.load(path)
        return X, y, n, task, kept["fold"], dict(zip(kept["names"], kept["said"], strict=True))
    kind = "regression" if task == "regression" else "classification"
    folds = KFold if task == "regression" else StratifiedKFold
    fold, said = np.empty(n, dtype=int), {}
    parts = list(folds(5, shuffle=True, random_state=split).split(X[:n], y[:n]))
    for f, (_, held) in enumerate(parts):
        fold[held] = f
    k = None if task == "regression" else len(np.unique(y))
    for key, learner in resolve_learners("default", kind):
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


def test_loss(data, names, **params):
    X, y, n, task, fold, said = data
    regression = task == "regression"
    frozen, k = (FrozenRegressor, None) if regression else (FrozenClassifier, len(np.unique(y)))
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


def line(title, ratios, leaves):
    means = {name: np.mean(values) for name, values in ratios.items()}
    found = np.array(list(means.values()))
    print(
        f"| {title} | {found.mean():+.2%} | {np.median(found):+.2%} | {found.max():+.2%} "
        f"| {(found < -1e-6).sum()} | {(found > 1e-6).sum()} | {np.mean(leaves):.1f} |",
        flush=True,
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data-dir", type=Path, required=True)
    parser.add_argument("--cache", type=Path, required=True)
    parser.add_argument("--sets", nargs="*", choices=TARGETS, default=list(TARGETS))
    parser.add_argument("--rows", type=int, default=4000)
    parser.add_argument("--splits", type=int, default=1)
    parser.add_argument("--curves", nargs="*", choices=CURVES, default=list(CURVES))
    args = parser.parse_args()
    args.cache.mkdir(parents=True, exist_ok=True)
    warnings.simplefilter("ignore")
    data = {(s, i): answers(s, i, args) for i in range(args.splits) for s in args.sets}
    stack = {key: test_loss(d, list(d[5]), max_depth=0)[0] for key, d in data.items()}
    print(f"{len(args.sets)} sets, {args.splits} splits, at most {args.rows} training rows\n")
    print("| setting | mean | median | worst | better | worse | leaves |")
    print("|---|---|---|---|---|---|---|")
    for parameter in args.curves:
        for value in CURVES[parameter]:
            ratios, leaves = {}, []
            for (name, split), d in data.items():
                loss, grown = test_loss(d, list(d[5]), **{parameter: value})
                ratios.setdefault(name, []).append(loss / stack[name, split] - 1)
                leaves.append(grown)
            line(f"tree, {parameter}={value:g}", ratios, leaves)
    for dropped in (
        "linear model",
        "boosting",
        "small boosting",
        "extra trees",
        "forest",
        "kernel",
    ):
        ratios = {}
        for (name, split), d in data.items():
            names = [m for m in d[5] if m != dropped]
            names = names[1:] if dropped == "linear model" else names
            loss = test_loss(d, names, max_depth=0)[0]
            ratios.setdefault(name, []).append(loss / stack[name, split] - 1)
        line(f"stack without {dropped}", ratios, [1])


if __name__ == "__main__":
    main()
