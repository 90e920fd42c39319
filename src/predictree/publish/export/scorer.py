"""How a model that was exported as JSON answers: plain Python, and nothing else."""

from bisect import bisect_right
from math import exp
from typing import Any


def answer(model: dict[str, Any], row: dict[str, Any]) -> Any:
    """Return the number, or the probabilities of the classes, for a row: a dict by column."""
    x = row_of(model, row)
    total = [0.0] * len(model["classes"] or [0])
    for tree in model["trees"]:
        for weight, number in leaf_of(tree, x)["answers"]:
            function = model["functions"][number]
            for output, score in zip(function["outputs"], _scores(model, function, x), strict=True):
                total[output] += weight * score / len(model["trees"])
    if model["classes"] is None:
        return total[0] if model["floor"] is None else max(total[0], model["floor"])
    return _shares(total)


def row_of(model: dict[str, Any], row: dict[str, Any]) -> list[float | None]:
    """Return the numbers that stand for the values of a row."""
    return [_coded(column, row[column["name"]]) for column in model["columns"]]


def _coded(column: dict[str, Any], value: Any) -> float | None:
    """Return the number that stands for a value; None if it is missing."""
    if value is None or value != value:
        return None
    levels, unknown = column["levels"], -1.0 if column["kind"] == "category" else None
    known = float(levels.index(value)) if value in levels else unknown
    return known if levels else float(value)


def leaf_of(tree: list[Any], x: list[Any]) -> Any:
    """Return the leaf that a row falls in."""
    node = tree[0]
    while "answers" not in node:
        value, side = x[node["column"]], "right"
        if value is None:
            side = "missing"
        elif value == node.get("level") or value < node.get("below", -1e999):
            side = "left"
        node = tree[node[side]]
    return node


def _scores(model: Any, function: dict[str, Any], x: list[Any]) -> list[float]:
    """Return the scores of a function."""
    sums = list(function["constant"])
    for place in function["terms"]:
        sums = [s + a for s, a in zip(sums, _added(model["terms"][place], x), strict=True)]
    scores = LINKS[function["link"]](sums)
    low, high = function["span"] or (None, None)
    above = scores if low is None else [max(score, low) for score in scores]
    return above if high is None else [min(score, high) for score in above]


def _added(term: dict[str, Any], x: list[Any]) -> Any:
    """Return what a term adds to the sums."""
    if "product" in term:
        pairs = [(_added(a, x)[0], _added(b, x)) for a, b in term["product"]]
        return [sum(a * b[j] for a, b in pairs) for j in range(len(pairs[0][1]))]
    value = x[term["column"]]
    if value is None:
        return term["missing"]
    if "slope" in term:
        return [slope * (value - term["centre"]) for slope in term["slope"]]
    if "levels" in term:
        return dict(zip(term["levels"], term["values"], strict=True)).get(value, term["other"])
    knots, values = term["knots"], term["values"]
    if not knots[0] < value < knots[-1]:
        return values[0 if value <= knots[0] else -1]
    i = bisect_right(knots, value) - 1
    share = (value - knots[i]) / (knots[i + 1] - knots[i])
    return [a * (1 - share) + b * share for a, b in zip(values[i], values[i + 1], strict=True)]


def _odds(f: float) -> float:
    return 1 / (1 + exp(-f)) if f >= 0 else exp(f) / (1 + exp(f))


def _shares(scores: list[float]) -> list[float]:
    kept = [0.0 if s <= 1e-12 else s for s in scores]
    return [s / sum(kept) for s in kept] if any(kept) else [1 / len(kept) for _ in kept]


LINKS: dict[str, Any] = {
    "identity": lambda s: s,
    "log": lambda s: [exp(min(max(s[0], -700), 700))],
    "logit": lambda s: [1 - _odds(min(max(s[0], -35), 35)), _odds(min(max(s[0], -35), 35))],
    "expit": lambda s: [1 - _odds(s[0]), _odds(s[0])],
    "softmax": lambda s: [exp(f - max(s)) / sum(exp(g - max(s)) for g in s) for f in s],
    "complement": lambda s: [1 - s[0], s[0]],
    "shares": _shares,
    "complement shares": lambda s: _shares([1 - s[0], s[0]]),
    "odds": lambda s: [_odds(f) / sum(map(_odds, s)) for f in s],
}
