"""Trees of Predictors: a tree over the feature space with a predictor at every node."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from predictree.data.partition import partition_by_time
    from predictree.estimators.additive import AdditiveClassifier, AdditiveRegressor
    from predictree.estimators.classifier import ToPsClassifier
    from predictree.estimators.files import load, save
    from predictree.estimators.regressor import ToPsRegressor
    from predictree.estimators.survival import ToPsSurvival
    from predictree.explain import export_text
    from predictree.learners.metric import MetricKernelClassifier, MetricKernelRegressor
    from predictree.run.checkpoint import Checkpoint

__version__ = "0.1.0"

__all__ = [
    "AdditiveClassifier",
    "AdditiveRegressor",
    "Checkpoint",
    "MetricKernelClassifier",
    "MetricKernelRegressor",
    "ToPsClassifier",
    "ToPsRegressor",
    "ToPsSurvival",
    "__version__",
    "export_text",
    "load",
    "partition_by_time",
    "save",
]

_HOMES = {
    "AdditiveClassifier": "estimators.additive",
    "AdditiveRegressor": "estimators.additive",
    "Checkpoint": "run.checkpoint",
    "MetricKernelClassifier": "learners.metric",
    "MetricKernelRegressor": "learners.metric",
    "ToPsClassifier": "estimators.classifier",
    "ToPsRegressor": "estimators.regressor",
    "ToPsSurvival": "estimators.survival",
    "export_text": "explain",
    "load": "estimators.files",
    "partition_by_time": "data.partition",
    "save": "estimators.files",
}


def __getattr__(name: str) -> Any:
    """Import what is asked for: the tree alone does not bring scikit-learn along."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = globals()[name] = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    return found


def __dir__() -> list[str]:
    return sorted(set(globals()) | set(__all__))
