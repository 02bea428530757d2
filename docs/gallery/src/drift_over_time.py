# %% [markdown]
# # Drift over time
#
# A model of unemployment in the USA learnt from the quarters 1960 to 1984. Year by year the world moves on. When should it no longer be used, which columns have moved, and does it help to give it changes in place of levels?

# %%
import matplotlib.pyplot as plt
from statsmodels.datasets import macrodata

import pnml
from pnml.plots import DriftDisplay

data = macrodata.load_pandas().data  # quarterly
# product, consumption and money in billions of dollars; rates in percent
levels = data[["realgdp", "realcons", "m1", "tbilrate", "infl", "unemp"]][4:]
growing = ["realgdp", "realcons", "m1"]
changes = levels.assign(**(100 * data[growing].pct_change(4)[4:]))  # percent in a year
year = data["year"][4:].astype(int)

# %%
models, trusted = {}, {}
for name, table in {"levels": levels, "changes": changes}.items():
    models[name] = pnml.fit_table(table[year <= 1984], target="unemp", learner="pnml")
    verdict = models[name].score(table[year > 1984])["trusted"]
    trusted[name] = verdict.groupby(year[year > 1984]).mean()

# %% figure: Left: the share of trusted quarters by year. With levels it is zero from 1986 on; with changes most years are trusted until the crisis of 2008. Right: of the levels all but inflation have changed.
figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.2), layout="constrained")
for (name, share), marker in zip(trusted.items(), "Xo", strict=True):
    color = "C1" if name == "levels" else "C0"
    left.plot(share.index, share, marker=marker, color=color, label=f"model of {name}")
left.set(xlabel="Year", ylabel="Share of trusted quarters", ylim=(-0.05, 1.05))
left.legend(loc="upper left", bbox_to_anchor=(0, -0.14), ncols=2)
DriftDisplay.from_table(
    models["levels"], levels[year >= 2000], ax=right, name="Levels, 2000 to 2009 against training"
)

# %% [markdown]
# With levels {{trusted["levels"].iloc[1:].mean():.0%}} of the quarters from 1986 on are trusted, with changes {{trusted["changes"].iloc[1:].mean():.0%}}. The bars say why: product, consumption and money have left their training range for good, as they grow with the country. What is not trusted with changes are special times: 1986 and 1992, when money grew fast, and the crisis that began in 2008, with interest near zero.
#
# **What to conclude.** No unemployment rate of a later year was needed to see it. A model of levels grows old as the levels grow. Give it changes or shares, and it stays within what it knows for longer; then what is left are quarters that *are* unlike any before.
#
# This page illustrates and proves nothing: other tables and columns were tried before these were chosen for the picture.
#
# Read on: [a streaming monitor](a-streaming-monitor.md) for an alarm with a stated rate of false ones, [tables](../guide/tables.md) for the report of a whole table.
