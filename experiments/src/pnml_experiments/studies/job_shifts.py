"""Rows from elsewhere: larger diamonds, a later season, cars of other makers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from pnml import fit_table
from pnml.report.standing import standing
from pnml_experiments.studies.job_tables import JobTable


@dataclass(frozen=True)
class Shift:
    """Rules by which rows of a table are for training or from elsewhere."""

    name: str
    table: str
    ordinary: str  # rules in the language of pandas' DataFrame.query
    shifted: str
    drop: tuple[str, ...] = ()  # what defines the shift, where it is to be found without that
    watched: tuple[str, ...] = ()  # columns that are outside of what training had


SHIFTS = (
    Shift("diamonds above 1.2 carat", "diamonds", "carat <= 1", "carat > 1.2"),
    Shift(
        "flights of October to December",
        "flights",
        "month <= 9",
        "month >= 10",
        watched=("month", "time_hour"),
    ),
    Shift(
        "cars of Europe and Japan", "cars", "Origin == 'USA'", "Origin != 'USA'", drop=("Origin",)
    ),
)


def shift_numbers(shift: Shift, table: JobTable, most: int, seed: int) -> dict[str, Any]:
    """The verdict, the share trusted, and which columns are said to have drifted."""
    rng = np.random.default_rng(seed)
    frame = table.frame()

    def drawn(rule: str) -> Any:
        rows = frame.query(rule).drop(columns=list(shift.drop))
        return rows.iloc[rng.permutation(len(rows))[:most]].reset_index(drop=True)

    train, new = drawn(shift.ordinary), drawn(shift.shifted)
    model = fit_table(train, target=table.target, task=table.task)
    findings = model.findings(new)
    by_name = {score.name: score.error for score in model.comparison}
    outside = {row.column: row.outside for row in findings.drift}
    return {
        "learner": model.learner,
        "rows": len(new),
        "trusted": findings.trusted / findings.rows,
        "error": findings.groups[-1].error,  # of all new rows
        "left_out": by_name[model.learner],
        "standing": standing(findings).name,
        "flagged": [row.column for row in findings.drift if row.flagged],
        "remarks": {row.column: row.remark for row in findings.drift if row.flagged},
        "outside": {name: outside.get(name, 0.0) for name in shift.watched},
        "reasons": [[reason.text, reason.share] for reason in findings.reasons[:5]],
    }
