"""The models of predictors: each fitted once, by sums or one by one, and remembered."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice

import numpy as np

from predictree.grow.leaf import Candidate, Key, Pool
from predictree.grow.ledger import Ledger
from predictree.grow.problem import ROOT_PATH, Problem
from predictree.grow.rows import Rows
from predictree.learners.forms import has_closed_form
from predictree.model.tree import Fitted, FloatArray, IntArray
from predictree.run.clock import FOREVER, OutOfTimeError
from predictree.run.guard import Failure, attempt
from predictree.run.journal import Journal, Origin
from predictree.run.tasks import Executor

Models = tuple[Fitted, ...]
FitTask = tuple[int, int, IntArray, int]  # a learner, the fold to leave out, rows, a node's path


@dataclass(frozen=True, slots=True)
class Kept:
    """A predictor that some node answers with: its models, and what they say about all of V²."""

    models: Models
    v2: FloatArray


@dataclass(frozen=True, slots=True)
class Chosen:
    """A predictor that one side of a split would answer with, and its models if at hand."""

    candidate: Candidate
    rows: Rows
    models: Models | None = None


@dataclass
class Fits:
    """Fits predictors and holds their models; the keys are paths and learners.

    ``at_hand`` has models that some leaf may want, ``kept`` those that a node answers with alone.
    """

    problem: Problem
    executor: Executor
    journal: Journal = field(default_factory=Journal)
    ledger: Ledger = field(default_factory=Ledger)
    at_hand: dict[Key, Models] = field(default_factory=dict)
    kept: dict[Key, Kept] = field(default_factory=dict)

    def of_root(self, rows: Rows) -> Pool:
        """Train every learner on all of S: what h_X is chosen from.

        If time is up before there is a single predictor, the first is fitted nevertheless.
        """
        origins = [Origin(ROOT_PATH, i, rows.train) for i in range(len(self.problem.learners))]
        known = {i: self.journal.models(o) or self._by_sums(o) for i, o in enumerate(origins)}
        fitted: dict[int, Models | list[Failure]]
        fitted = {i: models for i, models in known.items() if isinstance(models, tuple)}
        fitted |= self._in_time([o for o in origins if o.learner not in fitted], bool(fitted))
        pool = []
        for i, origin in enumerate(origins):
            scores = self._said(origin, fitted[i], rows)
            if isinstance(scores, list):
                self.ledger.note(ROOT_PATH, scores)
            else:
                pool.append(Candidate(ROOT_PATH, i, rows.train, scores))
        return pool

    def keep(
        self, chosen: Sequence[Chosen], one_by_one: frozenset[int] = frozenset()
    ) -> tuple[Candidate, Failure] | None:
        """Fit and keep what the sides of a split chose; return what cannot be kept, and why.

        Mostly the search returned scores, not models; the seeds make these fits the same ones.
        """
        wanted = [one for one in chosen if one.candidate.key not in self.kept]
        models = self._fitted(wanted, one_by_one)
        kept: dict[Key, Kept] = {}
        for one in wanted:
            key = one.candidate.key
            name = self.problem.learners[key[1]].name
            outcome = attempt(name, partial(self._as_judged, one, models[key]))
            if isinstance(outcome, Failure):
                return one.candidate, outcome
            kept[key] = outcome
        self.kept |= kept
        return None

    def secured(self, own: Pool, weighed: Sequence[Candidate]) -> Pool:
        """Return the new candidates of a node that will be there when the tree is finished.

        Where time is limited those with weight are fitted now: later there may be none.
        """
        if self.executor.clock == FOREVER:
            return own
        for h, models in zip(weighed, self._each([_origin(h) for h in weighed]), strict=True):
            if isinstance(models, tuple):
                self.at_hand[h.key] = models
        return [h for h in own if h.key in self.at_hand]

    def final(self, trained_on: Mapping[Key, IntArray], refit: bool) -> dict[Key, Models]:
        """Return the models of predictors, given their rows; those not at hand are fitted.

        Whatever the time: a leaf weighs them. With ``refit`` there is one, of all rows.
        """
        refit = refit and self.problem.partition.n_folds > 1 and not self.executor.clock.is_late
        found = (
            {} if refit else self.at_hand | {key: kept.models for key, kept in self.kept.items()}
        )
        origins = {key: Origin(*key, rows, refit) for key, rows in trained_on.items()}
        for key, origin in origins.items():
            models = None if key in found else self.journal.models(origin)
            if models is not None:
                found[key] = models
        for key in [key for key in origins if key not in found and not origins[key].refitted]:
            by_sums = self._by_sums(origins[key])
            if isinstance(by_sums, tuple):
                found[key] = by_sums
        wanted = [key for key in origins if key not in found]
        fits = self._each([origins[key] for key in wanted], in_any_case=True)
        for key, fitted in zip(wanted, fits, strict=True):
            if isinstance(fitted, tuple):
                found[key] = fitted
            else:
                self.ledger.note(key[0], fitted)
        if not refit:
            self.at_hand |= found  # asked again, they are there
        return {key: found[key] for key in origins if key in found}

    def _in_time(
        self, origins: Sequence[Origin], has_models: bool
    ) -> dict[int, Models | list[Failure]]:
        """Fit learners on all of S one by one, as long as there is time, or until there is one."""
        n_folds = self.problem.partition.n_folds
        fitted: dict[int, list[Fitted | Failure]] = {o.learner: [] for o in origins}
        tasks = {o.learner: self._tasks_of(o) for o in origins}
        fits = self._fits([task for each in tasks.values() for task in each])
        try:
            for origin in origins:
                fitted[origin.learner] += islice(fits, n_folds)
                has_models |= self._note(origin, fitted[origin.learner]) is not None
        except OutOfTimeError:
            for origin in origins:
                mine = fitted[origin.learner]
                if len(mine) < n_folds and not has_models:
                    mine += self._fits(tasks[origin.learner][len(mine) :], in_any_case=True)
                    has_models = self._note(origin, mine) is not None
                elif len(mine) < n_folds:
                    name = self.problem.learners[origin.learner].name
                    mine[:] = [Failure(name, "time_limit was reached before it was fitted")]
        return {i: _models_of(mine) or _failures_of(mine)[:1] for i, mine in fitted.items()}

    def _said(
        self, origin: Origin, fitted: Models | list[Failure], rows: Rows
    ) -> FloatArray | list[Failure]:
        """Return what a predictor says about V¹, and have its models at hand."""
        if isinstance(fitted, list):
            return fitted
        name = self.problem.learners[origin.learner].name
        scores = attempt(name, partial(self.problem.held_out, fitted, rows.v1))
        if isinstance(scores, Failure):
            return [scores]
        self.at_hand[origin.path, origin.learner] = fitted
        return scores

    def _as_judged(self, one: Chosen, models: Models | Failure) -> Kept | Failure:
        """Return the models of a choice, after checking that they are those that were judged."""
        if isinstance(models, Failure):
            return models
        if models is not one.models:
            again, judged = self.problem.held_out(models, one.rows.v1), one.candidate.scores
            if not np.allclose(again, judged, rtol=1e-4, atol=1e-6 * np.abs(judged).max()):
                quick = has_closed_form(self.problem.learners[one.candidate.learner])
                raise RuntimeError(
                    "fitted again on the same rows with the same seed it answers otherwise: "
                    + ("its columns may be nearly collinear" if quick else "give it a random_state")
                )
        return Kept(models, self.problem.held_out(models, self.problem.partition.v2))

    def _fitted(
        self, wanted: Sequence[Chosen], one_by_one: frozenset[int]
    ) -> dict[Key, Models | Failure]:
        """Return the models of predictors: at hand, from the journal, by sums, or fitted."""
        found: dict[Key, Models | Failure] = {}
        origins = {one.candidate.key: _origin(one.candidate) for one in wanted}
        at_hand = {one.candidate.key: one.models for one in wanted if one.models is not None}
        for key, origin in origins.items():
            models = self.at_hand.get(key)
            if models is None and key in at_hand:
                models = at_hand[key]
                self.journal.keep_models(origin, models)
            known = models or self.journal.models(origin) or self._by_sums(origin, one_by_one)
            if known is not None:
                found[key] = known
        rest = {key: origin for key, origin in origins.items() if key not in found}
        for key, fitted in zip(rest, self._each([*rest.values()]), strict=True):
            found[key] = fitted if isinstance(fitted, tuple) else fitted[0]
        return found

    def _by_sums(
        self, origin: Origin, one_by_one: frozenset[int] = frozenset()
    ) -> Models | Failure | None:
        """Return the models of a predictor by its closed form, if it has one that may be used."""
        if origin.learner in one_by_one:
            return None
        learner = self.problem.learners[origin.learner]
        return attempt(learner.name, partial(self.problem.fit_by_sums, learner, origin.train))

    def _each(
        self, origins: Sequence[Origin], in_any_case: bool = False
    ) -> Iterator[Models | list[Failure]]:
        """Fit predictors and write them in the journal; one that failed is told by its failures."""
        tasks = [self._tasks_of(origin) for origin in origins]
        fits = self._fits([task for each in tasks for task in each], in_any_case)
        for origin, each in zip(origins, tasks, strict=True):
            fitted = list(islice(fits, len(each)))
            yield self._note(origin, fitted) or _failures_of(fitted)

    def _tasks_of(self, origin: Origin) -> list[FitTask]:
        """Return the fits of a predictor: one a fold, or one without any row left out."""
        n_folds = self.problem.partition.n_folds
        folds = [n_folds] if origin.refitted else range(n_folds)  # n_folds is the fold of no row
        return [(origin.learner, f, origin.train, origin.path) for f in folds]

    def _fits(
        self, tasks: Sequence[FitTask], in_any_case: bool = False
    ) -> Iterator[Fitted | Failure]:
        """Fit learners one by one; in any case means whatever the time."""
        problem = replace(self.problem, clock=FOREVER) if in_any_case else self.problem
        return self.executor.map(
            partial(fit_one, problem),
            tasks,
            who=lambda task: problem.learners[task[0]].name,
            lost=lambda failure: failure,
            in_any_case=in_any_case,
        )

    def _note(self, origin: Origin, fitted: Sequence[Fitted | Failure]) -> Models | None:
        """Write the models of a predictor in the journal and return them; None if one failed."""
        models = _models_of(fitted)
        if models is not None:
            self.journal.keep_models(origin, models)
        return models


def fit_one(problem: Problem, task: FitTask) -> Fitted | Failure:
    """Fit one learner without one fold, on the rows of the node at a path."""
    i, fold, train, path = task
    learner = problem.learners[i]
    return attempt(learner.name, partial(problem.fit_fold, learner, train, path, fold))


def _origin(h: Candidate) -> Origin:
    """Return what the models of a candidate were fitted on."""
    return Origin(h.owner, h.learner, h.train)


def _models_of(fitted: Sequence[Fitted | Failure]) -> Models | None:
    """Return the models of all folds; None if one failed."""
    models = tuple(model for model in fitted if not isinstance(model, Failure))
    return models if len(models) == len(fitted) else None


def _failures_of(fitted: Sequence[Fitted | Failure]) -> list[Failure]:
    return [model for model in fitted if isinstance(model, Failure)]
