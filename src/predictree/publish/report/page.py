"""From the dict of a report to a page: one file, nothing from elsewhere, nothing but our script."""

import datetime as dt
import math
import os
from base64 import b64encode
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from typing import Any

from predictree.errors import need, shown
from predictree.explain.curves import HEIGHT as SMALL_HEIGHT
from predictree.explain.curves import WIDTH as SMALL_WIDTH
from predictree.model.words import rounded
from predictree.publish.report.content import describe
from predictree.publish.report.drawing import HEIGHT, WIDTH, draw, shortened

HERE = ("predictree.publish.report",)
SCRIPTS, STYLES = ("tree.js", "report.js"), ("style.css",)
HEAT = 9  # shades of a table
TOP = 20  # features that are shown at once


def write(
    fitted: Any,
    path: str | os.PathLike[str],
    X: Any = None,
    y: Any = None,
    *,
    rows: Any = None,
    date: dt.date | None = None,
    title: str | None = None,
) -> Path:
    """Write the report of a model to a file, and return its path; see `describe`."""
    template = environment().get_template("report.html")  # asks for jinja2 before the work is done
    target = Path(path)
    page = _fill(template, describe(fitted, X, y, rows=rows, date=date, title=title))
    with target.open("w", encoding="utf-8", newline="\n") as file:
        file.write(page)
    return target


def render(report: dict[str, Any]) -> str:
    """Return the page of a report, as `describe` returns it."""
    return _fill(environment().get_template("report.html"), report)


def _fill(template: Any, report: dict[str, Any]) -> str:
    script = "".join(map(static, SCRIPTS))
    style = "".join(map(static, STYLES))
    page: str = template.render(
        report,
        drawing=draw(report["nodes"]),
        style=style,
        script=script,
        policy=policy(style, script),
    )
    return page


def policy(style: str, script: str) -> str:
    """Return what a page may do: be drawn and run these very texts, and nothing else."""
    return (
        f"default-src 'none'; style-src '{digest(style)}'; script-src '{digest(script)}'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )


def digest(text: str) -> str:
    """Return the hash of a style or script for a Content-Security-Policy."""
    return f"sha256-{b64encode(sha256(text.encode()).digest()).decode()}"


def static(name: str) -> str:
    """Return one of the package's own texts."""
    return files("predictree.publish.report").joinpath("static", name).read_text(encoding="utf-8")


def environment(*packages: str) -> Any:
    """Return what fills the templates of packages; every value is escaped."""
    jinja2 = need("jinja2", "report", "a report")
    found = jinja2.Environment(
        loader=jinja2.ChoiceLoader([jinja2.PackageLoader(name) for name in packages or HERE]),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        finalize=as_words,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    words = {"num": number, "pct": percent, "rate": rate, "short": shortened, "minus": minus}
    shapes = {"heat": heat, "mark": mark, "place": place, "fixed": fixed}
    found.filters.update(words | shapes)
    found.globals.update(box_width=WIDTH, box_height=HEIGHT, heat_top=TOP)
    found.globals.update(ranked=ranked, scale_of=scale_of, small=(SMALL_WIDTH, SMALL_HEIGHT))
    return found


def as_words(value: Any) -> Any:
    """Return what a page says with names shown and not obeyed; what is a page's own stays."""
    return shown(value, keep="\n\t") if type(value) is str else value


def minus(text: str) -> str:
    """Return text that may begin with a number with a true minus."""
    return text.replace("-", "−") if text[:1] == "-" and text[1:2].isdigit() else text


def number(value: float | None, digits: int = 4) -> str:
    """Return a number with so many digits that count, and a true minus."""
    return rounded(value, digits).replace("-", "−")


def fixed(value: float | None, most: float) -> str:
    """Return a number with as many decimals as tell it from the largest one."""
    decimals = max(0, 2 - math.floor(math.log10(most))) if most > 0 else 1
    text = "–" if value is None else f"{value:.{decimals}f}".replace("-", "−")
    return "0" if value is not None and not float(f"{value:.{decimals}f}") else text


def percent(value: float | None, decimals: int = 1) -> str:
    """Return a share in percent."""
    return "–" if value is None else f"{value:.{decimals}%}".replace("-", "−")


def rate(rates: list[float] | None, classes: list[str] | None, which: int | None = None) -> str:
    """Return a base rate in a few words: of one class, the second of two unless told, or a mean."""
    if rates is None:
        return "–"
    if classes is None:
        return number(rates[0])
    k = 1 if len(rates) == 2 else max(range(len(rates)), key=lambda i: rates[i])
    return percent(rates[k if which is None else which])


def mark(score: dict[str, Any] | None) -> str:
    """Return whether a region gains: better, worse or even, by its interval."""
    bounds = None if score is None else score["gain_interval"]
    if bounds is None:
        return "unknown"
    if bounds[0] > 0:
        return "better"
    return "worse" if bounds[1] < 0 else "even"


def heat(value: float | None, most: float) -> int:
    """Return the shade of a value between none and most."""
    if value is None or most <= 0:
        return 0
    return max(0, min(HEAT, round(HEAT * value / most)))


def ranked(matter: dict[str, Any]) -> list[int]:
    """Return the places of features, those first that matter most somewhere."""
    columns = list(zip(*matter["mean"], strict=True))
    largest = [max((v for v in column if v is not None), default=0.0) for column in columns]
    return sorted(range(len(largest)), key=lambda j: -largest[j])


def scale_of(pairs: list[tuple[float, float]]) -> tuple[float, float]:
    """Return the ends of an axis that has zero and all of these on it, with some room."""
    ends = [0.0, *(end for pair in pairs for end in pair)]
    low, high = min(ends), max(ends)
    room = 0.06 * (high - low) or 1.0
    return low - room, high + room


def place(value: float, scale: tuple[float, float]) -> float:
    """Return where on an axis of 100 units a value stands."""
    return round(100 * (value - scale[0]) / (scale[1] - scale[0]), 2)
