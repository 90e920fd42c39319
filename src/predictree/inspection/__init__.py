"""Reading a fitted tree."""

from predictree.inspection.explain import Explanation, explain
from predictree.inspection.figure import plot_tree
from predictree.inspection.text import export_text

__all__ = ["Explanation", "explain", "export_text", "plot_tree"]
