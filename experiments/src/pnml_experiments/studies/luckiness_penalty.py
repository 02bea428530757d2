"""How luckiness comes to beat ridge on 48 of 50 PMLB sets and on wine: what the penalty does."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING

from pnml_experiments.ch4_luckiness.pmlb_rows import sets
from pnml_experiments.framework.colours import INKS
from pnml_experiments.framework.experiment import Experiment, Progress, Scale, counted
from pnml_experiments.framework.output import Output
from pnml_experiments.framework.result import Figure, Result
from pnml_experiments.framework.stored_files import PMLB_SMALL
from pnml_experiments.studies.luckiness_penalty_findings import findings
from pnml_experiments.studies.luckiness_penalty_gains import gains_table
from pnml_experiments.studies.luckiness_penalty_numbers import (
    FIXED,
    PATH,
    ROWS,
    Draws,
    one_set,
    wine,
)
from pnml_experiments.studies.luckiness_penalty_tables import (
    averaged_table,
    best_table,
    defaults_tables,
    fixed_table,
    means_of,
    pooled_table,
    why_table,
    wine_averaged_table,
    wine_table,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure as MatplotlibFigure

EXPERIMENT = Experiment(
    id="luckiness-penalty",
    chapter=4,
    title="How luckiness beats ridge on 48 of 50 sets: the penalty is too small",
    minutes=(0.4, 9.0),
    less="49 of the 50 sets; several numbers of training rows and grids, as print gives neither.",
    extras=("plots",),
    needs=("pmlb-small", "shift"),
    uses=("pmlb",),
    beyond=True,
)

_DRAWS = {"small": 8, "full": 40}
INTERVAL = "none for counts of sets; of defaults 95 %, percentiles over sets drawn again"
_REMARKS = (
    (
        "Every number is of the same training and test rows for all learners: training rows drawn "
        "at random, at most 300 others to test on, columns and targets of variance 1 over the "
        "whole set, an intercept without a penalty. A set counts for luckiness if its mean over "
        "draws is lower."
    ),
    (
        "Averaged: the rule of the thesis. For each row left out, the penalty and the noise that "
        "would be best for that row alone; then their means over the rows. Print gives neither "
        "the number of training rows nor the grid of penalties, so several of both are here. "
        "Pooled: the rule of the estimators here, one penalty for the least loss over all rows "
        "left out."
    ),
    "Of the 50 sets of print, 1191_BNG_pbc cannot be had.",
)


def run(scale: Scale, out: Output, progress: Progress) -> Result:
    """Counts of sets by rule and penalty, the reason, wine, and defaults compared."""
    names = [name for name in sets() if scale != "small" or name in PMLB_SMALL]
    draws, tell = _DRAWS[scale], counted(progress, len(names) + 1)
    found: dict[str, dict[str, Draws]] = {str(n): {} for n in ROWS}
    for name in names:
        piece = out.piece(name, partial(one_set, name, draws))
        for n, each in piece.items():
            found[n][name] = each
        tell(1)
    on_wine = out.piece("wine", wine)
    tell(1)
    means = {n: means_of(each) for n, each in found.items()}
    tables = (
        fixed_table(means),
        averaged_table(means),
        gains_table(means),
        pooled_table(means),
        why_table(means),
        best_table(means),
        wine_table(on_wine),
        wine_averaged_table(on_wine),
        *defaults_tables(found),
    )
    figure = Figure(
        "luckiness-penalty",
        (
            "Left: sets on which luckiness has the lower mean squared error at one penalty for "
            "both. Right: wine, error of both by the penalty; dotted lines are the printed errors."
        ),
        partial(_drawn, means, on_wine),
    )
    remarks = (*findings(tables), *_REMARKS)
    return Result(tables, (figure,), tuple(range(draws)), draws, INTERVAL, remarks)


def _drawn(
    means: Mapping[str, Mapping[str, Mapping[str, float]]],
    on_wine: Mapping[str, Mapping[str, list[float]]],
) -> MatplotlibFigure:
    from matplotlib.figure import Figure as Canvas

    figure = Canvas(figsize=(8.8, 3.6), layout="constrained")
    left, right = figure.subplots(1, 2)
    for (n, each), ink in zip(means.items(), INKS * 2, strict=False):
        counts = [
            sum(one[f"luckiness at {a:g}"] < one[f"ridge at {a:g}"] for one in each.values())
            for a in PATH
        ]
        left.plot(PATH, counts, color=ink, label=f"{n} rows")
    left.axhline(len(each) / 2, color="0.5", linestyle=":", linewidth=1)
    left.set(xscale="log", xlabel="penalty of both", ylabel=f"sets of {len(each)} won by luckiness")
    left.set_xticks(FIXED, [f"{a:g}" for a in FIXED])
    left.legend(fontsize="small")
    for learner, ink, print_of in zip(("ridge", "luckiness"), INKS, (0.994, 0.732), strict=False):
        right.plot(on_wine["penalty"][""], on_wine["path"][learner], color=ink, label=learner)
        right.axhline(print_of, color=ink, linestyle=":", linewidth=1)
    right.set(xscale="log", xlabel="penalty", ylabel="RMSE on red wine")
    right.legend(fontsize="small")
    return figure
