"""``pnml report``: one page about a table."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pnml.cli.options import (
    DEFAULT_LEVEL,
    MOST_COLUMNS,
    Coverage,
    DateFormat,
    Decimal,
    Delimiter,
    Encoding,
    Json,
    Level,
    MaxColumns,
    Missing,
    Model,
    New,
    Query,
    Thousands,
)
from pnml.cli.scored_table import document, speed, table_model, timing, words

if TYPE_CHECKING:
    from pnml.report.findings import Findings


def report(
    model: Model,
    new: New,
    output: Annotated[str, typer.Option("--output", "-o", help="Page, ending in .html.")],
    coverage: Coverage = 0.9,
    level: Level = DEFAULT_LEVEL,
    delimiter: Delimiter = None,
    encoding: Encoding = "utf-8",
    missing: Missing = None,
    decimal: Decimal = ".",
    thousands: Thousands = None,
    date_format: DateFormat = None,
    query: Query = None,
    max_columns: MaxColumns = MOST_COLUMNS,
    as_json: Json = False,
) -> None:
    """Write one self-contained HTML page that shows which rows not to trust, and why.

    It begins with a verdict on the table as a whole, and shows reasons, changed columns and the
    rows themselves. The page loads nothing from elsewhere and can be sent by mail.
    """
    from pnml.cli.console import print_json, print_words
    from pnml.readers import ReadOptions

    gone = tuple(missing or ())
    options = ReadOptions(
        delimiter, encoding, gone, decimal, thousands, date_format, query, max_columns
    )
    start = time.perf_counter()
    findings = report_file(model, new, output, coverage, level, options)
    seconds = time.perf_counter() - start
    if as_json:
        print_json(document(findings) | timing(findings, seconds) | {"output": output})
    else:
        print_words(*words(findings), f"Looked at {speed(findings, seconds)} and wrote {output}.")


def report_file(
    model_path: str, new: str, output: str, coverage: float, level: float, options: Any
) -> Findings:
    """Score the table `new` with a model file, write the HTML page `output`, return the findings.

    `coverage` is that of the intervals, `level` the share of ordinary rows that is trusted,
    `options` are `ReadOptions`.
    """
    from pnml.cli.console import check_share
    from pnml.job.score_pass import ScorePass
    from pnml.job.table_model import write_page
    from pnml.readers import TableSource, check_output

    check_share("--coverage", coverage, or_one=False)
    check_share("--level", level, or_one=True)

    def check(table: TableSource) -> None:
        check_output(output, [*table.files, Path(model_path)], endings=(".html", ".htm"))

    job = ScorePass(table_model(model_path, new), coverage, level)
    findings = job.run(new, model_path, options=options, check=check)
    write_page(findings, output)
    return findings
