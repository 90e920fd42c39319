"""Survival: what is known by a horizon, trees that predict it, and measures of how well."""
