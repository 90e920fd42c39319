"""What an algorithm of the tables is given, and what it answers."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.metrics import roc_auc_score

from predictree.errors import InvalidInputError
from predictree.model.tree import FloatArray, IntArray

LOSSES = {"auc": "1 − AUC", "error": "error rate"}


@dataclass(frozen=True)
class Work:
    """A training fold, and the rows to answer for.

    Attributes
    ----------
    X, y : arrays
        The training fold; labels are 0, 1, … .
    X_test : array
    loss : {"auc", "error"}
    seed : int
    y_test : array or None
        Only what is called a leak gets to see it.
    jobs : int
        Processes that it may use, for the same answer.
    """

    X: FloatArray
    y: IntArray
    X_test: FloatArray
    loss: str
    seed: int
    y_test: IntArray | None = None
    jobs: int = 1


@dataclass(frozen=True)
class Answer:
    """Scores of the test rows, and what was chosen on the way to them.

    Of two classes there is one score a row, and class 1 is at zero or above: so one half is the
    second class for a regression on 0 and 1, as in the paper. Of more there is one a class.
    """

    scores: FloatArray
    settings: dict[str, Any] = field(default_factory=dict)


def scores_of(model: Any, X: FloatArray) -> FloatArray:
    """Return the scores of a fitted classifier."""
    if hasattr(model, "decision_function"):
        return np.asarray(model.decision_function(X), dtype=np.float64)
    chances = np.asarray(model.predict_proba(X), dtype=np.float64)
    return chances[:, 1] - 0.5 if chances.shape[1] == 2 else chances


def loss_of(loss: str, y: IntArray, scores: FloatArray) -> float:
    """Return the loss of scores on rows with these labels."""
    if loss == "auc":
        if np.ptp(y) == 0:
            raise InvalidInputError("1 − AUC needs rows of two classes")
        return float(1 - roc_auc_score(y, scores))
    decided = np.round(scores, 9) >= 0 if scores.ndim == 1 else scores.argmax(axis=1)
    return float(np.mean(decided != y))
