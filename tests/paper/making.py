"""Small tables in the shape of the paper's files, and results made by hand."""

import gzip
from datetime import UTC, datetime

import numpy as np
import pandas as pd

from predictree_paper.algorithms import ALGORITHMS, Algorithm
from predictree_paper.data import Column
from predictree_paper.lines import Results, key_of
from predictree_paper.work import Answer


def column(n=120, seed=0, name="", gaps=False):
    """Two regions with opposite slopes; a third of the labels are 1."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.integers(0, 2, n), rng.uniform(size=(n, 2))]).astype(float)
    score = np.where(X[:, 0] == 1, X[:, 1], 1 - X[:, 1]) + 0.2 * rng.normal(size=n)
    y = (score > np.quantile(score, 2 / 3)).astype(np.int64)
    if gaps:
        X[::17, 2] = np.nan
    return Column(name, X, y)


def write_news(folder, n=90):
    """An incomplete copy of Online News: some shares are not known."""
    rng = np.random.default_rng(1)
    words, weekend = rng.integers(5, 20, n), rng.integers(0, 2, n)
    shares = np.where(words + 3 * weekend + rng.normal(size=n) > 14, 9000.0, 5000.0)
    shares[::10] = np.nan
    table = pd.DataFrame(
        {
            "url": None,
            "timedelta": 700,
            "n_tokens_title": words,
            "is_weekend": weekend,
            "shares": shares,
            "popular_ge1400": 1,
            "source": "s",
        }
    )
    (folder / "paper").mkdir(parents=True)
    table.to_csv(folder / "paper" / "online_news.csv.gz", index=False)
    return table


def patients(n=400, seed=2):
    """Patients of a waiting list, most of them followed for eleven years or until death."""
    rng = np.random.default_rng(seed)
    age = rng.integers(20, 80, n)
    days = np.exp(rng.uniform(np.log(5), np.log(20_000), n)) * 50 / age
    return pd.DataFrame(
        {
            "year": rng.integers(1990, 2010, n),
            "days": np.minimum(days, 4000).round() + 1,
            "death": (days < 4000).astype(int),
            "age": np.where(np.arange(n) % 25 == 0, np.nan, age),
            "sex": rng.choice(["f", "m"], n),
            "blood": rng.choice(["A", "B", "O"], n),
            "rarely measured": np.where(rng.uniform(size=n) < 0.2, np.nan, 1.0),
        }
    )


def write_survival(folder, name, table):
    (folder / "survival").mkdir(parents=True, exist_ok=True)
    table.to_csv(folder / "survival" / name, index=False)


def write_mnist(folder, digits, n_test):
    """MNIST's four files, the images brighter in the middle the larger the digit."""
    (folder / "paper").mkdir(parents=True)
    digits = np.asarray(digits, dtype=np.uint8)
    images = np.zeros((len(digits), 28, 28), dtype=np.uint8)
    images[:, 14, 14] = 20 * digits
    parts = {"train": slice(None, -n_test), "t10k": slice(-n_test, None)}
    for part, rows in parts.items():
        for kind, content, n_axes in (("images-idx3", images, 3), ("labels-idx1", digits, 1)):
            header = bytes([0, 0, 8, n_axes]) + bytes(4 * n_axes)
            path = folder / "paper" / f"{part}-{kind}-ubyte.gz"
            path.write_bytes(gzip.compress(header + content[rows].tobytes()))


def register(monkeypatch, name, answer, leaks=False):
    """Add an algorithm for one test."""
    monkeypatch.setitem(ALGORITHMS, name, Algorithm(name, name, answer, leaks=leaks))


def constant(work):
    """Answer the same for all rows."""
    return Answer(np.zeros(len(work.X_test)), {"alpha": 1})


def header(experiment="bank", columns=("",), folds=5, **other):
    about = {"rows": 1000, "features": 62, "not_0": 113, "sha256": "0"}
    return {
        "experiment": experiment,
        "loss": "auc",
        "folds": folds,
        "imputations": None,
        "seed": 0,
        "data": dict.fromkeys(columns, about),
        "cores": 2,
        "versions": {"predictree": "0.1.0"},
        "date": datetime(2020, 1, 2, tzinfo=UTC).isoformat(timespec="seconds"),
        **other,
    }


def results(losses, n_train=80, n_test=20, **header_parts):
    """Results of {algorithm: [[losses of the folds of run 0], [of run 1], …]}."""
    lines = [
        {
            "column": "",
            "run": run,
            "fold": fold,
            "algorithm": algorithm,
            "loss": loss,
            "seconds": 1.5,
            "n_train": n_train,
            "n_test": n_test,
        }
        for algorithm, runs in losses.items()
        for run, folds in enumerate(runs)
        for fold, loss in enumerate(folds)
    ]
    return Results([header(**header_parts)], {key_of(line): line for line in lines})
