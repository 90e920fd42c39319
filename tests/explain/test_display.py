"""The terms as a figure: panels, names, keys, and what cannot be drawn."""

import numpy as np
import pytest

from handmade import additive_model
from predictree import ToPsRegressor
from predictree.errors import InvalidInputError
from predictree.explain import TermDisplay, plot_terms

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")


@pytest.fixture(autouse=True)
def closed():
    yield
    matplotlib.pyplot.close("all")


def titles(display):
    return [ax.get_title(loc="left") for ax in display.axes_]


def test_a_panel_for_each_term_that_matters():
    display = plot_terms(additive_model())
    assert isinstance(display, TermDisplay)
    assert titles(display) == ["job", "heat", "heat × dose"]
    assert len(display.axes_) == len(display.panels) == 3
    assert display.axes_[1].figure is display.figure_


def test_the_curve_of_all_rows_and_of_the_region_that_differs():
    _, heat, _ = plot_terms(additive_model()).axes_
    curves = [line.get_ydata().tolist() for line in heat.lines if len(line.get_xdata()) == 3]
    assert curves == [[-2.0, 0.0, 4.0], [-1.0, 0.0, 2.0]]


def test_the_key_says_who_is_where():
    display = plot_terms(additive_model())
    (key,) = display.figure_.legends
    words = [text.get_text() for text in key.get_texts()]
    assert words == ["all rows", "dose < 0.5 (50% of rows)", "dose ≥ 0.5 (50% of rows)"]
    colours = set(display.styles.values())
    assert len(colours) == 3


def test_levels_are_bars_by_their_names():
    job, *_ = plot_terms(additive_model()).axes_
    assert [tick.get_text() for tick in job.get_xticklabels()] == ["cook", "poet", "other …ing"]


def test_features_by_name_and_place():
    by_name = plot_terms(additive_model(), ["heat"])
    assert titles(by_name) == ["heat", "heat × dose"]
    assert titles(plot_terms(additive_model(), [0])) == titles(by_name)
    assert titles(plot_terms(additive_model(), ["dose"])) == ["heat × dose", "dose"]


def test_a_class_can_be_chosen():
    display = TermDisplay.from_estimator(additive_model(3, "softmax"), target="c")
    assert display.scale == "log-odds of c"
    with pytest.raises(InvalidInputError, match="target='z'"):
        plot_terms(additive_model(3, "softmax"), target="z")


def test_on_a_figure_of_ones_own():
    figure = matplotlib.pyplot.figure()
    assert plot_terms(additive_model(), figure=figure).figure_ is figure


@pytest.mark.parametrize("feature", ["weight", 7, -1, None])
def test_columns_that_are_not_there(feature):
    with pytest.raises(InvalidInputError, match="is no column: there are heat, job, dose"):
        plot_terms(additive_model(), [feature])


def test_a_constant_has_nothing_to_draw():
    X = np.random.default_rng(0).normal(size=(100, 2))
    model = ToPsRegressor("additive", random_state=0).fit(X, np.ones(100))
    with pytest.raises(InvalidInputError, match="no term adds anything"):
        model.plot_terms()


def test_a_fitted_model_draws_itself():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    model = ToPsRegressor("additive", max_depth=1, random_state=0).fit(X, np.sin(2 * X[:, 0]))
    assert titles(model.plot_terms())[0] == "x0"
