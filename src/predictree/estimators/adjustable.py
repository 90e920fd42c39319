"""The parameters of trees of predictors, with those of their learners."""

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, Self

from sklearn.base import BaseEstimator
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping

from predictree.errors import InvalidInputError
from predictree.estimators.parameters import Suggesting
from predictree.learners import resolve_learners
from predictree.learners.presets import is_named
from predictree.losses import Loss
from predictree.model.outputs import Labels


class Adjustable(BaseEstimator, metaclass=Suggesting):  # type: ignore[misc]
    """What classifier and regressor are told: every parameter but the labels' own."""

    _task: ClassVar[str]

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
        reference: Any = None,
        feature_roles: Mapping[Any, str] | None = None,
        imputation: str = "native",
        n_imputations: int = 10,
        time_limit: float | None = None,
        learner_timeout: float | None = None,
        checkpoint: Any = None,
        memory_limit: float | str | None = None,
        verbose: int | None = None,
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
        self.reference = reference
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

    @abstractmethod
    def _loss_for(self, named: list[tuple[str, Any]], classes: Labels | None) -> Loss:
        """Return the loss to use, with "auto" resolved."""

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
