"""The one judgement of the new rows as a whole that the verdict, its badge and words follow."""

from __future__ import annotations

import math
from enum import Enum
from typing import TYPE_CHECKING

import numpy as np
from scipy.stats import betabinom

if TYPE_CHECKING:
    from pnml.core.arrays import FloatArray
    from pnml.report.findings import Findings

_HIGH = 0.9  # a mean regret above this quantile of the training regrets is raised
_MIDDLE = 0.75  # a median above this quantile says that not a few rows only are unusual
_CHANCE = 0.01  # events with a smaller probability do not count as chance
_MANY = 1 / 3  # share of untrusted rows beyond what is expected that is a shift
_STRANGE = 1 / 4  # share of never-seen or infinite rows, beyond that of training, that is a shift
_MOVED = 0.25  # index of stability from which a change is great, by the usual rule of thumb
_NOTABLE = 0.1  # share beyond what is expected that is not passed over, even if it may be chance


class Standing(Enum):
    """The verdict on the new rows as a whole, in the words of its badge."""

    ORDINARY = "Like the training rows"
    RAISED = "At the edge of what was learnt"
    FEW = "Some rows stand out"
    SHIFT = "Unlike the training rows"
    MOVED = "Columns unlike those of training"
    UNSURE = "Too little to judge the table by"
    UNKNOWN = "Nothing to compare with"
    EMPTY = "No rows"


def standing(findings: Findings) -> Standing:
    """The verdict on the new rows as a whole, as one of eight cases.

    It follows from the shares of untrusted, never-seen and infinite rows, from columns that have
    moved, and from the mean regret.
    """
    if findings.rows == 0:
        return Standing.EMPTY
    if not has_yardstick(findings):
        return Standing.UNKNOWN
    excess = share_untrusted(findings) - expected_share(findings)
    if more_than_chance(findings):
        many = excess > _MANY or findings.trusted == 0 or many_strange(findings)
        if many or _all_moved(findings):
            return Standing.SHIFT
        return Standing.MOVED if _columns_moved(findings) else Standing.FEW
    if many_strange(findings):
        return Standing.SHIFT
    if excess > _NOTABLE or findings.trusted == 0:
        return Standing.UNSURE
    if _columns_moved(findings):
        return Standing.MOVED
    return Standing.RAISED if mean_is_raised(findings) else Standing.ORDINARY


def moved_columns(findings: Findings) -> list[str]:
    """Names of columns whose values are distributed very differently than in training.

    Their population stability index is above 0.25, and chance does not explain it.
    """
    rows = findings.drift
    return [row.column for row in rows if row.psi > _MOVED and row.p_value < _CHANCE]


def _columns_moved(findings: Findings) -> bool:
    known = sum(not math.isnan(row.psi) for row in findings.drift)
    return len(moved_columns(findings)) > max(1, known / 2)


def has_yardstick(findings: Findings) -> bool:
    """Whether new rows can be compared with training: the median training regret is finite."""
    return math.isfinite(quantile(findings.model.regrets, 0.5))


def mean_is_raised(findings: Findings) -> bool:
    """Whether the mean regret of new rows is above nine in ten regrets of training rows."""
    high = quantile(findings.model.regrets, _HIGH)
    return findings.mean_regret > high * (1 + 1e-9)  # equal up to rounding is not above


def _all_moved(findings: Findings) -> bool:
    """Whether the mean is high and the middle row is unusual too."""
    usual = quantile(findings.model.regrets, _MIDDLE)
    middle = quantile(findings.regret, 0.5)
    return mean_is_raised(findings) and middle > usual * (1 + 1e-9)


def many_strange(findings: Findings) -> bool:
    """Whether over a quarter of the new rows have an infinite regret or something never seen.

    Infinite regrets count as far as their share is above that of the training rows.
    """
    infinite = findings.infinite / findings.rows - infinite_share(findings.model.regrets)
    return max(infinite, findings.never_seen / findings.rows) > _STRANGE


def share_untrusted(findings: Findings) -> float:
    """Share of the new rows that are not trusted; there must be at least one row."""
    return 1 - findings.trusted / findings.rows


def expected_share(findings: Findings) -> float:
    """Share of rows that would not be trusted if they were like the training rows."""
    if findings.model.usual is not None:
        return 1 - findings.model.usual
    return 1 - findings.model.level * (1 - infinite_share(findings.model.regrets))


def infinite_share(regrets: FloatArray) -> float:
    """Share of the regrets (n,) that are infinite; 0 if there are no regrets."""
    return float(np.mean(np.isinf(regrets))) if regrets.size else 0.0


def more_than_chance(findings: Findings) -> bool:
    """Whether more new rows are untrusted than chance explains, at a level of 1 %.

    Of n new rows exchangeable with m training rows, the number above the r-th smallest training
    regret is beta-binomial with parameters n, m + 1 − r and r. So a short training table is
    allowed for.
    """
    model, untrusted = findings.model, findings.rows - findings.trusted
    m, r = model.regrets.size, int(np.sum(model.regrets <= model.threshold))
    if model.usual is not None:
        r = math.floor(model.usual * m)
    if untrusted == 0 or r == 0 or share_untrusted(findings) <= expected_share(findings):
        return False
    return bool(betabinom.sf(untrusted - 1, findings.rows, m + 1 - r, r) < _CHANCE)


def quantile(values: FloatArray, level: float) -> float:
    """The quantile of values (n,) that is one of them; NaN if there are none.

    Nothing is interpolated, so that infinite values do no harm.
    """
    if values.size == 0:
        return math.nan
    return float(np.quantile(values, level, method="inverted_cdf"))
