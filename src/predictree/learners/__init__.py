"""The portfolio 𝒜 = {A₁, …, A_M}: base learners, and the presets that name common sets."""

from predictree.learners.adapter import Learner, adapt
from predictree.learners.presets import PRESETS, resolve_learners

__all__ = ["PRESETS", "Learner", "adapt", "resolve_learners"]
