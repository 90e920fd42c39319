"""Forms: learners that answer for all splits of a node at once, from what is summed over rows.

A form is a class with `fits`, `makes_models` and `of`, and what `of` returns has `fit_splits` and,
where it makes models, `models`. It serves as soon as it stands in `FORMS`.
"""

from typing import Any

from sklearn.linear_model import LinearRegression

from predictree.learners.adapter import Learner
from predictree.learners.forms.design import ClosedForm, Design
from predictree.learners.forms.linear import LinearForm, with_coefficients
from predictree.learners.forms.logistic import LogisticForm
from predictree.learners.forms.softmax import SoftmaxForm
from predictree.learners.forms.squares import Penalised
from predictree.model.fitted import ValueModel
from predictree.model.tree import Fitted, FloatArray

FORMS: dict[str, Any] = {
    "linear": LinearForm,
    "logistic": LogisticForm,
    "softmax": SoftmaxForm,
}


def has_closed_form(learner: Learner) -> bool:
    """Whether the learner fits all splits of a node at once."""
    return any(form.fits(learner) for form in FORMS.values())


def takes_steps(learner: Learner) -> bool:
    """Whether the learner has a closed form that takes steps: it is quick, but for few splits."""
    return has_closed_form(learner) and bool(_form_of(learner).takes_steps)


def closed_form(learner: Learner, design: Design) -> ClosedForm:
    """Return the closed form of a learner that has one, on one node."""
    found: ClosedForm = _form_of(learner).of(learner, design)
    return found


def penalised(learner: Learner, weight: FloatArray | None) -> Penalised | None:
    """Return a linear learner of values as sums over rows of these weights can tell of it."""
    found: Penalised | None = LinearForm.penalised(learner, weight)
    return found


def linear_model(learner: Learner, slopes: FloatArray, level: float) -> Fitted:
    """Return the model of a linear learner of values by its coefficients."""
    fitted = with_coefficients(LinearRegression(), slopes, level)
    return learner.seeing(ValueModel(fitted))


def fit_by_sums(learner: Learner) -> bool:
    """Whether the learner's models, too, come from its closed form."""
    return has_closed_form(learner) and bool(_form_of(learner).makes_models(learner))


def models_by_sums(learner: Learner, design: Design) -> tuple[Fitted, ...]:
    """Return the models of such a learner on one node, one a fold."""
    return tuple(map(learner.seeing, _form_of(learner).of(learner, design).models()))


def _form_of(learner: Learner) -> Any:
    return next(form for form in FORMS.values() if form.fits(learner))
