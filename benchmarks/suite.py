"""The data sets of the benchmarks, read from a directory that the user names.

A table is given as numbers: text columns are one-hot coded, "?" and blanks are missing and filled
with the column's most frequent value. Nothing is learned from the target.
"""

import numpy as np
import pandas as pd

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
DROPPED = {
    "telco_churn": ["customerID"],
    "bike_sharing_hour": ["instant", "dteday", "casual", "registered"],
    "naval_propulsion": ["gt_turbine_decay"],
}


def load(data_dir, name, n_rows=None, seed=0):
    """Return X as an array of numbers, y, and the task; ``n_rows`` of them at random."""
    target, task = TARGETS[name]
    table = pd.read_csv(data_dir / "suite" / f"{name}.csv.gz", na_values=["?", " "])
    table = table.drop(columns=DROPPED.get(name, []))
    y = table.pop(target)
    table = table.fillna(table.mode().iloc[0])
    X = pd.get_dummies(table, dtype=float).to_numpy(dtype=float)
    X = X[:, X.min(axis=0) < X.max(axis=0)]
    y = y.to_numpy(dtype=float) if task == "regression" else pd.factorize(y, sort=True)[0]
    if n_rows is not None and n_rows < len(y):
        rows = np.random.default_rng(seed).permutation(len(y))[:n_rows]
        X, y = X[rows], y[rows]
    return X, y, task


def split_of(data_dir, name, split, n_rows):
    """Return training rows, at most so many, test rows, and the task of a random 70/30 split."""
    X, y, task = load(data_dir, name)
    order = np.random.default_rng(split).permutation(len(X))
    cut = int(0.7 * len(X))
    train, test = order[:cut][:n_rows], order[cut:]
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
