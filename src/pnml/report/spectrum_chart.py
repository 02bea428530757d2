"""Chart of the singular values of the training data."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from pnml.report.formats import count, number
from pnml.report.plotly_chart import Chart, line, note, rounded
from pnml.report.regret_axis import log_ticks

if TYPE_CHECKING:
    from pnml.core.arrays import FloatArray
    from pnml.report.findings import ModelFacts

_MOST_POINTS = 800


def spectrum_chart(model: ModelFacts) -> Chart | None:
    """Chart of the singular values of the training data, with the square root of the penalty.

    None if no singular value is positive.
    """
    s = model.singular_values
    positive = s[np.isfinite(s) & (s > 0)]
    if positive.size == 0:
        return None
    keep = np.unique(np.linspace(0, positive.size - 1, _MOST_POINTS).astype(int))
    trace = {
        "role": "trusted",
        "name": "singular value",
        "type": "scatter",
        "mode": "lines+markers" if positive.size <= 200 else "lines",
        "x": (keep + 1).tolist(),
        "y": rounded(positive[keep]),
        "hovertemplate": "direction %{x}: %{y:.3g}<extra></extra>",
    }
    return Chart(
        "spectrum",
        "How the training data spread",
        "How far the training rows spread in each direction of the columns (standardised, "
        "logarithmic scale). Regret grows quickest along directions far to the right, in which "
        "the training rows hardly differ.",
        _numbers(positive, s.size, model.penalty),
        [trace],
        _layout(positive, model.penalty),
    )


def _layout(positive: FloatArray, penalty: float) -> dict[str, Any]:
    root = math.sqrt(penalty) if 0 < penalty < math.inf else math.nan
    low, high = (float(np.log10(end)) for end in (positive.min(), positive.max()))
    if not math.isnan(root):
        low, high = min(low, math.log10(root)), max(high, math.log10(root))
    margin = max(0.05 * (high - low), (0.5 - (high - low)) / 2)  # half a decade at least
    ticks = log_ticks(low - margin, high + margin)
    n = positive.size
    x_axis = {"title": {"text": "direction, the strongest first"}, "range": [0.5, n + 0.5]}
    return {
        "showlegend": False,
        "xaxis": {**x_axis, "dtick": 1} if n <= 10 else {**x_axis, "zeroline": False},
        "yaxis": {
            "title": {"text": "singular value"},
            "type": "log",
            "tickvals": [float(f"{10**place:.6g}") for place, _ in ticks],
            "ticktext": [text for _, text in ticks],
            "range": [low - margin, high + margin],
        },
        "shapes": [] if math.isnan(root) else [line("y", root)],
        "annotations": []
        if math.isnan(root)
        else [note("y", math.log10(root), f"√penalty = {number(root)}")],
    }


def _numbers(positive: FloatArray, size: int, penalty: float) -> str:
    text = (
        f"{count(size, 'direction')}; singular values from {number(float(positive.max()))} down "
        f"to {number(float(positive.min()))}"
    )
    if positive.size < size:
        text += f", and {size - positive.size:,} that are zero and not drawn"
    if penalty <= 0:
        return text + ". There is no penalty."
    above = int(np.sum(positive**2 > penalty))
    freedom = float(np.sum(positive**2 / (positive**2 + penalty)))
    held = "; the others are held mostly by the penalty" if above < size else ""
    return (
        f"{text}. {above:,} of them {'is' if above == 1 else 'are'} above the square root of the "
        f"penalty, {number(math.sqrt(penalty))}{held}. "
        f"Effective number of coefficients: {number(freedom)}."
    )
