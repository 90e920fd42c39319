"""Small data sets that come with the package."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from predictree.tree import FloatArray

# Patients with hypertension, of five each, by decade of age: 20-29, 30-39, 40-49, 50 and over.
HYPERTENSION = {"diabetic": (1, 0, 4, 3), "non-diabetic": (0, 2, 2, 3)}
PATIENTS = 5


class Toy(NamedTuple):
    """The toy data: unpacks into X and y."""

    X: FloatArray
    y: NDArray[np.int64]


def load_toy() -> Toy:
    """Return the paper's toy example (its Fig. 1): hypertension by diabetes and age.

    Forty patients, five in each of eight categories. Feature 0 is 1 for diabetics, feature 1 the
    lower end of the decade of age (20, 30, 40, 50); the label is 1 for hypertension.

    Returns
    -------
    X : array of shape (40, 2)
    y : array of shape (40,)
    """
    rows, labels = [], []
    for diabetic, group in ((1.0, "diabetic"), (0.0, "non-diabetic")):
        for age, ill in zip((20.0, 30.0, 40.0, 50.0), HYPERTENSION[group], strict=True):
            rows += [(diabetic, age)] * PATIENTS
            labels += [1] * ill + [0] * (PATIENTS - ill)
    return Toy(np.array(rows), np.array(labels))
