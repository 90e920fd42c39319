"""
A tree that does not grow
=========================

569 patients with a lump in the breast, the ten mean measurements of its cells, and three learners.
Is there a region that needs a model of its own? The verdict compares the tree with one stack of
all learners and with the best of them, on rows that the models did not see.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from predictree import ToPsClassifier
from predictree.data.datasets import load_data

X, y, _ = load_data("breast-cancer")
X = X.iloc[:, :10]
train, test = train_test_split(np.arange(len(y)), random_state=0, stratify=y)
logistic = make_pipeline(StandardScaler(), LogisticRegression(solver="newton-cholesky", tol=1e-8))
learners = [
    ("logistic", logistic),
    ("extra trees", ExtraTreesClassifier(100, min_samples_leaf=2)),
    ("boosting", HistGradientBoostingClassifier(max_iter=60, max_leaf_nodes=8)),
]

# %%
# The default settings. No split proves itself, and what is left is a stack.

model = ToPsClassifier(learners, random_state=0).fit(X.iloc[train], y[train])
print(model.export_text(decimals=3))
print(model.verdict_)

# %%
# The paper's way with logistic regression alone: three parts, any gain will do. It grows a tree by
# the 64 patients of V¹, and the verdict on the 43 of V² is within the noise.

paper = ToPsClassifier.paper(learners[:1], loss="log_loss", max_depth=2, random_state=0)
paper.fit(X.iloc[train], y[train])
print(paper.export_text(decimals=3))
print(paper.verdict_)

# %%
# On the test rows, which nobody has seen. One split of so few rows is no proof of anything: the
# bars are two standard errors long on each side.

shown = {"default (a stack)": model, "paper": paper}
losses = {
    name: -np.log(fitted.predict_proba(X.iloc[test])[np.arange(len(test)), y[test]].clip(1e-15))
    for name, fitted in shown.items()
}
assert np.isclose(losses["paper"].mean(), log_loss(y[test], paper.predict_proba(X.iloc[test])))

figure, axis = plt.subplots(figsize=(6, 2.2), layout="constrained")
for place, values in enumerate(losses.values()):
    error = 2 * values.std(ddof=1) / np.sqrt(len(values))
    axis.errorbar(values.mean(), place, xerr=error, fmt="o", capsize=3)
axis.set(yticks=range(len(losses)), yticklabels=losses, ylim=(-0.5, 1.5), xlabel="test log loss")
plt.show()
