# %% [markdown]
# # Errors of a boosted model, by expected error
#
# A boosted model predicts the strength of concrete. Its mean error is one number for all rows. Can it be told beforehand for which rows the error will be large?

# %%
import os
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from lightgbm import LGBMRegressor

from pnml import TrustedRegressor

data = np.load(Path(os.environ["PNML_DATA"], "uci", "concrete.npz"))
X, y = data["X"], data["y"]  # 1,030 mixtures; strength in MPa
order = np.random.default_rng(0).permutation(len(y))
train, new = order[:500], order[500:]
model = TrustedRegressor(LGBMRegressor(n_jobs=1, verbose=-1), random_state=0)
model.fit(X[train], y[train])

expected = model.expected_error(X[new])
error = np.abs(y[new] - model.predict(X[new]))

# %% [markdown]
# Rows are put into ten groups of equal size by their expected error. In each group the mean of what was expected stands beside the mean of what came out, with two standard errors.

# %%
groups = np.array_split(np.argsort(expected), 10)
foreseen = np.array([expected[g].mean() for g in groups])
came_out = np.array([error[g].mean() for g in groups])
spread = np.array([2 * error[g].std(ddof=1) / np.sqrt(len(g)) for g in groups])

# %% figure: Mean absolute error against expected error in ten groups of test rows: the points rise along the diagonal.
figure, ax = plt.subplots(figsize=(6.4, 4.6), layout="constrained")
ax.errorbar(foreseen, came_out, spread, fmt="o", capsize=3, label="a tenth of the new rows")
top = 1.05 * max(foreseen.max(), (came_out + spread).max())
ax.plot([0, top], [0, top], "--", color="0.5", label="error as expected")
ax.axhline(error.mean(), color="C1", linestyle=":", label=f"mean of all: {error.mean():.1f} MPa")
ax.set(xlabel="Expected absolute error (MPa)", ylabel="Absolute error that came out (MPa)")
ax.set(xlim=(0, top), ylim=(0, top))
ax.legend(loc="upper left", bbox_to_anchor=(0, -0.14))

# %% [markdown]
# In the tenth with the smallest expected error the mean error is {{came_out[0]:.1f}} MPa, where {{foreseen[0]:.1f}} was expected; in the tenth with the largest it is {{came_out[-1]:.1f}} MPa, where {{foreseen[-1]:.1f}} was expected. So the order is right, and the differences are told too small. Over all new rows {{expected.mean():.1f}} was expected and {{error.mean():.1f}} came out.
#
# **What to conclude.** `expected_error` is in the unit of the target and may be used as such: to rank rows for a second look, or to say *± so much* beside each prediction. It is learnt from errors on folds that were left out, so it holds for rows like the training rows; for others ask `trusted`.
#
# Read on: [trust a boosted model](../how-to/boosted-models.md), [risk against coverage](risk-against-coverage.md).
