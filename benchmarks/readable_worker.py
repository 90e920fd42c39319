"""One fit of ``readable.py``, in a process of its own.

    PYTHON readable_worker.py FOLDER WHAT SEED

The interpreter has what it fits. FOLDER has ``train.csv``, with the labels as its last column, and
``test.csv``, both tables as they are, and ``task``. What comes is ``answer.npy``, values or
probabilities in the order of the classes, and ``fit.json`` with the CPU seconds of the fit; of
trees of additive models also their leaves, and ``root.npy``, what their roots would answer alone.
"""

import json
import sys
import time
import warnings
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.model_selection import train_test_split

ROUNDS, PATIENCE = 2000, 50  # of boosting with early stopping


def as_numbers(train, test):
    """Return both tables as numbers, for methods that know neither text nor missing values."""
    usual = train.mode().iloc[0]
    whole = pd.get_dummies(pd.concat([train, test]).fillna(usual), dtype=float)
    X = whole.to_numpy(dtype=float)
    return X[: len(train)], X[len(train) :]


def with_categories(train, test):
    """Return both tables with text as categories, the same in both, and plain names of columns."""
    names = [f"x{j}" for j in range(train.shape[1])]
    train, test = train.set_axis(names, axis=1), test.set_axis(names, axis=1)
    text = train.select_dtypes(exclude="number").columns
    kinds = {name: pd.CategoricalDtype(sorted(train[name].dropna().unique())) for name in text}
    return train.astype(kinds), test.astype(kinds)


def with_words(train, test):
    """Return both tables with text as plain objects and a word where it is missing."""
    text = train.select_dtypes(exclude="number").columns
    return tuple(
        table.assign(**{name: table[name].fillna("missing").astype(object) for name in text})
        for table in (train, test)
    )


def as_they_are(train, test):
    return train, test


def ebm(task, seed, X, y, **params):
    from interpret.glassbox import ExplainableBoostingClassifier, ExplainableBoostingRegressor

    make = ExplainableBoostingRegressor if task == "regression" else ExplainableBoostingClassifier
    return make(n_jobs=1, random_state=seed, **params).fit(X, y)


def cubist(task, seed, X, y, **params):
    from cubist import Cubist

    return Cubist(random_state=seed, **params).fit(X, y)


def lightgbm(task, seed, X, y):
    """Boost until a fifth of the rows, held out, gain nothing any more."""
    from lightgbm import LGBMClassifier, LGBMRegressor, early_stopping

    estimator = LGBMRegressor if task == "regression" else LGBMClassifier
    strata = None if task == "regression" else y
    X, X_stop, y, y_stop = train_test_split(X, y, test_size=0.2, random_state=seed, stratify=strata)
    model = estimator(n_estimators=ROUNDS, random_state=seed, n_jobs=1, verbose=-1)
    stop = early_stopping(PATIENCE, verbose=False)
    return model.fit(X, y, eval_set=[(X_stop, y_stop)], callbacks=[stop])


def pilot(task, seed, X, y):
    from pilot import PILOT

    model = PILOT()
    model.train(X, y)
    return model


def linear_tree(task, seed, X, y):
    from lineartree import LinearTreeClassifier, LinearTreeRegressor
    from sklearn.linear_model import LinearRegression, LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    if task == "regression":
        return LinearTreeRegressor(LinearRegression()).fit(X, y)
    return make_pipeline(StandardScaler(), LinearTreeClassifier(LogisticRegression())).fit(X, y)


def tops(task, seed, X, y, **params):
    from predictree import ToPsClassifier, ToPsRegressor

    make = ToPsRegressor if task == "regression" else ToPsClassifier
    return make(random_state=seed, n_jobs=1, **params).fit(X, y)


def roots_of(model, X):
    """Return what the roots of the trees say, as an answer."""
    codes = model.model_.encode(X)
    roots = [tree.predictors[tree.predictor[0]] for tree in model.trees_]
    scores = np.mean([root.scores(model.model_.seen(codes, i)) for i, root in enumerate(roots)], 0)
    return scores if hasattr(model, "classes_") else scores[:, 0]


METHODS = {  # how the tables are given, and the fit
    "EBM main effects": (with_words, partial(ebm, interactions=0)),
    "EBM": (with_words, ebm),
    "Cubist": (with_words, cubist),
    "Cubist × 20": (with_words, partial(cubist, n_committees=20)),
    "LightGBM": (with_categories, lightgbm),
    "PILOT": (as_numbers, pilot),
    "linear-tree": (as_numbers, linear_tree),
    "tree": (as_they_are, partial(tops, learners="additive")),
    "tree × 4": (as_they_are, partial(tops, learners="additive", n_repeats=4)),
    "strong": (as_they_are, partial(tops, learners="strong")),
}


def main(folder, what, seed):
    warnings.simplefilter("ignore")
    train, test = (pd.read_csv(folder / f"{name}.csv") for name in ("train", "test"))
    task, y = (folder / "task").read_text(), train.iloc[:, -1].to_numpy()
    given, fit = METHODS[what]
    X, X_test = given(train.iloc[:, :-1], test)
    start = time.process_time()
    model = fit(task, seed, X, y)
    told = {"seconds": round(time.process_time() - start, 2)}
    ask = model.predict if task == "regression" else model.predict_proba
    np.save(folder / "answer.npy", ask(X_test))
    if what.startswith("tree"):
        told |= {"leaves": [tree.get_n_leaves() for tree in model.trees_]}
        np.save(folder / "root.npy", roots_of(model, X_test))
    (folder / "fit.json").write_text(json.dumps(told))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]))
