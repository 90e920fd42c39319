"""A fitted model as flat arrays, and the compiled scorer over them.

What its learners answer with is read once (`members`), as functions of the user's columns
(`functions`), and laid out flat (`arrays`) for compiled code. That lives elsewhere
(`predictree.run.scorer`), and a model without it asks its learners one by one: it needs NumPy
alone.
"""

from predictree.model.frozen.functions import LINKS, Bend, Function, Levels, Line, Pair, Term, Trees
from predictree.model.frozen.trees import COMPILER, Frozen, FrozenTree, freeze

__all__ = [
    "COMPILER",
    "LINKS",
    "Bend",
    "Frozen",
    "FrozenTree",
    "Function",
    "Levels",
    "Line",
    "Pair",
    "Term",
    "Trees",
    "freeze",
]
