"""ToPsSurvival: trees of predictors for the probability of an event by each of several horizons."""

import warnings
from inspect import signature
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import isotonic_regression
from sklearn.base import BaseEstimator, clone
from sklearn.utils import Tags, get_tags
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping
from sklearn.utils.validation import check_consistent_length, check_is_fitted, validate_data

from predictree.data.partition import in_short
from predictree.data.table import check_weights, numbers_of
from predictree.errors import CompetingEventsWarning, InvalidInputError, nearest
from predictree.estimators.account import settings_of
from predictree.estimators.classifier import ToPsClassifier
from predictree.estimators.parameters import Suggesting
from predictree.estimators.survival.metrics import concordance_index
from predictree.estimators.survival.outcome import (
    CENSORED,
    Known,
    Outcome,
    StepFunction,
    censoring_curve,
    check_horizons,
    check_observed,
    read_outcome,
)
from predictree.learners.adapter import take_rows
from predictree.model import SurvivalModel
from predictree.model.tree import BoolArray, FloatArray, IntArray
from predictree.run.checkpoint import Checkpoint

HORIZON = "log(horizon)"  # the further feature of a shared tree
COMPETING = ("censoring", "event", "class")


class ToPsSurvival(BaseEstimator, metaclass=Suggesting):  # type: ignore[misc]
    """Trees of Predictors for survival: the probability of an event by each of several horizons.

    At a horizon t a row has had the event, has not, or was censored before and is not known. Those
    that are known are weighted by the inverse of their probability to be known (IPCW), by the
    Kaplan-Meier estimate of the distribution of censoring, and a `ToPsClassifier` learns from them.
    That is right if censoring does not depend on the features.

    Parameters
    ----------
    horizons : sequence of float, default=(90, 365, 1095, 3650)
        Times in rising order. At each some rows must have had the event and some be still observed.
    estimator : ToPsClassifier, optional
        Cloned for every horizon. By default ``ToPsClassifier(loss="log_loss")``.
    shared_tree : bool, default=False
        Whether all horizons share one tree, which has the logarithm of the horizon as a further,
        last feature, instead of having one each. All copies of a row are in the same fold or part.
    competing : {"censoring", "event", "class"}, default="censoring"
        What to make of event codes 2, 3, …. ``"censoring"``: such a row counts as censored, with a
        warning: the probabilities are those of event 1 as if the others did not exist and were
        independent of it. ``"event"``: any event is the event. ``"class"``: each is a class of its
        own, see `predict_cumulative_incidence`.

    Attributes
    ----------
    horizons_ : array of shape (n_horizons,)
    causes_ : array of shape (n_causes,)
        The event codes that are told apart.
    models_ : tuple of ToPsClassifier
        One a horizon, or a single one that all share; each has its tree and its verdict.
    censoring_ : StepFunction
        G, the estimated probability of not being censored up to a time.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Examples
    --------
    >>> import numpy as np
    >>> from predictree import ToPsClassifier
    >>> from predictree.estimators.survival import ToPsSurvival
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 2))
    >>> death, end = rng.exponential(np.exp(-X[:, 0])), rng.uniform(0, 4, 300)
    >>> model = ToPsSurvival((0.5, 2), ToPsClassifier("lr", random_state=0))
    >>> model = model.fit(X, (death < end, np.minimum(death, end)))
    >>> model.predict_survival([[-1, 0], [1, 0]]).round(1)
    array([[0.8, 0.5],
           [0.3, 0. ]])
    """

    def __init__(
        self,
        horizons: Any = (90, 365, 1095, 3650),
        estimator: Any = None,
        *,
        shared_tree: bool = False,
        competing: str = "censoring",
    ) -> None:
        self.horizons = horizons
        self.estimator = estimator
        self.shared_tree = shared_tree
        self.competing = competing

    @classmethod
    def _hint(cls, name: str, known: list[str]) -> str:
        """Return what to write instead of a parameter that is the classifier's."""
        if name in signature(ToPsClassifier).parameters:
            return f"give it to the classifier, estimator=ToPsClassifier({name}=...)"
        return nearest(name, known)

    def fit(
        self, X: Any, y: Any, sample_weight: ArrayLike | None = None, **fit_params: Any
    ) -> Self:
        """Grow a tree for every horizon, or one for all.

        If the fit fails or is interrupted, an earlier fitted state is left as it was.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_samples, n_features)
            As in `ToPsClassifier`.
        y : structured array, frame or array of shape (n_samples, 2), or pair of arrays
            The event (0 or False where censored) and the time, in this order, as in
            scikit-survival. Columns by such names as ``event`` and ``time`` have no order.
        sample_weight : array-like of shape (n_samples,), optional
            Multiplied with the weights against censoring, and used where these are estimated.
        **fit_params : dict
            Such as ``groups`` or ``partition``, for the ``fit`` of `ToPsClassifier`.

        Returns
        -------
        self
        """
        horizons, template = check_horizons(self.horizons), self._template()
        observed = read_outcome(y)
        check_consistent_length(X, observed.time)
        weight = check_weights(sample_weight, len(observed.time))
        mass = np.ones(len(observed.time)) if weight is None else weight
        outcome = self._told_apart(observed)
        counted = Outcome(outcome.cause[mass > 0], outcome.time[mass > 0])
        check_observed(counted, horizons)
        if self.competing == "censoring":
            _warn_of_competing(observed.cause[mass > 0])
        censoring = censoring_curve(outcome, mass)
        known = Known.of(outcome, mass, horizons, censoring)
        given = {key: value for key, value in fit_params.items() if value is not None}
        fit = _fit_shared if self.shared_tree else _fit_each
        models = fit(template, X, known, given)
        validate_data(self, X, skip_check_array=True)
        self.models_, self.censoring_ = models, censoring
        self.model_ = SurvivalModel(
            horizons=horizons,
            causes=np.unique(counted.cause[counted.cause != CENSORED]),
            models=tuple(model.model_ for model in models),
            shared=bool(self.shared_tree),
            settings=settings_of(
                self, estimator=None if self.estimator is None else settings_of(template)
            ),
        )
        return self

    def _take(self, model: SurvivalModel, models: tuple[ToPsClassifier, ...]) -> None:
        """Become the estimator of a model, given those of its horizons."""
        self.model_, self.models_ = model, models
        known = model.models[0]
        n_columns = len(known.names) - model.shared
        self.n_features_in_ = n_columns
        if known.named:
            self.feature_names_in_ = np.array(known.names[:n_columns], dtype=object)

    @property
    def horizons_(self) -> FloatArray:
        """The times in rising order."""
        return self.model_.horizons

    @property
    def causes_(self) -> IntArray:
        """The event codes that are told apart."""
        return self.model_.causes

    def _template(self) -> ToPsClassifier:
        """Return the estimator to clone, after a look at the other parameters."""
        if not (isinstance(self.competing, str) and self.competing in COMPETING):
            raise InvalidInputError(
                f"competing={self.competing!r}: it must be "
                + " or ".join(repr(choice) for choice in COMPETING)
            )
        if self.estimator is None:
            return ToPsClassifier(loss="log_loss")
        if not isinstance(self.estimator, ToPsClassifier):
            raise InvalidInputError(
                f"estimator={self.estimator!r}: it must be a ToPsClassifier or None; preprocessing "
                "goes before ToPsSurvival, and other learners into the ToPsClassifier"
            )
        return self.estimator

    def _told_apart(self, outcome: Outcome) -> Outcome:
        """Return the outcome with competing events counted as the user wants them."""
        if self.competing == "class":
            return outcome
        happened = outcome.cause == 1 if self.competing == "censoring" else outcome.cause != 0
        return Outcome(happened.astype(np.int64), outcome.time)

    def predict_cumulative_incidence(self, X: Any) -> FloatArray:
        """Return the probability of each cause by each horizon, (n_samples, n_horizons, n_causes).

        It never falls with the horizon: where the models disagree it is their isotonic regression,
        which is never further from a rising truth than they are and, unlike a running maximum, not
        biased upwards. Over all causes it sums to at most one.
        """
        check_is_fitted(self)
        validate_data(self, X, reset=False, skip_check_array=True)
        if self.model_.shared:
            risk = self._risk(self.models_[0], with_horizons(X, self.horizons_, self))
            risks = risk.reshape(len(self.horizons_), -1, len(self.causes_))
        else:
            risks = np.stack([self._risk(model, X) for model in self.models_])
        return coherent(risks.transpose(1, 0, 2))

    def _risk(self, model: ToPsClassifier, X: Any) -> FloatArray:
        """Return the probability of each cause; zero where the model has not seen it."""
        seen = model.classes_ != CENSORED
        found = model.predict_proba(X)[:, seen]
        risk = np.zeros((len(found), len(self.causes_)))
        risk[:, np.searchsorted(self.causes_, model.classes_[seen])] = found
        return risk

    def predict_survival(self, X: Any) -> FloatArray:
        """Return the probability of no event by each horizon, (n_samples, n_horizons).

        It never rises with the horizon, see `predict_cumulative_incidence`.
        """
        survival: FloatArray = 1.0 - self.predict_cumulative_incidence(X).sum(axis=2)
        return survival.clip(0.0, 1.0)

    def predict_survival_function(self, X: Any) -> NDArray[np.object_]:
        """Return a survival curve for each row; it steps at horizons and ends at the last."""
        survival = self.predict_survival(X)
        curves = np.empty(len(survival), dtype=object)
        curves[:] = [StepFunction(self.horizons_, s, self.horizons_[-1]) for s in survival]
        return curves

    def predict(self, X: Any) -> FloatArray:
        """Return a risk for ranking: the mean over horizons of the probability of an event."""
        return np.asarray(1.0 - self.predict_survival(X).mean(axis=1))

    def score(self, X: Any, y: Any) -> float:
        """Return Harrell's concordance index of `predict`."""
        outcome = self._told_apart(read_outcome(y))
        return concordance_index((outcome.cause != CENSORED, outcome.time), self.predict(X))

    def get_metadata_routing(self) -> MetadataRouter:
        """Return how metadata reaches the classifiers."""
        mapping = MethodMapping().add(caller="fit", callee="fit")
        router = MetadataRouter(owner=self).add_self_request(self)
        return router.add(estimator=self._template(), method_mapping=mapping)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        inner = ToPsClassifier() if self.estimator is None else self.estimator
        tags.input_tags.allow_nan = get_tags(inner).input_tags.allow_nan
        return tags


def _fit_each(
    template: ToPsClassifier, X: Any, known: Known, given: dict[str, Any]
) -> tuple[ToPsClassifier, ...]:
    """Fit one model a horizon; a row that is not known there has weight zero."""
    pairs = zip(known.cause, known.weight, strict=True)
    return tuple(
        _copy(template, h).fit(X, cause, weight, **given) for h, (cause, weight) in enumerate(pairs)
    )


def _copy(template: ToPsClassifier, horizon: int) -> ToPsClassifier:
    """Return the estimator of one horizon; a checkpoint has a folder for each."""
    copy: ToPsClassifier = clone(template)
    if copy.checkpoint is not None:
        folder = Checkpoint.of(copy.checkpoint).inside(f"horizon-{horizon}")
        copy.set_params(checkpoint=folder)
    return copy


def _fit_shared(
    template: ToPsClassifier, X: Any, known: Known, given: dict[str, Any]
) -> tuple[ToPsClassifier, ...]:
    """Fit one model to all pairs of a row and a horizon."""
    n_horizons, n_rows = known.cause.shape
    together = {} if "partition" in given else {"groups": np.arange(n_rows)}
    rows = np.tile(np.arange(n_rows), n_horizons)
    keywords = take_rows(together | given, rows, n_rows)
    pairs = with_horizons(X, known.horizons, template)
    model = clone(template).fit(pairs, known.cause.ravel(), known.weight.ravel(), **keywords)
    _check_together(model, known.weight > 0)
    return (model,)


def _check_together(model: ToPsClassifier, counts: BoolArray) -> None:
    """Check that all copies of a row that count are in the same fold or part."""
    parts = model.partition_.reshape(counts.shape)
    limits = np.iinfo(parts.dtype)
    lowest = parts.min(axis=0, where=counts, initial=limits.max)
    highest = parts.max(axis=0, where=counts, initial=limits.min)
    if (highest > lowest).any():
        raise InvalidInputError(
            f"validation={in_short(model.validation)} puts copies of one row, for different "
            "horizons, into different folds: give a number of folds, or a splitter that minds "
            "groups, such as GroupKFold"
        )


def with_horizons(X: Any, horizons: FloatArray, estimator: Any) -> Any:
    """Return the rows once for every horizon, one below the other, its logarithm a last column."""
    names = getattr(X, "columns", None)
    if names is None or not all(isinstance(name, str) for name in names):
        X = numbers_of(X, estimator)
    rows = np.tile(np.arange(len(X)), len(horizons))
    times = np.repeat(np.log(horizons), len(X))
    if hasattr(X, "iloc"):  # pandas
        return X.iloc[rows].assign(**{HORIZON: times})
    if hasattr(X, "with_columns"):  # polars
        return X[rows].with_columns(**{HORIZON: times})
    return np.column_stack([X[rows], times])


def coherent(risks: FloatArray) -> FloatArray:
    """Return (n, horizons, causes) probabilities that rise with the horizon and sum to at most 1.

    Each cause by isotonic regression. If that makes a sum exceed one, what each cause gains from
    horizon to horizon is cut in proportion.
    """
    risks = np.ascontiguousarray(risks)
    falls = (np.diff(risks, axis=1) < 0).any(axis=1)
    for row, cause in np.argwhere(falls):
        risks[row, :, cause] = isotonic_regression(risks[row, :, cause]).x
    total = risks.sum(axis=2)
    over = total[:, -1] > 1.0
    if over.any():
        gain = np.diff(risks[over], axis=1, prepend=0.0)
        room = np.diff(np.minimum(total[over], 1.0), axis=1, prepend=0.0)
        wanted = gain.sum(axis=2)
        share = np.divide(room, wanted, out=np.ones_like(room), where=wanted > room)
        risks[over] = np.cumsum(gain * share[:, :, None], axis=1)
    return risks


def _warn_of_competing(cause: IntArray) -> None:
    """Warn if events of other causes are about to be taken for censoring."""
    n_others = int((cause > 1).sum())
    if n_others:
        warnings.warn(
            f"{n_others} rows with a competing event (code above 1) count as censored: the "
            "probabilities are cause-specific, of event 1 as if there were no others. Use "
            'competing="event" to count any event, or competing="class" to tell them apart',
            CompetingEventsWarning,
            stacklevel=3,
        )
