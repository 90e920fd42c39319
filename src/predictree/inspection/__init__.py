"""Reading a fitted tree."""

from predictree.inspection.explain import Explanation, explain
from predictree.inspection.figure import plot_tree
from predictree.inspection.importance import (
    Coefficients,
    Importance,
    coefficients,
    region_importance,
)
from predictree.inspection.regions import importances, learner_map, scorecard
from predictree.inspection.summary import summarise
from predictree.inspection.text import export_text

__all__ = [
    "Coefficients",
    "Explanation",
    "Importance",
    "coefficients",
    "explain",
    "export_text",
    "importances",
    "learner_map",
    "plot_tree",
    "region_importance",
    "scorecard",
    "summarise",
]
