"""
A learner and a loss of your own, a time limit, a file
======================================================

Anything with ``fit`` and ``predict`` in the manner of scikit-learn can stand at a node, and any
function of labels and predictions can choose the splits.
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.linear_model import HuberRegressor, LinearRegression

from predictree import ToPsRegressor, load, save
from predictree.losses import AdditiveLoss


class Periodic(RegressorMixin, BaseEstimator):
    """A wave in the first column: least squares on its sine and cosine."""

    def __init__(self, period=1.0):
        self.period = period

    def _waves(self, X):
        angle = 2 * np.pi * np.asarray(X)[:, 0] / self.period
        return np.column_stack([np.sin(angle), np.cos(angle)])

    def fit(self, X, y):
        self.line_ = LinearRegression().fit(self._waves(X), y)
        return self

    def predict(self, X):
        return self.line_.predict(self._waves(X))


# %%
# A loss that is a mean over rows: being too low costs three times as much as being too high. As a
# subclass of ``AdditiveLoss`` it has standard errors, and each side of a split is judged alone. A
# plain function ``loss(y_true, y_score)`` would do as well.


class TooLowCostsMore(AdditiveLoss):
    name = "too low costs more"
    task = "regression"

    def per_row(self, y, scores):
        error = y - scores[:, 0]
        return np.where(error > 0, 3.0, 1.0) * np.abs(error)


# %%
# A wave on the left, a line on the right.

rng = np.random.default_rng(0)
X = rng.uniform(0, 4, (1500, 2))
y = np.where(X[:, 0] < 2, np.sin(2 * np.pi * X[:, 0]), X[:, 0] - 3) + 0.2 * rng.normal(size=1500)
learners = [("wave", Periodic()), ("line", LinearRegression()), ("robust line", HuberRegressor())]
model = ToPsRegressor(
    learners, loss=TooLowCostsMore(), max_depth=2, time_limit=60, random_state=0
).fit(X[:1000], y[:1000])
print(model.export_text(decimals=3))
print("stopped by:", model.stopped_)

# %%
# A file holds data and no code. Types of your own are refused until you say that you trust them,
# and a loss of your own is kept by name only, which is enough to predict.

try:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.tops"
        save(model, path)
        load(path)
except TypeError as error:
    print(str(error).partition(". ")[0])

# %%
# With learners of scikit-learn there is nothing to trust:

lines = ToPsRegressor(learners[1:], max_depth=2, random_state=0).fit(X[:1000], y[:1000])
with tempfile.TemporaryDirectory() as folder:
    size = save(lines, Path(folder) / "lines.tops")
    again = load(Path(folder) / "lines.tops")
print(f"{size / 1000:.0f} kB, same answers: {np.array_equal(again.predict(X), lines.predict(X))}")

# %%
order = np.argsort(X[1000:, 0])
figure, axis = plt.subplots(figsize=(7, 3.2), layout="constrained")
axis.plot(X[1000:, 0], y[1000:], ".", color="0.75", label="test rows")
for name, fitted in (("wave and lines", model), ("lines only", lines)):
    axis.plot(X[1000:, 0][order], fitted.predict(X[1000:])[order], label=name)
axis.set(xlabel="first column", ylabel="label")
axis.legend()
plt.show()
