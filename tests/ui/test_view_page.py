"""The what-if page in a real browser, served as the command serves it."""

import threading

import pytest

from predictree.publish.serve import Viewer, make_app
from predictree.publish.serve.server import listen
from ui.conftest import HOSTILE, HOSTILE_CLASSES, HOSTILE_LEVELS, NARROW, shoot

TOKEN = "token-of-the-tests"


@pytest.fixture(scope="session")
def serve():
    """Serve models, each on a port of its own, until the session ends."""
    import uvicorn

    running = []

    def start(viewer):
        found = listen()
        port = found.getsockname()[1]
        config = uvicorn.Config(
            make_app(viewer, TOKEN, port), log_level="critical", timeout_graceful_shutdown=0
        )
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [found]}, daemon=True)
        found.listen()
        thread.start()
        running.append((server, thread, found))
        return f"http://127.0.0.1:{port}/{TOKEN}/"

    yield start
    for server, thread, found in running:
        server.should_exit = True
        thread.join(10)
        found.close()


@pytest.fixture(scope="session")
def address(clinic, serve):
    model, X, _ = clinic
    return serve(Viewer(model, X[:3]))


@pytest.fixture
def look(visit):
    """Open the page and wait for its first answer."""

    def go(address, **how):
        page = visit(address, allowed=(address, "data:"), **how)
        page.wait_for_selector("html[data-turn]")
        return page

    return go


def settle(page, change):
    """Make a change and wait for the answer to it."""
    page.evaluate("document.documentElement.removeAttribute('data-turn')")
    change()
    page.wait_for_selector("html[data-turn]")


def person(page, name="a"):
    return page.locator(f".person.{name}")


def lit(page, name):
    found = page.eval_on_selector_all(
        f".node.lit-{name}", "els => els.map(e => Number(e.dataset.id))"
    )
    return sorted(found)


def path_of(model, row):
    return sorted(model.tree_.path(model.apply(row)[0]))


def headline(model, row):
    p = model.predict_proba(row)[0]
    return f"{model.classes_[p.argmax()]} {p.max():.1%}"


def test_it_begins_with_the_answer_for_the_first_row(look, address, clinic):
    model, X, _ = clinic
    page = look(address)
    assert person(page).locator(".headline").inner_text() == headline(model, X[:1])
    assert "nothing yet" in person(page).locator(".changes").inner_text()
    assert lit(page, "a") == path_of(model, X[:1])
    assert "The models of the folds" in person(page).locator(".range").inner_text()
    assert person(page).locator(".share").count() == 2
    shoot(page, "view-light")


def test_a_changed_value_changes_the_answer(look, address, clinic):
    model, X, _ = clinic
    page = look(address)
    dose = person(page).get_by_role("spinbutton", name="dose", exact=True)
    settle(page, lambda: dose.fill("9.5"))
    assert (
        person(page)
        .locator(".headline")
        .inner_text()
        .startswith(headline(model, X[:1].assign(dose=9.5)))
    )
    changes = person(page).locator(".changes").inner_text()
    assert f"dose: {X['dose'].iloc[0]:g} → 9.5" in changes
    assert person(page).locator(".field.changed legend").inner_text() == "dose"
    settle(page, lambda: person(page).get_by_role("button", name="Reset").click())
    assert person(page).locator(".headline").inner_text() == headline(model, X[:1])
    assert person(page).locator(".field.changed").count() == 0


def test_sliders_levels_and_missing_values(look, address, clinic):
    model, X, _ = clinic
    page = look(address)
    known = int(X["age"].notna().to_numpy().argmax())
    settle(page, lambda: person(page).locator("select[name=start]").select_option(str(known)))
    slider = person(page).get_by_role("slider", name="age")
    settle(page, lambda: slider.fill("80"))
    row = X[known : known + 1]
    other = "m" if row["sex"].iloc[0] == "f" else "f"
    settle(page, lambda: person(page).get_by_role("combobox", name="sex").select_option(other))
    row = row.assign(age=80.0, sex=other)
    assert lit(page, "a") == path_of(model, row)
    assert "the leaf:" in person(page).locator(".changes").inner_text()
    missing = person(page).get_by_label("age is missing")
    settle(page, missing.check)
    row = row.assign(age=float("nan"))
    assert lit(page, "a") == path_of(model, row)
    assert slider.is_disabled()
    assert person(page).locator(".headline").inner_text().startswith(headline(model, row))
    settle(page, missing.uncheck)
    assert slider.input_value() == "80"


def test_another_row_to_start_from(look, address, clinic):
    model, X, _ = clinic
    page = look(address)
    settle(page, lambda: person(page).locator("select[name=start]").select_option("2"))
    assert person(page).locator(".headline").inner_text() == headline(model, X[2:3])


def test_two_people_side_by_side(look, address, clinic):
    model, X, _ = clinic
    page = look(address)
    settle(page, page.get_by_label("compare two people").check)
    a, b = (person(page, name).bounding_box() for name in "ab")
    assert a["y"] == b["y"]
    assert a["x"] + a["width"] <= b["x"]
    assert person(page, "b").locator(".headline").inner_text() == headline(model, X[1:2])
    assert (lit(page, "a"), lit(page, "b")) == tuple(path_of(model, X[i : i + 1]) for i in (0, 1))
    shoot(page, "view-two")
    settle(page, page.get_by_label("compare two people").uncheck)
    assert person(page, "b").is_hidden()
    assert lit(page, "b") == []


def test_it_works_by_keyboard(look, address):
    page = look(address)
    slider = person(page).get_by_role("slider", name="dose")
    before = float(slider.input_value())
    slider.focus()
    settle(page, lambda: page.keyboard.press("ArrowRight" if before < 9 else "ArrowLeft"))
    assert float(slider.input_value()) != before
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") != "none"
    page.locator('.node[tabindex="0"]').focus()
    page.keyboard.press("ArrowRight")
    assert page.evaluate("document.activeElement.dataset.depth") == "1"


def test_dark_and_narrow(look, address):
    page = look(address, color_scheme="dark", viewport=NARROW)
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(20, 24, 30)"
    settle(page, page.get_by_label("compare two people").check)
    assert page.evaluate("document.documentElement.scrollWidth") <= 400
    a, b = (person(page, name).bounding_box() for name in "ab")
    assert a["y"] + a["height"] <= b["y"]
    shoot(page, "view-dark-narrow")


def test_hostile_names_are_shown_as_they_are(look, serve, hostile):
    page = look(serve(Viewer(hostile[0])))
    title = page.title()
    settle(page, lambda: person(page).locator(".fields select").select_option(index=0))
    settle(page, lambda: person(page).locator(".fields select").select_option(index=1))
    text = page.evaluate("document.body.textContent")
    for name in [*HOSTILE.values(), *HOSTILE_LEVELS.values(), *HOSTILE_CLASSES.values()]:
        assert name in text
    assert page.locator("img, b, u, body script, [onclick], [onload], [onerror]").count() == 0
    assert page.title() == title
    shoot(page, "view-hostile")


def test_a_server_that_is_gone_is_told(browser, clinic, serve):
    page = browser.new_page()
    page.goto(serve(Viewer(clinic[0])))
    page.wait_for_selector("html[data-turn]")
    page.route("**/api/answer", lambda route: route.abort())
    person(page).get_by_role("spinbutton", name="dose", exact=True).fill("3")
    page.get_by_role("alert").wait_for()
    assert "has ended: start it again" in page.get_by_role("alert").inner_text()
    page.close()


def test_without_javascript_it_says_what_to_do(visit, address):
    page = visit(address, allowed=(address,), java_script_enabled=False)
    assert "This page needs JavaScript" in page.locator("noscript").inner_text()


def test_another_site_learns_nothing(browser, address):
    page = browser.new_page()
    page.goto("data:text/html,<p>another site</p>")
    ask = """async (url) => {
      const how = { headers: { "X-Predictree-Token": "token-of-the-tests" } };
      return fetch(url + "api/form", how).then(() => "came", () => "refused");
    }"""
    assert page.evaluate(ask, address) == "refused"
    page.close()
