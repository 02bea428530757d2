"""The regret of a two-class predictor against the pull of its genie, for three confidences."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pnml.core.arrays import FloatArray
from pnml.core.softmax import regret
from pnml_experiments.framework.experiment import Experiment, Progress, Scale
from pnml_experiments.framework.output import Output
from pnml_experiments.framework.result import Figure, Result, Row, Table, exactly

if TYPE_CHECKING:
    from matplotlib.figure import Figure as MatplotlibFigure

EXPERIMENT = Experiment(
    id="regret-curve",
    chapter=5,
    title="Regret of a two-class predictor",
    scales=("small", "printed"),
    minutes=(0.05, 0.05),
    extras=("plots",),
)

_CONFIDENCES = (0.55, 0.85, 0.99)
_PULLS = (0.1, 0.5, 0.9, 1.0)
_POINTS = {"small": 201, "full": 2001}


def run(scale: Scale, out: Output, progress: Progress) -> Result:
    """Regret over log 2 at a few pulls xᵀg, and the whole curves."""
    rows = [
        Row(
            {"p₁": f"{p:g}", "xᵀg": f"{pull:g}"},
            _printed_limit(p) if pull == 1 else None,
            exactly(float(normalised_regret(p, np.array([pull]))[0])),
            note=_LIMIT if pull == 1 else "",
        )
        for p in _CONFIDENCES
        for pull in _PULLS
    ]
    progress(1, 1)
    figure = Figure(
        "regret-curve",
        (
            "Regret over log 2 of a predictor with two classes; p₁ is the probability that it "
            "gives to the first."
        ),
        lambda: _draw(_POINTS[scale]),
    )
    table = Table("Regret over log 2", tuple(rows), digits=4)
    return Result((table,), (figure,), remarks=_REMARKS)


def normalised_regret(p: float, pulls: FloatArray) -> FloatArray:
    """Regret over log 2 of probabilities p and 1 − p, at each pull xᵀg.

    >>> normalised_regret(0.5, np.array([0.0, 1.0])).round(3)
    array([0.   , 0.415])
    """
    with np.errstate(divide="ignore"):
        leverage = pulls / (1 - pulls)
    log_p = np.tile(np.log([p, 1 - p]), (len(pulls), 1))
    found: FloatArray = regret(log_p, leverage) / np.log(2)
    return found


_REMARKS = (
    (
        f"The regret stays below log(3/2)/log 2 = {np.log2(1.5):.3f}; the thesis only says that "
        "it is at most 1."
    ),
    (
        "The text says that a sure predictor, p₁ = 0.99, responds most to a slight change of "
        "xᵀg. That holds near xᵀg = 1; near 0 it responds least."
    ),
)
_LIMIT = (
    "Printed is the limit of the text, log Σ 1/(2 − p²) over log 2, which has a slip: the genies "
    "at xᵀg = 1 are 1/(2 − p)."
)


def _printed_limit(p: float) -> float:
    return float(np.log2(1 / (2 - p**2) + 1 / (2 - (1 - p) ** 2)))


def _draw(points: int) -> MatplotlibFigure:
    from matplotlib import pyplot as plt

    figure, ax = plt.subplots(figsize=(6, 4))
    pulls = np.linspace(0, 1, points)
    for p in _CONFIDENCES:
        ax.plot(pulls, normalised_regret(p, pulls), label=f"$p_1$ = {p:g}")
    ax.set(xlabel=r"$x^\top g$", ylabel=r"$\Gamma\,/\,\log 2$", xlim=(0, 1), ylim=(0, None))
    ax.legend()
    return figure
