"""``make demo``: trees on data that scikit-learn ships, beside their learners.

``predictree demo`` shows one of these, or the paper's toy example.
"""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from textwrap import fill
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.linear_model import LinearRegression
from sklearn.metrics import log_loss, root_mean_squared_error
from sklearn.model_selection import train_test_split

from predictree.data.datasets import load
from predictree.errors import RareClassWarning
from predictree.estimators.classifier import ToPsClassifier
from predictree.estimators.regressor import ToPsRegressor
from predictree.learners import adapt, resolve_learners
from predictree.model.tree import FloatArray

N_SPLITS = 2
WIDTH = 100


@dataclass(frozen=True)
class Example:
    """A data set and the settings of its trees."""

    title: str
    name: str
    settings: dict[str, Any]
    n_features: int | None = None  # the first so many, if not all


@dataclass(frozen=True)
class Judge:
    """The estimator that serves a task, and the measure it is judged by."""

    estimator: type[ToPsClassifier] | type[ToPsRegressor]
    measure: str
    score: Callable[[Any, FloatArray], float]
    predict: str


EXAMPLES = [
    Example("Diabetes progression (442 patients, 10 features)", "diabetes", {"max_depth": 2}),
    Example(
        "Breast cancer (569 patients, the 10 mean features)",
        "breast-cancer",
        {"loss": "log_loss", "max_depth": 2},
        n_features=10,
    ),
    Example(
        "Handwritten 4 or 9 (361 images, 64 pixels)",
        "digits49",
        {"loss": "log_loss", "max_depth": 1},
    ),
]
JUDGES = {
    "regression": Judge(
        ToPsRegressor, "RMSE", lambda y, s: float(root_mean_squared_error(y, s)), "predict"
    ),
    "classification": Judge(
        ToPsClassifier, "log loss", lambda y, s: float(log_loss(y, s)), "predict_proba"
    ),
}


def main() -> None:
    """Print trees, verdicts and a table for the two examples of patients."""
    for example in EXAMPLES[:2]:
        show(example)
    print(
        "\nOn sets as small as these a split is rarely a clear gain. Then the default is a plain\n"
        "stack of its learners, and says so."
    )


def show(example: Example) -> None:
    """Fit two trees and every base learner on a few random splits of the data."""
    X, y, task = load(example.name)
    judge = JUDGES[task]
    X = getattr(X, "iloc", X)[:, : example.n_features]
    results: dict[str, list[float]] = {}
    print_title(example.title)
    for seed in range(N_SPLITS):
        X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.3, random_state=seed)
        for name, learners in (("ToPs/LR", "lr"), ("strong", "strong")):
            model = judge.estimator(learners, random_state=seed, n_jobs=-1, **example.settings)
            model.fit(X_train, y_train)
            if seed == 0:
                print(f"\n{name}\n{model.export_text()}")
                print(fill(str(model.verdict_), WIDTH))
            answer = getattr(model, judge.predict)(X_test)
            results.setdefault(name, []).append(judge.score(y_test, answer))
        for name, estimator in resolve_learners("strong", task):
            answer = base_learner(name, estimator, task, X_train, y_train, X_test)
            results.setdefault(name, []).append(judge.score(y_test, answer))
    print_table(judge.measure, results)


def show_toy() -> None:
    """Grow the tree of the paper's Fig. 1, which trains and counts errors on the same patients."""
    X, y, _ = load("toy")
    rows = np.tile(np.arange(len(y)), 3)
    part = np.repeat([0, 1, 2], len(y))
    model = ToPsClassifier.paper("lr", loss="error")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RareClassWarning)  # the paper's rows are few
        model.fit(getattr(X, "iloc", X)[rows], y[rows], partition=part)
    line = LinearRegression().fit(X, y).predict(X) >= 0.5
    print_title("The paper's toy example (40 patients: hypertension by diabetes and age)")
    print(f"\n{model.export_text(feature_names=['diabetic', 'age'], decimals=3)}\n")
    print(f"Linear regression makes {np.sum(line != y)} errors,", end=" ")
    print(f"this tree of linear regressions {np.sum(model.predict(X) != y)}.")


def print_title(title: str) -> None:
    """Print a title."""
    print(f"\n{title}\n{'=' * len(title)}")


def base_learner(
    name: str, estimator: Any, task: str, X_train: Any, y_train: Any, X_test: Any
) -> FloatArray:
    """Return what a base learner alone answers, trained on all the training rows."""
    n_outputs = 1 if task == "regression" else 2
    learner = adapt(name, clone(estimator), task, n_outputs, proper=True)
    rows = np.arange(len(X_train))
    model = learner.fit(np.asarray(X_train), np.asarray(y_train), rows, seed=0)
    scores = model.scores(np.asarray(X_test))
    return scores[:, 0] if task == "regression" else scores


def print_table(measure: str, results: dict[str, list[float]]) -> None:
    """Print the mean of every method over the splits, best first."""
    print(f"\n{'':16}{measure} on held-out rows, mean of {N_SPLITS} splits (less is better)")
    for name, values in sorted(results.items(), key=lambda item: float(np.mean(item[1]))):
        print(f"{name:16}{np.mean(values):.4g}")


if __name__ == "__main__":
    main()
