"""An explanation as plain data, and that as text and as a page."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from predictree.errors import shown
from predictree.model.outputs import probabilities
from predictree.model.words import word

MOST = 12  # columns whose contributions are listed
LONG = 60  # characters of a cohort or a name that are shown
ROUNDING = 1e-9  # a difference below this is none


@dataclass(frozen=True)
class Section:
    """A table with a title; its first row is the head."""

    title: str
    rows: Sequence[tuple[str, ...]]
    right: tuple[int, ...]


def plain(value: Any) -> Any:
    """Return a value that JSON knows: a number that is none, or a missing value, is None."""
    if hasattr(value, "item") and not hasattr(value, "__len__"):
        value = value.item()
    if type(value).__name__ in ("NAType", "NaTType"):
        return None
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if isinstance(value, bool | int | float | str | None) else str(value)


def as_dict(explanation: Any) -> dict[str, Any]:
    """Return an explanation as plain data; scores are those of its target."""
    k, classes = explanation.target, explanation.classes
    found: dict[str, Any] = {
        "prediction": explanation.prediction,
        "score": float(explanation.scores[k]),
        "target": None if classes is None else classes[k],
    }
    if classes is not None:
        p = probabilities(explanation.scores[None])[0].tolist()
        found["probabilities"] = dict(zip(classes, p, strict=True))
    found["trees"] = [_tree(path, k, classes, explanation.columns) for path in explanation.paths]
    found["contributions"] = {
        **_amounts(explanation.contributions, k, explanation.columns),
        "unexplained": float(explanation.unexplained[k]),
    }
    return found


def _tree(path: Any, k: int, classes: Any, columns: Sequence[str]) -> dict[str, Any]:
    known = path.effects is not None
    return {
        "effects": _effects(path.effects, k, classes) if known else None,
        "leaf": path.leaf,
        "score": float(path.scores[k]),
        "path": [
            {"node": s.node, "rule": s.rule, "value": s.value, "n_train": s.n_train}
            for s in path.steps
        ],
        "predictors": [_predictor(part, k, columns) for part in path.parts],
        "neighbours": [
            {
                "node": n.node,
                "rule": n.rule,
                "column": n.column,
                "value": plain(n.value),
                "is_below": n.is_below,
                "leaf": n.leaf,
                "score": float(n.scores[k]),
                "probability": None if classes is None else _probability(n.scores, k),
            }
            for n in path.neighbours
        ],
    }


def _effects(effects: Any, k: int, classes: Any) -> dict[str, Any]:
    """Return effects on the score of one class; of two the second's tell both."""
    sign = -1.0 if classes is not None and len(effects.cut) == 1 and k == 0 else 1.0
    k = 0 if len(effects.cut) == 1 else k

    def told(amounts: Any) -> dict[str, Any]:
        by_node = (sign * amounts[:, k]).tolist()
        names = map(str, effects.nodes)
        return {"effect": float(sum(by_node)), "by_node": dict(zip(names, by_node, strict=True))}

    return {
        "scale": effects.scale,
        "baseline": told(effects.baseline),
        "terms": [
            {
                "columns": list(term.columns),
                "values": [plain(value) for value in term.values],
                **told(term.amounts),
            }
            for term in effects.terms
        ],
        "cut": float(sign * effects.cut[k]),
        "sum": float(sign * effects.total[k]),
    }


def _probability(scores: Any, k: int) -> float:
    return float(probabilities(scores[None])[0, k])


def _predictor(part: Any, k: int, columns: Sequence[str]) -> dict[str, Any]:
    known = part.contributions is not None
    return {
        "learner": part.learner,
        "trained_on": part.trained_on,
        "cohort": part.cohort,
        "n_train": part.n_train,
        "answer": float(part.answer[k]),
        "weight": part.weight,
        "share": float(part.share[k]),
        "contributions": _amounts(part.contributions, k, columns) if known else None,
        "reason": part.reason,
    }


def _amounts(contributions: Any, k: int, columns: Sequence[str]) -> dict[str, Any]:
    amounts = contributions.amounts[:, k].tolist()
    return {
        "baseline": float(contributions.baseline[k]),
        "columns": dict(zip(columns, amounts, strict=True)),
        "cut": float(contributions.cut[k]),
    }


def as_text(found: dict[str, Any]) -> str:
    """Return an explanation in words."""
    blocks = [_answer(found)]
    for section in _sections(found):
        text = table(section.rows, section.right)
        blocks.append(f"{shown(section.title)}\n{text}" if section.title else text)
    return "\n\n".join(blocks)


def as_html(found: dict[str, Any]) -> str:
    """Return an explanation as a piece of a page, without anything from outside."""
    lines = "<br>".join(map(escape, _answer(found).splitlines()))
    return f"<div><p>{lines}</p>{''.join(map(_html_table, _sections(found)))}</div>"


def _answer(found: dict[str, Any]) -> str:
    if "probabilities" not in found:
        return f"prediction: {found['prediction']:.6g}"
    p = ", ".join(f"{shown(label)}: {share:.4f}" for label, share in found["probabilities"].items())
    text = f"prediction: {shown(str(found['prediction']))}\nprobabilities: {p}"
    target = found["target"]
    text += f"\nwhat follows is about {shown(target)}"
    if abs(found["probabilities"][target] - found["score"]) > ROUNDING:
        text += f"\nfrom a score of {found['score']:.6g}: scores are cut at 0 and made to sum to 1"
    return text


def _sections(found: dict[str, Any]) -> Iterable[Section]:
    n_trees = len(found["trees"])
    for number, tree in enumerate(found["trees"], 1):
        several = f"tree {number} of {n_trees}; the answer is their mean" if n_trees > 1 else ""
        yield _rules(tree, several)
        if tree["effects"] is None:
            yield _predictors(tree)
        else:
            yield _added_up(tree["effects"], found["target"])
        if tree["neighbours"]:
            yield _elsewhere(tree, found["target"])
    told = n_trees == 1 and found["trees"][0]["effects"] is not None
    if any(found["contributions"]["columns"].values()) and not told:
        yield _by_column(found)


def _rules(tree: dict[str, Any], title: str) -> Section:
    rows = [("node", "rule", "here", "rows")]
    rows += [
        (
            str(step["node"]),
            step["rule"],
            "" if step["node"] == 0 else word(step["value"]),
            str(step["n_train"]),
        )
        for step in tree["path"]
    ]
    return Section(title, rows, (3,))


def _predictors(tree: dict[str, Any]) -> Section:
    parts = tree["predictors"]
    rows = [("learner", "trained on", "rows", "answer", "weight", "share")]
    rows += [
        (
            part["learner"],
            f"node {part['trained_on']}: {_short(part['cohort'])}",
            str(part["n_train"]),
            *(f"{part[name]:.6g}" for name in ("answer", "weight", "share")),
        )
        for part in parts
    ]
    total = f"{sum(part['weight'] for part in parts):.6g}"
    rows.append(("sum", "", "", "", total, f"{tree['score']:.6g}"))
    return Section("", rows, (2, 3, 4, 5))


def _added_up(effects: dict[str, Any], target: str | None) -> Section:
    """Return what the terms add, the largest first, by the nodes of the path."""
    nodes = list(effects["baseline"]["by_node"])
    head = [f"node {node}" for node in nodes] if len(nodes) > 1 else []
    rows: list[tuple[str, ...]] = [("term", "here", *head, "adds")]
    rows.append(("baseline", "", *_by_node(effects["baseline"], head)))
    terms = [t for t in effects["terms"] if any(abs(a) > ROUNDING for a in t["by_node"].values())]
    terms.sort(key=lambda term: -abs(term["effect"]))
    rows += [
        (_short(" × ".join(t["columns"])), " × ".join(map(word, t["values"])), *_by_node(t, head))
        for t in terms[:MOST]
    ]
    if rest := terms[MOST:]:
        added = {n: sum(t["by_node"][n] for t in rest) for n in nodes}
        others = {"by_node": added, "effect": sum(added.values())}
        rows.append((f"{len(rest)} others", "", *_by_node(others, head)))
    blank = [""] * len(head)
    if abs(effects["cut"]) > ROUNDING:
        rows.append(("kept within the labels", "", *blank, f"{effects['cut']:+.6g}"))
    rows.append(("sum", "", *blank, f"{effects['sum']:.6g}"))
    of = "" if target is None else f" of {target}"
    title = f"what every term adds to the {effects['scale']}{of}; a node adds to those above it"
    return Section(title, rows, tuple(range(2, len(rows[0]))))


def _by_node(told: dict[str, Any], head: Sequence[str]) -> list[str]:
    amounts = list(told["by_node"].values()) if head else []
    return [f"{amount:+.4g}" if abs(amount) > ROUNDING else "" for amount in amounts] + [
        f"{told['effect']:+.6g}"
    ]


def _short(words: str) -> str:
    return words if len(words) <= LONG else f"…{words[1 - LONG :]}"


def _elsewhere(tree: dict[str, Any], target: str | None) -> Section:
    what = "prediction" if target is None else f"probability of {target}"
    key = "score" if target is None else "probability"
    rows = [("if", "nearest", "leaf", what)]
    rows += [(n["rule"], _nearest(n), str(n["leaf"]), f"{n[key]:.6g}") for n in tree["neighbours"]]
    return Section("one change away", rows, (2, 3))


def _nearest(neighbour: dict[str, Any]) -> str:
    return ("just below " if neighbour["is_below"] else "") + word(neighbour["value"])


def _by_column(found: dict[str, Any]) -> Section:
    """Return what the columns add, the largest first."""
    parts = found["contributions"]
    amounts = sorted(parts["columns"].items(), key=lambda item: -abs(item[1]))
    amounts = [(name, amount) for name, amount in amounts if amount]
    rows = [("column", "adds"), ("baseline", f"{parts['baseline']:.6g}")]
    rows += [(_short(name), f"{amount:+.6g}") for name, amount in amounts[:MOST]]
    if amounts[MOST:]:
        others = sum(amount for _, amount in amounts[MOST:])
        rows.append((f"{len(amounts) - MOST} others", f"{others:+.6g}"))
    for name, meaning in (("cut", "cut at 0 and 1"), ("unexplained", "not told by column")):
        if abs(parts[name]) > ROUNDING:
            rows.append((meaning, f"{parts[name]:+.6g}"))
    rows.append(("sum", f"{found['score']:.6g}"))
    return Section(
        "what each column adds, counted from the mean of the rows that trained", rows, (1,)
    )


def table(rows: Sequence[Sequence[str]], right: Iterable[int] = ()) -> str:
    """Lay out rows of words in columns, those in ``right`` flush right."""
    rows = [[shown(cell.replace("\n", " ")) for cell in row] for row in rows]
    flush_right = set(right)
    widths = [max(len(row[j]) for row in rows) for j in range(len(rows[0]))]
    lines = []
    for row in rows:
        cells = [
            cell.rjust(width) if j in flush_right else cell.ljust(width)
            for j, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)


def _html_table(section: Section) -> str:
    head, *body = section.rows
    caption = f"<caption>{escape(shown(section.title))}</caption>" if section.title else ""
    rows = _html_row(head, "th", section.right)
    rows += "".join(_html_row(row, "td", section.right) for row in body)
    return f"<table>{caption}{rows}</table>"


def _html_row(cells: Sequence[str], tag: str, right: Sequence[int]) -> str:
    sides = ("right" if j in right else "left" for j in range(len(cells)))
    inner = "".join(
        f'<{tag} style="text-align:{side}">{escape(shown(cell))}</{tag}>'
        for cell, side in zip(cells, sides, strict=True)
    )
    return f"<tr>{inner}</tr>"
