"""For the paper's experiments: the methods that ToPs is compared with and nobody else maintains.

They are baselines, written for clarity and to their own papers' descriptions. Each module says what
its paper left open and how it was settled.
"""

from predictree.paper.deepboost import VARIANTS, DeepBoostClassifier
from predictree.paper.logitboost import LogitBoostClassifier
from predictree.paper.potts import ResidualModelTreeRegressor
from predictree.paper.smoti import SMOTIRegressor

__all__ = [
    "VARIANTS",
    "DeepBoostClassifier",
    "LogitBoostClassifier",
    "ResidualModelTreeRegressor",
    "SMOTIRegressor",
]
