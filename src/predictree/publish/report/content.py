"""What a report says, as one plain dict; the page is made from it and from nothing else.

Every number in it is of many rows. Single rows are in it only if the caller asks for them.

====================  ==============================================================================
``schema``            1; raised when a key changes its meaning
``date``              when the report was made, ``YYYY-MM-DD``
``title``             what is predicted, in words (or None)
``model``             ``task``, ``loss``, ``loss_words``, ``classes`` (or None), ``weights``,
                      ``n_features``, ``n_trees``, ``n_rows``, ``n_leaves``, ``depth``
``verdict``           ``kind`` (earned, lone, unclear or worse), ``headline``, ``advice``, ``text``,
                      ``loss``, and ``opponents``: ``name``, ``loss``, ``gain``, ``low``, ``high``
                      (its 95 % interval), and ``share``, ``share_low``, ``share_high``, the same in
                      shares of the opponent's loss
``nodes``             of the first tree: fields of `Node`, ``rule`` and ``rules``, ``share`` of the
                      rows, ``level`` (what was observed, in words), ``special``, and ``score``, the
                      leaf's entry of the scorecard (None at inner nodes)
``scorecard``         `Scorecard.to_dict`
``importances``       `Importances.to_dict`, None without data
``learner_map``       `LearnerMap.to_dict`
``portraits``         ``measure``, and ``regions`` of `Portraits`, each with ``special`` and, of a
                      tree of additive models, ``formula`` and ``curves`` (see `curves`)
``rows``              those asked for: ``label``, ``values`` (name and value in words), ``answer``,
                      ``path`` (ids of nodes)
``failures``          ``learner``, ``reason``, ``count``
``budget``            ``stopped`` (or None), ``fits_made``, ``fits_exhaustive``
``provenance``        ``parameters`` and ``versions``, by name, in words
====================  ==============================================================================
"""

import datetime as dt
import math
import platform
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from predictree import __version__
from predictree.errors import InvalidInputError
from predictree.explain.additive import AdditiveTree
from predictree.explain.census import functions_of
from predictree.explain.curves import curves
from predictree.explain.explain import explain
from predictree.explain.formulas import formula_of
from predictree.explain.importance import importances
from predictree.explain.panels import target_of
from predictree.explain.portraits import Portraits, portraits
from predictree.explain.regions import (
    NORMAL,
    RegionScore,
    learner_map,
    scorecard,
)
from predictree.model import Comparison, Model, Verdict, model_of
from predictree.model.outputs import probabilities
from predictree.model.tree import FloatArray, Node
from predictree.model.words import loss_word, words_of

SCHEMA = 1
MAX_ROWS = 200  # single rows, for a person to read
MAX_WORDS = 300  # characters of a parameter
PACKAGES = ("predictree", "numpy", "scipy", "scikit-learn", "joblib", "numba")
HEADLINES = {
    "earned": "The tree earned its place",
    "lone": "No tree was needed",
    "untried": "No tree was asked for",
    "unclear": "The tree did not clearly earn its place",
    "worse": "The tree is worse than what it should beat",
}
ADVICE = {
    "earned": "On rows that its models did not see, it is clearly better than simpler models. Its "
    "regions are where it differs: read what is special in each of them below.",
    "lone": "No split of the rows was a clear gain, so that one model serves all rows and there "
    "are no regions to compare. More rows may show some.",
    "untried": "With max_depth=0 no split of the rows was tried. One model serves all rows, and "
    "there are no regions to compare.",
    "unclear": "The difference from simpler models may be chance. Use a simpler one unless the "
    "regions make sense to you, or give it more rows.",
    "worse": "A simpler model predicts better on rows that neither saw. Use that one, or fit again "
    "with more rows, fewer learners or a smaller depth.",
}


def describe(
    fitted: Any,
    X: Any = None,
    y: Any = None,
    *,
    rows: Any = None,
    date: dt.date | None = None,
    title: str | None = None,
) -> dict[str, Any]:
    """Return everything that a report says of a model.

    Parameters
    ----------
    fitted : ToPsClassifier, ToPsRegressor or Model
        A fitted estimator, or its ``model_``.
    X, y : table and labels, optional
        Rows for the scorecard and the importances, best those that the model has never seen.
        Without them the scorecard is that of the fit's own held-out rows.
    rows : table, optional
        Rows to show one by one, with their values and their paths.
    date : date, optional
        Of the report; today.
    title : str, optional
        What is predicted, from which table; by default the name of y, where it has one.

    Returns
    -------
    dict
        Plain data: dicts, lists, text, numbers and None. The module's docstring has its keys.
    """
    model = model_of(fitted)
    name = getattr(y, "name", None)
    title = f"Predicting {name}" if title is None and name is not None else title
    card = scorecard(model, X, y)
    matter = None if X is None else importances(model, X, y).to_dict()
    scores, told = {region.leaf: region for region in card.regions}, portraits(model)
    found = {
        "schema": SCHEMA,
        "date": (date or dt.datetime.now().date()).isoformat(),
        "model": _model(model),
        "title": title,
        "verdict": _verdict(model.account.verdict, len(model.tree) == 1),
        "nodes": [_node(model, node, scores.get(node.id), told) for node in model.tree],
        "portraits": _portraits(model, told),
        "scorecard": card.to_dict(),
        "importances": matter,
        "learner_map": learner_map(model).to_dict(),
        "rows": [] if rows is None else _rows(model, rows),
        "failures": _failures(model),
        "budget": _budget(model),
        "provenance": _provenance(model),
    }
    plain: dict[str, Any] = _plain(found)
    return plain


def _plain(content: Any) -> Any:
    """Return what JSON knows: lists for tuples, and None for a number that is none."""
    if isinstance(content, Mapping):
        return {key: _plain(value) for key, value in content.items()}
    if isinstance(content, list | tuple):
        return [_plain(value) for value in content]
    return None if isinstance(content, float) and not math.isfinite(content) else content


def _model(model: Model) -> dict[str, Any]:
    tree, name = model.tree, model.loss.name
    return {
        "task": model.task,
        "loss": name,
        "loss_words": loss_word(name),
        "classes": model.class_words,
        "weights": model.settings.parameters.get("weights"),
        "n_features": len(model.schema.columns),
        "n_trees": len(model.trees),
        "n_rows": int(tree.n_rows[0, 0]),
        "n_leaves": tree.get_n_leaves(),
        "depth": tree.get_depth(),
    }


def _verdict(verdict: Verdict, lone: bool) -> dict[str, Any]:
    kind = verdict_kind(verdict, lone)
    words = kind if verdict.tried else "untried"
    return {
        "kind": kind,
        "headline": HEADLINES[words],
        "advice": ADVICE[words],
        "text": str(verdict),
        "loss": verdict.loss,
        "opponents": [_opponent(c) for c in verdict.opponents],
    }


def verdict_kind(verdict: Verdict, lone: bool) -> str:
    """Return what kind of verdict it is: earned, lone, unclear or worse."""
    return "lone" if lone else verdict.kind


def _opponent(comparison: Comparison) -> dict[str, Any]:
    gain, margin = comparison.gain, NORMAL * comparison.error
    found = {"gain": gain, "low": gain - margin, "high": gain + margin}
    unit = comparison.loss or 1.0
    shares = {"share": gain / unit, "share_low": found["low"] / unit}
    shares["share_high"] = found["high"] / unit
    return {"name": comparison.name, "loss": comparison.loss, **found, **shares}


def _portraits(model: Model, told: Portraits) -> dict[str, Any]:
    drawn: dict[int, list[Any]] = {}
    formulas: dict[int, list[str]] = {}
    if functions_of(model.tree) is not None:
        read = AdditiveTree.of(model)
        drawn = curves(read, target_of(read, None), told.regions)
        formulas = {leaf: formula_of(read, leaf)[1:] for leaf in drawn}
    regions = [
        {
            **asdict(region),
            "special": region.special,
            "curves": drawn.get(region.leaf, []),
            "formula": formulas.get(region.leaf, []),
        }
        for region in told.regions
    ]
    return {"measure": told.measure, "regions": regions}


def _level(model: Model, node: int, told: Portraits) -> str:
    """Return what was observed at a node, in words: the mean of its leaves."""
    below = [r for r in told.regions if node in model.tree.path(r.leaf) and r.observed is not None]
    n_rows = sum(region.n for region in below)
    if not n_rows:
        return ""
    mean = sum(region.n * (region.observed or 0.0) for region in below) / n_rows
    return f"{told.measure} {told.told(mean)}"


def _node(model: Model, node: Node, score: RegionScore | None, told: Portraits) -> dict[str, Any]:
    rules = model.rules(node.id)
    special = next((r.special for r in told.regions if r.leaf == node.id), "")
    return {
        **asdict(node),
        "split": None,  # in words: the rules of the children
        "gain": node.gain,
        "rule": rules[-1] if rules else "all rows",
        "rules": rules,
        "share": node.n_train / max(int(model.tree.n_rows[0, 0]), 1),
        "level": _level(model, node.id, told),
        "special": special,
        "score": None if score is None else asdict(score),
    }


def _rows(model: Model, rows: Any) -> list[dict[str, Any]]:
    features = model.encode(rows)
    if len(features) > MAX_ROWS:
        raise InvalidInputError(
            f"rows has {len(features)} rows, and a report shows up to {MAX_ROWS}, for a person to "
            f"read: give fewer, such as rows[:{MAX_ROWS}]"
        )
    return [_row(model, rows[i : i + 1], features[i], i) for i in range(len(features))]


def _row(model: Model, row: Any, features: FloatArray, place: int) -> dict[str, Any]:
    found = explain(model, row)
    columns = model.schema.columns
    return {
        "label": f"row {place + 1}",
        "values": [
            {"name": column.name, "value": words_of(column, value)}
            for column, value in zip(columns, features, strict=True)
        ],
        "answer": answer_words(model, found.scores),
        "path": [step.node for step in found.paths[0].steps],
        "rule": model.rule(found.paths[0].leaf),
    }


def answer_words(model: Model, scores: FloatArray) -> str:
    """Return the answer for one row in words."""
    names = model.class_words
    if names is None:
        return f"{scores[0]:.6g}"
    chosen = int(model.choose(scores[None])[0])
    return f"{names[chosen]} ({probabilities(scores[None])[0, chosen]:.1%})"


def _failures(model: Model) -> list[dict[str, Any]]:
    lost: Counter[tuple[str, str]] = Counter()
    for failure in model.account.failures:
        lost[failure.learner, failure.reason] += failure.count
    return [
        {"learner": learner, "reason": reason, "count": count}
        for (learner, reason), count in lost.most_common()
    ]


def _budget(model: Model) -> dict[str, Any]:
    fits = model.account.fits
    return {
        "stopped": model.account.stopped,
        "fits_made": fits.made,
        "fits_exhaustive": fits.exhaustive,
    }


def _provenance(model: Model) -> dict[str, Any]:
    parameters = model.settings.parameters
    versions = {"python": platform.python_version(), **{name: _version(name) for name in PACKAGES}}
    return {
        "estimator": model.settings.kind,
        "parameters": {name: _words(value) for name, value in parameters.items()},
        "versions": versions,
    }


def _words(value: Any) -> str:
    """Return a parameter in words; a function has its name, not its address."""
    if callable(value) and hasattr(value, "__name__"):
        return str(value.__name__)
    text = " ".join(repr(value).split())
    return text if len(text) <= MAX_WORDS else f"{text[:MAX_WORDS]}…"


def _version(package: str) -> str:
    if package == "predictree":
        return __version__
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"
