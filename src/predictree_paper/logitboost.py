"""LogitBoost: additive logistic regression, each round a weighted least squares fit of a tree.

From the paper [1]_: Algorithms 3 (two classes) and 6 (more): working responses
z = (y* - p) / (p (1 - p)) with weights p (1 - p), held to [-z_max, z_max] and away from zero. Where
z is held, the weight is (y* - p) / z, so that the slope of the likelihood stays what it is: with
p (1 - p) a class rarer than 1 / z_max would count for too little, and end at probability zero.
With two classes the second algorithm is the first, as its two trees are each other's negatives; so
one is grown. Settled here: base learners are scikit-learn's regression trees, z_max is 4 (the paper
says 2 to 4), and weights of rows multiply those of the working responses.

References
----------
.. [1] J. Friedman, T. Hastie and R. Tibshirani, "Additive logistic regression: a statistical view
   of boosting", The Annals of Statistics 28(2), 2000.
"""

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import softmax
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.tree import DecisionTreeRegressor
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from predictree.data.table import check_labels, check_weights, encode_classes
from predictree.model.tree import BoolArray, FloatArray
from predictree_paper.checks import check_at_least

LEAST_WEIGHT = 2 * np.finfo(float).eps  # the paper's: twice the machine's zero


class LogitBoostClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """LogitBoost with regression stumps or small trees.

    Parameters
    ----------
    n_estimators : int, default=100
        Rounds.
    max_depth : int, default=1
        Of the trees; 1 gives stumps.
    z_max : float, default=4.0
        Bound of the working responses.
    random_state : int, RandomState or None, default=None
        Breaks ties between splits as trees grow.

    Attributes
    ----------
    classes_ : array of shape (k,)
    estimators_ : list of lists of DecisionTreeRegressor
        For every round a tree for each class; for two classes one, of the second.
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> LogitBoostClassifier(20, random_state=0).fit(X[::2], y[::2]).score(X[1::2], y[1::2]) > 0.9
    True
    """

    def __init__(
        self,
        n_estimators: int = 100,
        *,
        max_depth: int = 1,
        z_max: float = 4.0,
        random_state: Any = None,
    ) -> None:
        self.n_estimators = n_estimators
        self.max_depth = max_depth
        self.z_max = z_max
        self.random_state = random_state

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Boost.

        Parameters
        ----------
        X : array-like of shape (n, d)
        y : array-like of shape (n,)
            Labels of two or more classes.
        sample_weight : array-like of shape (n,), optional
        """
        self._check_parameters()
        rows, labels = validate_data(self, X, y)
        weight = check_weights(sample_weight, len(labels))
        weight = np.ones(len(labels)) if weight is None else weight / weight.mean()
        rows, labels, weight = rows[weight > 0], labels[weight > 0], weight[weight > 0]
        self.classes_, codes = encode_classes(check_labels(labels, rows))
        is_class = codes[:, None] == np.arange(len(self.classes_))
        self._boost(np.asarray(rows, dtype=np.float32), is_class, weight)
        return self

    def _check_parameters(self) -> None:
        check_at_least("n_estimators", self.n_estimators, 1)
        check_at_least("max_depth", self.max_depth, 1)
        check_at_least("z_max", self.z_max, 1)

    def _boost(self, X: NDArray[np.float32], is_class: BoolArray, weight: FloatArray) -> None:
        random = check_random_state(self.random_state)
        fitted = is_class[:, 1:] if is_class.shape[1] == 2 else is_class
        F = np.zeros(is_class.shape)
        self.estimators_: list[list[DecisionTreeRegressor]] = []
        for _ in range(self.n_estimators):
            p = softmax(F, axis=1)[:, -fitted.shape[1] :]
            trees = [
                self._fit_tree(X, indicator, chance, weight, random)
                for indicator, chance in zip(fitted.T, p.T, strict=True)
            ]
            F += centred(np.column_stack([tree.predict(X) for tree in trees]))
            self.estimators_.append(trees)

    def _fit_tree(
        self, X: Any, indicator: BoolArray, p: FloatArray, weight: FloatArray, random: Any
    ) -> DecisionTreeRegressor:
        tree = DecisionTreeRegressor(max_depth=self.max_depth, random_state=random)
        z, w = working_response(indicator, p, self.z_max)
        return tree.fit(X, z, sample_weight=w * weight)

    def decision_function(self, X: ArrayLike) -> FloatArray:
        """Return F: a column a class; for two classes that of the second, half its log-odds."""
        F = self._scores(X)
        return F[:, 1] if F.shape[1] == 2 else F

    def _scores(self, X: ArrayLike) -> FloatArray:
        check_is_fitted(self)
        rows = np.asarray(validate_data(self, X, reset=False), dtype=np.float32)
        F = np.zeros((len(rows), len(self.classes_)))
        for trees in self.estimators_:
            F += centred(np.column_stack([tree.predict(rows) for tree in trees]))
        return F

    def predict_proba(self, X: ArrayLike) -> FloatArray:
        """Return the probabilities of the classes."""
        return np.asarray(softmax(self._scores(X), axis=1))

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Return the most probable class of every row."""
        best = np.argmax(self._scores(X), axis=1)
        return np.asarray(self.classes_[best])


def working_response(
    indicator: BoolArray, p: FloatArray, z_max: float
) -> tuple[FloatArray, FloatArray]:
    """Return z = (y* - p) / (p (1 - p)), bounded, and its weights (y* - p) / z."""
    z = np.where(indicator, 1 / np.maximum(p, 1 / z_max), -1 / np.maximum(1 - p, 1 / z_max))
    return z, np.maximum((indicator - p) / z, LEAST_WEIGHT)


def centred(answers: FloatArray) -> FloatArray:
    """Return the step of F for the answers of a round's trees: (J - 1) / J (f - mean f).

    One column is that of the second of two classes: the first has its negative.
    """
    if answers.shape[1] == 1:
        answers = np.column_stack([-answers, answers])
    n_classes = answers.shape[1]
    step = answers - answers.mean(axis=1, keepdims=True)
    return np.asarray((n_classes - 1) / n_classes * step)
