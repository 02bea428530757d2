# %% [markdown]
# # Diamonds above one carat
#
# A boosted model learns the prices of diamonds of at most one carat. Then come larger ones. Boosted trees cannot extrapolate: above one carat they repeat the last price they know. Which predictions may be used?

# %%
import os
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from lightgbm import LGBMRegressor

from pnml import TrustedRegressor
from pnml.metrics import interval_coverage
from pnml.plots import PredictionIntervalDisplay

# Weight, colour, clarity and measures of some thousand diamonds; the target is the logarithm of the price in $.
folder = Path(os.environ["PNML_DATA"], "trust")
files = [np.load(folder / f"diamonds_{shift}.npz") for shift in ("nat", "cov")]
parts = [(file, part) for file in files for part in ("tr", "_id", "_nat", "_cov")]
rows = [np.column_stack([f[f"X{part}"], f[f"y{part}"]]) for f, part in parts if f"X{part}" in f]
table = np.random.default_rng(0).permutation(np.unique(np.vstack(rows), axis=0))
small = table[table[:, 0] <= 1]
train, held = small[len(small) // 3 :], small[: len(small) // 3]
new = np.vstack([held, table[table[:, 0] > 1]])
X, y = new[:, :-1], new[:, -1]

# %%
model = TrustedRegressor(LGBMRegressor(n_jobs=1, verbose=-1), random_state=0)
model.fit(train[:, :-1], train[:, -1])
intervals, trusted = model.predict_interval(X, coverage=0.9), model.trusted(X)
large = X[:, 0] > 1
inside = {
    "small": interval_coverage(y[~large], intervals[~large]),
    "large": interval_coverage(y[large], intervals[large]),
}

# %% figure: Intervals of log price against carat: up to one carat nearly all rows are trusted and the intervals hold the true prices; above, the predictions stay flat while true prices rise, and none is trusted.
figure, ax = plt.subplots(figsize=(7.2, 4.6), layout="constrained")
PredictionIntervalDisplay.from_predictions(
    y, model.predict(X), intervals, trusted=trusted, x=X[:, 0], ax=ax,
    x_name="Size (carat); training had at most 1", y_name="Log of the price in $", coverage=0.9,
)  # fmt: skip
ax.axvline(1, color="0.5", linestyle=":")

# %% [markdown]
# Of the diamonds of at most one carat that were held out, {{trusted[~large].mean():.0%}} are trusted, and {{inside["small"]:.0%}} of their prices are inside the 90 % intervals. Of the larger ones {{trusted[large].mean():.0%}} are trusted; their intervals, which become wider, hold only {{inside["large"]:.0%}} of the prices.
#
# **What to conclude.** An interval learnt from small diamonds does not know how wrong trees are about large ones. `trusted` needs no price of a large diamond to say so: use it first, and the interval only for rows that pass.
#
# Read on: [trust a boosted model](../how-to/boosted-models.md), [choose the trust level](../how-to/trust-level.md).
