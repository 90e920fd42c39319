"""What a notebook shows of a fitted model, and the board of what it was compared with."""

from collections.abc import Mapping
from html import escape
from typing import Any

from predictree.errors import shown
from predictree.explain.additive import AdditiveTree
from predictree.explain.census import functions_of
from predictree.explain.curves import HEIGHT, WIDTH, strongest
from predictree.explain.panels import NORMAL, target_of
from predictree.explain.portraits import outline
from predictree.explain.terms import frame_of
from predictree.model import Model, model_of

EFFECTS = 3
MOST_LINES = 24  # of the tree


def leaderboard(fitted: Any) -> Any:
    """Return what the tree was compared with on rows held out, the best first.

    Parameters
    ----------
    fitted : ToPsClassifier, ToPsRegressor or Model

    Returns
    -------
    pandas.DataFrame, or numpy.recarray where pandas is not installed
        ``model``, ``loss``, and ``above``: by which share of its own loss it is above the tree's
        (below, if negative), with the 95 % interval ``low`` to ``high``.
    """
    verdict = model_of(fitted).account.verdict
    lines = [("this tree", verdict.loss, 0.0, 0.0, 0.0)]
    for rival in verdict.opponents:
        unit = rival.loss or 1.0
        share, margin = rival.gain / unit, NORMAL * rival.error / unit
        lines.append((rival.name, rival.loss, share, share - margin, share + margin))
    lines.sort(key=lambda line: line[1])
    names = ("model", verdict.loss_name, "above", "low", "high")
    return frame_of(dict(zip(names, map(list, zip(*lines, strict=True)), strict=True)))


def page_of(model: Model, parameters: str) -> str:
    """Return a piece of a page: verdict, tree, the strongest effects; parameters are folded."""
    lines = outline(model).splitlines()
    more = [f"… and {len(lines) - MOST_LINES} more nodes"] if len(lines) > MOST_LINES else []
    tree = escape(shown("\n".join(lines[:MOST_LINES] + more), keep="\n"))
    verdict = escape(str(model.account.verdict))
    return (
        f'<div style="max-width:60em"><p>{verdict}</p><pre>{tree}</pre>{_effects(model)}'
        f"<details><summary>Parameters</summary>{parameters}</details></div>"
    )


def _effects(model: Model) -> str:
    """Return the strongest curves of all rows as small drawings."""
    if functions_of(model.tree) is None:
        return ""
    read = AdditiveTree.of(model)
    drawn = "".join(map(_drawing, strongest(read, target_of(read, None), EFFECTS)))
    title = f"What the {EFFECTS} strongest features add to the {read.scale}, over all rows"
    return f'<p>{title}:</p><div style="display:flex;flex-wrap:wrap;gap:1.2em">{drawn}</div>'


def _drawing(small: Mapping[str, Any]) -> str:
    name, words = (escape(shown(small[key])) for key in ("name", "words"))
    ends = "".join(
        f'<text x="{x}" y="{HEIGHT + 12}" font-size="10" fill="currentColor" '
        f'text-anchor="{"start" if x < 15 else "end" if x > WIDTH - 15 else "middle"}">'
        f"{escape(shown(word))}</text>"
        for x, word in small["ends"]
    )
    return (
        f'<figure style="margin:0"><figcaption><b>{name}</b> {escape(small["bottom"])} to '
        f'{escape(small["top"])}</figcaption><svg width="{WIDTH:g}" height="{HEIGHT + 16:g}" '
        f'role="img" aria-label="{words}"><line x2="{WIDTH:g}" y1="{small["zero"]}" '
        f'y2="{small["zero"]}" stroke="currentColor" opacity=".25"/>{_marks(small)}{ends}</svg>'
        "</figure>"
    )


def _marks(small: Mapping[str, Any]) -> str:
    if small["kind"] == "line":
        return (
            f'<path d="{small["band"]}" fill="#3b82c4" opacity=".2"/>'
            f'<path d="{small["mine"]}" fill="none" stroke="#3b82c4" stroke-width="2"/>'
        )
    return "".join(f'<circle cx="{x}" cy="{y}" r="3.5" fill="#3b82c4"/>' for x, y in small["mine"])
