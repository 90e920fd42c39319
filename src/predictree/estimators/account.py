"""How the account of a fit is made: its verdict, its segments, and what is usual at its nodes."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import clone

from predictree.data.partition import are_splits
from predictree.estimators.fitting import Grown, Task
from predictree.explain.census import census_of, functions_of
from predictree.grow.problem import Problem
from predictree.losses import Judged, Loss
from predictree.losses.judging import Evidence, error_on, loss_on, observed_rates, predicted_rates
from predictree.model import Account, Background, Comparison, FitCount, Segment, Settings, Verdict
from predictree.model.outputs import probabilities
from predictree.model.residuals import Residuals, residuals
from predictree.model.schema import CROWD
from predictree.model.tree import NONE, BoolArray, FloatArray, IntArray, Tree

REFERENCE = "one stack of the reference's learners"
ALONE, ALONE_ADDITIVE = "the best learner alone ({})", "a {} model"
CHUNK = 65_536  # rows that are looked at together


def account_of(task: Task, grown: list[Grown], rivals: Sequence[Grown] = ()) -> Account:
    """Return what a fit says of itself, beside others that were grown on the same folds."""
    first = grown[0]
    unfinished = "time_limit" if len(grown) < task.n_trees else None
    return Account(
        verdict=_verdict(grown, task.recipe.limits.max_depth != 0, rivals),
        segments=segments(first.tree, first.problem, first.evidence),
        failures=(*task.refused, *(lost for one in grown for lost in one.failures)),
        fits=sum((one.fits for one in grown), FitCount()),
        stopped=grown[-1].stopped or unfinished,
        residuals=_residuals(grown),
    )


def _residuals(grown: list[Grown]) -> Residuals:
    """Sort how far off the mean of the trees is on the rows that judge all of them."""
    first = grown[0]
    problem, rows = first.problem, first.problem.partition.v2
    scores = np.mean([e.tree for e in _evidence(grown, rows)], axis=0)
    judged, leaves = problem.judged(rows), first.tree.apply(problem.X[rows])
    if scores.shape[1] == 1:
        answers = scores[:, 0]
        return residuals(first.tree, leaves, judged.y - answers, answers, judged.weight)
    lacking = 1.0 - probabilities(scores)[np.arange(len(rows)), judged.y]
    return residuals(first.tree, leaves, lacking, None, judged.weight)


def settings_of(estimator: Any, /, **changed: Any) -> Settings:
    """Return the parameters of an estimator as they are now, whatever becomes of them later.

    Of splits, which are as long as the training rows, it is kept that there were some.
    """
    given = {**estimator.get_params(deep=False), **changed}
    if are_splits(given.get("validation")):
        given["validation"] = "splits"
    copies = {name: clone(value, safe=False) for name, value in given.items()}
    return Settings(type(estimator).__name__, copies)


def _verdict(grown: list[Grown], tried: bool, rivals: Sequence[Grown]) -> Verdict:
    """Judge the tree, or the mean of the trees if the same rows judge all of them."""
    problem, first = grown[0].problem, grown[0].evidence
    rows = problem.partition.v2
    alike = _evidence(grown, rows)
    names = [name for name in first.learners if all(name in e.learners for e in alike)]
    mean = Evidence(
        np.mean([e.tree for e in alike], axis=0),
        np.mean([e.stack for e in alike], axis=0),
        {name: np.mean([e.learners[name] for e in alike], axis=0) for name in names},
        first.stacks,
    )
    alone = ALONE if functions_of(grown[0].tree) is None else ALONE_ADDITIVE
    verdict = judge(problem.loss, problem.judged(rows), mean, tried, alone)
    if not (theirs := _evidence(rivals, rows)):
        return verdict
    told = np.mean([e.tree for e in theirs], axis=0)
    reference = _comparison(problem.loss, problem.judged(rows), mean.tree, REFERENCE, told)
    return replace(verdict, reference=reference)


def _evidence(grown: Sequence[Grown], rows: IntArray) -> list[Evidence]:
    """Return the evidence of the trees that these rows judge."""
    return [one.evidence for one in grown if np.array_equal(one.problem.partition.v2, rows)]


def judge(
    loss: Loss,
    rows: Judged,
    evidence: Evidence,
    tried: bool = True,
    alone: str = ALONE,
) -> Verdict:
    """Compare the tree with its opponents; it had no chance to be one if no split was tried."""
    losses = {name: loss.value(rows, scores) for name, scores in evidence.learners.items()}
    defined = {name: value for name, value in losses.items() if np.isfinite(value)}
    best = min(defined, key=lambda name: defined[name]) if defined else next(iter(losses))
    compare = partial(_comparison, loss, rows, evidence.tree)
    return Verdict(
        loss.name,
        loss.value(rows, evidence.tree),
        compare(alone.format(best), evidence.learners[best]),
        compare(evidence.stacks, evidence.stack),
        tried,
    )


def _comparison(
    loss: Loss, rows: Judged, tree: FloatArray, name: str, scores: FloatArray
) -> Comparison:
    """Compare the scores of a tree with others."""
    its = loss.value(rows, scores)
    if np.array_equal(scores, tree):
        return Comparison(name, its, 0.0, 0.0)
    gain = its - loss.value(rows, tree)
    return Comparison(name, its, gain, loss.error_of_gain(rows, scores, tree))


def segments(tree: Tree, problem: Problem, evidence: Evidence) -> tuple[Segment, ...]:
    """Return a segment for every leaf of a tree, from the evidence that judges it."""
    rows = problem.partition.v2
    leaf_of = tree.apply(problem.X[rows])
    judged = problem.judged(rows)
    return tuple(
        _segment(int(leaf), leaf_of == leaf, problem.loss, judged, evidence)
        for leaf in np.flatnonzero(tree.feature == NONE)
    )


def _segment(leaf: int, here: BoolArray, loss: Loss, rows: Judged, evidence: Evidence) -> Segment:
    inside = Judged(rows.y[here], None if rows.weight is None else rows.weight[here])
    tree, root = evidence.tree[here], evidence.stack[here]
    if not len(inside.y):
        return Segment(leaf, 0, None, None, None, None, None, None)
    mine, its = loss_on(loss, inside, tree), loss_on(loss, inside, root)
    defined = mine is not None and its is not None
    observed = observed_rates(inside, tree.shape[1])
    return Segment(
        leaf,
        len(inside.y),
        observed,
        mine,
        its,
        its - mine if defined else None,  # type: ignore[operator]
        error_on(loss, inside, root, tree) if defined else None,
        tuple(zip(predicted_rates(inside, tree), observed, strict=True)),
    )


def background(tree: Tree, problem: Problem) -> Background:
    """Look at the training rows of a tree, through the eyes of learners that want numbers."""
    rows = problem.partition.train
    leaf = tree.apply(problem.X[rows])
    mass = np.ones(len(rows)) if problem.weight is None else problem.weight[rows]
    sums = None
    for some in _chunks(leaf):
        seen = problem.X[rows[some]]
        seen = seen if problem.view is None else problem.view(seen)
        here = _sums(seen, mass[some])
        sums = np.zeros((len(tree), *here.shape)) if sums is None else sums
        sums[leaf[some[0]]] += here
    assert sums is not None
    census = census_of(tree, problem.X[rows], mass)
    sums = _of_crowds(tree, _added_up(tree, sums))
    return Background(*_means(sums), problem.view, census)


def _of_crowds(tree: Tree, sums: FloatArray) -> FloatArray:
    """Return the sums of nodes, those with few rows as their parent's: no mean is of a few."""
    for i in range(1, len(tree)):
        if tree.n_rows[i, 0] < CROWD:
            sums[i] = sums[tree.parent[i]]
    return sums


def _means(sums: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Divide sums of values, of the weights that have one, and of all: (nodes, 3, width)."""
    total, known, every = np.moveaxis(sums, 1, 0)
    mean = np.divide(total, known, out=np.zeros_like(total), where=known > 0)
    share = np.divide(known, every, out=np.ones_like(total), where=every > 0)
    return mean, 1.0 - share


def _chunks(leaf: IntArray) -> Iterator[IntArray]:
    """Yield rows that share a leaf, not too many at once."""
    order = np.argsort(leaf, kind="stable")
    for rows in np.split(order, np.flatnonzero(np.diff(leaf[order])) + 1):
        for start in range(0, len(rows), CHUNK):
            yield rows[start : start + CHUNK]


def _sums(seen: FloatArray, mass: FloatArray) -> FloatArray:
    known = ~np.isnan(seen)
    return np.stack(
        [
            mass @ np.where(known, seen, 0.0),
            mass @ known,
            np.full(seen.shape[1], mass.sum()),
        ]
    )


def _added_up(tree: Tree, sums: FloatArray) -> FloatArray:
    """Add what the leaves have to all nodes above them."""
    for i in range(len(tree) - 1, 0, -1):
        sums[tree.parent[i]] += sums[i]
    return sums
