"""Reading a fitted tree."""

from predictree.inspection.explain import Explanation, explain
from predictree.inspection.summary import summarise
from predictree.inspection.text import export_text

__all__ = ["Explanation", "explain", "export_text", "summarise"]
