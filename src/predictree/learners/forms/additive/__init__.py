"""Additive models whose curves and penalties are learned from Gram matrices."""
