"""Named sets of learners, and the checks on a user's own list."""

from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.ensemble import (
    AdaBoostClassifier,
    AdaBoostRegressor,
    ExtraTreesRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.kernel_approximation import RBFSampler
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge, RidgeCV
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from predictree.errors import InvalidInputError
from predictree.learners.additive import CurvesClassifier, CurvesRegressor
from predictree.learners.sharp_trees import SharpExtraTrees
from predictree.learners.sized_logistic import SizedLogistic

NamedEstimators = list[tuple[str, Any]]


def _linear() -> LinearRegression:
    """Return plain least squares.

    By default scikit-learn takes singular values below 1e-6 for zero, which drops small columns
    next to large ones; and it copies rows that are a copy already.
    """
    return LinearRegression(tol=1e-12, copy_X=False)


def _logistic() -> Pipeline:
    """Return logistic regression that converges, by Newton's method unless that is too slow."""
    return make_pipeline(StandardScaler(), SizedLogistic(solver="newton-cholesky", tol=1e-8))


def _linear_only() -> NamedEstimators:
    """ToPs/LR."""
    return [("linear", _linear())]


def _additive_classifiers() -> NamedEstimators:
    """Additive models, and the smaller ones that a region may do with."""
    return [
        ("additive", CurvesClassifier()),
        ("linear", _logistic()),
        ("constant", DummyClassifier()),
    ]


def _additive_regressors() -> NamedEstimators:
    """Return the same for real labels."""
    return [
        ("additive", CurvesRegressor()),
        ("linear", _linear()),
        ("constant", DummyRegressor()),
    ]


def _paper_classifiers() -> NamedEstimators:
    """ToPs/B. The paper scales features to [0, 1]; the penalised learner here scales its own."""
    return [
        ("adaboost", AdaBoostClassifier()),
        ("linear", _linear()),
        ("logistic", _logistic()),
        ("logitboost", HistGradientBoostingClassifier(early_stopping=False)),
        ("forest", RandomForestClassifier()),
    ]


def _paper_regressors() -> NamedEstimators:
    """ToPs/B for real labels: each learner's counterpart, ridge for logistic regression."""
    return [
        ("adaboost", AdaBoostRegressor()),
        ("linear", _linear()),
        ("ridge", make_pipeline(StandardScaler(), Ridge())),
        ("l2boost", HistGradientBoostingRegressor(early_stopping=False)),
        ("forest", RandomForestRegressor()),
    ]


def _strong_classifiers() -> NamedEstimators:
    """Return a small, diverse portfolio: it is combined, so that its members should differ."""
    return [
        ("logistic", _logistic()),
        *_three_boostings(HistGradientBoostingClassifier, max_iter=150),
        *_forests(SharpExtraTrees, RandomForestClassifier),
        ("kernel", _smooth(LogisticRegression(C=10.0, max_iter=300))),
    ]


def _strong_regressors() -> NamedEstimators:
    """Return the same, with ridge for logistic regression.

    Its random boosting has many rounds of small trees, which values without noise reward; classes
    do not, and every one of them would cost as many trees.
    """
    return [
        ("ridge", make_pipeline(StandardScaler(), Ridge())),
        *_three_boostings(HistGradientBoostingRegressor, max_iter=600, max_leaf_nodes=8),
        *_forests(ExtraTreesRegressor, RandomForestRegressor),
        ("kernel", _smooth(RidgeCV(alphas=np.logspace(-4, 1, 6)))),
    ]


def _three_boostings(boosting: Any, **random: Any) -> NamedEstimators:
    """Return a large boosting, a cautious one for noise, and one that draws columns at random."""
    large = {"learning_rate": 0.05, "max_iter": 300, "max_leaf_nodes": 15, "min_samples_leaf": 10}
    small = {"learning_rate": 0.1, "max_iter": 60, "max_leaf_nodes": 8}
    random |= {
        "learning_rate": 0.1, "min_samples_leaf": 3, "max_features": 0.3, "l2_regularization": 1.0,
    }  # fmt: skip
    return [
        ("boosting", boosting(early_stopping=False, **large)),
        ("small boosting", boosting(early_stopping=False, **small)),
        ("random boosting", boosting(early_stopping=False, **random)),
    ]


def _forests(extra_trees: Any, forest: Any) -> NamedEstimators:
    """Return trees that follow every row, and a forest for noise, with larger leaves.

    Leaves of extra trees have one row of up to 20,000, and then more, or models would outgrow
    memory.
    """
    return [
        ("extra trees", extra_trees(min_samples_leaf=1 / 20_000)),
        ("forest", forest(min_samples_leaf=5, max_features=0.5)),
    ]


def _smooth(last: Any) -> Pipeline:
    """Return a kernel machine for what trees cannot follow, that is quick and keeps no rows."""
    return make_pipeline(StandardScaler(), RBFSampler(gamma="scale", n_components=700), last)


def _boosted_classifiers() -> NamedEstimators:
    return _strong_classifiers() + _boostings("Classifier")


def _boosted_regressors() -> NamedEstimators:
    return _strong_regressors() + _boostings("Regressor")


def _boostings(kind: str) -> NamedEstimators:
    """Return those of the three large boosting libraries that are installed."""
    options: dict[tuple[str, str], dict[str, Any]] = {
        ("lightgbm", "LGBM"): {
            "n_estimators": 300, "learning_rate": 0.05, "num_leaves": 15, "min_child_samples": 10,
            "n_jobs": 1, "verbose": -1,
        },
        ("xgboost", "XGB"): {
            "n_estimators": 300, "learning_rate": 0.05, "max_depth": 4, "subsample": 0.8,
            "colsample_bytree": 0.8, "n_jobs": 1,
        },
        ("catboost", "CatBoost"): {
            "iterations": 500, "thread_count": 1, "verbose": False, "allow_writing_files": False,
        },
    }  # fmt: skip
    found = [
        (library, getattr(import_module(library), prefix + kind)(**params))
        for (library, prefix), params in options.items()
        if find_spec(library) is not None
    ]
    if not found:
        raise InvalidInputError(
            "learners='boosted' needs LightGBM, XGBoost or CatBoost: pip install "
            "'predictree[boosted]', or use learners='strong'"
        )
    return found


PRESETS: dict[str, dict[str, Callable[[], NamedEstimators]]] = {
    "classification": {
        "additive": _additive_classifiers,
        "strong": _strong_classifiers,
        "boosted": _boosted_classifiers,
        "lr": _linear_only,
        "paper": _paper_classifiers,
    },
    "regression": {
        "additive": _additive_regressors,
        "strong": _strong_regressors,
        "boosted": _boosted_regressors,
        "lr": _linear_only,
        "paper": _paper_regressors,
    },
}


RENAMED = {"default": "strong"}
"""Presets of earlier versions, and what they are called now."""


def resolve_learners(learners: object, task: str) -> NamedEstimators:
    """Return ``(name, unfitted estimator)`` pairs for a preset's name or a user's list."""
    if isinstance(learners, str):
        presets = PRESETS[task]
        if learners not in presets:
            if learners in RENAMED:
                raise InvalidInputError(
                    f"learners={learners!r} is now called {RENAMED[learners]!r}; the default are "
                    "trees of additive models, learners='additive'"
                )
            known = ", ".join(repr(name) for name in presets)
            raise InvalidInputError(
                f"learners={learners!r} is not a preset: use {known}, or a list of "
                "(name, estimator) pairs"
            )
        return presets[learners]()
    pairs = _check_pairs(learners)
    _check_names([name for name, _ in pairs])
    return [(name, clone(estimator)) for name, estimator in pairs]


def _check_pairs(learners: object) -> NamedEstimators:
    if not isinstance(learners, list | tuple) or not learners:
        raise InvalidInputError(
            f"learners={learners!r}: give the name of a preset or a non-empty list of "
            "(name, estimator) pairs"
        )
    for pair in learners:
        if not is_named([pair]):
            raise InvalidInputError(
                f"learners holds {pair!r}: it must be a pair of a name and an unfitted "
                "scikit-learn estimator"
            )
    return [(name, estimator) for name, estimator in learners]


def is_named(learners: object) -> bool:
    """Whether this looks like a list of (name, estimator) pairs."""
    return isinstance(learners, list | tuple) and all(
        isinstance(pair, tuple | list)
        and len(pair) == 2
        and isinstance(pair[0], str)
        and hasattr(pair[1], "fit")
        and not isinstance(pair[1], type)
        for pair in learners
    )


def _check_names(names: list[str]) -> None:
    for name in names:
        if names.count(name) > 1:
            raise InvalidInputError(f"learners holds the name {name!r} twice: rename one of them")
        if "__" in name or not name:
            raise InvalidInputError(f"learner name {name!r} must not be empty or hold '__'")
