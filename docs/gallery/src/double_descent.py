# %% [markdown]
# # Double descent
#
# With more features a model fits its training rows better, and new rows worse. With very many the error falls again. Can one see from the training rows alone where it is safe?

# %%
import matplotlib.pyplot as plt
import numpy as np

from pnml import NormBallRegressor

rng = np.random.default_rng(0)
n, sizes = 40, [5, 10, 20, 30, 36, 40, 44, 50, 60, 80, 120, 200, 300]
slopes = rng.normal(size=300) / np.arange(1, 301)


def rows(n):
    """Rows of 300 features, and a target to which the first contribute most."""
    X = rng.normal(size=(n, 300))
    return X, X @ slopes + 0.2 * rng.normal(size=n)


# %%
errors, regrets = np.zeros((8, len(sizes))), np.zeros((8, len(sizes)))
for draw in range(8):
    (X, y), (new, truth) = rows(n), rows(60)
    for j, d in enumerate(sizes):
        model = NormBallRegressor(fit_intercept=False).fit(X[:, :d], y)
        errors[draw, j] = np.mean((model.predict(new[:, :d]) - truth) ** 2)
        regrets[draw, j] = np.mean(model.regret(new[:, :d]))
error, regret = np.median(errors, axis=0), np.median(regrets, axis=0)

# %% figure: Above, the test error against the number of features: a peak at as many features as rows, then a second descent. Below, the mean regret has its peak at the same place.
figure, (top, bottom) = plt.subplots(2, 1, figsize=(6.6, 5.4), sharex=True, layout="constrained")
top.plot(sizes, error, "o-")
top.set(ylabel="Squared error\nof new rows")
bottom.plot(sizes, regret, "s-", color="C1")
bottom.set(xscale="log", ylabel="Mean regret\nof new rows (nats)", xlabel="Number of features")
for ax in (top, bottom):
    ax.axvline(n, color="0.5", linestyle=":")
top.annotate(f"{n} training rows ", (n, 0.9), xycoords=("data", "axes fraction"), ha="right")

# %% [markdown]
# Medians over eight draws of {{n}} training rows. The error is {{error.min():.2f}} at best, with {{sizes[error.argmin()]}} features, {{error.max():.2g}} at its peak with {{sizes[error.argmax()]}}, and {{error[-1]:.2f}} with 300. The regret, which sees no target of the new rows, is largest at {{sizes[regret.argmax()]}} features: {{regret.max():.1f}} nats, against {{regret[0]:.1f}} with {{sizes[0]}} and {{regret[-1]:.1f}} with 300. It does not fall as far as the error does: with more features than rows nearly every new row goes where no training row went.
#
# **What to conclude.** The peak is where a model has just enough freedom to pass through all rows and nothing to spare: any new label would change it most. The regret shows this place without test labels. It does not choose the best number of features, for which [leave-one-out](../which-learner.md) is there.
#
# This page illustrates and proves nothing: other slopes, noises and sizes were tried before these were chosen for the picture.
#
# Read on: [more features than rows](../results/uci-double-descent.md), the learner [NormBallRegressor](../api/pnml.md).
