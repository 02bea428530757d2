# %% [markdown]
# # A streaming monitor
#
# A model is in service and rows come one by one, without labels. One sensor begins to drift. When can one know, without crying wolf?

# %%
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes

from pnml import PNMLRegressor
from pnml.scale import RegretMonitor

X, y = load_diabetes(return_X_y=True, scaled=False)
model = PNMLRegressor().fit(X, y)

# A stream of 4,000 patients drawn from these; from row 2,000 on bp rises by 1 mmHg in 60 rows.
rng = np.random.default_rng(0)
stream = X[rng.integers(0, len(X), 4000)]
stream[2000:, 3] += np.arange(2000) / 60

# %%
regrets = model.regret(stream)
monitor = RegretMonitor(model.regret(X), false_alarm=0.01, within=10_000)
alarm = None
for start in range(0, 4000, 20):  # rows come in small batches
    alarm = alarm or monitor.update(regrets[start : start + 20])
window = np.convolve(regrets, np.ones(200) / 200, mode="valid")  # means of the last 200 rows

# %% figure: Above, regrets of the stream: each alone looks as before for a long time. Below, the mean of the last 200 begins to rise after the drift begins at row 2,000; the alarm comes early in the rise.
figure, (top, bottom) = plt.subplots(2, 1, figsize=(7.2, 5.2), sharex=True, layout="constrained")
top.plot(regrets, ".", markersize=2, alpha=0.6)
top.set(ylabel="Regret (nats)", yscale="log")
bottom.plot(np.arange(199, 4000), window)
bottom.axhline(model.regret(X).mean(), color="0.5", linestyle=":")
bottom.annotate("mean of training", (4000, model.regret(X).mean()), ha="right", va="top")
bottom.set(ylabel="Mean regret of\nthe last 200 rows (nats)", xlabel="Row of the stream")
for ax in (top, bottom):
    ax.axvline(2000, color="0.5", linestyle="--")
    ax.axvline(alarm.row, color="C1")
top.annotate("drift begins ", (2000, 1), xycoords=("data", "axes fraction"), ha="right", va="top")
top.annotate(" alarm", (alarm.row, 1), xycoords=("data", "axes fraction"), va="top", color="C1")

# %% [markdown]
# The alarm comes at row {{alarm.row:,}}, when the sensor is off by {{(alarm.row - 2000) / 60:.0f}} mmHg, and places the change at row {{alarm.since:,}}.
#
# The level of alarm is set by two numbers: a false alarm within the first 10,000 rows has a chance of at most one in a hundred, whatever the distribution of the rows. No single row decides: evidence adds up from row to row, so a slow drift is seen while each regret still looks ordinary.
#
# **What to conclude.** Let a monitor watch the regrets of a model in service; after an alarm, [explain](../how-to/explain.md) the rows since the change, and ask the ward about the sensor. It sees rows move away from the training rows; it does not see the relation change while the rows stay where they are, which needs labels.
#
# The drift here is made up, the patients are those of scikit-learn. Read on: [watch a stream](../how-to/monitor.md), [drift over time](drift-over-time.md) for a table.
