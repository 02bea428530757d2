# %% [markdown]
# # A wrong unit is found
#
# A clinic sends blood pressures in kPa, where the model learnt mmHg. The number is plausible to a computer, the prediction looks like any other. Who notices, and which column is it?

# %%
import matplotlib.pyplot as plt
from lightgbm import LGBMRegressor
from sklearn.datasets import load_diabetes

from pnml import TrustedRegressor
from pnml.plots import ExplanationDisplay

X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)  # bp is in mmHg
model = TrustedRegressor(LGBMRegressor(n_jobs=1, verbose=-1), random_state=0)
model.fit(X[:300], y[:300])
right, wrong = X[300:].copy(), X[300:].copy()
wrong["bp"] *= 0.1333  # the same pressures, in kPa
scored = model.score_frame(wrong)

# %% figure: Shares of the columns in the leverage of one patient: bp 11.02, outside of 62 to 131 in training, has most of it.
figure, ax = plt.subplots(figsize=(7.2, 3.8), layout="constrained")
ExplanationDisplay.from_estimator(model, wrong, row=0, ax=ax, name="Patient 300, bp in kPa")

# %% [markdown]
# The verdict on all {{len(wrong)}} new patients, with right and with wrong units:

# %%
print(f"trusted, in mmHg: {model.trusted(right).mean():.0%}")
print(f"trusted, in kPa:  {model.trusted(wrong).mean():.0%}")
named = scored["because"].str.startswith("bp ").mean()
print(f"bp is named first: {named:.0%}")
print(scored["because"].iloc[0])

# %% [markdown]
# {{model.trusted(right).mean():.0%}} are trusted in mmHg and {{model.trusted(wrong).mean():.0%}} in kPa, and `because` names the pressure first for {{named:.0%}} of them. For the first patient it says: *{{scored["because"].iloc[0]}}*.
#
# **What to conclude.** A wrong unit moves a row out of the range of its column, or out of its usual company. Here every row shows it, and the bars say which column to look at. A unit that stays within the range, such as an age in years and months, need not be seen in one row; see [drift over time](drift-over-time.md) for whole tables.
#
# Read on: [explain a row](../how-to/explain.md), [a table](../tutorials/table.md).
