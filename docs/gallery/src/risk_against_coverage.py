# %% [markdown]
# # Risk against coverage
#
# A classifier that may pass on its hard rows makes fewer mistakes on the rest. In which order should it pass them on, and how much is gained?

# %%
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from pnml import PNMLClassifier
from pnml.plots import RiskCoverageDisplay

X, y = load_digits(return_X_y=True)
order = np.random.default_rng(0).permutation(len(y))
train, new = order[:300], order[300:]
classifier = make_pipeline(StandardScaler(), LogisticRegression(C=0.1, max_iter=1000))
model = PNMLClassifier(classifier).fit(X[train], y[train])

wrong = (model.predict(X[new]) != y[new]).astype(float)
regret = model.regret(X[new])
largest = model.estimator_.predict_proba(X[new]).max(axis=1)

# %% figure: Error rate against the share of rows answered, from the smallest regret up: it falls from that of all rows to nearly nothing. The order by the largest probability does better above 60 % and worse at the start.
figure, ax = plt.subplots(figsize=(6.8, 4.6), layout="constrained")
RiskCoverageDisplay.from_predictions(
    wrong, -regret, loss_name="error rate", name="smallest regret first", ax=ax,
    random_kw={"label": "random order"},
)  # fmt: skip
RiskCoverageDisplay.from_predictions(
    wrong, largest, loss_name="error rate", name="largest probability first", ax=ax,
    plot_random=False, line_kw={"linestyle": "-."},
)  # fmt: skip

# %%
by_regret = wrong[np.argsort(regret, kind="stable")]
by_probability = wrong[np.argsort(-largest, kind="stable")]
shares = (0.5, 0.8, 1.0)
risk = {share: by_regret[: int(share * len(new))].mean() for share in shares}
rival = {share: by_probability[: int(share * len(new))].mean() for share in shares}

# %% [markdown]
# Of all {{len(new)}} rows {{risk[1.0]:.1%}} are wrong; of the {{0.8:.0%}} with the smallest regret {{risk[0.8]:.1%}}; of the half with the smallest {{risk[0.5]:.1%}}. In the order of the largest probability it is {{rival[0.8]:.1%}} and {{rival[0.5]:.1%}}: that order is the better one where most rows are answered, and has a confident mistake at its very start.
#
# **What to conclude.** Send the rows with the largest regret to a person, as many as there is time for: the curve says what that buys. For rows of the kind that training had, the largest probability does as well or better, and costs nothing. The regret is to be asked for rows of *another* kind, where a probability near one means nothing, as with [intents out of scope](intents-out-of-scope.md).
#
# Read on: [classification](../guide/classification.md), [choose the trust level](../how-to/trust-level.md).
