"""Chart of risk against coverage: whether rows that promise a small error have one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pnml.metrics import risk_coverage_curve
from pnml.report.comparison import error_name, error_text
from pnml.report.formats import count, percent
from pnml.report.plotly_chart import Chart, rounded

if TYPE_CHECKING:
    from pnml.core.arrays import FloatArray
    from pnml.report.findings import Findings

_FEWEST = 10  # rows below which a mean loss is left out of the chart
_MOST_POINTS = 400


def risk_chart(findings: Findings) -> Chart | None:
    """Chart of the error of the rows kept against the share of rows kept, or None.

    Rows of smallest expected error are kept first, or of smallest regret if that is not known.
    None without labels, or with too few.
    """
    if findings.loss is None:
        return None
    expected = findings.expected_error
    order, name = (findings.regret, "regret") if expected is None else (expected, "expected error")
    known = np.isfinite(findings.loss) & ~np.isnan(order)
    loss, score = findings.loss[known], order[known]
    if loss.size < 2 * _FEWEST:
        return None
    curve = risk_coverage_curve(loss, -score)
    error = np.sqrt if findings.task != "classification" else np.asarray
    enough = np.flatnonzero(curve.coverage * loss.size >= _FEWEST)
    keep = enough[np.unique(np.linspace(0, enough.size - 1, _MOST_POINTS).astype(int))]
    traces = [
        *_random(loss, error),
        _kept(curve.coverage[keep], error(curve.risk[keep]), findings.task, name),
    ]
    shown = ".0%" if findings.task == "classification" else ""
    layout = {
        "xaxis": {
            "title": {"text": "share of the rows kept"},
            "tickformat": ".0%",
            "range": [0, 1.02],
        },
        "yaxis": {
            "title": {"text": error_name(findings.task)},
            "tickformat": shown,
            "rangemode": "tozero",
        },
    }
    at_half = int(np.searchsorted(curve.coverage, 0.5))
    shares, errors = curve.coverage[[at_half, -1]], error(curve.risk[[at_half, -1]])
    return Chart(
        "risk",
        f"Error when only the rows of small {name} are kept",
        f"The rows of smallest {name} are kept first. A line that rises from left to right says "
        "that they come out better. Where it stays within the band, it does no better than rows "
        "kept at random.",
        f"{count(loss.size, 'row')} with a label. {_numbers(findings.task, shares, errors, name)}",
        traces,
        layout,
    )


def _numbers(task: str, shares: FloatArray, errors: FloatArray, kept_by: str) -> str:
    """The errors of half of the rows, as nearly as ties allow, and of all rows."""
    name = error_name(task)
    of_half, of_all = (error_text(task, error) for error in errors.tolist())
    if shares[0] == shares[1]:
        return (
            f"Too many {kept_by}s are equal to tell rows apart; over all rows the {name} is "
            f"{of_all}."
        )
    verdict = "less than" if errors[0] < errors[1] else "no less than"
    return (
        f"Over the {percent(float(shares[0]))} with the smallest {kept_by}s the {name} is "
        f"{of_half}, {verdict} the {of_all} over all rows."
    )


def _kept(coverage: FloatArray, error: FloatArray, task: str, kept_by: str) -> dict[str, Any]:
    shown = ".1%" if task == "classification" else ".4g"
    return {
        "role": "new",
        "name": f"rows of small {kept_by}",
        "type": "scatter",
        "mode": "lines" if coverage.size > 30 else "lines+markers",
        "x": rounded(coverage),
        "y": rounded(error),
        "hovertemplate": f"%{{x:.0%}} kept: %{{y:{shown}}}<extra></extra>",
    }


def _random(loss: FloatArray, error: Any) -> list[dict[str, Any]]:
    """The error of rows kept at random: its mean, and the band of 95 % of random choices."""
    n = loss.size
    kept = np.unique(np.geomspace(_FEWEST, n, 60).astype(int))
    # of k out of n rows drawn without replacement
    deviation = loss.std(ddof=1) * np.sqrt((1 - kept / n) / kept)
    low = error(np.maximum(loss.mean() - 1.96 * deviation, 0.0))
    high = error(loss.mean() + 1.96 * deviation)
    x = rounded(np.concatenate([kept, kept[::-1]]) / n)
    band = {"x": x, "y": rounded(np.concatenate([high, low[::-1]])), "fill": "toself"}
    line = {"x": [0, 1], "y": rounded(error(np.full(2, loss.mean())))}
    common = {"type": "scatter", "mode": "lines", "hoverinfo": "skip"}
    return [
        {**common, **band, "role": "band", "name": "95 % of random choices"},
        {**common, **line, "role": "random", "name": "rows kept at random"},
    ]
