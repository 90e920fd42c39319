"""How well trees of predictors rank patients at four horizons, beside simpler models.

    python benchmarks/survival.py --data-dir DIR [--sets NAME ...] [--rows 3000] [--learners lr]

1 − AUC at each horizon on test rows, weighted against censoring; lower is better. SUPPORT2 is split
at random 70/30, flchain by the year of the sample: up to 1996 trains, later years test. Logistic
regression and the forest learn from the same rows and weights as ToPsSurvival at each horizon; Cox
regression (if lifelines is installed) has one ranking for all. Text columns are one-hot coded and
gaps filled with the median of the training rows.

Two things to know. flchain's rows were followed for a time that depends on their year, so that the
censoring that weights the test rows is estimated on them. SUPPORT2 joins two studies, and nobody in
the one that measured glucose was followed beyond 1090 days: which study it was can be told from the
gaps, censoring depends on the features, and no later horizon than a year would be fair.
"""

import argparse
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from predictree import ToPsClassifier
from predictree.estimators.survival import ToPsSurvival, horizon_auc
from predictree.estimators.survival.outcome import censoring_curve, read_outcome

try:
    from lifelines import CoxPHFitter
except ImportError:
    CoxPHFitter = None

# Known only afterwards, or somebody else's prognosis.
SUPPORT2_DROPPED = [
    "sno", "hospdead", "slos", "sfdm2", "charges", "totcst", "totmcst", "avtisst", "surv2m",
    "surv6m", "prg2m", "prg6m", "aps", "sps", "dnr", "dnrday",
]  # fmt: skip
LAST_TRAINING_YEAR = 1996


def support2(data_dir, seed):
    table = pd.read_csv(data_dir / "survival" / "support2.csv.gz").drop(columns=SUPPORT2_DROPPED)
    event, days = table.pop("death"), table.pop("d.time")
    train = np.random.default_rng(seed).permutation(len(table)) < int(0.7 * len(table))
    return table, event, days, train, (30, 90, 180, 365)


def flchain(data_dir, seed):
    table = pd.read_csv(data_dir / "survival" / "R_flchain.csv.gz").drop(columns="chapter")
    event, days = table.pop("death"), table.pop("futime")
    train = (table.pop("sample.yr") <= LAST_TRAINING_YEAR).to_numpy()
    return table, event, days, train, (90, 365, 1095, 3650)


SETS = {"support2": support2, "flchain": flchain}


def split(name, args):
    """Return X and (event, time) of training and test rows as numbers, and the horizons."""
    table, event, days, train, horizons = SETS[name](args.data_dir, args.seed)
    rows = np.random.default_rng(args.seed).permutation(np.flatnonzero(train))[: args.rows]
    parts = [np.sort(rows), np.flatnonzero(~train)]
    X = pd.get_dummies(table, dtype=float, drop_first=True)
    X = X.fillna(X.iloc[rows].median())
    X = X.loc[:, X.iloc[rows].nunique() > 1]
    y = np.column_stack([event, days]).astype(float)
    return *((X.iloc[part].to_numpy(), y[part]) for part in parts), horizons


def tops(X, y, X_test, horizons, args):
    inner = ToPsClassifier(args.learners, random_state=args.seed, n_jobs=args.jobs)
    model = ToPsSurvival(horizons, inner, shared_tree=args.shared_tree).fit(X, y)
    leaves = [each.get_n_leaves() for each in model.models_]
    print(f"ToPsSurvival has {leaves} leaves", file=sys.stderr)
    return 1 - model.predict_survival(X_test).T


def each_horizon(classifier, keyword):
    def risks(X, y, X_test, horizons, args):
        outcome = read_outcome(y)
        censoring = censoring_curve(outcome)
        for horizon in horizons:
            weight = outcome.weights(horizon, censoring)
            known = weight > 0
            classifier.fit(X[known], outcome.by(horizon)[known], **{keyword: weight[known]})
            yield classifier.predict_proba(X_test)[:, 1]

    return risks


def cox(X, y, X_test, horizons, args):
    scaler = StandardScaler().fit(X)
    table = pd.DataFrame(scaler.transform(X)).assign(event=y[:, 0], time=y[:, 1])
    model = CoxPHFitter(penalizer=0.01).fit(table, "time", "event")
    risk = model.predict_log_partial_hazard(pd.DataFrame(scaler.transform(X_test)))
    return [risk.to_numpy()] * len(horizons)


def models(args):
    logistic = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
    forest = RandomForestClassifier(500, min_samples_leaf=5, random_state=args.seed)
    found = {
        "ToPsSurvival": tops,
        "logistic": each_horizon(logistic, "logisticregression__sample_weight"),
        "forest": each_horizon(forest, "sample_weight"),
    }
    return found if CoxPHFitter is None else found | {"Cox": cox}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data-dir", type=Path, required=True)
    parser.add_argument("--sets", nargs="*", choices=SETS, default=list(SETS))
    parser.add_argument("--rows", type=int, help="training rows at most")
    parser.add_argument("--learners", default="strong")
    parser.add_argument("--shared-tree", action="store_true")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    columns = models(args)
    print("| data set | train / test | horizon | events | " + " | ".join(columns) + " |")
    print("|---|---|---|---|" + "---|" * len(columns))
    for name in args.sets:
        (X, y), (X_test, y_test), horizons = split(name, args)
        losses = {}
        for what, risks_of in columns.items():
            start = time.perf_counter()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", RuntimeWarning)
                risks = list(risks_of(X, y, X_test, horizons, args))
            losses[what] = [
                1 - horizon_auc(y_test, y_test, risk, horizon)
                for risk, horizon in zip(risks, horizons, strict=True)
            ]
            print(f"{name}, {what}: {time.perf_counter() - start:.1f} s", file=sys.stderr)
        for i, horizon in enumerate(horizons):
            events = int(((y_test[:, 0] == 1) & (y_test[:, 1] <= horizon)).sum())
            cells = " | ".join(f"{losses[what][i]:.4f}" for what in columns)
            print(f"| {name} | {len(X)} / {len(X_test)} | {horizon} | {events} | {cells} |")
    if CoxPHFitter is None:
        print("\nWithout Cox regression: lifelines is not installed.")


if __name__ == "__main__":
    main()
