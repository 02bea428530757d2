"""Shared by score, report and demo: loads the model of a table, and shows findings."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.table import Table

    from pnml.report.findings import Findings
    from pnml.tables.fitted_table import FittedTable

_REASONS = 8  # reasons, and columns, that are printed


def table_model(path: str, new: str) -> FittedTable:
    """The model of a table in the file `path`; raises InputError for any other file.

    `new`, the table to be scored, is looked at only to notice that the two arguments are swapped.
    """
    from pnml.errors import MOST_PATH, InputError, shorten
    from pnml.models.model_file import read
    from pnml.readers.file_kind import is_model_file
    from pnml.tables.fitted_table import FittedTable

    is_model = [Path(name).is_file() and is_model_file(Path(name)) for name in (path, new)]
    label = shorten(path, MOST_PATH)
    if is_model == [False, True]:
        other = shorten(new, MOST_PATH)
        raise InputError(f"{other} is a model and {label} is not; give the model first.")
    file = read(path)
    if file.last_layer is not None:
        raise InputError(
            f"{label} holds the last layer of a network, which takes tensors and not tables; use "
            "it from Python with pnml.load, or make a model of a table with pnml fit."
        )
    model = file.model()
    if not isinstance(model, FittedTable):
        raise InputError(
            f"{label} holds a {type(model).__name__} that knows nothing of columns; "
            "use it from Python with pnml.load, or make a model of a table with pnml fit."
        )
    return model


def words(findings: Findings) -> list[Any]:
    """Findings about a scored table, to print: sentences, tables of reasons, drift and groups."""
    from pnml.cli.console import grid
    from pnml.report.formats import count
    from pnml.report.verdict import sentences

    said: list[Any] = [*sentences(findings)]
    if findings.bad_cells:
        said.append(
            f"{count(findings.bad_cells, 'cell')} could not be read; the row is scored as if the "
            "cell were empty and is not trusted (--strict refuses such a table)."
        )
    if findings.reasons:
        rows = [[f"{reason.rows:,}", reason.text] for reason in findings.reasons[:_REASONS]]
        said.append(grid(["rows not trusted", "because"], rows, frozenset({0})))
    moved = [
        [row.column, row.training, row.new, row.remark] for row in findings.drift if row.flagged
    ]
    if moved:
        said.append(grid(["column that has changed", "in training", "now", ""], moved[:_REASONS]))
    table = _side_by_side(findings)
    return [*said, *([] if table is None else [table])]


def _side_by_side(findings: Findings) -> Table | None:
    """Table of coverage, log-loss and error of trusted and untrusted rows.

    None if the scored table has no labels.
    """
    from pnml.cli.console import grid, number

    if not findings.groups:
        return None
    regression = findings.task == "regression"
    error = "root mean squared error" if regression else "wrong labels"
    rows = []
    for group in findings.groups:
        row = [group.name, f"{group.rows:,}"]
        row += [number(group.coverage, ".1%")] if regression else []
        row += [number(group.log_loss), number(group.error, ".4g" if regression else ".1%")]
        rows.append(row)
    covered = [f"inside the {100 * findings.coverage:g}% interval"] if regression else []
    headings = ["rows with a label", "number", *covered, "log-loss", error]
    return grid(headings, rows, frozenset(range(1, len(headings))))


def document(findings: Findings) -> dict[str, Any]:
    """Findings about a scored table, as a dict for JSON."""
    from pnml.report.verdict import sentences

    return {
        "rows": findings.rows,
        "trusted": findings.trusted,
        "never_seen": findings.never_seen,
        "unreadable_cells": findings.bad_cells,
        "reasons": [{"text": reason.text, "rows": reason.rows} for reason in findings.reasons],
        "drift": [vars(row) for row in findings.drift],
        "infinite_regret": findings.infinite,
        "mean_regret": findings.mean_regret,
        "model_of_use": findings.of_use,
        "threshold": findings.model.threshold,
        "level": findings.model.level,
        "coverage": findings.coverage,
        "groups": [vars(group) for group in findings.groups],
        "sentences": sentences(findings),
    }


def timing(findings: Findings, seconds: float) -> dict[str, Any]:
    """Seconds and rows per second of a scored table, as JSON values."""
    return {"seconds": round(seconds, 3), "rows_per_second": round(findings.rows / seconds)}


def speed(findings: Findings, seconds: float) -> str:
    """Rows, seconds, and rows per second of scoring a table, as text."""
    from pnml.report.formats import count

    rows = count(findings.rows, "row")
    return f"{rows} in {seconds:.1f} s ({findings.rows / seconds:,.0f} a second)"
