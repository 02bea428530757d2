"""Sentences that compare the results of trusted rows with those of the others."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from pnml.report.formats import count, number, percent

if TYPE_CHECKING:
    from pnml.report.findings import Findings, Group

_FEW = 20  # rows in a group below which its numbers are mostly chance
_SAME = 0.05  # errors with a smaller relative difference are called about the same


def comparison(findings: Findings) -> list[str]:
    """Sentences that compare the errors of trusted rows with those of the others.

    Empty where labels are not known. The last one says if there are too few rows to tell.
    """
    by_name = {group.name: group for group in findings.groups}
    trusted, others = by_name.get("trusted"), by_name.get("not trusted")
    if trusted is None or others is None:
        return []
    if trusted.rows == 0 or others.rows == 0:
        which = "trusted" if others.rows == 0 else "not trusted"
        return [f"All rows with a label are {which}, so there is nothing to compare them with."]
    sentences = [_errors(findings, trusted, others), *_intervals(findings, trusted, others)]
    fewest = min(trusted.rows, others.rows)
    if fewest < _FEW:
        sentences.append(
            f"The smaller group has only {count(fewest, 'row')}, so much of this may be chance."
        )
    return sentences


def error_name(task: str) -> str:
    """What the error of a group of rows is called in a "regression" or "classification" task."""
    return "share of wrong labels" if task == "classification" else "root mean squared error"


def error_text(task: str, error: float) -> str:
    """The error of a group of rows as text: per cent of wrong labels, or in units of the target."""
    return percent(error) if task == "classification" else number(error)


def _errors(findings: Findings, trusted: Group, others: Group) -> str:
    name = error_name(findings.task)
    low, high = (error_text(findings.task, group.error) for group in (trusted, others))
    numbers = f"their {name} is {low}, against {high} of the rows not trusted"
    if math.isnan(trusted.error) or math.isnan(others.error):
        return f"The {name} is not known of both groups, so they cannot be compared."
    if abs(trusted.error - others.error) <= _SAME * max(trusted.error, others.error):
        return f"Trusted rows came out about the same as the others: {numbers}."
    if trusted.error < others.error:
        return f"Trusted rows came out better: {numbers}."
    return (
        f"Trusted rows did not come out better: {numbers}. The regret tells where the model was "
        "not taught; here that is not where it errs most."
    )


def _intervals(findings: Findings, trusted: Group, others: Group) -> list[str]:
    if math.isnan(trusted.coverage) or math.isnan(others.coverage):
        return []
    sentence = (
        f"Of the trusted rows {percent(trusted.coverage)} fell inside their "
        f"{percent(findings.coverage)} interval, of the others {percent(others.coverage)}."
    )
    return [sentence]
