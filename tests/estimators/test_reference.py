"""What readability costs: another portfolio on the same folds, in the verdict and in files."""

import numpy as np
import pytest
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import LinearRegression

from predictree import AdditiveRegressor, ToPsClassifier, ToPsRegressor
from predictree.errors import InvalidInputError
from predictree.estimators.files import dumps, loads

LINES = [("lines", LinearRegression())]


def drawn(n=300):
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, (n, 2))
    return X, np.sin(2 * X[:, 0]) + 0.2 * rng.normal(size=n)


def test_there_is_none_unless_asked_for():
    model = ToPsRegressor(max_depth=0, random_state=0).fit(*drawn())
    assert model.verdict_.reference is None
    assert "costs" not in str(model.verdict_)


def test_it_is_judged_on_the_same_folds():
    X, y = drawn()
    model = ToPsRegressor(max_depth=0, reference=LINES, random_state=0).fit(X, y)
    theirs = model.verdict_.reference
    held_out = np.empty(len(y))
    for fold in range(5):
        here = model.partition_ == fold
        held_out[here] = LinearRegression().fit(X[~here], y[~here]).predict(X[here])
    assert theirs.loss == pytest.approx(np.mean(np.square(y - held_out)))
    assert theirs.gain == pytest.approx(theirs.loss - model.verdict_.loss)
    assert theirs.error > 0


def test_it_does_not_change_the_model():
    X, y = drawn()
    with_one, without = (
        ToPsRegressor(random_state=0, reference=one).fit(X, y) for one in (LINES, None)
    )
    np.testing.assert_array_equal(with_one.predict(X), without.predict(X))
    assert with_one.verdict_.loss == without.verdict_.loss
    assert with_one.fits_ == without.fits_


@pytest.mark.parametrize(("kind", "sign"), [("forest", "+"), ("lines", "-")])
def test_words_say_what_it_costs(kind, sign):
    X, y = drawn()
    y = y + 3 * np.sign(X[:, 0] * X[:, 1])
    learners = {"forest": RandomForestRegressor(20, random_state=0), "lines": LinearRegression()}
    model = ToPsRegressor(
        max_depth=0, interactions=0, reference=[(kind, learners[kind])], random_state=0
    ).fit(X, y)
    theirs = model.verdict_.reference
    assert f"a readable model costs {-theirs.gain / theirs.loss:+.1%}" in str(model.verdict_)
    assert f"costs {sign}" in str(model.verdict_)


def test_every_repeat_has_its_own():
    X, y = drawn()
    model = ToPsRegressor(n_repeats=2, reference=LINES, random_state=0).fit(X, y)
    single = ToPsRegressor(reference=LINES, random_state=0).fit(X, y)
    # a mean over two draws of folds is nearer to the models of all rows
    assert model.verdict_.reference.loss != single.verdict_.reference.loss


def test_of_classes_by_the_loss_of_the_tree():
    X, y = drawn()
    model = ToPsClassifier(max_depth=0, reference="lr", random_state=0).fit(X, y > 0)
    # "lr" alone would be judged by the Brier score
    assert model.verdict_.loss_name == "log_loss"
    assert model.verdict_.reference.loss > 0.3


def test_files_and_reports_keep_it(tmp_path):
    pytest.importorskip("jinja2")
    X, y = drawn()
    model = ToPsRegressor(max_depth=0, reference=LINES, random_state=0).fit(X, y)
    assert loads(dumps(model)).verdict_ == model.verdict_
    page = model.report(path=tmp_path / "page.html").read_text()
    assert model.verdict_.reference.name.replace("'", "&#39;") in page


def test_a_wrong_one_is_refused_before_anything_is_fitted():
    with pytest.raises(InvalidInputError, match="stronk"):
        ToPsRegressor(reference="stronk").fit(*drawn())


def test_a_root_alone_has_none():
    assert AdditiveRegressor(random_state=0).fit(*drawn()).verdict_.reference is None
