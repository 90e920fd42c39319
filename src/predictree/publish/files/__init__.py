"""Models in files that hold data and no code."""
