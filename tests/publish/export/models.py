"""Models to export: every kind of column, link and tree, fitted and made by hand."""

from functools import cache

import numpy as np
import pandas as pd
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from sklearn.neighbors import KNeighborsRegressor

from handmade import additive_model
from predictree import AdditiveClassifier, ToPsClassifier, ToPsRegressor

N = 400
rng = np.random.default_rng(0)
FRAME = pd.DataFrame(
    {
        "heat 'C\"": rng.normal(20, 5, N).round(1),
        "count": rng.integers(0, 9, N),
        "job": rng.choice(["cook", "o'poet", "king"], N),
        "town": rng.choice([f"town {i}" for i in range(15)], N),
        "size": pd.Categorical(rng.choice(list("sml"), N), list("sml"), ordered=True),
        "day": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 90, N), "D"),
    }
)
FRAME.loc[::7, "heat 'C\""] = None
FRAME.loc[::9, "job"] = None
VALUE = (
    np.where(FRAME["job"] == "cook", 1, -1) * FRAME["heat 'C\""].fillna(20)
    + FRAME["count"]
    + rng.normal(size=N)
)
CLASS = np.where(VALUE > 0, "it's", "not")
THREE = np.digitize(VALUE, [-10, 10])
X = rng.uniform(-2, 2, (N, 3))
PAIRED = X[:, 0] * X[:, 1] + np.abs(X[:, 2]) + 0.1 * rng.normal(size=N)

LINEAR = [("linear", LinearRegression())]
LOGISTIC = [("logistic", LogisticRegression(max_iter=500)), ("linear", LinearRegression())]
RIVALS = [("rivals", OneVsRestClassifier(LogisticRegression(max_iter=500)))]
MAKERS = {
    "value by hand": lambda: additive_model(span=(-3.0, 3.0)),
    "two classes by hand": lambda: additive_model(link="logit"),
    "three classes by hand, two trees": lambda: additive_model(3, "softmax", n_trees=2),
    "additive value": lambda: fitted(ToPsRegressor(max_depth=1), FRAME, VALUE),
    "additive counts": lambda: fitted(ToPsRegressor(loss="poisson", max_depth=1), X, PAIRED > 0.5),
    "pairs": lambda: fitted(ToPsRegressor(max_depth=0), X, PAIRED),
    "additive classes": lambda: fitted(ToPsClassifier(max_depth=1), FRAME, CLASS),
    "additive, three classes": lambda: fitted(ToPsClassifier(max_depth=1), FRAME, THREE),
    "linear value": lambda: fitted(ToPsRegressor("lr", max_depth=1, n_repeats=2), FRAME, VALUE),
    "linear classes": lambda: fitted(ToPsClassifier("lr", max_depth=1), FRAME, CLASS),
    "linear, three classes": lambda: fitted(ToPsClassifier("lr", max_depth=1), FRAME, THREE),
    "logistic and linear": lambda: fitted(ToPsClassifier(LOGISTIC, max_depth=1), FRAME, CLASS),
    "rivals": lambda: fitted(ToPsClassifier(RIVALS, max_depth=0), X, np.digitize(PAIRED, [0, 1])),
    "no gaps": lambda: fitted(ToPsRegressor(LINEAR, max_depth=1), X, PAIRED),
}


def fitted(estimator, table, y):
    return estimator.set_params(random_state=0).fit(table, y).model_


@cache
def model(name):
    return MAKERS[name]()


@cache
def curves():
    """A model of two classes without pairs."""
    return fitted(AdditiveClassifier(interactions=0), FRAME, CLASS)


@cache
def near():
    """A model that no export knows."""
    return fitted(ToPsRegressor([("near", KNeighborsRegressor())], max_depth=0), X, PAIRED)


@cache
def forest():
    """A model that is compiled, and is no sum of terms."""
    trees = RandomForestRegressor(5)
    return fitted(ToPsRegressor([("trees", trees)], max_depth=0), X, PAIRED)
