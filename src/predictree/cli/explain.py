"""``predictree explain``: one prediction taken apart, in words."""

import argparse
from typing import Any

from predictree.cli.command import add_command, add_json
from predictree.cli.console import print_json, table
from predictree.cli.models import add_model, class_names, read_model, read_rows
from predictree.cli.tables import add_reading, blaming
from predictree.exceptions import InvalidInputError
from predictree.inspection import Explanation, explain
from predictree.inspection.explain import Path
from predictree.losses import decide, probabilities

WORDS = """\
  predictree explain model.tops new.csv --row 1
  predictree explain model.tops new.csv --row 1 --json

The rules from the root to the leaf; then every predictor with weight there: its learner, the node
whose rows trained it, its answer, its weight, and its share, which is the two multiplied. The
shares sum to the prediction."""


def add_to(commands: Any) -> None:
    """Add the command."""
    parser = add_command(commands, "explain", "take the answer for one row apart", WORDS, run)
    add_model(parser)
    parser.add_argument("data", metavar="DATA", help="a CSV, CSV.gz or Parquet file")
    parser.add_argument(
        "--row", type=row_number, required=True, metavar="N", help="the row, counted from 1"
    )
    add_json(parser)
    add_reading(parser)


def run(args: argparse.Namespace) -> None:
    """Explain one row."""
    model = read_model(args)
    file, rows = read_rows(args, model)
    if args.row > len(rows):
        raise InvalidInputError(f"{file.path} has {len(rows)} rows, and none is number {args.row}")
    row = rows[args.row - 1 : args.row]
    with blaming(file):
        explanation = explain(model, row)
    found = describe(model, explanation, _values(model, row))
    if args.json:
        print_json({"row": args.row, **found})
    else:
        print(f"{file.place(args.row - 1)}\n{as_text(found)}")


def row_number(text: str) -> int:
    """Return the number of a row, counted from 1."""
    if not text.isdecimal() or not int(text):
        raise argparse.ArgumentTypeError(f"{text!r} is no row: rows count from 1")
    return int(text)


def _values(model: Any, row: Any) -> dict[str, Any]:
    """Return the values of a row by the names of the model's columns."""
    names = [column.name for column in model.schema_.columns]
    return dict(zip(names, row.row(0) if hasattr(row, "row") else row[0], strict=True))


def describe(model: Any, explanation: Explanation, values: dict[str, Any]) -> dict[str, Any]:
    """Return an explanation as plain data.

    In a classification scores, answers and shares are those of the predicted class.
    """
    scores, classes = explanation.scores[None], getattr(model, "classes_", None)
    k = 0 if classes is None else int(decide(scores, model._half_is_second)[0])
    found: dict[str, Any] = {
        "prediction": float(scores[0, 0]) if classes is None else class_names(model)[k],
        "score": float(scores[0, k]),
        "trees": [_path(path, k, values) for path in explanation.paths],
    }
    if classes is not None:
        p = probabilities(scores)[0].tolist()
        found["probabilities"] = dict(zip(class_names(model), p, strict=True))
    return found


def _path(path: Path, k: int, values: dict[str, Any]) -> dict[str, Any]:
    return {
        "leaf": path.leaf,
        "score": float(path.scores[k]),
        "path": [
            {
                "node": step.node,
                "rule": step.rule,
                "value": None if step.column is None else _shown(values[step.column]),
                "n_train": step.n_train,
            }
            for step in path.steps
        ],
        "predictors": [
            {
                "learner": part.learner,
                "trained_on": part.trained_on,
                "answer": float(part.answer[k]),
                "weight": part.weight,
                "share": float(part.share[k]),
            }
            for part in path.parts
        ],
    }


def _shown(value: Any) -> Any:
    """Return a value that JSON knows; a date is text."""
    return value if isinstance(value, bool | int | float | str | None) else str(value)


def as_text(found: dict[str, Any]) -> str:
    """Return an explanation in words."""
    blocks = [_answer(found)]
    for number, tree in enumerate(found["trees"], 1):
        if len(found["trees"]) > 1:
            blocks.append(f"tree {number} of {len(found['trees'])}; the answer is their mean")
        blocks += [_rules(tree), _predictors(tree)]
    return "\n\n".join(blocks)


def _answer(found: dict[str, Any]) -> str:
    if "probabilities" not in found:
        return f"prediction: {found['prediction']:.6g}"
    p = ", ".join(f"{label}: {share:.4f}" for label, share in found["probabilities"].items())
    text = f"prediction: {found['prediction']}\nprobabilities: {p}"
    if abs(found["probabilities"][found["prediction"]] - found["score"]) > 1e-9:
        text += f"\nfrom a score of {found['score']:.6g}: scores are cut at 0 and made to sum to 1"
    return text


def _rules(tree: dict[str, Any]) -> str:
    rows = [("node", "rule", "here", "rows")]
    rows += [
        (
            str(step["node"]),
            step["rule"],
            "" if step["node"] == 0 else _word(step["value"]),
            str(step["n_train"]),
        )
        for step in tree["path"]
    ]
    return table(rows, right=(3,))


def _predictors(tree: dict[str, Any]) -> str:
    parts = tree["predictors"]
    rows = [("learner", "trained on", "answer", "weight", "share")]
    rows += [
        (
            part["learner"],
            f"node {part['trained_on']}",
            *(f"{part[name]:.6g}" for name in ("answer", "weight", "share")),
        )
        for part in parts
    ]
    total = f"{sum(part['weight'] for part in parts):.6g}"
    rows.append(("sum", "", "", total, f"{tree['score']:.6g}"))
    return table(rows, right=(2, 3, 4))


def _word(value: Any) -> str:
    if value is None:
        return "missing"
    return f"{value:.6g}" if isinstance(value, float) else str(value)
