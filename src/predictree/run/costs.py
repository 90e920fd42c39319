"""What the parts of a fit cost, measured at the root on a few of its rows."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from predictree.data.imputation import draw
from predictree.errors import NoPredictorError
from predictree.grow.appraisal import Candidate, Site
from predictree.grow.mixing import Mixer, squared_error
from predictree.grow.problem import ROOT_PATH, Problem, Region
from predictree.grow.search_ import Judgement, Limits, Search, racing
from predictree.learners import Learner, fit_by_sums, has_closed_form
from predictree.model.schema import Schema
from predictree.model.tree import Fitted as Model
from predictree.model.tree import FloatArray, IntArray
from predictree.run.guard import Failure, attempt
from predictree.run.measuring import (
    NOTHING,
    Growth,
    memory_of,
    model_size,
    nested_samples,
    timed,
)
from predictree.run.tasks import Executor

SIZES = (500, 1500, 4000)  # rows of the fits that are timed
THIRD = 3  # of the first of these also a third are weighed: tracing makes a fit much slower
PATIENCE = 2.0  # seconds of a fit after which none on more rows is timed
ROOT_ID = 0

Said = list[dict[int, FloatArray]]  # of every region: what the learners say about its V¹


@dataclass(frozen=True, slots=True)
class LearnerCost:
    """What one fit of a learner costs, by the rows it trains on.

    Attributes
    ----------
    name : str
    by_sums : bool
        Whether its models at the root come from sums over rows, all folds at once.
    quick : bool
        Whether it is fitted at all splits of a node at once.
    seconds : Growth
        Of one fit and the prediction of the rows held out of it; of all folds if ``by_sums``.
    peak, model : Growth
        Bytes of one fit at its peak, and of a model.
    """

    name: str
    by_sums: bool
    quick: bool
    seconds: Growth
    peak: Growth
    model: Growth


@dataclass(frozen=True, slots=True)
class Costs:
    """What the parts of a fit cost.

    ``search`` is one look at all splits of a node with what is cheap, ``mix`` one combination of
    all learners, ``draw`` one imputation; each in seconds by the training rows of the node.
    """

    learners: tuple[LearnerCost, ...]
    search: Growth
    mix: Growth
    draw: Growth = NOTHING
    lost: tuple[Failure, ...] = ()

    @property
    def slow(self) -> list[LearnerCost]:
        """The learners that are fitted one by one at splits."""
        return [learner for learner in self.learners if not learner.quick]


def measure(problem: Problem, limits: Limits, strength: float | None) -> Costs:
    """Measure what the parts of a fit cost, on a few rows of its root.

    Parameters
    ----------
    problem : Problem
    limits : Limits
    strength : float or None
        Of the hold of mixtures; None if nodes have one predictor.
    """
    regions = _regions(problem)
    known: list[LearnerCost] = []
    lost: list[Failure] = []
    said: list[dict[int, FloatArray]] = [{} for _ in regions]
    for i in range(len(problem.learners)):
        found = attempt(problem.learners[i].name, partial(_cost_of, problem, i, regions, said))
        if isinstance(found, Failure):
            lost.append(found)
        else:
            known.append(found)
    if not known:
        reasons = "; ".join(f"{failure.learner}: {failure.reason}" for failure in lost)
        raise NoPredictorError(f"no learner could be fitted on few rows: {reasons}")
    loose = replace(limits, min_samples_leaf=1, min_samples_val=1)  # as few as these are
    search, mix = _cost_of_search(problem, regions, said, loose, strength)
    return Costs(tuple(known), search, mix, lost=tuple(lost))


def _regions(problem: Problem) -> list[Region]:
    """Return few rows of the root, more of them, and still more; all where those would not do."""
    samples = nested_samples(problem.y, problem.n_outputs > 1, SIZES)
    regions = [
        Region(*(part[np.isin(part, rows)] for part in problem.root.parts)) for rows in samples
    ]
    by_size = {len(_first_fold(problem, r)): r for r in regions if len(r.v1)}
    return [region for size, region in sorted(by_size.items()) if size] or [problem.root]


def _cost_of(problem: Problem, i: int, regions: Sequence[Region], said: Said) -> LearnerCost:
    """Time and weigh one learner, and note what it says."""
    learner, rows, seconds, sizes = problem.learners[i], [], [], []
    _fit_and_predict(problem, i, regions[0])  # what is imported and compiled once is not the fit's
    for region, notes in zip(regions, said, strict=True):
        spent, model = timed(partial(_fit_and_predict, problem, i, region))
        notes[i] = model.scores(problem.X[region.v1])
        rows.append(len(_first_fold(problem, region)))
        seconds.append(spent)
        sizes.append(float(model_size(model)))
        if spent > PATIENCE:
            break
    return LearnerCost(
        learner.name,
        fit_by_sums(learner),
        has_closed_form(learner),
        Growth(tuple(rows), tuple(seconds)),
        _peak_of(problem, learner, _first_fold(problem, regions[0])),
        Growth(tuple(rows), tuple(sizes)),
    )


def _peak_of(problem: Problem, learner: Learner, rows: IntArray) -> Growth:
    """Weigh a learner that has been fitted before; one that fails on so few rows weighs nothing."""
    samples = [rows[::THIRD], rows] if len(rows) > SIZES[0] / 2 else [rows]
    found = memory_of(learner, problem.X, problem.y, samples, warm=True)
    return NOTHING if isinstance(found, Failure) else found[0]


def _first_fold(problem: Problem, region: Region) -> IntArray:
    """Return the rows of a region that its first model trains on."""
    return np.asarray(region.train[problem.partition.fold[region.train] != 0])


def _fit_and_predict(problem: Problem, i: int, region: Region) -> Model:
    """Fit a learner as the root does, and predict what was held out of its first model."""
    learner = problem.learners[i]
    if fit_by_sums(learner):
        models = problem.fit(learner, region.train, ROOT_PATH)
        problem.held_out(models, region.v1)
        return models[0]
    model = problem.fit_fold(learner, region.train, ROOT_PATH, 0)
    held = region.v1[problem.partition.fold[region.v1] == 0]
    if len(held):
        model.scores(problem.X[held])
    return model


def _cost_of_search(
    problem: Problem, regions: Sequence[Region], said: Said, limits: Limits, strength: float | None
) -> tuple[Growth, Growth]:
    """Time one look at all splits of a node, and one combination of all learners."""
    measured: list[tuple[int, float, float]] = []
    for region, notes in zip(regions, said, strict=True):
        if len(notes) < len(said[0]):  # some learner was too slow for so many rows
            break
        mixer, site, mixing = _site(problem, region, notes, strength)
        look = partial(_look, problem, site, limits, mixer)
        if not measured:
            attempt("search", look)  # loops are compiled once
        found = attempt("search", partial(timed, look))
        if not isinstance(found, Failure):
            measured.append((len(region.train), found[0], mixing))
    if not measured:
        return NOTHING, NOTHING
    rows, search, mix = zip(*measured, strict=True)
    return Growth(rows, search, most=1.0), Growth(rows, mix, most=1.0)


def _site(
    problem: Problem, region: Region, said: dict[int, FloatArray], strength: float | None
) -> tuple[Mixer | None, Site, float]:
    """Return a root as the search sees it, and the seconds of combining its learners."""
    pool = [Candidate(ROOT_ID, i, scores) for i, scores in said.items()]
    rows = problem.judged(region.v1)
    if strength is None:
        scores = pool[0].scores
        site = Site(region, ROOT_PATH, pool, problem.loss.value(rows, scores), scores)
        return None, site, 0.0
    mixer, keys = Mixer(problem, strength), [h.key for h in pool]
    stacked = np.stack([h.scores for h in pool], axis=-1)
    seconds, mixture = timed(lambda: mixer.mix(region.v1, keys, stacked, None))
    loss = problem.loss.value(rows, mixture.scores)
    site = Site(region, ROOT_PATH, pool, loss, mixture.scores, mixture)
    return replace(mixer, unit=squared_error(rows, mixture.scores)), site, seconds


def _look(problem: Problem, site: Site, limits: Limits, mixer: Mixer | None) -> Judgement | None:
    """Judge all splits of a node by what is cheap, as every search begins."""
    if limits.max_depth == 0:
        return None
    search = Search(problem, site, limits, Executor(), mixer)
    return racing(search) if search.races_freely else search.best(search.ranking_trials())


def cost_of_draws(schema: Schema, X: FloatArray) -> Growth:
    """Time one imputation of rows with gaps."""
    samples = nested_samples(X[:, 0], False, SIZES[:2])
    seconds = [timed(partial(draw, schema, X[rows], 0))[0] for rows in samples]
    return Growth(tuple(map(len, samples)), tuple(seconds))
