"""``pnml score``: the rows of a table, with a prediction, a regret and a reason each."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
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
    Strict,
    Thousands,
)
from pnml.cli.scored_table import document, speed, table_model, timing, words

if TYPE_CHECKING:
    import pyarrow as pa

    from pnml.report.findings import Findings


def score(
    model: Model,
    new: New,
    output: Annotated[
        str,
        typer.Option(
            "--output",
            "-o",
            help="Scored table: .csv, .tsv, .parquet, .arrow; - for CSV to stdout.",
        ),
    ],
    coverage: Coverage = 0.9,
    level: Level = DEFAULT_LEVEL,
    prefix: Annotated[str, typer.Option(help="Put before the names of the added columns.")] = "",
    strict: Strict = False,
    escape_formulas: Annotated[
        bool,
        typer.Option(
            "--escape-formulas",
            help="Put ' before cells of CSV that a spreadsheet would run: those that begin = + - @",
        ),
    ] = False,
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
    """Predict every row of a table and say which not to trust, and why.

    The rows come back with seven more columns: prediction, lower and upper (the interval),
    expected_error, regret, trusted and because (the columns that drive the regret). Cells that
    cannot be read stop nothing: their rows are not trusted.
    """
    from pnml.cli.console import print_json, print_words
    from pnml.errors import InputError
    from pnml.readers import ReadOptions

    if as_json and output == "-":
        raise InputError(
            "--json and -o - both go to standard output; name a file with -o to get both."
        )
    gone = tuple(missing or ())
    options = ReadOptions(
        delimiter, encoding, gone, decimal, thousands, date_format, query, max_columns
    )
    start = time.perf_counter()
    findings = score_file(
        model, new, output, coverage, level, options, prefix, strict, escape_formulas
    )
    seconds = time.perf_counter() - start
    if as_json:
        print_json(document(findings) | timing(findings, seconds) | {"output": output})
    elif output != "-":
        print_words(*words(findings), f"Scored {speed(findings, seconds)} and wrote {output}.")


def score_file(
    model_path: str,
    new: str,
    output: str,
    coverage: float,
    level: float,
    options: Any,
    prefix: str = "",
    strict: bool = False,
    escape_formulas: bool = False,
) -> Findings:
    """Score the table `new` with a model file, write it to `output`, and return the findings.

    `output` gets the rows with columns for prediction, regret, trust and others added; `prefix`
    comes before their names. `coverage` is that of the intervals, `level` the share of ordinary
    rows that is trusted, `options` are `ReadOptions`. With `strict`, cells that cannot be read are
    an error; with `escape_formulas`, cells that a spreadsheet would run get a ' in front.
    """
    from pnml.cli.console import check_share
    from pnml.job.score_pass import ScorePass
    from pnml.readers import TableSource, check_output, table_writer
    from pnml.readers.sinks import refuse_no_text

    check_share("--coverage", coverage, or_one=False)
    check_share("--level", level, or_one=True)
    if escape_formulas:
        refuse_no_text(output)

    def check(table: TableSource) -> None:
        check_output(output, [*table.files, Path(model_path)])

    @contextmanager
    def sink() -> Iterator[Callable[[pa.RecordBatch], None]]:
        with table_writer(output, escape_formulas=escape_formulas) as writer:
            yield writer.write

    job = ScorePass(table_model(model_path, new), coverage, level, prefix, strict)
    return job.run(new, model_path, sink, options=options, check=check)
