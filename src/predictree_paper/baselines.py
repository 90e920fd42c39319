"""The algorithms that ToPs is compared with, each tuned inside the training fold.

Candidates of a small grid are trained on four fifths of the training fold and judged on the rest by
the loss of the experiment; the best is trained again on the whole fold. Where that would take too
long the grid is judged on fewer rows, and the answer says on how many.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.ensemble import AdaBoostClassifier, RandomForestClassifier
from sklearn.linear_model import Lasso, LinearRegression, LogisticRegression
from sklearn.model_selection import ParameterGrid, train_test_split
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from predictree.errors import need
from predictree.model.tree import FloatArray, IntArray
from predictree.run.guard import muted_warnings
from predictree_paper.deepboost import VARIANTS, DeepBoostClassifier
from predictree_paper.logitboost import LogitBoostClassifier
from predictree_paper.potts import ResidualModelTreeRegressor
from predictree_paper.smoti import SMOTIRegressor
from predictree_paper.work import Answer, Work, loss_of, scores_of

HELD_OUT = 0.2  # of the training fold, to choose hyper-parameters by
FEW = 4000  # rows to tune a support vector machine or DeepBoost on
CACHE = 1000  # megabytes of kernel values

ABOUT_CHOICE = ("held_out_loss", "tried", "tuned_on")  # beside what was chosen

Grid = Mapping[str, list[Any]]


class IndicatorClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A regressor that classifies: fitted on the 0/1 indicator of each class, as in the paper.

    Parameters
    ----------
    regressor : estimator
    """

    def __init__(self, regressor: Any) -> None:
        self.regressor = regressor

    def fit(self, X: FloatArray, y: IntArray) -> Self:
        """Fit one regression to tell two classes apart, or one for each of more."""
        self.classes_ = np.unique(y)
        told = self.classes_[1:] if len(self.classes_) == 2 else self.classes_
        self.models_ = [clone(self.regressor).fit(X, (y == c).astype(float)) for c in told]
        return self

    def decision_function(self, X: FloatArray) -> FloatArray:
        """Return the regression minus one half, or one column a class."""
        scores = np.column_stack([model.predict(X) for model in self.models_])
        return scores[:, 0] - 0.5 if len(self.models_) == 1 else scores

    def predict(self, X: FloatArray) -> IntArray:
        """Return the class of each row; one half is the second."""
        scores = self.decision_function(X)
        return np.asarray(
            self.classes_[(scores >= 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)]
        )


@dataclass(frozen=True)
class Baseline:
    """An algorithm with the hyper-parameters to choose from.

    Attributes
    ----------
    make : callable
        Returns an unfitted classifier for a seed.
    grid : mapping of str to list
    tuning_rows : int or None
        Rows that choose at most; None is all of the training fold.
    """

    make: Callable[[int], Any]
    grid: Grid = field(default_factory=dict)
    tuning_rows: int | None = None

    def __call__(self, work: Work) -> Answer:
        """Choose the hyper-parameters, train on the whole fold, and answer for the test rows."""
        with muted_warnings():  # of solvers that stop early, on some point of a grid
            chosen, settings = self._chosen(work)
            model = self.make(work.seed).set_params(**chosen).fit(work.X, work.y)
            return Answer(scores_of(model, work.X_test), settings)

    def _chosen(self, work: Work) -> tuple[dict[str, Any], dict[str, Any]]:
        candidates = list(ParameterGrid(dict(self.grid)))
        if len(candidates) == 1:
            return candidates[0], _plain(candidates[0])
        rows = self._tuning_rows(work)
        train, held = train_test_split(
            rows, test_size=HELD_OUT, stratify=work.y[rows], random_state=work.seed
        )
        losses = [self._loss(work, params, train, held) for params in candidates]
        best = int(np.argmin(losses))
        about = (losses[best], len(candidates), len(rows))
        told = dict(zip(ABOUT_CHOICE, about, strict=True))
        return candidates[best], _plain(candidates[best]) | told

    def _tuning_rows(self, work: Work) -> IntArray:
        rows = np.arange(len(work.y))
        n_classes = len(np.unique(work.y))  # what is left out must have one row of each
        if self.tuning_rows is None or len(rows) < self.tuning_rows + n_classes:
            return rows
        some, _ = train_test_split(
            rows, train_size=self.tuning_rows, stratify=work.y, random_state=work.seed
        )
        return np.sort(some)

    def _loss(self, work: Work, params: dict[str, Any], train: IntArray, held: IntArray) -> float:
        model = self.make(work.seed).set_params(**params).fit(work.X[train], work.y[train])
        return loss_of(work.loss, work.y[held], scores_of(model, work.X[held]))


def _plain(params: dict[str, Any]) -> dict[str, Any]:
    """Return parameters under their own names, without those of the steps they belong to."""
    return {name.rpartition("__")[2]: value for name, value in params.items()}


def seeded(make: Callable[[], Any], seed: int) -> Any:
    """Make an estimator and give it its seed, if it takes one."""
    estimator = make()
    takes = "random_state" in estimator.get_params()
    return estimator.set_params(random_state=seed) if takes else estimator


def of_regressor(make: Callable[[], Any], seed: int) -> IndicatorClassifier:
    """Return a classifier by regression on indicators."""
    return IndicatorClassifier(seeded(make, seed))


def xgboost(seed: int, **params: Any) -> Any:
    """Return XGBoost, or say how to get it."""
    library = need("xgboost", "paper", "an algorithm (--algorithms names others)")
    return library.XGBClassifier(n_jobs=1, random_state=seed, **params)


def _logistic(seed: int) -> Any:
    return make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))


def _neural_net(seed: int) -> Any:
    return make_pipeline(StandardScaler(), MLPClassifier(random_state=seed))


def _support_vectors(seed: int) -> Any:
    return make_pipeline(StandardScaler(), SVC(cache_size=CACHE, random_state=seed))


def untuned_svc(seed: int | None = None) -> SVC:
    """Return the support vectors of the wider portfolio, for features in [0, 1]."""
    return SVC(C=10.0, cache_size=CACHE, random_state=seed)


PRICES = [1e-5, 1e-4, 1e-3]  # of DeepBoost's complexity, λ and β
PRICED: Grid = {"lam": PRICES, "beta": PRICES}
L1: Grid = {"beta": PRICES}
LEAVES = [None, 300, 1000, 3000]  # of model trees, in rows; None: their own default
SIZES: Grid = {"regressor__min_samples_leaf": LEAVES}

BOOSTINGS: dict[str, tuple[str, Grid]] = {  # of the MNIST table: its row, and what is chosen
    "deepboost-stump": ("DB/Stump", PRICED),
    "deepboost-trees-e": ("DB/Trees_E", PRICED),
    "deepboost-trees-l": ("DB/Trees_L", PRICED),
    "adaboost-stump1": ("AB/Stump1", {}),
    "adaboost-stump2": ("AB/Stump2", {}),
    "adaboost-l1-stump": ("AB-L1/Stump", L1),
    "adaboost-trees": ("AB/Trees", {}),
    "adaboost-l1-trees": ("AB-L1/Trees", L1),
    "logitboost-trees": ("LB/Trees", {}),
    "logitboost-l1-trees": ("LB-L1/Trees", L1),
}
BASELINES: dict[str, Baseline] = {
    "adaboost": Baseline(partial(seeded, AdaBoostClassifier), {"n_estimators": [50, 200]}),
    "dtree": Baseline(
        partial(seeded, DecisionTreeClassifier), {"min_samples_leaf": [1, 20, 100, 500]}
    ),
    "stump": Baseline(partial(seeded, partial(DecisionTreeClassifier, max_depth=1))),
    "deepboost": Baseline(
        partial(seeded, DeepBoostClassifier), {"max_depth": [1, 3, 6], **PRICED}, FEW
    ),
    "lasso": Baseline(partial(of_regressor, Lasso), {"regressor__alpha": [1e-5, 1e-4, 1e-3]}),
    "lr": Baseline(partial(of_regressor, partial(LinearRegression, tol=1e-12))),
    "logit": Baseline(_logistic, {"logisticregression__C": [0.01, 1.0, 100.0]}),
    "logitboost": Baseline(partial(seeded, LogitBoostClassifier), {"n_estimators": [50, 200]}),
    "mlp": Baseline(
        _neural_net,
        {
            "mlpclassifier__hidden_layer_sizes": [(50,), (100, 50)],
            "mlpclassifier__alpha": [1e-4, 1.0],
            "mlpclassifier__max_iter": [20, 60],  # its own early stopping judges by accuracy
        },
    ),
    "rf": Baseline(
        partial(seeded, partial(RandomForestClassifier, 200)), {"min_samples_leaf": [1, 5, 20]}
    ),
    "svm": Baseline(
        _support_vectors,
        {
            "svc__C": [0.1, 1.0, 10.0],
            "svc__gamma": ["scale", 0.001],
            "svc__class_weight": [None, "balanced"],
        },
        FEW,
    ),
    "svm-scaled": Baseline(lambda seed: make_pipeline(MinMaxScaler(), untuned_svc(seed))),
    "xgboost": Baseline(
        partial(xgboost, learning_rate=0.1), {"n_estimators": [100, 300], "max_depth": [3, 6]}
    ),
    "xgboost-default": Baseline(xgboost),
    "smoti": Baseline(partial(of_regressor, SMOTIRegressor), SIZES),
    "potts": Baseline(partial(of_regressor, ResidualModelTreeRegressor), SIZES),
    **{
        name: Baseline(partial(seeded, VARIANTS[row]), grid, FEW if grid else None)
        for name, (row, grid) in BOOSTINGS.items()
    },
}
