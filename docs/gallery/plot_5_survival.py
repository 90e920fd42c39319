"""
Survival at several horizons
============================

Times to an event, some of them censored. In one group the treatment lowers the risk, in the other
it raises it. A classifier for every horizon learns from the rows whose state is known there,
weighted against censoring.
"""

import matplotlib.pyplot as plt
import numpy as np

from predictree import ToPsClassifier
from predictree.estimators.survival import ToPsSurvival, brier_score, concordance_index

rng = np.random.default_rng(0)
n = 2400
X = np.column_stack([rng.integers(0, 2, n), rng.uniform(-1, 1, n), rng.normal(size=n)])
names = ["group", "treatment", "noise"]
rate = 0.15 * np.exp(1.5 * np.where(X[:, 0] == 1, -1, 1) * X[:, 1])
death, end = rng.exponential(1 / rate), rng.uniform(2, 14, n)
event, time = death < end, np.minimum(death, end)
train, test = slice(0, 1600), slice(1600, n)
y_train, y_test = (event[train], time[train]), (event[test], time[test])
print(f"{event[train].mean():.0%} had the event, the others were censored")

# %%
# One tree a horizon, with linear regression of the indicator at every node.

horizons = (1, 3, 6, 10)
model = ToPsSurvival(horizons, ToPsClassifier("lr", max_depth=1, random_state=0))
model.fit(X[train], y_train)
print(model.models_[1].export_text(feature_names=names, decimals=3))

# %%
# Harrell's concordance on the test rows, and the Brier score at each horizon (lower is better)
# beside that of the share of survivors, the same for all.

print("concordance:", round(concordance_index(y_test, model.predict(X[test])), 3))
survival = model.predict_survival(X[test])
for i, horizon in enumerate(horizons):
    same = np.full(len(survival), survival[:, i].mean())
    scores = [brier_score(y_train, y_test, s, horizon) for s in (survival[:, i], same)]
    print(f"horizon {horizon:>2}: {scores[0]:.3f}, all alike {scores[1]:.3f}")

# %%
# The probability to be event-free by treatment, with the truth as dotted lines.

grid = np.linspace(-1, 1, 50)
figure, axes = plt.subplots(1, 2, figsize=(8, 3.2), sharey=True, layout="constrained")
for group, axis in enumerate(axes):
    rows = np.column_stack([np.full(50, group), grid, np.zeros(50)])
    slope = -1 if group else 1
    for i, horizon in enumerate(horizons):
        true = np.exp(-0.15 * np.exp(1.5 * slope * grid) * horizon)
        axis.plot(grid, model.predict_survival(rows)[:, i], color=f"C{i}", label=f"by {horizon}")
        axis.plot(grid, true, ":", color=f"C{i}")
    axis.set(title=f"group {group}", xlabel="treatment")
axes[0].set_ylabel("probability of no event")
axes[1].legend()
plt.show()
