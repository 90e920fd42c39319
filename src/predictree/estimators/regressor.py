"""ToPsRegressor."""

from typing import Any, ClassVar, Self

from sklearn.base import RegressorMixin

from predictree.estimators.base import TreesOfPredictors
from predictree.estimators.parameters import PAPER
from predictree.explain.intervals import interval, quantiles
from predictree.losses import Loss, resolve_loss
from predictree.model.outputs import Labels
from predictree.model.tree import FloatArray


class ToPsRegressor(RegressorMixin, TreesOfPredictors):  # type: ignore[misc]
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
min_samples_val, min_gain, min_gain_se, refit, n_repeats, reference, feature_roles, imputation, \
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

    def predict_interval(self, X: Any, coverage: float = 0.9) -> FloatArray:
        """Return intervals that hold the labels of so large a share of rows like those of the fit.

        They come from the errors of rows that their models did not see (conformal prediction),
        region by region, and are wider where answers are off by more. What is promised is the share
        among all rows: a single one may be harder than its region.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
        coverage : float, default=0.9

        Returns
        -------
        array of shape (n_samples, 2)
            Lower and upper ends; infinite where there are too few rows for so large a share.
        """
        features = self._features(X)
        return interval(self.model_, features, coverage)

    def predict_quantiles(self, X: Any, levels: Any = (0.05, 0.25, 0.5, 0.75, 0.95)) -> FloatArray:
        """Return values that labels are below with these probabilities: (n_samples, levels).

        As in `predict_interval`.
        """
        features = self._features(X)
        return quantiles(self.model_, features, levels)
