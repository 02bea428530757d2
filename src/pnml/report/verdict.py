"""The findings in sentences, for the page and for the terminal."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

import numpy as np
from scipy.stats import betabinom

from pnml.report.formats import count, number, percent

if TYPE_CHECKING:
    from pnml.core.arrays import FloatArray
    from pnml.report.findings import Findings

_HIGH = 0.9  # a mean regret above this quantile of the training regrets is a clear shift
_MIDDLE = 0.75  # with up to a third of unusual rows, the median row is below this quantile
_CHANCE = 0.01  # events with a smaller probability do not count as chance


class Standing(Enum):
    """The verdict on the new rows as a whole, compared with the training rows."""

    ORDINARY = "Like the training rows"
    RAISED = "No clear shift"
    FEW = "Some rows stand out"
    SHIFT = "Clear shift"
    UNKNOWN = "Nothing to compare with"


@dataclass(frozen=True)
class _Comparison:
    """The mean regret of the new rows beside the regrets of the training rows."""

    mean: float
    new: FloatArray  # (s,) sample of the new rows
    training: FloatArray  # (m,)

    def quantile(self, level: float) -> float:
        return _quantile(self.training, level)

    def above(self, level: float) -> bool:
        return self.mean > self.quantile(level) * (1 + 1e-9)  # equal up to rounding is not above

    @property
    def middle_is_ordinary(self) -> bool:
        return bool(self.new.size) and _quantile(self.new, 0.5) <= self.quantile(_MIDDLE)


def sentences(findings: Findings) -> list[str]:
    """The verdict in sentences, one per fact, and then the warnings."""
    return [*summary(findings), *findings.warnings]


def summary(findings: Findings) -> list[str]:
    """The verdict in sentences, before the warnings."""
    if findings.rows == 0:
        return ["The table has no rows to judge."]
    facts = [_trust(findings), _mean(findings), _share(findings)]
    if findings.never_seen:
        facts.append(
            f"{count(findings.never_seen, 'row')} {_verb(findings.never_seen, 'holds', 'hold')} "
            "a category, an infinite number or a pattern of missing values that was never seen in "
            "training, so "
            f"{_verb(findings.never_seen, 'it is', 'they are')} not trusted."
        )
    if findings.infinite:
        facts.append(_infinite(findings))
    return facts


def standing(findings: Findings) -> Standing:
    """The verdict in a word or two, by the mean and by rows that the mean cannot show."""
    by_mean = _standing_of_mean(_comparison(findings))
    if _many_infinite(findings):
        return Standing.SHIFT
    if by_mean in (Standing.ORDINARY, Standing.RAISED) and _more_than_chance(findings):
        return Standing.FEW
    return by_mean


def _trust(findings: Findings) -> str:
    rows, trusted = findings.rows, findings.trusted
    if rows == 1:
        return f"1 row was scored; it is {'' if trusted else 'not '}trusted."
    if trusted == rows:
        return f"{count(rows, 'row')} were scored; all of them are trusted."
    if trusted == 0:
        return f"{count(rows, 'row')} were scored; none of them is trusted."
    return (
        f"{count(rows, 'row')} were scored; {trusted:,} ({percent(trusted / rows)}) "
        f"{_verb(trusted, 'is', 'are')} trusted."
    )


def _mean(findings: Findings) -> str:
    compared = _comparison(findings)
    if not math.isfinite(compared.mean):
        return "No new row has a finite regret, so there is no mean regret to compare."
    left_out = count(findings.infinite, "row")
    aside = f" ({left_out} of infinite regret left out)" if findings.infinite else ""
    subject = f"The mean regret of the new rows, {number(compared.mean)} nats{aside},"
    median = compared.quantile(0.5)
    match _standing_of_mean(compared):
        case Standing.SHIFT:
            return f"{subject} {_height(compared)}: {_ELSEWHERE}."
        case Standing.FEW:
            middle = number(_quantile(compared.new, 0.5))
            return (
                f"{subject} {_height(compared)}, but the middle row has {middle}, as training rows "
                "do: some rows of large regret carry the mean, so look at those."
            )
        case Standing.RAISED:
            return (
                f"{subject} lies between the median ({number(median)}) and the 90 % quantile "
                f"({number(compared.quantile(_HIGH))}) of the training rows' own: no clear shift, "
                "though single rows may stand out."
            )
        case Standing.ORDINARY:
            return (
                f"{subject} is not above the median of the training rows' own ({number(median)}): "
                "taken together, the new rows look like the training rows."
            )
        case Standing.UNKNOWN:
            return f"{subject} {_incomparable(compared.training)}."


_ELSEWHERE = "this table does not come from where the training rows came"


def _height(compared: _Comparison) -> str:
    """The position of a high mean among the training regrets, in words."""
    below = float(np.mean(compared.training < compared.mean))
    if below == 1.0:
        largest = number(float(compared.training.max()))
        return f"is above the regret of every training row (the largest is {largest})"
    whole = math.floor(100 * below) / 100
    return (
        f"is above the {percent(whole)} quantile of the training rows' own "
        f"({number(compared.quantile(whole))})"
    )


def _incomparable(training: FloatArray) -> str:
    if training.size == 0:
        return "stands alone: the model keeps no regrets of training rows to compare it with"
    return (
        "has nothing ordinary to be compared with: half of the training rows or more have an "
        "infinite regret when left out, as happens with few rows per column and no penalty"
    )


def _share(findings: Findings) -> str:
    untrusted = findings.rows - findings.trusted
    expected = percent(expected_share(findings))
    if untrusted == 0:
        return f"Of rows like the training rows, about {expected} would not be trusted."
    judgement = "more than" if _more_than_chance(findings) else "in keeping with"
    return (
        f"{count(untrusted, 'row')} ({percent(untrusted / findings.rows)}) "
        f"{_verb(untrusted, 'is', 'are')} not trusted, {judgement} the {expected} expected of rows "
        "like the training rows."
    )


def _infinite(findings: Findings) -> str:
    n = findings.infinite
    text = (
        f"{count(n, 'row')} {_verb(n, 'has', 'have')} an infinite regret: "
        f"{_verb(n, 'it goes', 'they go')} where no training row went, and nothing holds the "
        "model there"
    )
    if not _many_infinite(findings):
        return text + "."
    training = percent(_infinite_share(findings.model.regrets))
    share = percent(n / findings.rows)
    return f"{text}. That is {share} of the table, against {training} of training: {_ELSEWHERE}."


def _comparison(findings: Findings) -> _Comparison:
    return _Comparison(findings.mean_regret, findings.regret, findings.model.regrets)


def _standing_of_mean(compared: _Comparison) -> Standing:
    if not math.isfinite(compared.mean) or not math.isfinite(compared.quantile(0.5)):
        return Standing.UNKNOWN
    if compared.above(_HIGH):
        return Standing.FEW if compared.middle_is_ordinary else Standing.SHIFT
    return Standing.RAISED if compared.above(0.5) else Standing.ORDINARY


def _many_infinite(findings: Findings) -> bool:
    """Whether the share of infinite regrets is a tenth higher than in training."""
    share = findings.infinite / max(findings.rows, 1)
    return share - _infinite_share(findings.model.regrets) > 1 - _HIGH


def _infinite_share(regrets: FloatArray) -> float:
    return float(np.mean(np.isinf(regrets))) if regrets.size else 0.0


def expected_share(findings: Findings) -> float:
    """Share of rows like those of training that a verdict does not trust, infinite ones too."""
    if findings.model.usual is not None:
        return 1 - findings.model.usual
    return 1 - findings.model.level * (1 - _infinite_share(findings.model.regrets))


def _more_than_chance(findings: Findings) -> bool:
    """Whether rows like the training rows would rarely have so many untrusted ones.

    Of n rows exchangeable with m others, the number above the r-th smallest of the m is
    beta-binomial with parameters n, m + 1 − r and r, so a short training table is allowed for.
    """
    model, untrusted = findings.model, findings.rows - findings.trusted
    m, r = model.regrets.size, int(np.sum(model.regrets <= model.threshold))
    if model.usual is not None:
        r = math.floor(model.usual * m)
    if untrusted == 0 or r == 0:
        return False
    return bool(betabinom.sf(untrusted - 1, findings.rows, m + 1 - r, r) < _CHANCE)


def _quantile(values: FloatArray, level: float) -> float:
    """A quantile that is one of the values, so that infinite ones do no harm; NaN for none."""
    if values.size == 0:
        return math.nan
    return float(np.quantile(values, level, method="inverted_cdf"))


def _verb(n: int, singular: str, plural: str) -> str:
    return singular if n == 1 else plural
