"""``pnml score``: the rows of a table, with a prediction, a regret and a reason each."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pnml.cli.options import (
    DEFAULT_LEVEL,
    Coverage,
    DateFormat,
    Decimal,
    Delimiter,
    Encoding,
    Json,
    Level,
    Missing,
    Model,
    New,
    Query,
    Thousands,
)
from pnml.cli.scored_table import document, speed, table_model, timing, title, words

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
    delimiter: Delimiter = None,
    encoding: Encoding = "utf-8",
    missing: Missing = None,
    decimal: Decimal = ".",
    thousands: Thousands = None,
    date_format: DateFormat = None,
    query: Query = None,
    as_json: Json = False,
) -> None:
    """Predict every row of a table and say which not to trust, and why."""
    from pnml.cli.console import print_json, print_words
    from pnml.errors import InputError
    from pnml.readers import ReadOptions

    if as_json and output == "-":
        raise InputError(
            "--json and -o - both go to standard output; name a file with -o to get both."
        )
    gone = tuple(missing or ())
    options = ReadOptions(delimiter, encoding, gone, decimal, thousands, date_format, query)
    start = time.perf_counter()
    findings = score_file(model, new, output, coverage, level, options, prefix)
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
) -> Findings:
    """Read a table once, and write it with the scores beside it."""
    from pnml.cli.console import check_share
    from pnml.readers import check_output, open_table, table_writer
    from pnml.report.findings import Gatherer
    from pnml.runtime.progress import terminal_bar
    from pnml.tables.score_columns import check_names, with_scores

    check_share("--coverage", coverage, or_one=False)
    check_share("--level", level, or_one=True)
    model = table_model(model_path, new)
    with open_table(new, options) as table:
        check_output(output, [*table.files, Path(model_path)])
        names = table.schema.names
        model.check_columns(names, table.name)
        check_names(model, names, table.name, prefix)

        def consume(batches: Iterator[pa.RecordBatch]) -> Findings:
            gatherer = Gatherer(model, title(model_path, table.name), coverage, level)
            with table_writer(output) as writer:
                for batch in batches:
                    scores = model.score(batch, coverage, level)
                    writer.write(with_scores(model, batch, scores, prefix))
                    gatherer.add(batch, scores)
            return gatherer.findings()

        with terminal_bar("Scoring") as tell:
            return table.read(
                consume,
                numeric=model.numeric_columns,
                text=[*model.text_columns, *table.codes()],
                progress=tell,
            )
