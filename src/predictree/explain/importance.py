"""What matters where: how much worse answers get when one column is mixed up within a region."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from numbers import Integral
from typing import Any

import numpy as np

from predictree.errors import InvalidInputError, need
from predictree.explain.coefficients import predictors_of, tree_with
from predictree.explain.regions import leaves_of
from predictree.explain.rows import Rows
from predictree.explain.wording import table
from predictree.losses.judging import loss_on
from predictree.model import Model, Predictor, model_of
from predictree.model.tree import FloatArray


@dataclass(frozen=True, slots=True)
class Importance:
    """How much the loss in one region grows when a column is mixed up there.

    Attributes
    ----------
    node : int
        The region: a leaf, or the node that was asked for.
    rule : str
        The conditions that lead to it.
    learner, trained_on : str, int or None
        The predictor that answers; None for the whole model.
    n_rows : int
        Rows in the region.
    loss : float
        On these rows; NaN where it is undefined, and so are the others then.
    mean, spread : dict of str to float
        By column: the growth over repeated shuffles, and its standard deviation.
    """

    node: int
    rule: str
    learner: str | None
    trained_on: int | None
    n_rows: int
    loss: float
    mean: dict[str, float]
    spread: dict[str, float]


@dataclass(frozen=True, slots=True)
class Importances:
    """What matters in every region to the model, or in one node to each of its predictors.

    Attributes
    ----------
    loss_name : str
    features : tuple of str
        The columns that were mixed up.
    lines : tuple of Importance
    """

    loss_name: str
    features: tuple[str, ...]
    lines: tuple[Importance, ...]

    @property
    def mean(self) -> FloatArray:
        """The growth of the loss, (lines, features)."""
        return np.array([[line.mean[name] for name in self.features] for line in self.lines])

    @property
    def spread(self) -> FloatArray:
        """The standard deviation of that growth, (lines, features)."""
        return np.array([[line.spread[name] for name in self.features] for line in self.lines])

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "loss_name": self.loss_name,
            "leaves": [line.node for line in self.lines],
            "rules": [line.rule for line in self.lines],
            "learners": [line.learner for line in self.lines],
            "features": list(self.features),
            "mean": _plain(self.mean),
            "spread": _plain(self.spread),
        }

    def to_frame(self) -> Any:
        """Return the means as a pandas frame: leaves, or predictors, by features."""
        pandas = need("pandas", "frames", "to_frame")
        names = [_name(line) for line in self.lines]
        index = pandas.Index(names, name="leaf" if self._of_model else "predictor")
        return pandas.DataFrame(self.mean, index=index, columns=list(self.features))

    def __str__(self) -> str:
        rows = [
            (str(_name(line)), *(f"{value:.4g}" for value in values))
            for line, values in zip(self.lines, self.mean, strict=True)
        ]
        return table([("leaf" if self._of_model else "predictor", *self.features), *rows])

    @property
    def _of_model(self) -> bool:
        return all(line.learner is None for line in self.lines)


def importances(
    fitted: Any,
    X: Any,
    y: Any,
    *,
    node: int | None = None,
    tree: int = 0,
    sample_weight: Any = None,
    n_repeats: int = 5,
    max_rows: int = 2000,
    random_state: Any = 0,
) -> Importances:
    """Return which columns matter in which region.

    A column is shuffled among the rows of a region, so that they stay there and its values stay
    possible; what matters is how much worse the answers get. A column that the tree splits by
    may well have done its work above: within a region it then matters little.

    Parameters
    ----------
    fitted : ToPsClassifier, ToPsRegressor or Model
        A fitted estimator, or its ``model_``; its loss judges.
    X, y : table and labels
        Rows to judge on, best those that the model has never seen, or else it is its memory that
        is measured.
    node : int, optional
        Look at this node alone, and at each of its predictors: those trained on its rows, and its
        own. By default the whole model is looked at in every leaf.
    tree : int, default=0
        Whose leaves or node; of ``trees_``.
    sample_weight : array-like of shape (n_samples,), optional
    n_repeats : int, default=5
        Shuffles of each column.
    max_rows : int, default=2000
        Of more rows so many are drawn.
    random_state : int, Generator or None, default=0

    Returns
    -------
    Importances
    """
    for name, value in (("n_repeats", n_repeats), ("max_rows", max_rows)):
        if not isinstance(value, Integral) or isinstance(value, bool) or value < 1:
            raise InvalidInputError(f"{name}={value!r}: it must be a whole number of at least 1")
    model, draws = model_of(fitted), np.random.default_rng(random_state)
    chosen = tree_with(model, tree, 0 if node is None else node)
    rows, regions = Rows.of(model, X, y, tree, sample_weight), leaves_of(chosen)
    who: Sequence[Predictor | None] = [None]
    if node is not None:
        rows, regions = rows.within(model, node, tree), [node]
        who = predictors_of(model, tree, node)
    mixed = _Mixed(model, tree, rows.drawn(max_rows, draws), regions, who)
    lines = mixed.lines(n_repeats, draws)
    return Importances(model.loss.name, tuple(model.names[j] for j in model.used), lines)


@dataclass(frozen=True)
class _Mixed:
    """Rows whose columns are mixed up within regions, and who answers for them.

    ``who`` are predictors of the tree; None is the whole model.
    """

    model: Model
    tree: int
    rows: Rows
    regions: Sequence[int]
    who: Sequence[Predictor | None]

    def lines(self, n_repeats: int, draws: np.random.Generator) -> tuple[Importance, ...]:
        """Return how the losses grow, by who answers and by region."""
        base, columns = self._losses(self.rows.codes), self.model.used
        grown = np.empty((n_repeats, len(base), len(columns)))
        for repeat, place in np.ndindex(n_repeats, len(columns)):
            shuffled = self.rows.shuffled(columns[place], draws)
            grown[repeat, :, place] = self._losses(shuffled) - base
        each = zip(product(self.who, self.regions), base, grown.mean(0), grown.std(0), strict=True)
        return tuple(self._line(*who, *values) for who, *values in each)

    def _line(
        self,
        who: Predictor | None,
        region: int,
        loss: np.float64,
        mean: FloatArray,
        spread: FloatArray,
    ) -> Importance:
        names = [self.model.names[j] for j in self.model.used]
        return Importance(
            node=region,
            rule=self.model.rule(region, self.tree),
            learner=None if who is None else who.learner,
            trained_on=None if who is None else who.trained_on,
            n_rows=int((self.rows.region == region).sum()),
            loss=float(loss),
            mean=dict(zip(names, mean.tolist(), strict=True)),
            spread=dict(zip(names, spread.tolist(), strict=True)),
        )

    def _losses(self, codes: FloatArray) -> FloatArray:
        """Return the losses, by who answers and by region; NaN if undefined."""
        found = []
        for predictor in self.who:
            scores = self._scores(predictor, codes)
            for region in self.regions:
                here = self.rows.region == region
                value = loss_on(self.model.loss, self.rows.judged(here), scores[here])
                found.append(np.nan if value is None else value)
        return np.array(found)

    def _scores(self, predictor: Predictor | None, codes: FloatArray) -> FloatArray:
        if predictor is None:
            return self.model.scores(codes)
        return predictor.scores(self.model.seen(codes, self.tree))


def _name(line: Importance) -> int | str:
    return line.node if line.learner is None else f"{line.learner} of node {line.trained_on}"


def _plain(values: FloatArray) -> list[list[float | None]]:
    return [[v if np.isfinite(v) else None for v in line] for line in values.tolist()]
