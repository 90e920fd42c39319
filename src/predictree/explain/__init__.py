"""Reading a fitted tree."""

from predictree.explain.coefficients import Coefficients, coefficients
from predictree.explain.display import TermDisplay, plot_terms
from predictree.explain.explain import Explanation, explain
from predictree.explain.figure import plot_tree
from predictree.explain.importance import Importance, Importances, importances
from predictree.explain.notebook import leaderboard
from predictree.explain.portraits import outline, portraits
from predictree.explain.regions import learner_map, scorecard
from predictree.explain.summary import summarise
from predictree.explain.terms import contrast, terms
from predictree.explain.text import export_text

__all__ = [
    "Coefficients",
    "Explanation",
    "Importance",
    "Importances",
    "TermDisplay",
    "coefficients",
    "contrast",
    "explain",
    "export_text",
    "importances",
    "leaderboard",
    "learner_map",
    "outline",
    "plot_terms",
    "plot_tree",
    "portraits",
    "scorecard",
    "summarise",
    "terms",
]
