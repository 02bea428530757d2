"""Charts of regrets: training rows beside new rows, and prediction against regret."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from pnml.report.formats import count, number, percent
from pnml.report.plotly_chart import Chart, axis_text, line, note, rounded
from pnml.report.regret_axis import SMALLEST, RegretAxis

if TYPE_CHECKING:
    from pnml.core.arrays import FloatArray
    from pnml.report.findings import Findings

_BINS = 36
_MOST_POINTS = 2000  # drawn as SVG: WebGL needs a weaker security policy than the page has


def regret_chart(findings: Findings) -> Chart | None:
    """Histograms of the regrets of training rows, each left out, and of new rows.

    None if there are no regrets.
    """
    training, new = findings.model.regrets, findings.regret
    if training.size + new.size == 0:
        return None
    threshold = np.array([findings.model.threshold])
    axis = RegretAxis.of(training, new, threshold)
    places, texts = axis.ticks()
    traces = [
        *_bars(axis, training, "training", "training rows, each left out in turn"),
        *_steps(axis, new, "new", "new rows"),
    ]
    layout = {
        "barmode": "overlay",
        "bargap": 0,
        "xaxis": {
            "title": {"text": "regret (nats, logarithmic)"},
            "tickvals": places,
            "ticktext": texts,
            "range": axis.range,
            "showgrid": False,
        },
        "yaxis": {
            "title": {"text": "share of the rows"},
            "tickformat": ".0%",
            "rangemode": "tozero",
        },
        **_threshold("x", axis, findings.model.threshold),
    }
    caption = (
        "How often each regret occurs. Where the outline (new rows) lies over the filled shape "
        "(training rows), the new rows are like the training rows; outline to the right of it are "
        "rows the model was not taught."
    )
    numbers = f"{_spread('Training rows', training)} {_spread('New rows', new)}"
    return Chart("regrets", "Regret of training and new rows", caption, numbers, traces, layout)


def _bars(axis: RegretAxis, values: FloatArray, role: str, name: str) -> list[dict[str, Any]]:
    edges = np.linspace(axis.low, axis.high, _BINS + 1)
    places = [axis.zero, *(edges[:-1] + edges[1:]) / 2, axis.infinity]
    widths = [axis.gap, *np.diff(edges), axis.gap]
    shares = axis.shares(values, _BINS)
    shown = [i for i, share in enumerate(shares) if share > 0]
    return [
        {
            "role": role,
            "name": name,
            "type": "bar",
            "x": [round(float(places[i]), 6) for i in shown],
            "width": [round(float(widths[i]), 6) for i in shown],
            "y": rounded(shares[shown]),
            "hovertemplate": "%{y:.1%} of the training rows<extra></extra>",
        }
    ]


def _steps(axis: RegretAxis, values: FloatArray, role: str, name: str) -> list[dict[str, Any]]:
    """An outline over the bins, with separate boxes for zero and infinity."""
    edges = np.linspace(axis.low, axis.high, _BINS + 1)
    zero, *inside, infinity = rounded(axis.shares(values, _BINS))
    x: list[float | None] = [edges[0], *(e for e in edges for _ in (0, 1)), edges[-1]][1:-1]
    y: list[float | None] = [0.0, *(h for h in inside for _ in (0, 1)), 0.0]
    for place, height in ((axis.zero, zero), (axis.infinity, infinity)):
        if height:
            half = axis.gap / 2
            x += [None, place - half, place - half, place + half, place + half]
            y += [None, 0.0, height, height, 0.0]
    return [
        {
            "role": role,
            "name": name,
            "type": "scatter",
            "mode": "lines",
            "x": [None if v is None else round(float(v), 6) for v in x],
            "y": y,
            "hovertemplate": "%{y:.1%} of the new rows<extra></extra>",
        }
    ]


def scatter_chart(findings: Findings) -> Chart | None:
    """Chart of the regret of each new row against its prediction, or None without rows."""
    if findings.regret.size == 0:
        return None
    axis = RegretAxis.of(findings.regret, np.array([findings.model.threshold]))
    places, texts = axis.ticks()
    step = math.ceil(findings.regret.size / _MOST_POINTS)
    target = axis_text(findings.target)
    sort = "probability of the predicted" if findings.task == "classification" else "predicted"
    groups = (("trusted", True), ("untrusted", False))
    layout = {
        "hovermode": "closest",
        "xaxis": {"title": {"text": f"{sort} {target}"}, "zeroline": False},
        "yaxis": {
            "title": {"text": "regret (nats, logarithmic)"},
            "tickvals": places,
            "ticktext": texts,
            "range": axis.range,
        },
        **_threshold("y", axis, findings.model.threshold),
    }
    n_points = math.ceil(findings.regret.size / step)
    trusted = int(findings.is_trusted.sum())
    return Chart(
        "scatter",
        "Prediction and regret of each new row",
        "One mark per row: discs are trusted, crosses are not. Crosses gathered at "
        "one end say that the model extrapolates there.",
        f"{count(n_points, 'row')} drawn"
        + (f", a sample of {findings.rows:,}. " if n_points < findings.rows else ". ")
        + f"{percent(trusted / findings.regret.size)} are trusted.",
        [_points(findings, axis, role, wanted, step) for role, wanted in groups],
        layout,
    )


def _points(
    findings: Findings, axis: RegretAxis, role: str, trusted: bool, step: int
) -> dict[str, Any]:
    rows = np.flatnonzero(findings.is_trusted[::step] == trusted) * step
    regret = findings.regret[rows]
    return {
        "role": role,
        "name": "trusted" if trusted else "not trusted",
        "type": "scatter",
        "mode": "markers",
        "marker": {"symbol": "circle" if trusted else "x-thin-open", "size": 6 if trusted else 8},
        "x": rounded(findings.prediction[rows]),
        "y": rounded(axis.place(regret)),
        "text": [number(r) for r in regret.tolist()],
        "hovertemplate": "prediction %{x:.4g}, regret %{text}<extra></extra>",
    }


def _spread(name: str, values: FloatArray) -> str:
    known = values[~np.isnan(values)]
    if known.size == 0:
        return f"{name}: none."
    low, middle, high = np.quantile(known, [0.1, 0.5, 0.9], method="inverted_cdf").tolist()
    text = f"{name}: median {number(middle)}, 10 % to 90 %: {number(low)} to {number(high)}"
    infinite, zero = float(np.mean(np.isinf(known))), float(np.mean(known < SMALLEST))
    text += f"; {percent(infinite)} infinite" if infinite else ""
    text += f"; {percent(zero)} below {SMALLEST:f}, drawn at ≈ 0" if zero else ""
    return text + "."


def _threshold(letter: str, axis: RegretAxis, threshold: float) -> dict[str, Any]:
    if math.isnan(threshold):
        return {}
    place = float(axis.place(np.array([threshold]))[0])
    text, middle = f"trusted up to {number(threshold)}", sum(axis.range) / 2
    return {"shapes": [line(letter, place)], "annotations": [note(letter, place, text, middle)]}
