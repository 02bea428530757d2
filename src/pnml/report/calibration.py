"""Calibration of the intervals in words: how many labels they hold, against what they promise."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from scipy.stats import binom

from pnml.report.formats import percent

if TYPE_CHECKING:
    from pnml.report.findings import Findings

_CHANCE = 0.01  # deviations with a smaller probability do not count as chance


def calibration_rows(findings: Findings) -> list[tuple[str, str, str]]:
    """One row of texts per interval: its nominal share, the share of labels inside, a reading.

    The reading says whether the intervals are too narrow, too wide or as promised.
    """
    labelled = next((group.rows for group in findings.groups if group.name == "all rows"), 0)
    return [
        (percent(nominal), percent(covered), _reading(nominal, covered, labelled))
        for nominal, covered in findings.calibration
    ]


def _reading(nominal: float, covered: float, labelled: int) -> str:
    """Whether the share is what the interval promises, up to chance."""
    if math.isnan(covered) or labelled == 0:
        return ""
    inside = round(covered * labelled)
    if binom.cdf(inside, labelled, nominal) < _CHANCE / 2:
        return "too narrow: they hold fewer labels than they promise"
    if binom.sf(inside - 1, labelled, nominal) < _CHANCE / 2:
        return "too wide: they hold more labels than they promise"
    return "as promised"
