"""Reading a fitted tree."""

from predictree.inspection.explain import Explanation, explain
from predictree.inspection.regions import importances, learner_map, scorecard
from predictree.inspection.text import export_text

__all__ = ["Explanation", "explain", "export_text", "importances", "learner_map", "scorecard"]
