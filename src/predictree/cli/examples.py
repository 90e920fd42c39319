"""``make demo`` and ``predictree demo``: trees on real tables, what they found, its worth.

Both tables are in the package. A tree is shown beside simpler models and, where it is installed,
LightGBM, on rows that none of them has seen.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from textwrap import fill, indent
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import accuracy_score, log_loss, mean_absolute_error, root_mean_squared_error
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from predictree.cli.console import size, tell
from predictree.data.datasets import Dataset, load_data
from predictree.estimators.additive import AdditiveClassifier, AdditiveRegressor
from predictree.estimators.classifier import ToPsClassifier
from predictree.estimators.files import save
from predictree.estimators.regressor import ToPsRegressor
from predictree.explain.portraits import outline, portraits
from predictree.explain.wording import table
from predictree.model.words import rounded

WIDTH = 96
UNSEEN = 0.3  # of the rows
SHALLOW = {"max_depth": 2, "random_state": 0}  # four regions at most: to be read at a glance
NEEDS = {"save": ("skops", "persist"), "report": ("jinja2", "report")}


@dataclass(frozen=True)
class Example:
    """A table with its question."""

    name: str
    title: str
    question: str


@dataclass(frozen=True)
class Kind:
    """What serves a task: the tree, the root of one, a line, LightGBM's name, and the measures."""

    tree: type[Any]
    root: type[Any]
    line: list[tuple[str, Any]]
    boosting: str
    measures: dict[str, Callable[[Any, Any], str]]
    predict: str


EXAMPLES = {
    "bikes": Example(
        "bikes",
        "Bike rentals in Washington, hour by hour (UCI, CC BY 4.0, Fanaee-T and Gama)",
        "How many bikes are rented in an hour, and does the same rule hold on all days?",
    ),
    "wines": Example(
        "wines",
        "Portuguese wines and their tasters (UCI, CC BY 4.0, Cortez and others)",
        "Which wines do tasters find good (6 points of 10 or more), and why?",
    ),
}
LOGISTIC = LogisticRegression(solver="newton-cholesky", tol=1e-8)
KINDS = {
    "regression": Kind(
        ToPsRegressor,
        AdditiveRegressor,
        [("linear", LinearRegression())],
        "LGBMRegressor",
        {
            "RMSE": lambda y, s: rounded(float(root_mean_squared_error(y, s)), 3),
            "mean error": lambda y, s: rounded(float(mean_absolute_error(y, s)), 3),
        },
        "predict",
    ),
    "classification": Kind(
        ToPsClassifier,
        AdditiveClassifier,
        [("linear", make_pipeline(StandardScaler(), LOGISTIC))],
        "LGBMClassifier",
        {
            "log loss": lambda y, s: rounded(float(log_loss(y, s)), 3),
            "wrong answers": lambda y, s: f"{1 - accuracy_score(y, _classes(y)[s.argmax(1)]):.1%}",
        },
        "predict_proba",
    ),
}


def main() -> None:
    """Show both tables and write the files of both."""
    for example in EXAMPLES.values():
        show(example, Path("predictree-demo"))


def show(example: Example, folder: Path | None = None) -> None:
    """Grow a tree, say what it found, set it beside others, and write its files."""
    data = load_data(example.name)
    X, X_new, y, y_new = train_test_split(data.X, data.y, test_size=UNSEEN, random_state=0)
    print_title(example)
    kind, start = KINDS[data.task], time.process_time()
    model = kind.tree(**SHALLOW).fit(X, y)
    seconds = time.process_time() - start
    print(f"\n{outline(model)}\n\nIt took {seconds:.1f} CPU seconds.", end=" ")
    print_regions(model)
    print(f"\n{fill(str(model.verdict_), WIDTH)}")
    fits = {"tree of additive models": model, **_others(kind, X, y)}
    print_table(kind, fits, X_new, y_new, len(X))
    if folder is not None:
        write_files(example.name, model, Dataset(X_new, y_new, data.task), folder)


def _others(kind: Kind, X: Any, y: NDArray[Any]) -> dict[str, Any]:
    """Return what the tree is compared with."""
    several = {
        "one additive model": kind.root(random_state=0),
        "linear model": kind.tree(kind.line, max_depth=0, random_state=0),
    }
    if find_spec("lightgbm") is not None:
        several["LightGBM, as it comes"] = _boosting(kind.boosting)
    return {name: model.fit(X, y) for name, model in several.items()}


def _boosting(name: str) -> Any:
    """Return a boosting of LightGBM that takes a table with words."""
    lightgbm = import_module("lightgbm")
    boosting = getattr(lightgbm, name)(verbose=-1, n_jobs=1, random_state=0)
    return Words(boosting)


@dataclass
class Words:
    """Gives words to a model as categories of pandas."""

    model: Any

    def fit(self, X: Any, y: Any) -> "Words":
        """Learn the words, and fit."""
        self.kinds = {
            name: import_module("pandas").CategoricalDtype(sorted(X[name].unique()))
            for name in getattr(X, "columns", ())
            if X[name].dtype.kind not in "iuf"
        }
        self.model.fit(self._seen(X), y)
        return self

    def predict(self, X: Any) -> Any:
        """Return what the model predicts."""
        return self.model.predict(self._seen(X))

    def predict_proba(self, X: Any) -> Any:
        """Return the probabilities that it gives."""
        return self.model.predict_proba(self._seen(X))

    def _seen(self, X: Any) -> Any:
        return X.astype(self.kinds) if self.kinds else X


def _classes(y: NDArray[Any]) -> NDArray[Any]:
    return np.unique(y)


def print_title(example: Example) -> None:
    """Print what the table is and what is asked."""
    print(f"\n{example.title}\n{'=' * len(example.title)}\n{example.question}")


def print_regions(model: Any) -> None:
    """Print what is special in each region."""
    print("What is special there, against one model for all rows:")
    for region in portraits(model).regions:
        print(f"\n  {region.rule} ({region.share:.0%} of the rows)")
        special = region.special or "as for all rows, but for the level"
        print(indent(fill(special, WIDTH - 6), "    "))


def print_table(kind: Kind, fits: dict[str, Any], X: Any, y: NDArray[Any], n_train: int) -> None:
    """Print what every model is worth on rows that none has seen."""
    rows = [("", *kind.measures)]
    for name, model in fits.items():
        answer = getattr(model, kind.predict)(X)
        rows.append((name, *(measure(y, answer) for measure in kind.measures.values())))
    print(f"\nOn {len(y):,} rows that no model has seen, after {n_train:,} to learn from:")
    print(table(rows, range(1, len(rows[0]))))


def write_files(name: str, model: Any, new: Dataset, folder: Path) -> None:
    """Write the model, its report and rows to try it on, and say what to do with them."""
    folder.mkdir(parents=True, exist_ok=True)
    lacking = [extra for library, extra in NEEDS.values() if find_spec(library) is None]
    if lacking or find_spec("pandas") is None:
        extras = ",".join([*lacking, "frames"])
        tell(f"\nA report and a page to try it on need pip install 'predictree[app,{extras}]'.")
        return
    file, page, data = (folder / f"{name}{end}" for end in (".tops", "-report.html", "-new.csv"))
    n_bytes = save(model, file)
    model.report(new.X, new.y, page)
    new.X.to_csv(data, index=False)
    tell(f"\nWrote the model ({size(n_bytes)}), a report and {len(new.y):,} rows to try it on.")
    tell(f"  the tree, its regions and curves:  open {page} in a browser")
    tell(f"  change a value, see what changes:  predictree view {file} --data {data}")
    tell(f"  one answer taken apart:            predictree explain {file} {data} --row 1")


if __name__ == "__main__":
    main()
