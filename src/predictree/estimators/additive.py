"""AdditiveClassifier and AdditiveRegressor: the root of a tree of additive models, on its own."""

from collections.abc import Mapping
from typing import Any, Self

from sklearn.utils.validation import check_is_fitted

from predictree.errors import InvalidInputError
from predictree.estimators.classifier import ToPsClassifier
from predictree.estimators.regressor import ToPsRegressor
from predictree.losses import Loss
from predictree.losses.rows import Gamma, Poisson, SquaredError
from predictree.model.additive import AdditiveFunction
from predictree.model.outputs import Labels
from predictree.model.tree import FloatArray

FITTED_BY = (
    SquaredError.name,
    Poisson.name,
    Gamma.name,
)  # losses that a regression can be fitted by


class _LoneRoot:
    """What both have in common: a tree without splits is one additive function."""

    model_: Any

    @property
    def function_(self) -> AdditiveFunction:
        """The intercept, the curves and the surfaces."""
        check_is_fitted(self)
        (function,) = self.model_.tree.predictors[0].models
        assert isinstance(function, AdditiveFunction)
        return function

    @classmethod
    def paper(cls, *args: Any, **kwargs: Any) -> Self:
        """Raise: the paper has no additive models."""
        raise InvalidInputError(
            f"{cls.__name__} is no method of the paper: use ToPsClassifier.paper() or "
            "ToPsRegressor.paper()"
        )


class AdditiveRegressor(_LoneRoot, ToPsRegressor):
    """An additive model: a curve for each feature, and surfaces for pairs that act together.

    f(x) = intercept + Σ curves + Σ surfaces. Curves are lines, bends and steps as the rows ask for:
    how large each part may be is learned from Gram matrices, in a second or so, and what explains
    nothing drops out. Pairs are kept if they gain out of fold. It is the root of
    ``ToPsRegressor("additive")``, and can be read, reported and saved as that.

    Parameters
    ----------
    loss : {"mse", "poisson", "gamma"}, default="mse"
        What it is fitted and judged by. ``"poisson"`` is for counts and rates, ``"gamma"`` for
        positive amounts; f(x) is then the logarithm of the mean.
    interactions : int, default=10
        Pairs of features that may have a surface; half as many more from 10,000 rows on.
    validation : int, splitter or list of splits, default=5
        Folds by which pairs are judged, as in `ToPsRegressor`.
    monotonic_cst : array-like of int, dict or None, default=None
        Which curves may only rise (1) or only fall (-1), as in `ToPsRegressor`.
    feature_roles : dict or None, default=None
        What a column, by name or place, is for: ``"fit"``, ``"ignore"`` or ``"audit"`` (kept for
        reports, never used), as in `ToPsRegressor`.
    random_state : int, RandomState or None, default=None
        Draws the folds.

    Attributes
    ----------
    function_ : AdditiveFunction
        Its intercept, curves and surfaces; of the logarithm of the mean where there is one.
    model_ : Model
        The same with the columns of the table, which reads and explains it.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Examples
    --------
    >>> import numpy as np
    >>> from predictree import AdditiveRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-2, 2, size=(800, 3))
    >>> y = np.sin(2 * X[:, 0]) + X[:, 1] ** 2 + 0.1 * rng.normal(size=800)
    >>> model = AdditiveRegressor(random_state=0).fit(X[:400], y[:400])
    >>> round(model.score(X[400:], y[400:]), 3)
    0.994
    >>> bend = model.function_.curves[1]
    >>> at = bend.axis.place(np.array([-2.0, 0.0, 2.0]))
    >>> bend.values[at[0], 0].round(1)
    array([ 2.7, -1.2,  2.6])
    """

    def __init__(
        self,
        *,
        loss: Any = "mse",
        interactions: int = 10,
        validation: Any = 5,
        monotonic_cst: Any = None,
        feature_roles: Mapping[Any, str] | None = None,
        random_state: Any = None,
    ) -> None:
        super().__init__(
            "additive",
            loss=loss,
            interactions=interactions,
            validation=validation,
            monotonic_cst=monotonic_cst,
            feature_roles=feature_roles,
            random_state=random_state,
            max_depth=0,
        )

    def _loss_for(self, named: list[tuple[str, Any]], classes: Labels | None) -> Loss:
        if not (isinstance(self.loss, str) and self.loss in FITTED_BY):
            names = ", ".join(map(repr, FITTED_BY))
            raise InvalidInputError(
                f"loss={self.loss!r}: an additive regression is fitted by one of {names}; a "
                "ToPsRegressor is judged by any other"
            )
        return super()._loss_for(named, classes)


class AdditiveClassifier(_LoneRoot, ToPsClassifier):
    """An additive model of the log odds: a curve for each feature, and surfaces for pairs.

    As `AdditiveRegressor`, for two classes or several; f(x) are the log odds of the second of two
    classes, and otherwise a score for each class whose softmax are the probabilities.

    Parameters
    ----------
    interactions, validation, monotonic_cst, feature_roles, random_state
        As in `AdditiveRegressor`.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    function_, model_, n_features_in_, feature_names_in_
        As in `AdditiveRegressor`.

    Examples
    --------
    >>> import numpy as np
    >>> from predictree import AdditiveClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(500, 2))
    >>> y = np.where(X[:, 0] ** 2 + 0.5 * rng.normal(size=500) > 1, "far", "near")
    >>> model = AdditiveClassifier(random_state=0).fit(X, y)
    >>> model.predict([[-2.0, 0.0], [0.0, 0.0]])
    array(['far', 'near'], dtype='<U4')
    """

    def __init__(
        self,
        *,
        interactions: int = 10,
        validation: Any = 5,
        monotonic_cst: Any = None,
        feature_roles: Mapping[Any, str] | None = None,
        random_state: Any = None,
    ) -> None:
        super().__init__(
            "additive",
            interactions=interactions,
            validation=validation,
            monotonic_cst=monotonic_cst,
            feature_roles=feature_roles,
            random_state=random_state,
            max_depth=0,
        )

    def decision_function(self, X: Any) -> FloatArray:
        """Return f(x): the log odds of the second of two classes, or (n, k) scores of classes."""
        f = self.function_.sum(self._features(X))
        return f[:, 0] if f.shape[1] == 1 else f
