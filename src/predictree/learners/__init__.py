"""The portfolio 𝒜 = {A₁, …, A_M}: base learners, and the presets that name common sets."""

from predictree.learners.adapter import Learner, adapt
from predictree.learners.closed_form import Bins, ClosedForm, Cuts, Design
from predictree.learners.linear import LinearForm
from predictree.learners.logistic import LogisticForm
from predictree.learners.presets import PRESETS, resolve_learners

__all__ = [
    "PRESETS",
    "Bins",
    "ClosedForm",
    "Cuts",
    "Design",
    "Learner",
    "adapt",
    "closed_form",
    "fit_by_sums",
    "has_closed_form",
    "resolve_learners",
]

FORMS: tuple[type[LinearForm] | type[LogisticForm], ...] = (LinearForm, LogisticForm)


def has_closed_form(learner: Learner) -> bool:
    """Whether the learner fits all splits of a node at once."""
    return any(form.fits(learner) for form in FORMS)


def closed_form(learner: Learner, design: Design) -> ClosedForm:
    """Return the closed form of a learner that has one, on one node."""
    return next(form.of(learner, design) for form in FORMS if form.fits(learner))


def fit_by_sums(learner: Learner) -> bool:
    """Whether the learner's models, too, come from its closed form."""
    return LinearForm in FORMS and LinearForm.makes_models(learner)
