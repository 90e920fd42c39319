"""ToPsClassifier and ToPsRegressor: parameters, and a fit that reads like the paper."""

import time
import warnings
from abc import ABCMeta, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, replace
from functools import partial
from math import ceil
from numbers import Integral
from os import PathLike
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import sklearn
from joblib import effective_n_jobs
from numpy.typing import ArrayLike
from scipy.sparse import csr_array
from sklearn import get_config
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, is_regressor
from sklearn.utils import Tags, check_random_state
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.validation import check_is_fitted, validate_data

from predictree import __version__
from predictree.data.imputation import draw, spread
from predictree.data.partition import (
    Partition,
    assign_folds,
    check_codes,
    check_groups,
    check_parts,
    check_unrepeated,
    folds_of,
    hold_out,
    parts_of,
    rounds_of,
    train_share,
)
from predictree.data.table import Table, never_missing, numbers_of, read_table
from predictree.errors import InvalidInputError, LearnerFailedWarning, RareClassWarning
from predictree.estimators.account import account_of, background, settings_of
from predictree.estimators.fitting import Grown, Imputations, Task
from predictree.estimators.parameters import (
    OF_SUMS,
    PROOF,
    PROOF_BELOW,
    check_choice,
    check_number,
    check_validation,
    directions_of,
    limits_of,
    standard_errors,
)
from predictree.explain import (
    Explanation,
    TermDisplay,
    contrast,
    explain,
    export_text,
    plot_terms,
    plot_tree,
    terms,
)
from predictree.explain.additive import AdditiveTree, importances_of
from predictree.explain.bounds import LossBound, loss_bound
from predictree.grow.algorithm import best_split, grow
from predictree.grow.finish import best_of, evidence, freeze
from predictree.grow.fits import Fits
from predictree.grow.growth import Growth
from predictree.grow.leaf import Decision
from predictree.grow.methods import WAYS, Recipe, Way
from predictree.grow.problem import Problem, Seeds
from predictree.grow.record import Steps
from predictree.grow.rows import Limits, Rows
from predictree.learners import Learner, adapt, resolve_learners
from predictree.learners.adapter import take_rows, weight_keyword
from predictree.learners.forms import has_closed_form
from predictree.learners.presets import is_named
from predictree.learners.views import seen_by
from predictree.losses import Loss, resolve_loss
from predictree.model import Model
from predictree.model.account import Background, FitCount, FitFailure, Segment, Verdict
from predictree.model.imputation import Imputation
from predictree.model.outputs import Labels, probabilities
from predictree.model.schema import Schema
from predictree.model.tree import FloatArray, IntArray, Tree
from predictree.model.views import View
from predictree.publish.files.archive import need_skops
from predictree.publish.files.models import ModelFiles
from predictree.publish.report import write
from predictree.run.checkpoint import Begun, Checkpoint
from predictree.run.clock import FOREVER, Clock
from predictree.run.digests import digest_of
from predictree.run.guard import Failure
from predictree.run.journal import Journal
from predictree.run.memory import MemoryLimit, bytes_of
from predictree.run.progress import (
    All,
    CallbackSupportMixin,
    Calls,
    Lines,
    LiveLine,
    Watcher,
    watch,
    with_callbacks,
)
from predictree.run.tasks import Executor

PAPER: dict[str, Any] = {
    "validation": (0.75, 0.15, 0.10),
    "weights": "path",
    "search": "exhaustive",
    "n_thresholds": 9,
    "max_depth": None,
    "min_samples_leaf": 1,
    "min_samples_val": 1,
    "min_gain": 0.0,
    "min_gain_se": 0.0,
    "refit": False,
    "n_repeats": 1,
}
NO_PART = -1  # in partition_: a row of weight zero
RARE = 50  # rows of a class below which a warning is due


class _TreesOfPredictors(CallbackSupportMixin, BaseEstimator, metaclass=ABCMeta):  # type: ignore[misc]
    """What classifier and regressor share: everything but the labels."""

    _task: ClassVar[str]
    model_: Model

    def __init__(
        self,
        learners: Any = "additive",
        *,
        loss: Any = "auto",
        validation: Any = 5,
        weights: str = "shrunk",
        shrinkage: float = 300.0,
        search: str = "auto",
        n_thresholds: int = 9,
        max_depth: int | None = None,
        min_samples_leaf: int = 20,
        min_samples_val: int = 10,
        min_gain: float = 0.0,
        min_gain_se: Any = "auto",
        refit: bool = False,
        interactions: int = 10,
        monotonic_cst: Any = None,
        n_repeats: int = 1,
        feature_roles: Mapping[Any, str] | None = None,
        imputation: str = "native",
        n_imputations: int = 10,
        time_limit: float | None = None,
        learner_timeout: float | None = None,
        checkpoint: Any = None,
        memory_limit: float | str | None = None,
        verbose: int = 0,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.learners = learners
        self.loss = loss
        self.validation = validation
        self.weights = weights
        self.shrinkage = shrinkage
        self.search = search
        self.n_thresholds = n_thresholds
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.min_samples_val = min_samples_val
        self.min_gain = min_gain
        self.min_gain_se = min_gain_se
        self.refit = refit
        self.interactions = interactions
        self.monotonic_cst = monotonic_cst
        self.n_repeats = n_repeats
        self.feature_roles = feature_roles
        self.imputation = imputation
        self.n_imputations = n_imputations
        self.time_limit = time_limit
        self.learner_timeout = learner_timeout
        self.checkpoint = checkpoint
        self.memory_limit = memory_limit
        self.verbose = verbose
        self.n_jobs = n_jobs
        self.random_state = random_state

    @property
    def tree_(self) -> Tree:
        """The first of ``trees_``."""
        return self.model_.tree

    @property
    def trees_(self) -> tuple[Tree, ...]:
        """The trees of the model."""
        return self.model_.trees

    @property
    def schema_(self) -> Schema:
        """The columns of the fit."""
        return self.model_.schema

    @property
    def loss_(self) -> Loss:
        """What judged the fit."""
        loss: Loss = self.model_.loss
        return loss

    @property
    def imputations_(self) -> tuple[Imputation, ...]:
        """What fills gaps, a draw each."""
        return self.model_.imputations

    @property
    def backgrounds_(self) -> tuple[Background, ...]:
        """What was usual at the nodes of every tree."""
        return self.model_.backgrounds

    @property
    def verdict_(self) -> Verdict:
        """Whether the tree is better than its opponents."""
        return self.model_.account.verdict

    @property
    def segments_(self) -> tuple[Segment, ...]:
        """What each leaf of ``tree_`` is worth."""
        return self.model_.account.segments

    @property
    def fit_failures_(self) -> list[FitFailure]:
        """Candidates that were lost."""
        return list(self.model_.account.failures)

    @property
    def fits_(self) -> FitCount:
        """Fits of slow learners."""
        return self.model_.account.fits

    @property
    def stopped_(self) -> str | None:
        """What ended the growth."""
        return self.model_.account.stopped

    @property
    def feature_importances_(self) -> FloatArray:
        """What every column matters to a tree of additive models; the sum is one.

        The variance of what its terms add within the regions, half of a pair's for each of its
        columns; and for every split by the column the mean square of what answers change by it;
        all on the scale that terms are added on, over the training rows. Other trees have no terms:
        see `predictree.explain.importances`, which mixes columns up in rows of yours.
        """
        check_is_fitted(self)
        try:
            read = [AdditiveTree.of(self.model_, tree) for tree in range(len(self.trees_))]
        except InvalidInputError as error:
            raise AttributeError(str(error)) from error
        return importances_of(read)

    @property
    def _half_is_second(self) -> bool:
        return self.loss_.half_is_second

    @with_callbacks  # type: ignore[untyped-decorator]
    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: ArrayLike | None = None,
        *,
        partition: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        **fit_params: Any,
    ) -> Self:
        """Grow a tree of predictors and weigh its paths.

        If the fit fails or is interrupted, an earlier fitted state is left as it was.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_samples, n_features)
            Numbers, booleans, dates and categories, with or without missing values; see `Notes`.
            Learners see an array: a ColumnTransformer among them must choose columns by place.
        y : array-like of shape (n_samples,)
            Class labels, or real values.
        sample_weight : array-like of shape (n_samples,), optional
            Weights for learners and losses; a row of weight zero is as good as absent.
        partition : array-like of shape (n_samples,), optional
            Your own parts instead of random ones: 0 for S (training), 1 for V¹ (choosing
            splits), 2 for V² (weighing paths).
        groups : array-like of shape (n_samples,), optional
            Rows of a group share a part.
        **fit_params : dict
            Further metadata for the learners' ``fit``, if metadata routing is enabled.

        Returns
        -------
        self
        """
        task = self._prepare(X, y, sample_weight, partition, groups, fit_params)
        context = self._init_callbacks(X, y, task)
        grown: list[Grown] = []
        with task.begun() as begun:
            while len(grown) < task.n_trees and not (grown and task.is_over(grown[-1])):
                grown.append(self._grow(task, begun, grown, context))
        fitted = self._fitted(task, grown)
        _warn_of(fitted["model_"].account.failures)
        self.__dict__.pop("feature_names_in_", None)
        self.__dict__.update(fitted)
        if context is not None:
            context.call_on_fit_task_end(estimator=self, reconstruction_attributes=fitted)
        return self

    def _prepare(
        self, X: Any, y: Any, sample_weight: Any, partition: Any, groups: Any, fit_params: Any
    ) -> Task:
        """Read and check everything that a fit needs."""
        start = time.monotonic()
        limits = limits_of(self)  # before anything is read, what is wrong with a parameter is told
        named = resolve_learners(self.learners, self._task)
        table = read_table(X, y, sample_weight, self._task, self.feature_roles, self)
        columns = _columns_of(X)
        _warn_of_rare_classes(table)
        checkpoint = None if self.checkpoint is None else Checkpoint.of(self.checkpoint)
        entropy = self._entropy()
        if checkpoint is not None:
            entropy = checkpoint.entropy(entropy, self.random_state is not None)
        drawn = self._imputations(table, entropy)
        learners, loss = self._portfolio(named, table, drawn[0][1], groups, fit_params)
        share = 1.0 if partition is not None else train_share(check_validation(self.validation))
        learners, refused = self._within_memory(learners, table, drawn[0][1], share)
        split_up = self._partitions(table, partition, groups)
        n_trees = len(split_up) * len(drawn)
        task = Task(
            table=table,
            columns=columns,
            drawn=drawn,
            loss=loss,
            learners=learners,
            refused=[FitFailure(0, lost.learner, lost.reason, 1) for lost in refused],
            split_up=split_up,
            recipe=self._recipe(limits, learners, n_trees, self._directions(table)),
            n_trees=n_trees,
            entropy=entropy,
            start=start,
            clock=FOREVER if self.time_limit is None else Clock(start + self.time_limit),
            checkpoint=checkpoint,
        )
        self._check_running(task)
        return task

    def _check_running(self, task: Task) -> None:
        """Try what may be refused once the first tree begins: before a checkpoint is written."""
        task.problem(0, WAYS[self._way].pools)
        with Executor(self.n_jobs, task.clock, self.learner_timeout):
            pass
        if task.checkpoint is not None:
            need_skops()

    def plan(
        self,
        X: Any,
        y: Any,
        sample_weight: ArrayLike | None = None,
        *,
        partition: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        **fit_params: Any,
    ) -> Any:
        """Forecast the fits, the time and the memory of `fit`, and what cheaper settings cost.

        Every learner is fitted a few times on at most some thousand rows; the rest is
        extrapolation, which may well be off by a factor of two. Nothing of the estimator changes.

        Parameters
        ----------
        X, y, sample_weight, partition, groups, **fit_params
            As in `fit`.

        Returns
        -------
        Plan
            Print it, or take its ``forecasts``, ``cheaper`` and ``learners`` apart.
        """
        raise NotImplementedError("the forecast is being rewritten: it is not there yet")

    def _entropy(self) -> int:
        """Draw what all seeds of a fit derive from."""
        return int(check_random_state(self.random_state).randint(2**31 - 1))

    def _portfolio(
        self,
        named: list[tuple[str, Any]],
        table: Table,
        X: FloatArray,
        groups: Any,
        fit_params: dict[str, Any],
    ) -> tuple[tuple[Learner, ...], Loss]:
        """Return the learners that serve on a table whose rows are X, and the loss."""
        views, named = seen_by(named, table.schema, X)
        loss = self._loss_for(named, table.classes).of_labels(table.y, table.weight)
        weight = None if table.weight is None else table.spread(table.weight, 0.0)
        metadata = self._metadata(named, weight, groups, fit_params)
        return self._learners(named, views, table, metadata, loss.proper), loss

    def _within_memory(
        self, learners: tuple[Learner, ...], table: Table, X: FloatArray, share: float
    ) -> tuple[tuple[Learner, ...], list[Failure]]:
        """Return the learners that have room in `memory_limit`, and why others have not.

        A model is trained on a share of the rows, and on all with ``refit``.
        """
        if self.memory_limit is None:
            return learners, []
        limit = MemoryLimit(
            bytes_of(self.memory_limit), table.X.nbytes, effective_n_jobs(self.n_jobs)
        )
        n_train = len(X) if self.refit else ceil(share * len(X))
        return limit.sieve(learners, X, table.y, n_train)

    def _grow(self, task: Task, begun: Begun | None, before: list[Grown], context: Any) -> Grown:
        """Grow the next tree: partition, search, weigh, freeze."""
        problem = task.problem(len(before), WAYS[self._way].pools)
        watcher = self._watcher(task, before, context)
        with (
            closing(self._journal(task, begun, len(before), problem)) as journal,
            Executor(self.n_jobs, task.clock, self.learner_timeout) as executor,
        ):
            fits = Fits(problem.shared(executor), executor, journal)
            growths: list[Growth] = []
            for way in self.methods_of(fits, task.recipe):
                steps = Steps(way, fits, len(growths))
                growths.append(growth := Growth(fits, way.finish))
                with watcher.watching(growth):
                    for _ in watch(_decisions(steps, growth, task.clock), growth, watcher):
                        pass
            stopped = growths[-1].stopped or ("time_limit" if task.clock.is_late else None)
            return self._frozen(problem, best_of(growths), stopped)

    def methods_of(self, fits: Fits, recipe: Recipe) -> Iterable[Way]:
        """Return the methods that a tree is grown by; others are made of the same parts."""
        return WAYS[self._way].make(fits, recipe)

    @property
    def _way(self) -> str:
        """The name of the method: additive models have one of their own."""
        additive = isinstance(self.learners, str) and self.learners == "additive"
        return "additive" if additive and self.weights == "shrunk" else self.weights

    def _frozen(self, problem: Problem, growth: Growth, stopped: str | None) -> Grown:
        """Weigh and freeze a tree as it stands."""
        growth = growth.finish.trimmed(growth)
        weights = growth.finish.weights(growth)
        tree = freeze(growth, weights, self.refit)
        seen, ledger = evidence(growth, weights), growth.fits.ledger
        failures = ledger.failures(growth.id_of)
        return Grown(tree, problem, seen, failures, ledger.fits, stopped)

    def _journal(self, task: Task, begun: Begun | None, tree: int, problem: Problem) -> Journal:
        """Return what remembers the growth of one tree."""
        if begun is None:
            return Journal()
        learners = [learner.estimator for learner in problem.learners]
        files = ModelFiles(learners, problem.X.shape[1], problem.n_outputs)
        return begun.journal(tree, self._identity(problem, task.recipe), files)

    def _identity(self, problem: Problem, recipe: Recipe) -> dict[str, str]:
        """Return digests of everything that a tree depends on, by name."""
        learners = [(a.name, a.estimator, a.metadata) for a in problem.learners]
        limits = replace(recipe.limits, max_depth=None)
        return {
            "X": digest_of(problem.X, problem.columns, sorted(problem.categories)),
            "feature_roles": digest_of([a.view for a in problem.learners]),
            "y": digest_of(problem.y, problem.learners[0].classes),
            "sample_weight": digest_of(problem.weight),
            "folds or parts": digest_of(problem.partition.fold, problem.partition.weighing),
            "random_state": digest_of(problem.seeds.entropy, problem.seeds.repeat),
            "learners": digest_of(learners),
            "loss": digest_of(problem.loss.name, None if isinstance(self.loss, str) else self.loss),
            "search": digest_of(recipe.races),
            "weights": digest_of(self.weights, recipe.strength),
            "limits": digest_of(list(asdict(limits).items())),
            "min_gain_se (by default it depends on the number of trees)": digest_of(recipe.demand),
            "interactions": digest_of(recipe.interactions),
            "monotonic_cst": digest_of(sorted(recipe.directions.items())),
            "versions": digest_of(__version__, sklearn.__version__, np.__version__),
        }

    def _init_callbacks(self, X: Any, y: Any, task: Task) -> Any:
        """Return the context of scikit-learn's callbacks, if there are any."""
        if not getattr(self, "_skl_callbacks", None):
            return None
        context = self._init_callback_context(max_subtasks=task.n_trees)
        context.call_on_fit_task_begin(estimator=self, X=X, y=y)
        return context

    def _watcher(self, task: Task, before: list[Grown], context: Any) -> Watcher:
        """Return what is told how a tree grows."""
        tree = f"tree {len(before) + 1}, " if task.n_trees > 1 else ""
        watchers: list[Watcher] = []
        if self.verbose == 1:
            watchers.append(Lines(task.table.schema.columns, tree, task.start))
        if self.verbose > 1:
            watchers.append(LiveLine(tree, task.start, self.time_limit))
        if context is not None:

            def fitted(growth: Growth) -> dict[str, Any]:
                problem = growth.fits.problem
                return self._fitted(task, [*before, self._frozen(problem, growth, None)])

            watchers.append(Calls(self, context, fitted))
        return All(watchers)

    def _imputations(self, table: Table, entropy: int) -> Imputations:
        """Return the training rows with their gaps, or as often as they are drawn without."""
        if not self._is_imputed(table):
            return [(None, table.X)]
        seeds = np.random.default_rng(entropy).integers(2**31 - 1, size=self.n_imputations)
        return [draw(table.schema, table.X, int(seed)) for seed in seeds]

    def _is_imputed(self, table: Table) -> bool:
        """Whether gaps are drawn: there are some, and the paper's way is asked for."""
        check_choice("imputation", self.imputation, ("native", "mice"))
        check_number("n_imputations", self.n_imputations, Integral, 1)
        return self.imputation == "mice" and bool(np.isnan(table.X).any())

    def _directions(self, table: Table) -> dict[int, int]:
        """Return the columns along which answers only rise or fall."""
        directions = directions_of(self.monotonic_cst, table.schema)
        if directions and self._way != "additive":
            raise InvalidInputError(
                "monotonic_cst needs learners='additive': other learners may turn at any value. "
                "Give it to those that know it, in a list of (name, estimator) pairs"
            )
        if directions and table.classes is not None and len(table.classes) > 2:
            raise InvalidInputError(
                "monotonic_cst is for two classes or for values: of several classes, not all can "
                "become more probable"
            )
        return directions

    def _recipe(
        self,
        limits: Limits,
        learners: tuple[Learner, ...],
        n_trees: int,
        directions: dict[int, int],
    ) -> Recipe:
        """Return what the parameters say about how so many trees of these learners grow.

        A race is worth it only where some learner would be slow otherwise.
        """
        are_quick = all(map(has_closed_form, learners))
        auto = (PROOF, PROOF_BELOW if n_trees > 1 and are_quick else PROOF)
        if self._way == "additive":
            auto = OF_SUMS
        return Recipe(
            limits,
            standard_errors(self.min_gain_se, auto),
            not are_quick if self.search == "auto" else self.search == "racing",
            self.shrinkage,
            self.interactions,
            directions,
        )

    def _fitted(self, task: Task, grown: list[Grown]) -> dict[str, Any]:
        """Return the attributes of a finished fit: nothing of the estimator changes before."""
        first, table = grown[0].problem, task.table
        takes_nan = {learner.name: learner.allows_nan for learner in first.learners}
        used = [p for one in grown for p in one.tree.predictors if p.models]
        model = Model(
            schema=table.schema,
            named="feature_names_in_" in task.columns,
            needed=() if all(takes_nan[p.learner] for p in used) else never_missing(table),
            classes=table.classes,
            trees=tuple(one.tree for one in grown),
            imputations=tuple(filled for filled, _ in task.drawn if filled is not None),
            backgrounds=tuple(background(one.tree, one.problem) for one in grown),
            loss=first.loss,
            account=account_of(task, grown),
            settings=settings_of(self),
        )
        partition = table.spread(first.partition.codes, NO_PART)
        return {**task.columns, "model_": model, "partition_": partition}

    def _take(self, model: Model) -> None:
        """Become the estimator of a model."""
        self.model_ = model
        self.n_features_in_ = len(model.schema.columns)
        if model.named:
            self.feature_names_in_ = np.array(model.names, dtype=object)

    @abstractmethod
    def _loss_for(self, named: list[tuple[str, Any]], classes: Labels | None) -> Loss:
        """Return the loss to use, with "auto" resolved."""

    def _partitions(
        self, table: Table, partition: Any, groups: Any
    ) -> list[Callable[[Seeds], Partition]]:
        """Return what draws the partition of each repetition."""
        if partition is not None and groups is not None:
            raise InvalidInputError("give partition or groups, not both: a partition is final")
        if partition is not None:
            codes = check_parts(check_codes(partition, table.n_given)[table.kept])
            check_unrepeated(self.n_repeats)
            return [lambda seeds: Partition.from_codes(codes)]
        together = None if groups is None else check_groups(groups, table.n_given)[table.kept]
        strata = None if table.classes is None else table.y
        rows, validation = (table.X, strata, together), check_validation(self.validation)
        if isinstance(validation, int):
            return self.n_repeats * [
                lambda seeds: Partition.from_folds(
                    assign_folds(*rows, validation, seeds.generator())
                )
            ]
        if isinstance(validation, tuple):
            return self.n_repeats * [
                lambda seeds: Partition.from_codes(hold_out(*rows, validation, seeds.generator()))
            ]

        def drawn(fold: IntArray) -> Callable[[Seeds], Partition]:
            return lambda seeds: parts_of(fold, *rows, seeds.generator())

        split = partial(folds_of, validation, table.X, table.y, together, table.kept, table.n_given)
        return [drawn(fold) for fold in rounds_of(validation, self.n_repeats, split)]

    def _metadata(
        self,
        named: list[tuple[str, Any]],
        sample_weight: Any,
        groups: Any,
        fit_params: dict[str, Any],
    ) -> dict[str, dict[str, Any]]:
        """Return for each learner the keywords of its ``fit``."""
        if get_config()["enable_metadata_routing"]:
            given = {"sample_weight": sample_weight, "groups": groups, **fit_params}
            given = {key: value for key, value in given.items() if value is not None}
            routed = process_routing(self, "fit", **given)
            return {name: dict(routed[name].fit) for name, _ in named}
        if fit_params:
            raise InvalidInputError(
                f"fit got {sorted(fit_params)}: such parameters reach the learners only with "
                "sklearn.set_config(enable_metadata_routing=True)"
            )
        if sample_weight is None:
            return {name: {} for name, _ in named}
        return {name: {weight_keyword(name, e): sample_weight} for name, e in named}

    def _learners(
        self,
        named: list[tuple[str, Any]],
        views: list[View | None],
        table: Table,
        metadata: Mapping[str, Mapping[str, Any]],
        proper: bool,
    ) -> tuple[Learner, ...]:
        """Return the learners that serve on this table."""
        return tuple(
            adapt(
                name,
                estimator,
                self._task,
                1 if table.classes is None else len(table.classes),
                classes=table.classes,
                proper=proper,
                metadata=take_rows(metadata[name], table.kept, table.n_given),
                view=view,
            )
            for (name, estimator), view in zip(named, views, strict=True)
        )

    def _scores(self, X: Any) -> FloatArray:
        """Return H(x), an (n, k) array."""
        features = self._features(X)
        return self.model_.scores(features)

    def imputation_spread(self, X: Any) -> FloatArray:
        """Return the standard deviation of H(x) between imputations: (n,), or (n, k) classes.

        Zero where no value is missing and the trees agree. Needs ``imputation="mice"``.
        """
        features = self._features(X)
        if len(self.imputations_) < 2:
            raise InvalidInputError(
                "there is a single imputation or none: fit with imputation='mice' and at least "
                "two n_imputations on rows with missing values"
            )
        scores, m = self.model_.scores_by_tree(features), len(self.imputations_)
        found = spread([np.mean(scores[i::m], axis=0) for i in range(m)])
        return found[:, 0] if found.shape[1] == 1 else found

    def _features(self, X: Any) -> FloatArray:
        """Return a table as codes, after the checks that scikit-learn wants of an estimator."""
        check_is_fitted(self)
        given = X if self.schema_.reads(X) else numbers_of(X, self)
        validate_data(self, X, reset=False, skip_check_array=True)
        return self.model_.encode(given)

    def predict(self, X: Any) -> Labels:
        """Return what is predicted for each row.

        In a regression it is H(x); of classes that with the largest score. If every learner is a
        regressor and the loss is ``"error"``, two classes are told apart at a score of ½, and ½
        itself is the second.
        """
        scores = self._scores(X)
        return self.model_.decide(scores)

    def apply(self, X: Any) -> IntArray:
        """Return the id of the leaf that each row falls in."""
        features = self._features(X)
        return self.model_.leaves(features)

    def decision_path(self, X: Any) -> csr_array:
        """Return the path of each row as a sparse (n_samples, n_nodes) indicator."""
        leaves, row = np.unique(self.apply(X), return_inverse=True)
        paths = [self.tree_.path(leaf) for leaf in leaves]
        nodes = np.concatenate([paths[i] for i in row]) if len(row) else np.empty(0, dtype=int)
        ends = np.concatenate([[0], np.cumsum([len(paths[i]) for i in row])])
        return csr_array(
            (np.ones(len(nodes), dtype=np.int8), nodes, ends), shape=(len(row), len(self.tree_))
        )

    def get_depth(self) -> int:
        """Return the depth of the tree; a lone root has 0."""
        check_is_fitted(self)
        return self.tree_.get_depth()

    def get_n_leaves(self) -> int:
        """Return how many leaves the tree has."""
        check_is_fitted(self)
        return self.tree_.get_n_leaves()

    def export_text(self, **kwargs: Any) -> str:
        """Return the tree as text; see `predictree.export_text`."""
        check_is_fitted(self)
        return export_text(self.model_, **kwargs)

    def loss_bound(self, X: Any, y: Any, delta: float = 0.05, **kwargs: Any) -> LossBound:
        """Bound the expected loss by rows that fit has not seen, ``X`` and ``y``.

        See `predictree.explain.bounds.loss_bound`.
        """
        return loss_bound(self, X, y, delta, **kwargs)

    def plot(self, x: Any = None, **kwargs: Any) -> Any:
        """Draw the tree with matplotlib, and the path of a row; see `inspection.plot_tree`."""
        check_is_fitted(self)
        return plot_tree(self.model_, x, **kwargs)

    def explain(self, x: Any, **kwargs: Any) -> Explanation:
        """Take the prediction of one row apart; see `inspection.explain`."""
        check_is_fitted(self)
        return explain(self.model_, x, **kwargs)

    def terms(self, leaf: int | None = None, **kwargs: Any) -> Any:
        """Return what every feature adds in every region, or in one, as a frame.

        Of additive models; see `predictree.explain.terms`.
        """
        check_is_fitted(self)
        return terms(self.model_, leaf, **kwargs)

    def contrast(self, first: int, second: int, **kwargs: Any) -> Any:
        """Return by how much effects in one region are larger than in another, as a frame.

        Of additive models; see `predictree.explain.contrast`.
        """
        check_is_fitted(self)
        return contrast(self.model_, first, second, **kwargs)

    def plot_terms(self, features: Sequence[Any] | None = None, **kwargs: Any) -> TermDisplay:
        """Draw what features add, for all rows and where regions differ, with matplotlib.

        Of additive models; see `predictree.explain.plot_terms`.
        """
        check_is_fitted(self)
        return plot_terms(self.model_, features, **kwargs)

    def report(
        self,
        X: Any = None,
        y: Any = None,
        path: str | PathLike[str] = "report.html",
        *,
        rows: Any = None,
    ) -> Path:
        """Write a report: one page for a browser, with everything in it.

        Parameters
        ----------
        X, y : table and labels, optional
            Rows to judge the regions on, best those that the model has never seen. Without them
            the report says what the fit's own held-out rows do.
        path : str or path, default="report.html"
        rows : table, optional
            Rows to show one by one, with their values; no other row is in the file.

        Returns
        -------
        Path
            Of the file. Needs jinja2: ``pip install 'predictree[report]'``.
        """
        check_is_fitted(self)
        return write(self.model_, path, X, y, rows=rows)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters; the learners' own are named ``learners__<name>__<parameter>``."""
        params: dict[str, Any] = super().get_params(deep)
        for name, estimator in self.learners if deep and is_named(self.learners) else ():
            params[f"learners__{name}"] = estimator
            for key, value in estimator.get_params().items():
                params[f"learners__{name}__{key}"] = value
        return params

    def set_params(self, **params: Any) -> Self:
        """Set parameters, those of the learners by ``learners__<name>__<parameter>``.

        Setting a parameter inside a preset turns the preset into a list of its learners.
        """
        inner = {key: params.pop(key) for key in list(params) if key.startswith("learners__")}
        super().set_params(**params)
        if inner:
            self.learners = _with_params(resolve_learners(self.learners, self._task), inner)
        return self

    def get_metadata_routing(self) -> MetadataRouter:
        """Return how metadata reaches the learners."""
        router = MetadataRouter(owner=self).add_self_request(self)
        for name, estimator in resolve_learners(self.learners, self._task):
            mapping = MethodMapping().add(caller="fit", callee="fit")
            router.add(**{name: estimator}, method_mapping=mapping)
        return router

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


class ToPsClassifier(ClassifierMixin, _TreesOfPredictors):  # type: ignore[misc]
    """Trees of Predictors for classification.

    A tree over the feature space with predictors at every node. Splits are chosen by the loss of
    what the learners, trained on both sides, predict for rows that they did not see; a prediction
    is a learned convex combination of the predictors trained along the row's path.

    By default it is a readable tree of additive models: the root is one curve for every column,
    and pairs of columns where they pay; a region is its parent and a small correction of some of
    these curves, so that every leaf is one additive model. With several learners, as those of
    ``"strong"``, the tree is cross-fitted and starts as a stack: at the root it combines all
    learners, and every node below departs from its parent's combination as far as its rows
    warrant. `paper` gives the paper's construction, with three parts and one predictor a node.

    Parameters
    ----------
    learners : {"additive", "strong", "boosted", "lr", "paper"} or list of (str, estimator), \
default="additive"
        The base learners. ``"additive"``: a node is its parent and a correction, by curves, by
        lines or by a constant; `Node.learner` says which. ``"strong"`` is a small, diverse set from
        scikit-learn for accuracy alone: logistic
        regression, three histogram boostings, extra trees, a forest and a kernel machine.
        ``"boosted"`` adds those of LightGBM, XGBoost and CatBoost that are installed. ``"lr"`` is
        linear regression alone (ToPs/LR), ``"paper"`` the paper's five (ToPs/B). In a list any
        scikit-learn classifier, regressor or Pipeline may stand; a regressor is fitted on the 0/1
        indicator of each class.
    loss : {"auto", "log_loss", "auc", "error", "brier"}, callable or Loss, default="auto"
        What splits and learners are chosen by. ``"auc"`` is 1 − AUC. A callable gets
        ``(y_true, y_score)`` and, if it names it, ``sample_weight``. ``"auto"`` is log loss, or
        the Brier score if every learner is a regressor.
    validation : int, splitter, list of splits or (float, float, float), default=5
        How rows come to be judged by models that did not see them. A number of folds, or a
        scikit-learn splitter or list of (train, test) pairs whose test parts do not overlap: every
        model is trained without a fold and answers for it. A single test part is held out, half
        as V¹ and half as V². Or the shares of S, V¹ and V² that train, judge splits and weigh.
        Equal feature rows share a fold or part, unless a splitter says otherwise; folds of
        ``groups`` are made even in rows and classes.
    weights : {"shrunk", "path"}, default="shrunk"
        ``"shrunk"``: every node combines all learners trained on all nodes of its path, held to
        the parent's combination. ``"path"``: Algorithm 2 of the paper, one predictor a node. The
        leaves of additive trees are one function each and weigh nothing.
    shrinkage : float, default=300.0
        How strongly a node is held to its parent: λ in loss + λ / n ‖w − w_parent‖², for log loss,
        or half the squared error in units of the root's. Once a split is proved, λ of each side is
        quartered, six times at most, as long as its out-of-fold loss falls by 1.645 standard
        errors.
    search : {"auto", "exhaustive", "racing"}, default="auto"
        ``"exhaustive"`` trains every learner on both sides of every candidate split; linear,
        ridge and logistic regression do so in one go (see `Notes`). ``"racing"`` ranks all splits
        by what is cheap: linear and ridge regression. With path weights it then gives the other
        learners a growing share of the rows on a shrinking shortlist, and decides between splits
        that had all. With shrunk weights logistic regression judges the first eight, and the others
        are trained on the split that was decided; if all learners are slow, the first of them
        is trained on the first two. ``"auto"`` races if some learner would be slow otherwise.
    n_thresholds : int, default=9
        Quantiles of a feature that are tried as thresholds.
    max_depth : int or None, default=None
        No node is deeper; 0 is a lone root.
    min_samples_leaf, min_samples_val : int, default=20 and 10
        A child needs so many rows of S and of V¹. With ``weights="path"`` a path is weighed on V²
        of its leaf if that has ``min_samples_val`` rows and two for each weight, one of the two
        outside the largest class, or else on that of the nearest node above that has.
    min_gain : float, default=0.0
        A split must lower the loss by more than this.
    min_gain_se : "auto", float or pair of floats, default="auto"
        And by more than chance: the search is made again without each fold and its choice judged
        on that fold, and must gain so many standard errors there. 0 is no such demand. Of a pair
        the first is for the root and the second for the nodes below it. ``"auto"`` is 2.5: the
        1.645 of a one-sided test at 5 %, times the 1.5 by which Nadeau and Bengio's correction
        lengthens the standard errors of five folds that share training rows. For several trees
        whose learners are all fitted at all splits of a node at once (see `Notes`) it is
        ``(2.5, 1)``: trees that are averaged may be larger, and no more of them grow on noise. For
        additive trees it is 1.5 of what was found out of fold, where at least 0.3 of the best
        gain is left when the split is chosen without each fold.
    refit : bool, default=False
        With folds, whether a predictor keeps one model, trained on all rows of its node, instead
        of one a fold to average: smaller and faster.
    n_repeats : int, default=1
        Trees over different folds or parts, whose predictions are averaged. A splitter is called
        once for each, and must give other folds every time; one that repeats itself, such as
        RepeatedKFold, needs no ``n_repeats`` for a tree of each repetition.
    interactions : int, default=10
        Pairs of features that act together at the root of an additive tree, at most; of more than
        10,000 rows there may be half as many more. There are none unless they gain out of fold.
    monotonic_cst : array-like of int, dict or None, default=None
        For ``learners="additive"``: 1 for columns along which answers only rise, -1 where they
        only fall, 0 elsewhere; one number a column, or a dict by their names. The answer is the
        value, or the probability of the second of two classes. It holds everywhere: no region
        bends these curves, and no split or pair has these columns. A missing value may be
        answered by anything.
    feature_roles : dict or None, default=None
        What a column, by name or place, is for: ``"split"`` (the tree only), ``"fit"`` (the
        learners only), ``"both"``, ``"ignore"``, or ``"audit"`` (kept for reports, never used).
    imputation : {"native", "mice"}, default="native"
        What becomes of missing values. ``"native"``: at every split they have a side, which is
        learned; learners that do not take them see the median of their training rows, and an
        indicator. ``"mice"``: the paper's multiple imputation, a tree for each draw.
    n_imputations : int, default=10
        Draws of ``"mice"``.
    time_limit : float or None, default=None
        Seconds after which no further fit is begun. What is there then is a complete model: leaves
        with the most to gain are split first, and ``stopped_`` says ``"time_limit"``.
    learner_timeout : float or None, default=None
        Seconds that one fit of a slow learner may take; one that takes longer is cut off and costs
        its candidate. Fits then run in processes of their own, also with ``n_jobs=1``.
    checkpoint : str, path or None, default=None
        Folder for a journal of the fit. The same call after a crash or a kill goes on there,
        without fitting again what was done, and ends with the same tree; so does one with a larger
        ``max_depth`` or ``time_limit``. The folder holds pickled models: go on only with one that
        you trust.
    memory_limit : float, str or None, default=None
        Bytes, or text such as ``"4GB"``. A learner is left out, and recorded in ``fit_failures_``,
        if one of its fits in each process would not have room beside X. What it needs is an
        estimate, from two fits on few rows: memory that a library takes outside Python and NumPy
        and gives back after the fit is not seen. Nothing is enforced while the fit runs.
    verbose : int, default=0
        1 prints a line on stderr for every node. For a bar, ``set_callbacks(ProgressBar())`` of
        `sklearn.callback`; a callback whose ``on_fit_task_end`` returns True ends the growth.
    n_jobs : int or None, default=None
        Parallel fits, through joblib. The tree is the same for any number.
    random_state : int, RandomState or None, default=None
        Seeds the partition and every learner whose own ``random_state`` is None.

    Attributes
    ----------
    tree_ : Tree
        The frozen tree; iterate over it for `Node` records. The first of ``trees_``.
    trees_ : tuple of Tree
        One a repetition.
    verdict_ : Verdict
        Whether the tree is better, on rows that its models did not see, than the best learner
        alone and than one stack of all; print it.
    segments_ : tuple of Segment
        What each leaf of ``tree_`` is worth on held-out rows: base rate, losses, calibration.
    classes_ : array of shape (n_classes,)
    loss_ : Loss
    partition_ : array of shape (n_samples,)
        The fold of each row, or 0, 1 or 2 for S, V¹ or V²; -1 for a row of weight zero.
    fit_failures_ : list of FitFailure
        Candidates lost because a learner failed, or had no room in ``memory_limit``.
    stopped_ : str or None
        ``"time_limit"`` or ``"callback"`` if that ended the growth.
    fits_ : FitCount
        Fits of slow learners that the search made, and that an exhaustive one would make.
    backgrounds_ : tuple of Background
        For every tree, the means of columns at its nodes, from which `explain` counts.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Notes
    -----
    A frame of pandas or polars is taken as it is. Text is a category, dates and booleans are
    numbers; the tree splits on these columns: ``age < 42``, ``job = "retired"``, ``income is
    missing``, and ``size in {s, m}`` if the category has an order. A level that fit did not see
    goes with the rest. Histogram boostings get categories as they are, other learners one-hot, or
    as the share of rows with that level if there are more than 12. Learners that compare distances
    (support vector machines, nearest neighbours, neural networks) see columns scaled to [0, 1].

    These learners are fitted at all splits of a node at once, with the same result as one by one:
    ``LinearRegression``, ``Ridge`` (with a direct solver), and
    ``LogisticRegression(solver="newton-cholesky", tol=1e-6)`` or tighter for two classes or inside
    a ``OneVsRestClassifier``; the latter two also behind a ``StandardScaler`` in a Pipeline. Any
    other option of theirs makes them slow learners like all others.

    Examples
    --------
    >>> from predictree import ToPsClassifier
    >>> from predictree.data.datasets import load_toy
    >>> X, y = load_toy()
    >>> model = ToPsClassifier("lr", loss="error", random_state=0).fit(X, y)
    >>> model.get_n_leaves()
    1
    """

    _task: ClassVar[str] = "classification"

    @classmethod
    def paper(cls, learners: Any = "paper", loss: Any = "auc", **kwargs: Any) -> Self:
        """Return the estimator exactly as in the paper.

        75/15/10 held out, path weights, exhaustive search, any strict gain, no minimum sizes.
        """
        return cls(learners, loss=loss, **{**PAPER, **kwargs})

    def _loss_for(self, named: list[tuple[str, Any]], classes: Labels | None) -> Loss:
        regressors = all(is_regressor(estimator) for _, estimator in named)
        loss = self.loss
        if isinstance(loss, str) and loss == "auto":
            loss = "brier" if regressors else "log_loss"
        return resolve_loss(loss, self._task, classes, half_is_second=regressors)

    @property
    def classes_(self) -> Labels:
        """The sorted classes."""
        classes = self.model_.classes
        assert classes is not None
        return classes

    def predict_proba(self, X: Any) -> FloatArray:
        """Return class probabilities: H(x), clipped at zero and made to sum to one."""
        return probabilities(self._scores(X))

    def decision_function(self, X: Any) -> FloatArray:
        """Return the raw score H(x), unclipped, for ranking.

        With two classes it is H(x) − ½ for the second, so that zero is the border between
        them; with more it is the (n, k) array of scores.
        """
        scores = self._scores(X)
        return scores[:, 1] - 0.5 if scores.shape[1] == 2 else scores


class ToPsRegressor(RegressorMixin, _TreesOfPredictors):  # type: ignore[misc]
    """Trees of Predictors for regression.

    As `ToPsClassifier`, for real labels.

    Parameters
    ----------
    learners : {"additive", "strong", "boosted", "lr", "paper"} or list of (str, estimator), \
default="additive"
        The base learners, as in `ToPsClassifier`, ridge in place of logistic regression;
        ``"paper"`` are the regression counterparts of the paper's five. In a list any scikit-learn
        regressor or Pipeline may stand.
    loss : {"auto", "mse", "mae", "poisson", "gamma"}, callable or Loss, default="auto"
        What splits and learners are chosen by; ``"auto"`` is mean squared error. ``"poisson"`` and
        ``"gamma"`` are the mean deviances of counts and of positive amounts, as scikit-learn has
        them; additive models then are models of the logarithm of the mean, and answers of other
        learners are kept above zero.
    validation, weights, shrinkage, search, n_thresholds, max_depth, min_samples_leaf, \
min_samples_val, min_gain, min_gain_se, refit, n_repeats, feature_roles, imputation, \
n_imputations, time_limit, memory_limit, learner_timeout, checkpoint, \
verbose, n_jobs, random_state
        As in `ToPsClassifier`.

    Attributes
    ----------
    tree_, trees_, verdict_, segments_, loss_, partition_, fit_failures_, fits_, n_features_in_, \
feature_names_in_
        As in `ToPsClassifier`.
    """

    _task: ClassVar[str] = "regression"

    @classmethod
    def paper(cls, learners: Any = "paper", loss: Any = "mae", **kwargs: Any) -> Self:
        """Return the estimator exactly as in the paper, whose loss for real labels is the MAE."""
        return cls(learners, loss=loss, **{**PAPER, **kwargs})

    def _loss_for(self, named: list[tuple[str, Any]], classes: Labels | None) -> Loss:
        loss = "mse" if isinstance(self.loss, str) and self.loss == "auto" else self.loss
        return resolve_loss(loss, self._task, classes)


def _decisions(steps: Steps, growth: Growth, clock: Clock) -> Iterator[Decision]:
    """Plant the root of a tree, and return what becomes of its leaves by one method."""
    fits, way = growth.fits, steps.method
    root = growth.plant(way.combine.plant(Rows.of(fits.problem)))
    choose = fits.journal.remembering(partial(best_split, method=way), steps)
    return clock.until(grow(root, choose))


def _columns_of(X: Any) -> dict[str, Any]:
    """Return what scikit-learn remembers of the columns: their number and names."""
    record = BaseEstimator()
    validate_data(record, X, skip_check_array=True)
    return dict(vars(record))


def _with_params(named: list[tuple[str, Any]], params: dict[str, Any]) -> list[tuple[str, Any]]:
    """Apply ``learners__<name>[__<parameter>]`` to a list of learners."""
    learners = dict(named)
    for key in sorted(params, key=lambda key: key.count("__")):  # a learner before its parameters
        name, _, parameter = key.removeprefix("learners__").partition("__")
        if name not in learners:
            raise InvalidInputError(f"{key}: there is no learner {name!r} among {list(learners)}")
        if parameter:
            learners[name].set_params(**{parameter: params[key]})
        else:
            learners[name] = params[key]
    return list(learners.items())


def _warn_of_rare_classes(table: Table) -> None:
    """Warn of classes with few rows."""
    if table.classes is None:
        return
    count = np.bincount(table.y)
    rare = int(count.argmin())
    if count[rare] < RARE:
        warnings.warn(
            f"class {table.classes.tolist()[rare]!r} has only {count[rare]} of {len(table.y)} "
            "rows: what is learned and judged on so few is uncertain. Compare verdict_ with its "
            "standard errors, and consider n_repeats, fewer learners, or more rows of that class.",
            RareClassWarning,
            stacklevel=3,
        )


def _warn_of(failures: Sequence[FitFailure]) -> None:
    """Warn once for all candidates that were lost."""
    if not failures:
        return
    lost: Counter[tuple[str, str]] = Counter()
    for failure in failures:
        lost[failure.learner, failure.reason] += failure.count
    shown = "; ".join(f"{name} {n}× ({reason})" for (name, reason), n in lost.most_common(5))
    more = f"; and {len(lost) - 5} other reasons" if len(lost) > 5 else ""
    warnings.warn(
        f"{sum(lost.values())} fits were lost and the tree was grown without them: {shown}{more}. "
        "See fit_failures_.",
        LearnerFailedWarning,
        stacklevel=4,
    )
