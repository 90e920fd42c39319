"""
Regions that need different learners
====================================

Where feature 0 is below 0.4 the label is linear in other features; elsewhere it is one of four
constants. Neither a line nor a tree of steps is right everywhere.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.base import clone
from sklearn.linear_model import LinearRegression
from sklearn.tree import DecisionTreeRegressor

from predictree import ToPsRegressor
from predictree.data.datasets import make_regimes

made = make_regimes(3000, noise=0.5, random_state=0)
X, y = made.data, made.target
train, test = slice(0, 2000), slice(2000, 3000)
learners = [("line", LinearRegression()), ("steps", DecisionTreeRegressor(max_depth=4))]

# %%
# The first split is the true one, and each side is given to the learner that is right there.

model = ToPsRegressor(learners, max_depth=1, random_state=0).fit(X[train], y[train])
print(model.export_text(decimals=2))
for leaf in (1, 2):
    weights = [(w.learner, w.trained_on, round(w.weight, 2)) for w in model.tree_[leaf].weights]
    print(f"leaf {leaf}, (learner, trained on node, weight):", weights)

# %%
print(model.verdict_)

# %%
# Test error by feature 0: each learner alone is good on one side.

fitted = {name: clone(learner).fit(X[train], y[train]) for name, learner in learners}
fitted["ToPs"] = model
edges = np.linspace(0, 1, 11)
bins = np.digitize(X[test, 0], edges[1:-1])
figure, axis = plt.subplots(figsize=(6.5, 3.2), layout="constrained")
for name, predictor in fitted.items():
    squared = np.square(predictor.predict(X[test]) - y[test])
    error = [np.sqrt(squared[bins == b].mean()) for b in range(10)]
    axis.step(edges, [*error, error[-1]], where="post", label=name)
axis.axvline(made.tree.threshold, color="0.6", linestyle=":")
axis.axhline(0.5, color="0.8", linewidth=0.8)
axis.set(xlabel="feature 0", ylabel="root mean squared error")
axis.legend()
plt.show()
