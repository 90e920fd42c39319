"""Survival: what is known by a horizon, trees that predict it, and measures of how well."""

from predictree.estimators.survival.estimator import ToPsSurvival
from predictree.estimators.survival.metrics import (
    brier_score,
    concordance_index,
    concordance_index_ipcw,
    horizon_auc,
    integrated_brier_score,
)
from predictree.estimators.survival.outcome import StepFunction

__all__ = [
    "StepFunction",
    "ToPsSurvival",
    "brier_score",
    "concordance_index",
    "concordance_index_ipcw",
    "horizon_auc",
    "integrated_brier_score",
]
