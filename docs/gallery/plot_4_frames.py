"""
Categories and missing values
=============================

A table as it comes: text, dates, a category with an order, gaps, and an identifier that must not be
learned from. The tree splits on these columns and says so in their words.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from predictree import ToPsRegressor

rng = np.random.default_rng(3)
n = 1200
frame = pd.DataFrame(
    {
        "patient": np.arange(n),
        "stage": pd.Categorical(
            rng.choice(["I", "II", "III", "IV"], n), ["I", "II", "III", "IV"], ordered=True
        ),
        "clinic": rng.choice(["north", "south", "west"], n),
        "admitted": pd.Timestamp("2023-01-01") + pd.to_timedelta(rng.integers(0, 700, n), "D"),
        "dose": rng.uniform(0, 10, n),
        "marker": rng.normal(size=n),
    }
)

# %%
# The dose helps in early stages and harms in late ones. The marker is measured only when something
# seems wrong, so that a gap is good news.

late = frame["stage"].isin(["III", "IV"]).to_numpy()
measured = rng.random(n) < np.where(late, 0.9, 0.5)
y = np.where(late, -1.0, 1.0) * frame["dose"] - 3.0 * measured + rng.normal(size=n)
frame.loc[~measured, "marker"] = np.nan
print(frame.head().to_string(index=False))

# %%
# ``patient`` is ignored. Gaps have a side at every split, and linear regression sees the median and
# an indicator.

train, test = slice(0, 800), slice(800, n)
model = ToPsRegressor("lr", feature_roles={"patient": "ignore"}, max_depth=2, random_state=0)
model.fit(frame[train], y[train])
print(model.export_text(decimals=2))
print(model.verdict_)

# %%
# A clinic that the fit has not seen goes with the rest, and a gap is no obstacle:

new = frame[test].head(2).copy()
new["clinic"] = ["east", "north"]
new["marker"] = [np.nan, 0.3]
print(model.predict(new).round(2))

# %%
figure, axis = plt.subplots(figsize=(6, 3.4), layout="constrained")
leaf = model.apply(frame[test])
for node in np.unique(leaf):
    here = leaf == node
    axis.plot(
        frame["dose"][test][here], model.predict(frame[test])[here], ".", label=f"leaf {node}"
    )
axis.set(xlabel="dose", ylabel="predicted effect")
axis.legend()
plt.show()
