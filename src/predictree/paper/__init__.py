"""The paper's experiments: its data, the algorithms of its tables, its protocol and its tables.

``predictree reproduce NAME`` runs one of them; ``benchmarks/paper/README.md`` has the commands. The
methods that nobody else maintains are baselines of our own, written for clarity; each module says
what is its paper's and what had to be settled.
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
