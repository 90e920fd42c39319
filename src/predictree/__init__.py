"""Trees of Predictors: a tree over the feature space with a predictor at every node."""

from predictree.estimators import ToPsClassifier, ToPsRegressor
from predictree.inspection import export_text
from predictree.partition import partition_by_time
from predictree.persistence import load, save

__version__ = "0.1.0"

__all__ = [
    "ToPsClassifier",
    "ToPsRegressor",
    "__version__",
    "export_text",
    "load",
    "partition_by_time",
    "save",
]
