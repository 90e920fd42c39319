"""Learners that die, hang, lie or fail; importable by name, so that processes find them."""

import os
import signal
import time
from pathlib import Path

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.linear_model import LinearRegression


class Plain(RegressorMixin, BaseEstimator):
    """Linear regression that counts its fits in a folder, and may misbehave on few rows.

    Parameters
    ----------
    folder : str
        Where every fit leaves a file.
    fault : {None, "die", "hang", "fail", "lie", "die once"}
    below : int
        The fault shows on fewer rows than this.
    """

    def __init__(self, folder=None, fault=None, below=10**9):
        self.folder = folder
        self.fault = fault
        self.below = below

    def fit(self, X, y):
        if self.folder is not None:
            (Path(self.folder) / f"{os.getpid()}-{time.monotonic_ns()}").touch()
        if len(X) < self.below and self.fault is not None:
            FAULTS[self.fault](self)
        self.model_ = LinearRegression().fit(X, y)
        return self

    def predict(self, X):
        answer = self.model_.predict(X)
        return np.full_like(answer, np.nan) if self.fault == "lie" else answer


class Gated(RegressorMixin, BaseEstimator):
    """Linear regression on one column; fails while there is a file ``closed`` in a folder."""

    def __init__(self, column, folder):
        self.column = column
        self.folder = folder

    def fit(self, X, y):
        if (Path(self.folder) / "closed").exists():
            raise ValueError("closed")
        self.model_ = LinearRegression().fit(X[:, [self.column]], y)
        return self

    def predict(self, X):
        return self.model_.predict(X[:, [self.column]])


def die(_):
    os.kill(os.getpid(), signal.SIGKILL)


def die_once(learner):
    mark = Path(learner.folder) / "died"
    try:
        mark.touch(exist_ok=False)
    except FileExistsError:
        return
    die(learner)


def hang(_):
    time.sleep(3600)


def fail(_):
    raise ValueError("not today")


FAULTS = {
    "die": die,
    "die once": die_once,
    "hang": hang,
    "fail": fail,
    "lie": lambda learner: None,
}


def fits(folder):
    """Return how many fits left a file, and the processes that made them."""
    marks = [path.name for path in Path(folder).iterdir() if "-" in path.name]
    return len(marks), {int(name.split("-")[0]) for name in marks}
