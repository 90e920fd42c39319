"""Growing the tree of predictors (Algorithm 1): linked, mutable nodes and a frontier of leaves."""

import warnings
from collections import Counter, deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from predictree.exceptions import NoPredictorError, UndefinedLossWarning
from predictree.execution import Executor, Failure, attempt
from predictree.losses import tolerance
from predictree.problem import ROOT_PATH, Problem, Region
from predictree.search import (
    ITSELF,
    Candidate,
    Limits,
    Pool,
    Proposal,
    Side,
    Site,
    exhaustive,
    fit_here,
    own_candidates,
)
from predictree.tree import FloatArray, Model, Node, PathWeight, Predictor, Split, Tree

PredictorKey = tuple[int, int]  # the node it was trained on, and the learner's place in 𝒜


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
    split: Split | None = None
    split_loss: float | None = None
    children: "tuple[GrowingNode, GrowingNode] | None" = None

    def ancestry(self) -> "list[GrowingNode]":
        """Return Π: the nodes from the root to this one."""
        path = [self]
        while path[-1].parent is not None:
            path.append(path[-1].parent)
        return path[::-1]


@dataclass
class Grower:
    """Grows the locally optimal tree of predictors of a problem.

    After `grow`, ``nodes`` holds the tree, parents before children; ``predictors`` the models
    of the predictors that nodes use, each fitted once; ``failures`` what was lost on the way.
    """

    problem: Problem
    limits: Limits
    executor: Executor
    nodes: list[GrowingNode] = field(default_factory=list)
    predictors: dict[PredictorKey, tuple[Model, ...]] = field(default_factory=dict)
    failures: list[FitFailure] = field(default_factory=list)

    def grow(self) -> None:
        """While there are leaves that may be split, split the next."""
        frontier = deque([self._plant()])
        while frontier:
            frontier.extend(self._split(frontier.popleft()))

    def _plant(self) -> GrowingNode:
        """Take h_X: the learner, trained on all of S, with the least loss on V¹."""
        region = self.problem.root
        everyone = list(range(len(self.problem.learners)))
        outcomes = fit_here(self.problem, region, ROOT_PATH, everyone)
        self._record(0, (o for o in outcomes if isinstance(o, Failure)))
        pool = own_candidates(outcomes)
        while pool:
            choice, loss = self._least(pool, region)
            if self._keep(0, [(0, choice.learner, region, ROOT_PATH)]):
                return self._add(None, ROOT_PATH, Side(region, pool, choice), loss)
            pool = [h for h in pool if h is not choice]
        reasons = "; ".join(f"{f.learner}: {f.reason}" for f in self.failures)
        raise NoPredictorError(f"no learner could be fitted on all the training rows: {reasons}")

    def _least(self, pool: Pool, region: Region) -> tuple[Candidate, float]:
        rows = self.problem.judged(region.v1)
        losses = np.array([self.problem.loss.value(rows, h.scores) for h in pool])
        if np.isnan(losses).all():
            warnings.warn(
                f"loss {self.problem.loss.name!r} cannot be computed on the {len(region.v1)} rows "
                "of V1 (one class only?): the tree is a lone root with its first learner. Give V1 "
                "more rows, or choose another loss.",
                UndefinedLossWarning,
                stacklevel=5,
            )
            return pool[0], np.nan
        least = float(np.nanmin(losses))
        slack = tolerance(self.problem.loss, rows, least)
        first = np.flatnonzero(losses <= least + slack)[0]
        return pool[first], float(losses[first])

    def _split(self, node: GrowingNode) -> tuple[GrowingNode, ...]:
        """Split a node if that lowers its loss on V¹; return the new leaves."""
        proposal = self._propose(node)
        node.pool = []  # every child has its own; a leaf needs none
        if proposal is None:
            return ()
        paths = (2 * node.path, 2 * node.path + 1)
        sides = (proposal.left, proposal.right)
        first = len(self.nodes)
        needed = [
            (first + i, side.choice.learner, side.region, path)
            if side.choice.owner is ITSELF
            else self._training_of(side.choice)
            for i, (side, path) in enumerate(zip(sides, paths, strict=True))
        ]
        if not self._keep(node.id, needed):
            return ()
        left, right = (
            self._add(node, path, side, self._own_loss(side))
            for side, path in zip(sides, paths, strict=True)
        )
        node.split, node.split_loss, node.children = proposal.split, proposal.loss, (left, right)
        return left, right

    def _propose(self, node: GrowingNode) -> Proposal | None:
        at_limit = self.limits.max_depth is not None and node.depth >= self.limits.max_depth
        if at_limit or np.isnan(node.loss):
            return None
        site = Site(node.region, node.path, node.pool, node.loss)
        proposal, failures = exhaustive(self.problem, site, self.limits, self.executor)
        self._record(node.id, failures)
        return proposal

    def _training_of(self, choice: Candidate) -> tuple[int, int, Region, int]:
        assert choice.owner is not None
        owner = self.nodes[choice.owner]
        return owner.id, choice.learner, owner.region, owner.path

    def _keep(self, node_id: int, needed: list[tuple[int, int, Region, int]]) -> bool:
        """Fit the chosen predictors that are not kept yet; tell whether all could be fitted.

        The search returned scores, not models; the seeds make these fits the same ones.
        """
        fitted: dict[PredictorKey, tuple[Model, ...]] = {}
        for owner, i, region, path in needed:
            if (owner, i) not in self.predictors:
                learner = self.problem.learners[i]
                work = partial(self.problem.fit, learner, region.train, path)
                models = attempt(learner.name, work)
                if isinstance(models, Failure):
                    self._record(node_id, [models])
                    return False
                fitted[owner, i] = models
        self.predictors |= fitted
        return True

    def _own_loss(self, side: Side) -> float:
        return self.problem.loss.value(self.problem.judged(side.region.v1), side.choice.scores)

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
        )
        self.nodes.append(node)
        return node

    def _record(self, node_id: int, failures: Iterable[Failure]) -> None:
        for failure, count in Counter(failures).items():
            self.failures.append(FitFailure(node_id, failure.learner, failure.reason, count))

    def freeze(self, weights: Mapping[int, FloatArray]) -> Tree:
        """Return the finished tree, with the weights of the path to every leaf."""
        names = [learner.name for learner in self.problem.learners]
        predictors = [
            Predictor(names[i], owner, models) for (owner, i), models in self.predictors.items()
        ]
        nodes = [self._record_of(node, names, weights.get(node.id)) for node in self.nodes]
        return Tree.from_nodes(nodes, predictors, self.problem.n_outputs)

    def _record_of(self, node: GrowingNode, names: list[str], weights: FloatArray | None) -> Node:
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
            weights=None if weights is None else _path_records(node, names, weights),
        )


def _path_records(
    leaf: GrowingNode, names: list[str], weights: FloatArray
) -> tuple[PathWeight, ...]:
    return tuple(
        PathWeight(node.id, names[node.predictor[1]], node.predictor[0], float(weight))
        for node, weight in zip(leaf.ancestry(), weights, strict=True)
    )
