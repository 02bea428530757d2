# %% [markdown]
# # What DIAL asks for
#
# You want to tell the digits 0 to 4 apart, labels cost money, and half of the pool is something else: the digits 5 to 9. Which images does each strategy send to the annotator?

# %%
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier

from pnml.active import Ensemble, dial_select_batch

X, digits = load_digits(return_X_y=True)
rng = np.random.default_rng(0)
wanted = rng.permutation(np.flatnonzero(digits <= 4))
others = rng.permutation(np.flatnonzero(digits > 4))
start, targets = wanted[:15], wanted[15:215]  # with labels; to be predicted
pool = np.concatenate([wanted[215:515], others[:300]])

forest = RandomForestClassifier(100, random_state=0).fit(X[start], digits[start])
trees = Ensemble(forest.estimators_, temperature=5.0)
p = forest.predict_proba(X[pool])
entropy = -np.sum(p * np.log(np.maximum(p, 1e-12)), axis=1)
picks = {
    "DIAL": pool[dial_select_batch(trees(X[pool]), trees(X[targets]), 12, progress=False)],
    "Largest entropy": pool[np.argsort(-entropy, kind="stable")[:12]],
    "At random": rng.permutation(pool)[:12],
}

# %% figure: Twelve picks of each strategy as images; those of other digits are crossed out. DIAL picks fewest of them.
figure, axes = plt.subplots(3, 12, figsize=(9.6, 4.1))
figure.subplots_adjust(left=0.01, right=0.99, bottom=0.08, top=0.92, wspace=0.12, hspace=0.75)
for line, (strategy, chosen) in zip(axes, picks.items(), strict=True):
    for ax, i in zip(line, chosen, strict=True):
        ax.imshow(X[i].reshape(8, 8), cmap="gray_r")
        ax.set(xticks=[], yticks=[])
        good = digits[i] <= 4
        ax.set_xlabel(f"{digits[i]}{'' if good else ' ✗'}", color="C0" if good else "C1")
    count = int(np.sum(digits[chosen] <= 4))
    line[0].set_title(f"{strategy}: {count} of 12 are digits 0 to 4", loc="left", fontsize=10)

# %%
useful = {name: float(np.mean(digits[chosen] <= 4)) for name, chosen in picks.items()}

# %% [markdown]
# {{useful["DIAL"]:.0%}} of the picks of DIAL are digits that count, {{useful["Largest entropy"]:.0%}} of those with the largest entropy, and {{useful["At random"]:.0%}} of those at random. Each pick of another digit is a label paid for nothing.
#
# **What to conclude.** Entropy asks for what the model is unsure of, and a model is unsure of what does not concern it. DIAL asks which label would change the predictions of the *targets*. This is one draw of one seed, which shows what it does and proves nothing: [comparisons over seeds](../results/dial-mnist-ood.md) do, and say where it fails.
#
# Read on: [active learning](../guide/active.md), [ten minutes of it](../tutorials/active.md).
