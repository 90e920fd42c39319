"""The portfolio 𝒜 = {A₁, …, A_M}: base learners, and the presets that name common sets."""

from predictree.learners.adapter import Learner, adapt
from predictree.learners.closed_form import Bins, ClosedForm, Design
from predictree.learners.linear import LinearForm
from predictree.learners.presets import PRESETS, resolve_learners

__all__ = [
    "PRESETS",
    "Bins",
    "ClosedForm",
    "Design",
    "Learner",
    "adapt",
    "closed_form",
    "has_closed_form",
    "resolve_learners",
]

FORMS = (LinearForm,)


def has_closed_form(learner: Learner) -> bool:
    """Whether the learner fits all splits of a node at once."""
    return any(form.fits(learner) for form in FORMS)


def closed_form(learner: Learner, design: Design) -> ClosedForm | None:
    """Return the closed form of a learner on one node, None if it has none."""
    return next((form.of(learner, design) for form in FORMS if form.fits(learner)), None)
