"""The report in a real browser: every interaction, every look, and nothing from elsewhere."""

import pytest

from ui.conftest import HOSTILE, HOSTILE_CLASSES, HOSTILE_LEVELS, NARROW, shoot


@pytest.fixture(scope="session")
def report(clinic, tmp_path_factory):
    model, X, y = clinic
    path = tmp_path_factory.mktemp("report") / "report.html"
    return model.report(X, y, path, rows=X[:5]).as_uri()


def node(page, i):
    return page.locator(f'.node[data-id="{i}"]')


def detail(page):
    """Return the ids of the details that are shown."""
    return page.eval_on_selector_all(
        ".detail", "els => els.filter(e => e.offsetParent).map(e => e.dataset.node)"
    )


def lit(page):
    found = page.eval_on_selector_all(".node.lit-a", "els => els.map(e => Number(e.dataset.id))")
    return sorted(found)


def shown(page):
    found = page.eval_on_selector_all(
        ".node", "els => els.filter(e => !e.hasAttribute('hidden')).map(e => Number(e.dataset.id))"
    )
    return sorted(found)


def leaves(model):
    return [n.id for n in model.tree_ if n.is_leaf]


def inner_below_the_root(model):
    return next(n.id for n in model.tree_ if n.id and not n.is_leaf)


def test_it_opens_with_the_verdict(visit, report, clinic):
    page = visit(report)
    assert page.locator("h2").first.inner_text() == "The tree earned its place"
    assert page.locator(".interval").count() == 2
    assert detail(page) == ["0"]


def test_a_click_on_a_leaf_shows_its_details(visit, report, clinic):
    page = visit(report)
    leaf = leaves(clinic[0])[-1]
    node(page, leaf).click()
    assert detail(page) == [str(leaf)]
    text = page.locator(f"#node-{leaf}").inner_text()
    assert f"Leaf {leaf}" in text
    assert "Who answers here" in text
    assert node(page, leaf).get_attribute("aria-selected") == "true"


def test_a_hint_for_the_mouse_and_for_the_keyboard(visit, report):
    page = visit(report)
    tip = page.locator(".tip")
    assert tip.is_hidden()
    node(page, 1).hover()
    assert "rows train here" in tip.inner_text()
    page.mouse.move(0, 0)
    assert tip.is_hidden()
    node(page, 0).focus()
    assert tip.inner_text().startswith("all rows")
    page.keyboard.press("Escape")
    assert tip.is_hidden()


def test_a_branch_closes_and_opens(visit, report, clinic):
    page, tree = visit(report), clinic[0].tree_
    branch = inner_below_the_root(clinic[0])
    below = {n.id for n in tree if branch in tree.path(n.id)} - {branch}
    everything = list(range(len(tree)))
    height = page.locator(".canvas > svg").bounding_box()["height"]
    node(page, branch).locator(".toggle").click()
    assert shown(page) == sorted(set(everything) - below)
    assert node(page, branch).get_attribute("aria-expanded") == "false"
    assert page.locator(".canvas > svg").bounding_box()["height"] < height
    node(page, branch).locator(".toggle").click()
    assert shown(page) == everything
    page.get_by_role("button", name="Collapse all").click()
    assert shown(page) == [0]
    page.get_by_role("button", name="Expand all").click()
    assert shown(page) == everything


def test_zoom(visit, report):
    page = visit(report)

    def width():
        return page.locator(".canvas > svg").bounding_box()["width"]

    start = width()
    page.get_by_role("button", name="Zoom in").click()
    assert width() == pytest.approx(1.25 * start, rel=0.01)
    page.get_by_role("button", name="Zoom out").click()
    assert width() == pytest.approx(start, rel=0.01)
    for _ in range(3):
        page.get_by_role("button", name="Zoom in").click()
    page.get_by_role("button", name="Fit").click()
    assert width() <= page.locator(".canvas").bounding_box()["width"]


def test_the_path_of_a_row_lights_up(visit, report, clinic):
    model, X, _ = clinic
    page = visit(report)
    for i in (0, 3):
        page.locator("#pick").select_option(index=i + 1)
        path = model.tree_.path(model.apply(X[i : i + 1])[0])
        assert lit(page) == sorted(path)
        assert page.locator(".edge.lit-a").count() == len(path) - 1
        assert detail(page) == [str(path[-1])]
    shoot(page, "report-row")
    page.locator("#pick").select_option(index=0)
    assert lit(page) == []


def test_everything_by_keyboard(visit, report, clinic):
    page, tree = visit(report), clinic[0].tree_
    page.locator(".canvas").focus()
    page.keyboard.press("Tab")

    def here():
        return page.evaluate("Number(document.activeElement.dataset.id)")

    assert here() == 0
    page.keyboard.press("ArrowRight")
    assert here() == tree[0].children[0]
    thickness = "getComputedStyle(document.activeElement.querySelector('rect')).strokeWidth"
    assert page.evaluate(thickness) == "4px"
    page.keyboard.press("Enter")
    assert detail(page) == [str(tree[0].children[0])]
    page.keyboard.press("End")
    assert tree[here()].is_leaf
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Home")
    assert here() == 0
    page.keyboard.press("ArrowLeft")
    assert shown(page) == [0]
    page.keyboard.press("ArrowDown")
    assert here() == 0
    page.keyboard.press("ArrowRight")
    assert shown(page) == list(range(len(tree)))
    page.keyboard.press("+")
    page.keyboard.press(" ")
    assert detail(page) == ["0"]
    tab_stops = page.locator('.node[tabindex="0"]').count()
    assert tab_stops == 1


def test_focus_is_visible_outside_the_tree(visit, report):
    page = visit(report)
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.keyboard.press("Tab")
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"


def test_the_table_leads_to_the_tree(visit, report, clinic):
    page = visit(report)
    leaf = leaves(clinic[0])[0]
    page.locator(f'#regions a[href="#node-{leaf}"]').click()
    assert detail(page) == [str(leaf)]


def test_what_is_chosen_comes_into_view(visit, report, clinic):
    page = visit(report, viewport=NARROW)
    leaf = leaves(clinic[0])[-1]
    page.locator(f'#regions a[href="#node-{leaf}"]').click()
    box, room = node(page, leaf).bounding_box(), page.locator(".canvas").bounding_box()
    assert room["x"] <= box["x"]
    assert box["x"] + box["width"] <= room["x"] + room["width"] + 1


def test_an_address_chooses_a_node(visit, report, clinic):
    leaf = leaves(clinic[0])[1]
    page = visit(f"{report}#node-{leaf}")
    assert detail(page) == [str(leaf)]
    page.goto(f"{report}?#node-99999")
    assert detail(page) == ["0"]


def test_what_matters_where(visit, report):
    page = visit(report)
    assert page.locator("#features thead th").count() > 3
    first = page.locator("#features tbody th").first.inner_text()
    assert first == "dose"
    assert page.locator("#features .h9").count() >= 1


CONTRAST = """() => {
  const light = (c) => {
    const [r, g, b] = c.match(/[\\d.]+/g).slice(0, 3).map((v) => {
      v /= 255;
      return v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ground = (el) => {
    for (; el; el = el.parentElement) {
      const c = getComputedStyle(el).backgroundColor;
      if (!/rgba\\(0, 0, 0, 0\\)|transparent/.test(c)) return c;
    }
  };
  return ["p", ".quiet", "nav a", ".flag", "h2", "th", "dt"].map((name) => {
    const el = document.querySelector(name);
    const [a, b] = [light(getComputedStyle(el).color), light(ground(el))].sort((x, y) => y - x);
    return (a + 0.05) / (b + 0.05);
  });
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_can_be_read_in_light_and_in_dark(visit, report, scheme):
    page = visit(report, color_scheme=scheme)
    ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert ground == {"light": "rgb(251, 251, 249)", "dark": "rgb(20, 24, 30)"}[scheme]
    assert min(page.evaluate(CONTRAST)) >= 4.5
    shoot(page, f"report-{scheme}")


def test_a_narrow_screen_does_not_scroll_sideways(visit, report):
    page = visit(report, viewport=NARROW)
    assert page.evaluate("document.documentElement.scrollWidth") <= 400
    node(page, 1).click()
    assert page.evaluate("document.documentElement.scrollWidth") <= 400
    shoot(page, "report-narrow")


def test_on_paper_everything_is_there(visit, report, clinic):
    page = visit(report)
    page.emulate_media(media="print")
    assert page.locator("nav").is_hidden()
    assert page.locator(".tools").is_hidden()
    assert detail(page) == [str(n.id) for n in clinic[0].tree_]
    assert page.evaluate("getComputedStyle(document.querySelector('.canvas')).overflow") == (
        "visible"
    )
    assert page.pdf(format="A4")[:4] == b"%PDF"
    shoot(page, "report-print")


def test_without_javascript_it_can_be_read(visit, report, clinic):
    page = visit(report, java_script_enabled=False)
    for i in range(len(clinic[0].tree_)):
        assert page.locator(f"#node-{i}").is_visible()
    assert page.locator(".tools").is_hidden()
    assert page.locator("#pick").is_hidden()
    assert page.locator("#rows details").count() == 5
    node(page, 1).click()
    assert page.url.endswith("#node-1")
    shoot(page, "report-without-javascript")


def test_hostile_names_are_shown_as_they_are(visit, hostile, tmp_path):
    model, X, y = hostile
    page = visit(model.report(X, y, tmp_path / "r.html", rows=X[:6]).as_uri())
    title = page.title()
    for i in range(3):
        node(page, i).click()
        node(page, i).hover()
    page.locator("#pick").select_option(index=1)
    text = page.evaluate("document.body.textContent")
    for name in [*HOSTILE.values(), *HOSTILE_LEVELS.values(), *HOSTILE_CLASSES.values()]:
        assert name in text
    assert page.locator("img, b, u, [onclick], [onload], [onerror]").count() == 0
    assert page.locator("script").count() == 1
    assert page.title() == title
    shoot(page, "report-hostile")


def test_no_other_script_runs(browser, report):
    page = browser.new_page()
    page.goto(report)
    page.evaluate(
        """() => {
          const s = document.createElement("script");
          s.textContent = "document.title = 'broken'";
          document.body.append(s);
        }"""
    )
    assert page.title() != "broken"
    refused = "fetch('https://example.org/').then(() => 'came', () => 'refused')"
    assert page.evaluate(refused) == "refused"
    page.close()
