"""Print what every preset costs and is worth on the two tables that predictree ships.

    python benchmarks/presets.py [--only NAME ...]

70 % of the rows train, the others judge; CPU seconds of `fit`, of this process and its children.
"""

import argparse
import resource

from sklearn.metrics import log_loss, root_mean_squared_error
from sklearn.model_selection import train_test_split

from predictree import AdditiveClassifier, AdditiveRegressor, ToPsClassifier, ToPsRegressor
from predictree.data.datasets import load_data

TREES = {"regression": ToPsRegressor, "classification": ToPsClassifier}
ROOTS = {"regression": AdditiveRegressor, "classification": AdditiveClassifier}
PRESETS = {
    "one additive model": lambda task: ROOTS[task](random_state=0),
    "additive, max_depth=2": lambda task: TREES[task](max_depth=2, random_state=0),
    "additive": lambda task: TREES[task](random_state=0),
    "lr": lambda task: TREES[task]("lr", random_state=0),
    "strong": lambda task: TREES[task]("strong", random_state=0),
}


def cpu() -> float:
    """Return the CPU seconds so far."""
    kinds = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    used = [resource.getrusage(kind) for kind in kinds]
    return sum(u.ru_utime + u.ru_stime for u in used)


def main() -> None:
    """Fit, judge and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--only", nargs="+", choices=PRESETS, default=list(PRESETS))
    print("| table | preset | regions | loss on new rows | CPU s |\n|---|---|---|---|---|")
    for name in ("bikes", "wines"):
        X, y, task = load_data(name)
        ToPsRegressor(random_state=0).fit(X[:200], y[:200] == y[0])  # compiles what is compiled
        X, X_new, y, y_new = train_test_split(X, y, test_size=0.3, random_state=0)
        for preset in parser.parse_args().only:
            start = cpu()
            model = PRESETS[preset](task).fit(X, y)
            seconds = cpu() - start
            if task == "regression":
                loss = f"RMSE {root_mean_squared_error(y_new, model.predict(X_new)):.1f}"
            else:
                loss = f"log loss {log_loss(y_new, model.predict_proba(X_new)):.3f}"
            told = f"| {name}, {len(X):,} rows | {preset} | {model.get_n_leaves()} | {loss} |"
            print(f"{told} {seconds:.1f} |", flush=True)


if __name__ == "__main__":
    main()
