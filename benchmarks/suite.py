"""The data sets of the benchmarks, read from a directory that the user names.

`frame` gives a table as it is, "?" and blanks missing; `load` as numbers: text columns are one-hot
coded, and what is missing is the column's most frequent value. Nothing is learned from the target.
"""

import numpy as np
import pandas as pd
from sklearn.datasets import load_digits, load_iris, load_wine

from predictree_paper.datasets import fetch_bank_marketing

TARGETS = {
    "adult": ("income", "binary"),
    "credit_default_taiwan": ("default.payment.next.month", "binary"),
    "electricity": ("class", "binary"),
    "german_credit": ("class", "binary"),
    "higgs_11k": ("label", "binary"),
    "magic_telescope": ("Class", "binary"),
    "mammography": ("class", "binary"),
    "phoneme": ("class", "binary"),
    "pima_diabetes": ("class", "binary"),
    "spambase": ("spam", "binary"),
    "telco_churn": ("Churn", "binary"),
    "weather_nebraska": ("target", "binary"),
    "covertype_kaggle15k": ("Cover_Type", "multiclass"),
    "letter": ("class", "multiclass"),
    "satimage": ("class", "multiclass"),
    "abalone": ("rings", "regression"),
    "bike_sharing_hour": ("cnt", "regression"),
    "california_housing": ("MedHouseVal", "regression"),
    "concrete": ("strength", "regression"),
    "energy_efficiency": ("heating_load", "regression"),
    "kin8nm": ("y", "regression"),
    "naval_propulsion": ("gt_compressor_decay", "regression"),
    "wine_quality": ("quality", "regression"),
}
SHIPPED = {"digits": load_digits, "wine_cultivars": load_wine, "iris": load_iris}  # of scikit-learn
DROPPED = {
    "telco_churn": ["customerID"],
    "bike_sharing_hour": ["instant", "dteday", "casual", "registered"],
    "naval_propulsion": ["gt_turbine_decay"],
}


def frame(data_dir, name):
    """Return a table as a frame, y as numbers, and the task."""
    if name in SHIPPED:
        made = SHIPPED[name](as_frame=True)
        return made.data, made.target.to_numpy(), "multiclass"
    target, task = TARGETS[name]
    table = pd.read_csv(data_dir / "suite" / f"{name}.csv.gz", na_values=["?", " "])
    table = table.drop(columns=DROPPED.get(name, []))
    y = table.pop(target)
    y = y.to_numpy(dtype=float) if task == "regression" else pd.factorize(y, sort=True)[0]
    return table, y, task


def load(data_dir, name, n_rows=None, seed=0):
    """Return X as an array of numbers, y, and the task; ``n_rows`` of them at random."""
    table, y, task = frame(data_dir, name)
    table = table.fillna(table.mode().iloc[0])
    X = pd.get_dummies(table, dtype=float).to_numpy(dtype=float)
    X = X[:, X.min(axis=0) < X.max(axis=0)]
    if n_rows is not None and n_rows < len(y):
        rows = np.random.default_rng(seed).permutation(len(y))[:n_rows]
        X, y = X[rows], y[rows]
    return X, y, task


def rows_of(n, split, n_rows):
    """Return which of n rows train, at most so many, and which test, of a random 70/30 split."""
    order = np.random.default_rng(split).permutation(n)
    cut = int(0.7 * n)
    return order[:cut][:n_rows], order[cut:]


def split_of(data_dir, name, split, n_rows):
    """Return training rows, at most so many, test rows, and the task of a random 70/30 split."""
    X, y, task = load(data_dir, name)
    train, test = rows_of(len(X), split, n_rows)
    return X[train], y[train], X[test], y[test], task


def bank_split(data_dir, seed=0):
    """Bank Marketing as in the paper, 62 features in [0, 1]: 32,950 rows, and the rest."""
    X, y, _ = fetch_bank_marketing(data_dir / "paper")
    order = np.random.default_rng(seed).permutation(len(X))
    train, test = order[:32950], order[32950:]
    return X[train], y[train], X[test], y[test]


def bank(data_dir):
    """Return a training fold of Bank Marketing."""
    X, y, _, _ = bank_split(data_dir)
    return X, y
