"""A real Chromium for tests of pages, and the models and pages that they look at."""

import os
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from predictree import ToPsClassifier

SCREENSHOTS = Path(__file__).with_name("screenshots")
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
WIDE, NARROW = {"width": 1200, "height": 900}, {"width": 400, "height": 800}

HOSTILE = {
    "sex": '<img src=x onerror="document.title=1">',
    "dose": '"><script>document.title=2</script>',
    "age": "{{ 7 * 7 }}</style><b>x</b>",
}
HOSTILE_LEVELS = {"f": "</script><script>document.title=3</script>", "m": "' onclick='x' a=\""}
HOSTILE_CLASSES = {"ill": "<u>ill</u>", "well": "--><svg onload=document.title=4>"}


def without_browser():
    """Skip, or fail where a browser must be."""
    reason = "no Chromium here: sh tests/ui/install-browser.sh installs Debian's (as root)"
    if os.environ.get("CI") == "true":
        pytest.fail(reason)
    pytest.skip(reason)


@pytest.fixture(scope="session")
def browser():
    path = next(filter(None, map(shutil.which, BROWSERS)), None)
    if path is None:
        without_browser()
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield found
        found.close()


@pytest.fixture
def visit(browser):
    """Open a page in a context of its own; at the end nothing may have gone wrong in it."""
    contexts, wrong = [], []

    def go(address, allowed=("file:", "data:"), **how):
        context = browser.new_context(**{"viewport": WIDE, "reduced_motion": "reduce", **how})
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(60_000)
        page.on("console", lambda m: m.type in ("error", "warning") and wrong.append(m.text))
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("dialog", lambda dialog: (wrong.append(dialog.message), dialog.dismiss()))
        page.on(
            "request",
            lambda r: None if r.url.startswith(tuple(allowed)) else wrong.append(r.url),
        )
        page.goto(address)
        return page

    yield go
    for context in contexts:
        context.close()
    assert wrong == []


def shoot(page, name, **how):
    """Keep a picture for people to look at."""
    SCREENSHOTS.mkdir(exist_ok=True)
    page.screenshot(path=SCREENSHOTS / f"{name}.png", full_page=True, **how)


def patients(n, seed):
    """Two sexes that respond to a dose in opposite ways, the men by age; some ages missing."""
    rng = np.random.default_rng(seed)
    sex, dose = rng.choice(["f", "m"], n), rng.uniform(0, 10, n).round(1)
    age = rng.integers(20, 90, n).astype(float)
    slope = np.where(sex == "m", np.where(age >= 60, 1.5, -1.0), 0.2)
    risk = 1 / (1 + np.exp(-slope * (dose - 5)))
    y = np.where(rng.random(n) < risk, "ill", "well")
    age[rng.random(n) < 0.05] = np.nan
    return pd.DataFrame({"sex": sex, "dose": dose, "age": age}), y


@pytest.fixture(scope="session")
def clinic():
    """A model with several regions, and rows that it has not seen."""
    X, y = patients(900, 0)
    model = ToPsClassifier("lr", max_depth=2, validation=3, random_state=0).fit(X, y)
    assert model.get_n_leaves() > 2
    return model, *patients(300, 1)


@pytest.fixture(scope="session")
def hostile():
    """The same with names that would do harm if a page took them for markup."""
    X, y = patients(500, 0)
    X = X.replace({"sex": HOSTILE_LEVELS}).rename(columns=HOSTILE)
    y = np.array([HOSTILE_CLASSES[label] for label in y])
    model = ToPsClassifier("lr", max_depth=1, validation=3, random_state=0).fit(X, y)
    assert model.get_n_leaves() == 2
    return model, X, y
