"""One prediction taken apart: its path in rules, what each predictor adds, and each column."""

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np

from predictree.errors import InvalidInputError, MissingExtraError
from predictree.explain.contributions import (
    Contributions,
    Explainer,
    UnexplainedError,
    composed,
    require_shap,
)
from predictree.explain.effects import Effects, effects_of
from predictree.explain.neighbours import Neighbour, neighbours
from predictree.explain.rows import as_table, one_row
from predictree.explain.wording import as_dict, as_html, as_text, plain
from predictree.model import Model, model_of
from predictree.model.schema import columns_of
from predictree.model.tree import FloatArray, Tree
from predictree.model.words import decoded


@dataclass(frozen=True, slots=True)
class Step:
    """One node of the path and the rule that leads to it, ``"all rows"`` at the root.

    ``column`` is the name of the column that the rule is about, and ``value`` what the row has
    there; both are None at the root.
    """

    node: int
    rule: str
    column: str | None
    value: Any
    n_train: int


@dataclass(frozen=True, slots=True)
class Part:
    """What one predictor adds.

    Attributes
    ----------
    learner : str
    trained_on : int
        The node whose rows trained it.
    cohort : str
        These rows in words.
    n_train : int
        How many they are.
    weight : float
        Its weight at the leaf.
    answer : array of shape (k,)
        Its scores, one a class; a single one in a regression.
    share : array of shape (k,)
        Weight times answer.
    contributions : Contributions or None
        What each column adds to the answer; None where that cannot be said.
    reason : str or None
        Why it cannot.
    """

    learner: str
    trained_on: int
    cohort: str
    n_train: int
    weight: float
    answer: FloatArray
    share: FloatArray
    contributions: Contributions | None
    reason: str | None


@dataclass(frozen=True, slots=True)
class Path:
    """The way of one row through one tree: shares, in their order, sum to the scores.

    ``neighbours`` are the leaves where the row would be if one step went the other way. ``effects``
    has, in a tree of additive models, what every term adds; else it is None.
    """

    steps: tuple[Step, ...]
    parts: tuple[Part, ...]
    scores: FloatArray
    neighbours: tuple[Neighbour, ...]
    effects: Effects | None = None

    @property
    def leaf(self) -> int:
        """The leaf where the path ends."""
        return self.steps[-1].node


@dataclass(frozen=True, slots=True)
class Explanation:
    """One prediction taken apart; print it, or see `to_dict` and `to_frame`.

    Attributes
    ----------
    paths : tuple of Path
        One through every tree of the model.
    scores : array of shape (k,)
        H(x): the mean of the paths' scores.
    classes : tuple of str or None
        The names of the k classes; None in a regression.
    prediction : object
        A class or a number.
    target : int
        The output that texts, tables and dicts are about: the class that was asked for, or else the
        predicted one.
    columns : tuple of str
        The names of the columns.
    contributions : Contributions
        What each column adds to H(x), as far as the predictors say.
    unexplained : array of shape (k,)
        What is added by predictors that do not say: baseline, contributions, cut and this sum to
        H(x).
    """

    paths: tuple[Path, ...]
    scores: FloatArray
    classes: tuple[str, ...] | None
    prediction: Any
    target: int
    columns: tuple[str, ...]
    contributions: Contributions
    unexplained: FloatArray

    def to_dict(self) -> dict[str, Any]:
        """Return all of it as plain data for JSON; numbers are those of the target."""
        return as_dict(self)

    def to_frame(self) -> Any:
        """Return a pandas frame with a row for every predictor of every tree."""
        if find_spec("pandas") is None:
            raise MissingExtraError(
                "frames are made with pandas, which is not here: pip install 'predictree[frames]'"
            )
        rows = [
            {
                "tree": number,
                "leaf": path.leaf,
                "learner": part.learner,
                "trained_on": part.trained_on,
                "cohort": part.cohort,
                "n_train": part.n_train,
                "answer": float(part.answer[self.target]),
                "weight": part.weight,
                "share": float(part.share[self.target]),
            }
            for number, path in enumerate(self.paths)
            for part in path.parts
        ]
        return import_module("pandas").DataFrame(rows)

    def __str__(self) -> str:
        return as_text(self.to_dict())

    def _repr_html_(self) -> str:
        return as_html(self.to_dict())


def explain(
    fitted: Any, x: Any, *, target: Any = None, shap: bool = False, background: Any = None
) -> Explanation:
    """Take the prediction of one row apart.

    Parameters
    ----------
    fitted : ToPsClassifier, ToPsRegressor or Model
        A fitted estimator, or its ``model_``.
    x : row or table with a single row
    target : class label, optional
        The class whose score is told; by default the predicted one.
    shap : bool, default=False
        Whether the library shap is asked what columns add to the answers of predictors that are
        not linear. That can take long.
    background : table, optional
        Rows, such as those that trained the model, whose values shap puts in the place of the
        row's. Without it shap can tell only of forests, and of other trees whose answer is a sum.
        Implies ``shap``.

    Returns
    -------
    Explanation
        With a path for every tree: its rules, its predictors with their answers, weights and
        shares, and what would lead to another leaf.

    Examples
    --------
    >>> from predictree import ToPsClassifier
    >>> from predictree.data.datasets import load_toy
    >>> X, y = load_toy()
    >>> model = ToPsClassifier("lr", random_state=0).fit(X, y)
    >>> path = model.explain(X[0]).paths[0]
    >>> [(part.learner, part.cohort, part.n_train) for part in path.parts]
    [('linear', 'all rows', 40)]
    """
    model, table = model_of(fitted), as_table(x)
    codes = one_row(model, table)
    values = _values(model, table, codes)
    if shap or background is not None:
        require_shap()
    rows = None if background is None else model.encode(background)
    paths = tuple(
        _follow(model, number, codes, values, _explainer(model, number, shap, rows))
        for number in range(len(model.trees))
    )
    scores = np.asarray(np.mean([path.scores for path in paths], axis=0))
    return _explanation(model, paths, scores, target)


def _explanation(
    model: Model, paths: tuple[Path, ...], scores: FloatArray, target: Any
) -> Explanation:
    columns, k = tuple(model.names), len(scores)
    parts = [part for path in paths for part in path.parts]
    share = 1.0 / len(paths)
    found = composed([(share * p.weight, p.contributions) for p in parts], len(columns), k)
    silent = [share * part.share for part in parts if part.contributions is None]
    unexplained = np.sum(silent, axis=0) if silent else np.zeros(k)
    labels = None if model.classes is None else model.classes.tolist()
    chosen = 0 if labels is None else int(model.choose(scores[None])[0])
    return Explanation(
        paths=paths,
        scores=scores,
        classes=None if labels is None else tuple(map(str, labels)),
        prediction=float(scores[0]) if labels is None else plain(labels[chosen]),
        target=chosen if target is None else _place_of(target, labels),
        columns=columns,
        contributions=found,
        unexplained=unexplained,
    )


def _place_of(target: Any, labels: list[Any] | None) -> int:
    if labels is None or target not in labels:
        known = "a regression has none" if labels is None else ", ".join(map(repr, labels))
        raise InvalidInputError(f"target={target!r} is not a class: {known}")
    return labels.index(target)


def _values(model: Model, table: Any, codes: FloatArray) -> list[Any]:
    """Return the values of a row as they were given."""
    if model.schema.reads(table):
        return [plain(values.to_list()[0]) for _, values in columns_of(table)]
    columns = model.schema.columns
    return [decoded(column, code) for column, code in zip(columns, codes[0], strict=True)]


def _explainer(model: Model, number: int, shap: bool, rows: FloatArray | None) -> Explainer:
    """Return what takes the answers of one tree's predictors apart."""
    usual = model.backgrounds[number] if model.backgrounds else None
    if rows is None:
        return Explainer(usual, shap)
    seen, leaves = model.seen(rows, number), model.leaves(rows, number)
    paths = {leaf: set(model.path(leaf, number)) for leaf in np.unique(leaves).tolist()}

    def within(node: int) -> FloatArray:
        return seen[[node in paths[leaf] for leaf in leaves.tolist()]]

    return Explainer(usual, True, within)


def _follow(
    model: Model, number: int, codes: FloatArray, values: Sequence[Any], explainer: Explainer
) -> Path:
    """Return the path of a row through one tree; sums are made as in `Tree.scores`."""
    tree, x = model.trees[number], model.seen(codes, number)
    leaf = int(tree.apply(x)[0])
    steps = _steps(model, number, leaf, values)
    total, parts = np.zeros(tree.n_outputs), []
    for i in range(len(tree.predictors)):
        weight = float(tree.weight_by_leaf(i)[leaf])
        if weight:
            parts.append(_part(tree, i, weight, x, steps, explainer))
            total = total + parts[-1].share
    effects = effects_of(model, number, x, [step.node for step in steps], values)
    return Path(steps, tuple(parts), total, neighbours(model, number, codes), effects)


def _part(
    tree: Tree,
    i: int,
    weight: float,
    x: FloatArray,
    steps: Sequence[Step],
    explainer: Explainer,
) -> Part:
    predictor = tree.predictors[i]
    answer = predictor.scores(x)[0]
    on = next(n for n, step in enumerate(steps) if step.node == predictor.trained_on)
    contributions, reason = None, None
    try:
        contributions = explainer(predictor, x)
    except UnexplainedError as error:
        reason = str(error)
    return Part(
        learner=predictor.learner,
        trained_on=predictor.trained_on,
        cohort=" and ".join(step.rule for step in steps[1 : on + 1]) or steps[0].rule,
        n_train=steps[on].n_train,
        weight=weight,
        answer=answer,
        share=weight * answer,
        contributions=contributions,
        reason=reason,
    )


def _steps(model: Model, number: int, leaf: int, values: Sequence[Any]) -> tuple[Step, ...]:
    tree, path = model.trees[number], model.path(leaf, number)
    steps = [Step(0, "all rows", None, None, tree[0].n_train)]
    for parent, child, rule in zip(path, path[1:], model.rules(leaf, number), strict=False):
        place = int(tree.feature[parent])
        name = model.schema.columns[place].name
        steps.append(Step(child, rule, name, values[place], tree[child].n_train))
    return tuple(steps)
