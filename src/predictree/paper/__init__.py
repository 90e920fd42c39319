"""For the paper's experiments: the methods ToPs is compared with that nobody maintains, and tests.

The methods are baselines, written for clarity and to their own papers' descriptions. Each module
says what is its paper's and what had to be settled.
"""

from predictree.paper.deepboost import VARIANTS, DeepBoostClassifier
from predictree.paper.logitboost import LogitBoostClassifier
from predictree.paper.potts import ResidualModelTreeRegressor
from predictree.paper.smoti import SMOTIRegressor
from predictree.paper.statistics import corrected_resampled_t_test, two_sample_t_test

__all__ = [
    "VARIANTS",
    "DeepBoostClassifier",
    "LogitBoostClassifier",
    "ResidualModelTreeRegressor",
    "SMOTIRegressor",
    "corrected_resampled_t_test",
    "two_sample_t_test",
]
