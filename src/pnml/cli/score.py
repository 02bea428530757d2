"""``pnml score``: the rows of a table, with a prediction, a regret and a reason each."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pnml.cli.options import Coverage, Delimiter, Encoding, Json, Level, Missing, Model, New

if TYPE_CHECKING:
    import pyarrow as pa

    from pnml.report.findings import Findings
    from pnml.tables.model import TableModel


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
    level: Level = 0.99,
    prefix: Annotated[str, typer.Option(help="Put before the names of the added columns.")] = "",
    delimiter: Delimiter = None,
    encoding: Encoding = "utf-8",
    missing: Missing = None,
    as_json: Json = False,
) -> None:
    """Predict every row of a table and say which not to trust, and why."""
    from pnml.cli.talk import print_json, print_words
    from pnml.errors import InputError
    from pnml.readers import ReadOptions

    if as_json and output == "-":
        raise InputError(
            "--json and -o - both go to standard output; name a file with -o to get both."
        )
    options = ReadOptions(delimiter, encoding, tuple(missing or ()))
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
    from pnml.cli.talk import check_share, progress
    from pnml.readers import check_output, open_table, table_writer
    from pnml.report.gather import Gatherer
    from pnml.tables.scoring import check_names, with_scores

    check_share("--coverage", coverage, one=False)
    check_share("--level", level, one=True)
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

        with progress("Scoring") as tell:
            return table.read(
                consume,
                numeric=model.numeric_columns,
                text=[*model.text_columns, *table.codes()],
                progress=tell,
            )


def table_model(path: str, new: str) -> TableModel:
    """The model that `pnml fit` has put into a file, with which the table `new` is looked at."""
    from pnml.errors import InputError
    from pnml.models.model_file import read
    from pnml.readers.file_kind import is_model_file
    from pnml.tables.model import TableModel

    is_model = [Path(name).is_file() and is_model_file(Path(name)) for name in (path, new)]
    if is_model == [False, True]:
        raise InputError(f"{new} is a model and {path} is not; give the model first.")
    file = read(path)
    if file.last_layer is not None:
        raise InputError(
            f"{path} holds the last layer of a network, which takes tensors and not tables; use "
            "it from Python with pnml.load, or make a model of a table with pnml fit."
        )
    model = file.model()
    if not isinstance(model, TableModel):
        raise InputError(
            f"{path} holds a {type(model).__name__} that knows nothing of columns; "
            "use it from Python with pnml.load, or make a model of a table with pnml fit."
        )
    return model


def title(model: str, table: str) -> str:
    """What a report is about."""
    return f"{Path(table).name} by {Path(model).name}"


def words(findings: Findings) -> list[Any]:
    """What was found, in sentences, and the groups side by side."""
    from pnml.cli.talk import side_by_side
    from pnml.report.verdict import sentences

    table = side_by_side(findings)
    return [*sentences(findings), *([] if table is None else [table])]


def document(findings: Findings) -> dict[str, Any]:
    """What was found, for machines."""
    from pnml.report.verdict import sentences

    return {
        "rows": findings.rows,
        "trusted": findings.trusted,
        "never_seen": findings.never_seen,
        "infinite_regret": findings.infinite,
        "mean_regret": findings.mean_regret,
        "threshold": findings.model.threshold,
        "level": findings.model.level,
        "coverage": findings.coverage,
        "groups": [vars(group) for group in findings.groups],
        "sentences": sentences(findings),
    }


def timing(findings: Findings, seconds: float) -> dict[str, Any]:
    """How long it took, for machines."""
    return {"seconds": round(seconds, 3), "rows_per_second": round(findings.rows / seconds)}


def speed(findings: Findings, seconds: float) -> str:
    """How long it took, in words."""
    from pnml.report.formats import count

    rows = count(findings.rows, "row")
    return f"{rows} in {seconds:.1f} s ({findings.rows / seconds:,.0f} a second)"
