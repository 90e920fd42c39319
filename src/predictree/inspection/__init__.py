"""Reading a fitted tree."""

from predictree.inspection.text import export_text

__all__ = ["export_text"]
