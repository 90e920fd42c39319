"""Growing the tree of predictors (Algorithm 1): linked, mutable nodes and a frontier of leaves."""

import warnings
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from typing import Any

import numpy as np

from predictree.appraisal import ITSELF, Candidate, Pool, Side, Site
from predictree.checkpoint import Journal, Names, Origin, Step
from predictree.decision import decide
from predictree.exceptions import (
    CheckpointError,
    InvalidInputError,
    NoPredictorError,
    UndefinedLossWarning,
)
from predictree.execution import Executor, Failure, OutOfTimeError, attempt, muted_warnings
from predictree.learners import fit_by_sums, has_closed_form
from predictree.losses import tolerance
from predictree.mixing import TRACE, Mixer, Mixture, squared_error
from predictree.problem import ROOT_PATH, Problem, Region
from predictree.search import SEARCHES, FitCount, Limits, Proposal, Search
from predictree.tree import (
    BoolArray,
    FloatArray,
    IntArray,
    Model,
    Node,
    PathWeight,
    Predictor,
    Split,
    Tree,
)

PredictorKey = tuple[int, int]  # the node it was trained on, and the learner's place in 𝒜
FitTask = tuple[int, int, IntArray, int]  # a learner, the fold to leave out, rows, a node's path


@dataclass(frozen=True, slots=True)
class FitFailure:
    """Candidates that a learner lost while one node was being split (or planted).

    Attributes
    ----------
    node : int
        The node that was looked at; its children were being tried, or itself if it is the root.
    learner, reason : str
    count : int
        How many of the learner's fits there ended so.
    """

    node: int
    learner: str
    reason: str
    count: int


@dataclass(frozen=True, slots=True)
class Share:
    """What one predictor has in the prediction of a leaf, on behalf of a node of its path."""

    node: int
    key: PredictorKey
    weight: float


LeafWeights = Mapping[int, list[Share]]


@dataclass(slots=True)
class GrowingNode:
    """A node C while the tree grows."""

    id: int
    parent: "GrowingNode | None"
    path: int
    depth: int
    region: Region
    pool: Pool
    predictor: PredictorKey
    loss: float
    scores: FloatArray  # held-out, of what the node predicts with
    mixture: Mixture | None = None
    split: Split | None = None
    split_loss: float | None = None
    children: "tuple[GrowingNode, GrowingNode] | None" = None

    def ancestry(self) -> "list[GrowingNode]":
        """Return Π: the nodes from the root to this one."""
        path = [self]
        while path[-1].parent is not None:
            path.append(path[-1].parent)
        return path[::-1]


@dataclass(frozen=True, slots=True)
class Kept:
    """A predictor that some node uses: its models, and their held-out scores on all of V²."""

    models: tuple[Model, ...]
    v2: FloatArray


class Watcher:
    """Is told how a tree grows; this one is not interested."""

    @contextmanager
    def watching(self, grower: "Grower") -> Iterator[None]:
        """Watch as long as the tree grows."""
        yield

    def begins(self, grower: "Grower", node: GrowingNode) -> None:
        """Hear that a node is looked at."""

    def ends(self, grower: "Grower", node: GrowingNode) -> bool:
        """Hear that a node is decided; return whether to grow no further."""
        return False


@dataclass
class Grower:
    """Grows the locally optimal tree of predictors of a problem.

    After `grow`, ``nodes`` holds the tree, parents before children; ``predictors`` those that
    nodes use, each fitted once; ``failures`` what was lost on the way.
    """

    problem: Problem
    limits: Limits
    executor: Executor
    search: str = "exhaustive"
    mixer: Mixer | None = None  # combines predictors at every node; else a node has a single one
    nodes: list[GrowingNode] = field(default_factory=list)
    predictors: dict[PredictorKey, Kept] = field(default_factory=dict)
    failures: list[FitFailure] = field(default_factory=list)
    fits: FitCount = field(default_factory=FitCount)
    global_models: dict[PredictorKey, tuple[Model, ...]] = field(default_factory=dict)
    watcher: Watcher = field(default_factory=Watcher)
    journal: Journal = field(default_factory=Journal)
    roots: list[int] = field(default_factory=list)  # the learners that the root has

    def grow(self) -> str | None:
        """While there are leaves that may be split, split the next; return what stopped it.

        When time is up, or who watches has seen enough, the tree is what it is then: every node
        that stands has its predictor.
        """
        with self.watcher.watching(self):
            frontier = [self._plant()]
            while frontier:
                node = frontier.pop(self._most_to_gain(frontier))
                self.watcher.begins(self, node)
                try:
                    self.executor.check()
                    with muted_warnings():
                        frontier.extend(self._split(node))
                except OutOfTimeError:
                    self.watcher.ends(self, node)
                    return "time_limit"
                if self.watcher.ends(self, node):
                    return "callback"
        return "time_limit" if self.executor.is_late else None

    def _most_to_gain(self, frontier: list[GrowingNode]) -> int:
        """Return the place of the next node: the first, or the most lossy if time is limited."""
        if self.executor.deadline is None:
            return 0
        lossy = [np.nan_to_num(node.loss) * len(node.region.v1) for node in frontier]
        return int(np.argmax(lossy))

    def _plant(self) -> GrowingNode:
        """Take h_X: the learner, trained on all of S, with the least loss on V¹."""
        region = self.problem.root
        pool = self._fit_globally(region)
        self.roots = [h.learner for h in pool]
        if self.mixer is not None and pool:
            return self._plant_mixture(region, pool)
        while pool:
            choice, loss = self._least(pool, region)
            side = Side(region, pool, choice)
            outcome = self._keep([(side, ROOT_PATH)])
            if outcome is None:
                return self._add(None, ROOT_PATH, side, loss)
            self._record(0, [outcome[1]])
            pool = [h for h in pool if h is not choice]
        reasons = "; ".join(f"{f.learner}: {f.reason}" for f in self.failures)
        raise NoPredictorError(f"no learner could be fitted on all the training rows: {reasons}")

    def _plant_mixture(self, region: Region, pool: Pool) -> GrowingNode:
        """Combine all learners trained on all rows: a stack."""
        assert self.mixer is not None
        keys, scores = [h.key for h in pool], np.stack([h.scores for h in pool], axis=-1)
        mixture = self.mixer.mix(region.v1, keys, scores, None)
        rows = self.problem.judged(region.v1)
        self.mixer = replace(self.mixer, unit=squared_error(rows, mixture.scores))
        choice, _ = self._least(pool, region)
        loss = self.problem.loss.value(rows, mixture.scores)
        return self._add(None, ROOT_PATH, Side(region, pool, choice, mixture), loss)

    def _fit_globally(self, region: Region) -> Pool:
        """Train every learner on all of S; these models are at hand when a node wants one."""
        problem, n_folds = self.problem, self.problem.partition.n_folds
        fitted: dict[int, list[Model | Failure]] = {}
        for i in range(len(problem.learners)):
            known = self.journal.models(Origin(ROOT_PATH, i, region.train))
            if known is not None:
                fitted[i] = [*known]
        slow = [i for i, a in enumerate(problem.learners) if not fit_by_sums(a) and i not in fitted]
        tasks = [(i, f, region.train, ROOT_PATH) for i in slow for f in range(n_folds)]
        fits = self._fits(tasks)
        fitted |= {i: [] for i in slow}
        try:
            for i in slow:
                fitted[i] += islice(fits, n_folds)
                self._note(Origin(ROOT_PATH, i, region.train), fitted[i])
        except OutOfTimeError:
            done = [i for i in fitted if len(fitted[i]) == n_folds]
            if not done and len(slow) == len(problem.learners):  # a model needs one
                first = fitted[slow[0]]
                first += self._fits(tasks[len(first) : n_folds], in_any_case=True)
                self._note(Origin(ROOT_PATH, slow[0], region.train), first)
            for i in slow:
                if len(fitted[i]) < n_folds:
                    name = problem.learners[i].name
                    fitted[i] = [Failure(name, "time_limit was reached before it was fitted")]
        pool = []
        for i, learner in enumerate(problem.learners):
            scores = attempt(learner.name, partial(self._global_scores, i, region, fitted.get(i)))
            if isinstance(scores, Failure):
                self._record(0, [scores])
            else:
                pool.append(Candidate(ITSELF, i, scores))
        return pool

    def _global_scores(
        self, i: int, region: Region, fitted: list[Model | Failure] | None
    ) -> FloatArray | Failure:
        if fitted is None:
            models = self.problem.fit(self.problem.learners[i], region.train, ROOT_PATH)
        else:
            for model in fitted:
                if isinstance(model, Failure):
                    return model
            models = tuple(fitted)  # type: ignore[arg-type]
        scores = self.problem.held_out(models, region.v1)
        self.global_models[0, i] = models
        return scores

    def _least(self, pool: Pool, region: Region) -> tuple[Candidate, float]:
        rows = self.problem.judged(region.v1)
        losses = np.array([self.problem.loss.value(rows, h.scores) for h in pool])
        if not np.isfinite(losses).any():
            for error in getattr(self.problem.loss, "errors", [])[:1]:
                raise InvalidInputError(f"loss {self.problem.loss.name!r} failed on V1: {error}")
            warnings.warn(
                f"loss {self.problem.loss.name!r} cannot be computed on the {len(region.v1)} rows "
                "of V1 (one class only?): the tree is a lone root with its first learner. Give V1 "
                "more rows, or choose another loss.",
                UndefinedLossWarning,
                stacklevel=5,
            )
            return pool[0], np.nan
        least = float(losses[np.isfinite(losses)].min())
        slack = tolerance(self.problem.loss, rows, least)
        first = np.flatnonzero(np.isfinite(losses) & (losses <= least + slack))[0]
        return pool[first], float(losses[first])

    def _split(self, node: GrowingNode) -> tuple[GrowingNode, ...]:
        """Split a node if that lowers its loss on V¹; return the new leaves."""
        leaves: tuple[GrowingNode, ...] = ()
        if not self._is_final(node):
            step = self._done_before(node)
            leaves = self._take(node, self._decide(node) if step is None else step)
        node.pool = []  # every child has its own; a leaf needs none
        return leaves

    def _is_final(self, node: GrowingNode) -> bool:
        """Whether a node is not to be split whatever the gain."""
        at_limit = self.limits.max_depth is not None and node.depth >= self.limits.max_depth
        perfect = node.loss <= self.problem.loss.least + self.limits.min_gain
        return at_limit or perfect or not np.isfinite(node.loss)

    def _decide(self, node: GrowingNode) -> Step:
        """Search a node, keep what the best split needs, and write it in the journal."""
        before, fits = len(self.failures), self.fits
        split, loss, sides = self._best_split(node)
        lost = tuple((f.learner, f.reason, f.count) for f in self.failures[before:])
        made = FitCount(self.fits.made - fits.made, self.fits.exhaustive - fits.exhaustive)
        step = Step(split, loss, sides, lost, made)
        self.journal.keep_step(node.path, self.roots, self._names, step)
        return step

    def _done_before(self, node: GrowingNode) -> Step | None:
        """Return what the journal has on a node, with everything that searching it would leave."""

        def divide(split: Split) -> tuple[tuple[Region, BoolArray], tuple[Region, BoolArray]]:
            left, right = node.region.divide(split, self.problem.X)
            goes_left = split.goes_left(self.problem.X[node.region.v1, split.feature])
            return (left, goes_left), (right, ~goes_left)

        step = self.journal.step(node.path, self.roots, self._names, node.pool, divide)
        if step is None:
            return None
        if self.mixer is None and step.split is not None:
            outcome = self._keep(_with_paths(node, step.sides))
            if outcome is not None:
                raise CheckpointError(f"a model in the checkpoint is not sound: {outcome[1]}")
        self.fits += step.fits
        self.failures += [FitFailure(node.id, *loss) for loss in step.losses]
        return step

    def _take(self, node: GrowingNode, step: Step) -> tuple[GrowingNode, ...]:
        """Give a node the children that were decided."""
        if step.split is None:
            return ()
        left, right = (
            self._add(node, path, side, self._own_loss(side))
            for side, path in _with_paths(node, step.sides)
        )
        node.split, node.split_loss, node.children = step.split, step.loss, (left, right)
        return left, right

    @property
    def _names(self) -> Names:
        ids = {node.path: node.id for node in self.nodes}
        return Names(lambda i: self.nodes[i].path, ids.__getitem__)

    def _best_split(self, node: GrowingNode) -> tuple[Split | None, float | None, tuple[Side, ...]]:
        """Return the best split whose predictors can be kept, its loss and its sides.

        A choice that cannot be kept is struck out, and the search is made again without it; if it
        came from a closed form, the learner itself is tried first.
        """
        barred: set[int] = set()
        one_by_one: set[int] = set()
        while (proposal := self._propose(node, barred, one_by_one)) is not None:
            sides = _with_paths(node, (proposal.left, proposal.right))
            outcome = None if self.mixer is not None else self._keep(sides, one_by_one)
            if self.mixer is not None and self.executor.deadline is not None:
                sides = self._fit_now(sides)
            if outcome is None:
                return proposal.split, proposal.loss, tuple(side for side, _ in sides)
            lost, failure = outcome
            quick = has_closed_form(self.problem.learners[lost.learner])
            if lost.owner is ITSELF and quick and lost.learner not in one_by_one:
                one_by_one.add(lost.learner)
                continue
            self._record(node.id, [failure])
            if lost.owner is ITSELF:
                barred.add(lost.learner)
            else:
                node.pool = [h for h in node.pool if h.key != lost.key]
        return None, None, ()

    def _propose(
        self, node: GrowingNode, barred: set[int], one_by_one: set[int]
    ) -> Proposal | None:
        sets, everyone = self.limits.training_sets, range(len(self.problem.learners))
        site = Site(
            node.region,
            node.path,
            node.pool,
            node.loss,
            node.scores,
            node.mixture,
            frozenset(everyone if sets == "root" else barred),
            frozenset(one_by_one),
            inherits=sets != "node",
        )
        search = Search(self.problem, site, self.limits, self.executor, self.mixer)
        decision = decide(search, SEARCHES[self.search])
        self.fits += decision.fits
        if not barred:  # a search made again loses the same candidates again
            self._record(node.id, decision.failures)
        return decision.proposal

    def _keep(
        self, sides: list[tuple[Side, int]], one_by_one: Collection[int] = ()
    ) -> tuple[Candidate, Failure] | None:
        """Fit and keep what the sides chose; return a choice that cannot be kept, if any, and why.

        Mostly the search returned scores, not models; the seeds make these fits the same ones.
        """
        chosen: list[tuple[PredictorKey, Origin, Side]] = []
        for offset, (side, path) in enumerate(sides):
            owner, region = len(self.nodes) + offset, side.region
            if side.choice.owner is not ITSELF:
                trained_on = self.nodes[side.choice.owner]
                owner, region, path = trained_on.id, trained_on.region, trained_on.path
            i = side.choice.learner
            if (owner, i) not in self.predictors:
                chosen.append(((owner, i), Origin(path, i, region.train), side))
        at_hand = {key: side.models for key, _, side in chosen if side.models is not None}
        fitted = self._fitted({key: origin for key, origin, _ in chosen}, one_by_one, at_hand)
        kept: dict[PredictorKey, Kept] = {}
        for key, _, side in chosen:
            name = self.problem.learners[key[1]].name
            outcome = attempt(name, partial(self._as_judged, side, fitted[key]))
            if isinstance(outcome, Failure):
                return side.choice, outcome
            kept[key] = outcome
        self.predictors |= kept
        return None

    def _fit_now(self, sides: list[tuple[Side, int]]) -> list[tuple[Side, int]]:
        """Fit what the mixtures of new nodes weigh: later there may be no time.

        What is not fitted is no candidate any more.
        """
        ready = []
        for offset, (side, path) in enumerate(sides):
            assert side.mixture is not None
            own = [h.learner for h in side.pool if h.owner is ITSELF]
            weighed = [i for i in own if side.mixture.weights[ITSELF, i] >= TRACE]
            fits = self._fit_each([Origin(path, i, side.region.train) for i in weighed])
            for i, models in zip(weighed, fits, strict=True):
                if isinstance(models, tuple):
                    self.global_models[len(self.nodes) + offset, i] = models
            known = {i for owner, i in self.global_models if owner == len(self.nodes) + offset}
            pool = [h for h in side.pool if h.owner is not ITSELF or h.learner in known]
            ready.append((replace(side, pool=pool), path))
        return ready

    def _as_judged(self, side: Side, models: tuple[Model, ...] | Failure) -> Kept | Failure:
        """Return the models of a side's choice, after checking that they are those it judged."""
        if isinstance(models, Failure):
            return models
        if models is not side.models:
            again = self.problem.held_out(models, side.region.v1)
            size = np.abs(side.choice.scores).max()
            if not np.allclose(again, side.choice.scores, rtol=1e-4, atol=1e-6 * size):
                quick = has_closed_form(self.problem.learners[side.choice.learner])
                raise RuntimeError(
                    "fitted again on the same rows with the same seed it answers otherwise: "
                    + ("its columns may be nearly collinear" if quick else "give it a random_state")
                )
        return Kept(models, self.problem.held_out(models, self.problem.partition.v2))

    def _fitted(
        self,
        origins: Mapping[PredictorKey, Origin],
        one_by_one: Collection[int],
        at_hand: Mapping[PredictorKey, tuple[Model, ...]],
    ) -> dict[PredictorKey, tuple[Model, ...] | Failure]:
        """Return the models of predictors: at hand, from the journal, by sums, or fitted."""
        found: dict[PredictorKey, tuple[Model, ...] | Failure] = {}
        for key, origin in origins.items():
            learner = self.problem.learners[key[1]]
            models = self.global_models.get(key)
            if models is None and key in at_hand:
                models = at_hand[key]
                self.journal.keep_models(origin, models)
            models = models or self.journal.models(origin)
            if models is not None:
                found[key] = models
            elif key[1] not in one_by_one and fit_by_sums(learner):
                fit = partial(self.problem.fit, learner, origin.train, origin.path)
                found[key] = attempt(learner.name, fit)
        wanted = {key: origin for key, origin in origins.items() if key not in found}
        for key, fitted in zip(wanted, self._fit_each([*wanted.values()]), strict=True):
            found[key] = fitted if isinstance(fitted, tuple) else fitted[0]
        return found

    def _fit_each(
        self, origins: Sequence[Origin], in_any_case: bool = False
    ) -> Iterator[tuple[Model, ...] | list[Failure]]:
        """Fit predictors and write them in the journal; one that failed is told by its failures."""
        n_folds = self.problem.partition.n_folds
        folds = {True: [n_folds], False: [*range(n_folds)]}  # n_folds is the fold of no row
        tasks = [(o.learner, f, o.train, o.path) for o in origins for f in folds[o.refitted]]
        fits = self._fits(tasks, in_any_case)
        for origin in origins:
            fitted = list(islice(fits, len(folds[origin.refitted])))
            models = self._note(origin, fitted)
            yield [m for m in fitted if isinstance(m, Failure)] if models is None else models

    def _fits(self, tasks: list[FitTask], in_any_case: bool = False) -> Iterator[Model | Failure]:
        """Fit learners one by one; in any case means whatever the time."""
        problem = replace(self.problem, deadline=None) if in_any_case else self.problem
        return self.executor.map(
            partial(fit_one, problem),
            tasks,
            who=lambda task: problem.learners[task[0]].name,
            lost=lambda failure: failure,
            in_any_case=in_any_case,
        )

    def _note(self, origin: Origin, fitted: list[Model | Failure]) -> tuple[Model, ...] | None:
        """Write the models of a predictor in the journal and return them; None if one failed."""
        models = tuple(model for model in fitted if not isinstance(model, Failure))
        if len(models) < len(fitted):
            return None
        self.journal.keep_models(origin, models)
        return models

    def _own_loss(self, side: Side) -> float:
        return self.problem.loss.value(self.problem.judged(side.region.v1), side.scores)

    def _add(self, parent: GrowingNode | None, path: int, side: Side, loss: float) -> GrowingNode:
        node_id = len(self.nodes)
        owner = node_id if side.choice.owner is ITSELF else side.choice.owner
        node = GrowingNode(
            id=node_id,
            parent=parent,
            path=path,
            depth=0 if parent is None else parent.depth + 1,
            region=side.region,
            pool=[replace(h, owner=node_id) if h.owner is ITSELF else h for h in side.pool],
            predictor=(owner, side.choice.learner),
            loss=loss,
            scores=side.scores,
            mixture=None if side.mixture is None else side.mixture.of_node(node_id),
        )
        self.nodes.append(node)
        return node

    def _record(self, node_id: int, failures: Iterable[Failure]) -> None:
        for failure, count in Counter(failures).items():
            self.failures.append(FitFailure(node_id, failure.learner, failure.reason, count))

    @property
    def leaves(self) -> list[GrowingNode]:
        """The nodes that were not split."""
        return [node for node in self.nodes if node.children is None]

    def freeze(self, weights: LeafWeights, refit: bool = False) -> Tree:
        """Return the finished tree, with the weights of every leaf.

        A predictor that no leaf weighs keeps its name but no models. With ``refit`` a predictor has
        one model, trained on all rows of its node, in place of one a fold.
        """
        used = list(dict.fromkeys(share.key for shares in weights.values() for share in shares))
        models = self._models(used, refit)
        weights = {leaf: _rescaled(shares, models) for leaf, shares in weights.items()}
        keys = dict.fromkeys([*models, *(node.predictor for node in self.nodes)])
        names = [learner.name for learner in self.problem.learners]
        predictors = [Predictor(names[i], owner, models.get((owner, i), ())) for owner, i in keys]
        nodes = [self._record_of(node, names, weights.get(node.id)) for node in self.nodes]
        return Tree.from_nodes(nodes, predictors, self.problem.n_outputs)

    def _models(
        self, keys: list[PredictorKey], refit: bool
    ) -> dict[PredictorKey, tuple[Model, ...]]:
        """Return the models of predictors; those that are not at hand are fitted."""
        refit = refit and self.problem.partition.n_folds > 1 and not self.executor.is_late
        at_hand = {} if refit else self.global_models | self._kept_models()
        for key in keys:
            known = None if key in at_hand else self.journal.models(self._origin(key, refit))
            if known is not None:
                at_hand[key] = known
        wanted = [key for key in keys if key not in at_hand]
        fits = self._fit_each([self._origin(key, refit) for key in wanted], in_any_case=True)
        for key, fitted in zip(wanted, fits, strict=True):
            if isinstance(fitted, tuple):
                at_hand[key] = fitted
            else:
                self._record(key[0], fitted)
        if not refit:
            self.global_models |= at_hand  # asked again, they are there
        return {key: at_hand[key] for key in keys if key in at_hand}

    def _origin(self, key: PredictorKey, refitted: bool) -> Origin:
        trained_on = self.nodes[key[0]]
        return Origin(trained_on.path, key[1], trained_on.region.train, refitted)

    def _kept_models(self) -> dict[PredictorKey, tuple[Model, ...]]:
        return {key: kept.models for key, kept in self.predictors.items()}

    def _record_of(self, node: GrowingNode, names: list[str], shares: list[Share] | None) -> Node:
        owner, learner = node.predictor
        return Node(
            id=node.id,
            parent=None if node.parent is None else node.parent.id,
            depth=node.depth,
            children=None if node.children is None else (node.children[0].id, node.children[1].id),
            split=node.split,
            learner=names[learner],
            trained_on=owner,
            loss=node.loss,
            split_loss=node.split_loss,
            n_train=len(node.region.train),
            n_v1=len(node.region.v1),
            n_v2=len(node.region.v2),
            weights=None
            if shares is None
            else tuple(
                PathWeight(share.node, names[share.key[1]], share.key[0], share.weight)
                for share in shares
            ),
        )


def fit_one(problem: Problem, task: FitTask) -> Model | Failure:
    """Fit one learner without one fold, on the rows of the node at a path."""
    i, fold, train, path = task
    learner = problem.learners[i]
    return attempt(learner.name, partial(problem.fit_fold, learner, train, path, fold))


def _with_paths(node: GrowingNode, sides: Iterable[Side]) -> list[tuple[Side, int]]:
    """Return the sides of a node's split, with the paths of the children they become."""
    return [(side, 2 * node.path + right) for right, side in enumerate(sides)]


def _rescaled(shares: list[Share], models: Mapping[PredictorKey, Any]) -> list[Share]:
    """Leave out the predictors that have no models, and let the others sum to one."""
    known = [share for share in shares if share.key in models]
    total = sum(share.weight for share in known)
    if total == 0:
        names = ", ".join(str(share.key) for share in shares)
        raise NoPredictorError(f"no predictor of a leaf could be fitted again: {names}")
    return [replace(share, weight=share.weight / total) for share in known]
