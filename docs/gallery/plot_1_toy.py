"""
The paper's toy example
=======================

Forty patients, two features, one split: small enough to follow by hand. A tree with a line at
every leaf lets age act differently with and without diabetes, which one line cannot.
"""

# %%
# The paper trains and counts errors on the same patients, so each of the three parts S, V¹ and V²
# is given all forty. On your own data leave ``partition`` out, and do not silence the warning that
# there are few rows.

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LinearRegression

from predictree import ToPsClassifier
from predictree.data.datasets import load_toy
from predictree.errors import RareClassWarning

warnings.simplefilter("ignore", RareClassWarning)
X, y = load_toy()
tops = ToPsClassifier.paper("lr", loss="error")
tops.fit(np.tile(X, (3, 1)), np.tile(y, 3), partition=np.repeat([0, 1, 2], 40))
print(tops.export_text(feature_names=["diabetic", "age"], decimals=3))

# %%
# Errors among the forty, of one line and of the tree:

line = LinearRegression().fit(X, y)
print("linear regression:", int(((line.predict(X) >= 0.5) != y).sum()))
print("ToPs/LR:          ", int((tops.predict(X) != y).sum()))

# %%
# Points are the shares of patients with hypertension, lines are scores. One line has the same slope
# for both groups, the tree has two. They hardly differ, but diabetics in their forties get 0.495
# from the one and ½ from the other, which counts as hypertension: four of these five have it, and
# that is all of the gain.

ages = np.array([20.0, 30.0, 40.0, 50.0])
figure, axes = plt.subplots(1, 2, figsize=(8, 3.2), sharey=True, layout="constrained")
for axis, (title, predict) in zip(
    axes,
    {
        "linear regression": line.predict,
        "ToPs/LR": lambda rows: tops.decision_function(rows) + 0.5,
    }.items(),
    strict=True,
):
    for diabetic, name, color in ((0, "non-diabetic", "C0"), (1, "diabetic", "C3")):
        shares = [y[np.equal(X, (diabetic, age)).all(axis=1)].mean() for age in ages]
        axis.plot(ages, shares, "o", color=color)
        axis.plot(ages, predict(np.column_stack([[diabetic] * 4, ages])), color=color, label=name)
    axis.axhline(0.5, color="0.7", linewidth=0.8)
    axis.set(title=title, xlabel="age", xticks=ages)
axes[0].set_ylabel("score of hypertension")
axes[1].legend()
plt.show()
