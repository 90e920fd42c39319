"""Reports: model → one plain dict → a self-contained page."""

from predictree.publish.report.content import describe
from predictree.publish.report.page import render, write

__all__ = ["describe", "render", "write"]
