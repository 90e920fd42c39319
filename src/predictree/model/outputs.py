"""What scores mean: the coding of labels, probabilities, and the decision for a class.

Scores are (n, k) arrays: k columns for k classes, one column for regression. Labels are class
codes 0..k-1, the places of the sorted classes, or real numbers.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from predictree.errors import InvalidInputError
from predictree.model.tree import FloatArray, IntArray

Labels = NDArray[Any]

HALF = 0.5
ROUNDING = 1e-12  # a probability below this is none
LARGEST = 1e70  # of a label or score: the error of its square is still a number


def code_labels(y: Any, n_rows: int, classes: Labels | None) -> Labels:
    """Return one label a row as the codes of the classes, or as finite numbers without any."""
    labels = np.asarray(y)
    if labels.size != n_rows or labels.ndim not in (1, 2) or len(labels) != n_rows:
        raise InvalidInputError(
            f"y has shape {labels.shape}, and X {n_rows} rows: give one label for each"
        )
    labels = labels.reshape(n_rows)
    return _numbers(labels) if classes is None else _codes(labels, classes)


def _numbers(labels: Labels) -> FloatArray:
    try:
        values = labels.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidInputError(f"y holds what is no number ({error})") from error
    if not np.isfinite(values).all():
        raise InvalidInputError("y contains NaN or inf: give finite numbers")
    return values


def _codes(labels: Labels, classes: Labels) -> IntArray:
    known = classes.tolist()
    code = {label: i for i, label in enumerate(known)}
    unknown = sorted({repr(label) for label in labels.tolist() if label not in code})
    if unknown:
        raise InvalidInputError(
            f"y holds {unknown[0]}, which is no class of the model: it knows "
            f"{', '.join(map(repr, known[:10]))}"
        )
    return np.array([code[label] for label in labels.tolist()], dtype=np.int64)


def targets(y: Labels, n_outputs: int) -> FloatArray:
    """Return the labels as one column, or the indicators of the classes."""
    if n_outputs == 1:
        return np.asarray(y, dtype=float)[:, None]
    return np.asarray(np.eye(n_outputs)[y])


def probabilities(scores: FloatArray) -> FloatArray:
    """Clip scores at zero and let every row sum to one; a row without any is uniform.

    What is only rounding is zero, or log loss would tell one rounding from another.
    """
    clipped = np.where(scores <= ROUNDING, 0.0, scores)
    total = clipped.sum(axis=1, keepdims=True)
    empty = total[:, 0] <= 0
    clipped[empty], total[empty] = 1.0, scores.shape[1]
    return np.asarray(clipped / total)


def true_class_probability(y: Labels, scores: FloatArray) -> FloatArray:
    """Return the probability of each row's own class, at least machine epsilon."""
    p: FloatArray = probabilities(scores)[np.arange(len(y)), y]
    return np.asarray(np.maximum(p, np.finfo(np.float64).eps))


def decide(scores: FloatArray, half_is_second: bool = False) -> IntArray:
    """Return the class of each row: that of the largest score, the first among equals.

    With ``half_is_second`` two classes are told apart as by a regression cut at ½: a score of ½
    is the second class. Scores are rounded to nine decimals first, so that equal means equal
    whatever the order of a sum.
    """
    rounded = np.round(scores, 9)
    if half_is_second and scores.shape[1] == 2:
        return (rounded[:, 1] >= HALF).astype(np.int64)
    return np.asarray(rounded.argmax(axis=1))
