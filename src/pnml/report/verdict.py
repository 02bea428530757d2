"""The findings in sentences, for the page and for the terminal.

Every sentence about the table as a whole follows from its one standing, so that no two of them
contradict each other.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from pnml.report.formats import count, number, percent
from pnml.report.regret_rank import rank_text
from pnml.report.standing import (
    Standing,
    expected_share,
    infinite_share,
    mean_is_raised,
    more_than_chance,
    moved_columns,
    standing,
)

if TYPE_CHECKING:
    from pnml.report.findings import Findings

_ELSEWHERE = "this table does not come from where the training rows came"


def sentences(findings: Findings) -> list[str]:
    """All findings in sentences: the verdict, further facts, and then the warnings."""
    return [*summary(findings), *findings.warnings]


def summary(findings: Findings) -> list[str]:
    """The verdict and further facts in sentences, without the warnings."""
    if findings.rows == 0:
        return [headline(findings)]
    told = [headline(findings), judgement(findings)]
    return [*told, *filter(None, [findings.verdict_on_model]), *details(findings)]


def headline(findings: Findings) -> str:
    """The verdict in one sentence: how many rows are not to be trusted."""
    rows, untrusted = findings.rows, findings.rows - findings.trusted
    if rows == 0:
        return "The table has no rows to judge."
    if rows == 1:
        return f"1 row was scored; it is {'not ' if untrusted else ''}to be trusted."
    scored = f"{count(rows, 'row')} were scored"
    if untrusted == 0:
        return f"{scored}; all of them are to be trusted."
    if untrusted == rows:
        return f"{scored}; none of them is to be trusted."
    return (
        f"{scored}; {untrusted:,} ({percent(untrusted / rows)}) "
        f"{_verb(untrusted, 'is', 'are')} not to be trusted."
    )


def judgement(findings: Findings) -> str:
    """The verdict on the table as a whole, in one sentence; "" if it has no rows."""
    expected = f"the {percent(expected_share(findings))} expected of rows like the training rows"
    match standing(findings):
        case Standing.EMPTY:
            return ""
        case Standing.ORDINARY if findings.trusted == findings.rows:
            share = percent(expected_share(findings))
            return f"The table looks like the training rows, of which {share} would not be trusted."
        case Standing.ORDINARY:
            return f"That is in keeping with {expected}: the table looks like the training rows."
        case Standing.RAISED:
            if findings.trusted == findings.rows:
                start = "Yet"
            else:
                start = f"That is in keeping with {expected}, but"
            return (
                f"{start} the mean regret is {_mean_rank(findings)}: the table lies at the edge of "
                "what was learnt."
            )
        case Standing.FEW:
            return (
                f"That is more than {expected}: look at these rows; the others are like the "
                "training rows."
            )
        case Standing.SHIFT if more_than_chance(findings):
            return f"That is more than {expected}: {_ELSEWHERE}."
        case Standing.SHIFT:
            return f"Many rows go where no training row went: {_ELSEWHERE}."
        case Standing.MOVED:
            moved = moved_columns(findings)
            named = ", ".join(moved[:4]) + (", …" if len(moved) > 4 else "")
            return (
                f"{len(moved)} of {len(findings.drift)} columns have moved ({named}): taken as a "
                "whole it is another table than that of training, though most rows could be in it."
            )
        case Standing.UNSURE:
            return (
                f"Set against {expected}, so few rows or so short a training table cannot tell "
                "a difference from chance."
            )
        case Standing.UNKNOWN:
            return (
                "Whether the table is like the training rows cannot be told: "
                f"{_no_yardstick(findings)}."
            )


def details(findings: Findings) -> list[str]:
    """Further facts in sentences: rows never seen, infinite regrets, and the mean regret."""
    facts = []
    if findings.never_seen:
        n = findings.never_seen
        facts.append(
            f"{count(n, 'row')} {_verb(n, 'holds', 'hold')} a category, an infinite number or a "
            "pattern of missing values that was never seen in training, so "
            f"{_verb(n, 'it is', 'they are')} not trusted."
        )
    if findings.infinite:
        facts.append(_infinite(findings))
    if standing(findings) is not Standing.RAISED:
        facts.append(_mean(findings))
    return facts


def _infinite(findings: Findings) -> str:
    n, training = findings.infinite, infinite_share(findings.model.regrets)
    text = (
        f"{count(n, 'row')} {_verb(n, 'has', 'have')} an infinite regret: "
        f"{_verb(n, 'it goes', 'they go')} where no training row went, and nothing holds the "
        "model there"
    )
    if not training:
        return text + "."
    share = percent(n / findings.rows)
    return f"{text}. That is {share} of the table, against {percent(training)} of training."


def _mean(findings: Findings) -> str:
    if not math.isfinite(findings.mean_regret):
        return "No new row has a finite regret, so there is no mean regret to compare."
    left_out = count(findings.infinite, "row")
    aside = f" ({left_out} of infinite regret left out)" if findings.infinite else ""
    if findings.model.regrets.size == 0:
        return f"The mean regret is {number(findings.mean_regret)} nats{aside}."
    text = f"The mean regret{aside} is {_mean_rank(findings)}"
    if standing(findings) is Standing.FEW and mean_is_raised(findings):
        text += ", because some rows of large regret carry it"
    return text + "."


def _mean_rank(findings: Findings) -> str:
    return rank_text(findings.mean_regret, findings.model.regrets)


def _no_yardstick(findings: Findings) -> str:
    if findings.model.regrets.size == 0:
        return "the model keeps no regrets of training rows"
    return (
        "half of the training rows or more have an infinite regret when left out, as happens with "
        "few rows per column and no penalty"
    )


def _verb(n: int, singular: str, plural: str) -> str:
    return singular if n == 1 else plural
