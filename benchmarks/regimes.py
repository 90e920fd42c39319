"""How often the tree that data were made by is found: the first split, the learner on each side.

    python benchmarks/regimes.py --out regimes.jsonl [--seeds 100] [--rows 4000] [--noise 1.0]

The data are those of `make_regimes`, for both tasks; the learners are a linear model and a tree of
depth 4. Default and paper's settings are as they come, but may split once: what a tree does further
down takes up to a minute and changes nothing above. A split is right if its threshold is nearer to
the true one than to any other decile. Results are written as they come; a run that is started again
goes on.
"""

import argparse
import warnings
from collections import Counter
from pathlib import Path

import lines
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from predictree import ToPsClassifier, ToPsRegressor
from predictree.data.datasets import make_regimes

LOGISTIC = LogisticRegression(solver="newton-cholesky", tol=1e-6)
LEARNERS = {
    "regression": [("linear", LinearRegression()), ("tree", DecisionTreeRegressor(max_depth=4))],
    "classification": [("linear", LOGISTIC), ("tree", DecisionTreeClassifier(max_depth=4))],
}
ESTIMATORS = {"regression": ToPsRegressor, "classification": ToPsClassifier}
HALF_A_DECILE = 0.05


def estimator(task, settings, seed):
    make = ESTIMATORS[task].paper if settings == "paper" else ESTIMATORS[task]
    return make(LEARNERS[task], max_depth=1, random_state=seed)


def found(task, settings, seed, rows, noise):
    """Return what the tree has at its top, and what of it is right."""
    made = make_regimes(rows, noise=noise, task=task, random_state=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tree = estimator(task, settings, seed).fit(made.data, made.target).tree_
    split, truth = tree[0].split, made.tree
    if split is None:
        return {"right_split": False, "right_learners": False, "choice": "no split"}
    learners = tuple(tree[child].learner for child in tree[0].children)
    right_split = (
        split.feature == truth.feature and abs(split.threshold - truth.threshold) < HALF_A_DECILE
    )
    choice = f"x{split.feature} < {split.threshold:.2f}: {learners[0]}, else {learners[1]}"
    right_learners = right_split and learners == truth.learners
    return {"right_split": right_split, "right_learners": right_learners, "choice": choice}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seeds", type=int, default=100)
    parser.add_argument("--rows", type=int, default=4000)
    parser.add_argument("--noise", type=float, default=1.0)
    args = parser.parse_args()
    known = {tuple(record["run"]): record for record in lines.read(args.out)}
    for task in LEARNERS:
        for settings in ("strong", "paper"):
            runs = [(task, settings, seed, args.rows, args.noise) for seed in range(args.seeds)]
            for run in runs:
                if run not in known:
                    known[run] = {"run": run, **found(*run)}
                    lines.append(args.out, known[run])
            report(f"{task}, {settings}", [known[run] for run in runs])


def report(title, records):
    split, learners = (
        sum(record[what] for record in records) for what in ("right_split", "right_learners")
    )
    print(f"{title}: the right split in {split}, and the right learners in {learners}", end="")
    print(f" of {len(records)} seeds", flush=True)
    wrong = Counter(record["choice"] for record in records if not record["right_learners"])
    for choice, times in wrong.most_common():
        print(f"    {times} ×  {choice}")


if __name__ == "__main__":
    main()
