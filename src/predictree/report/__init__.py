"""Reports: model → one plain dict → a self-contained page."""

from predictree.report.content import describe
from predictree.report.page import render, write

__all__ = ["describe", "render", "write"]
