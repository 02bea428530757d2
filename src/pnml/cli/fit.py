"""``pnml fit``: a model from a table."""

from __future__ import annotations

import time
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pnml.cli.options import (
    DEFAULT_LEVEL,
    MOST_COLUMNS,
    DateFormat,
    Decimal,
    Delimiter,
    Encoding,
    Json,
    MaxColumns,
    Missing,
    Query,
    Thousands,
)

if TYPE_CHECKING:
    from pnml.tables.fitted_table import FittedTable
    from pnml.tables.roles import Request


class Task(StrEnum):
    """Option of ``pnml fit``: whether to predict a number or a class."""

    regression = "regression"
    classification = "classification"


class WeightKind(StrEnum):
    """Option of ``pnml fit``: the meaning of row weights.

    `survey`: only their proportions count; `copies`: a weight is the number of copies of a row.
    """

    survey = "survey"
    copies = "copies"


class LearnerName(StrEnum):
    """Option of ``pnml fit``: names of the learners; `auto` tries several."""

    auto = "auto"
    pnml = "pnml"
    lpnml = "lpnml"
    ols = "ols"
    lpnml_l1 = "lpnml-l1"
    norm_ball = "norm-ball"
    kernel = "kernel"
    universal = "universal"
    conformal = "conformal"
    logistic = "logistic"
    refit = "refit"
    boosting = "boosting"
    boosting_classifier = "boosting-classifier"
    lightgbm = "lightgbm"
    lightgbm_classifier = "lightgbm-classifier"
    xgboost = "xgboost"
    catboost = "catboost"
    catboost_classifier = "catboost-classifier"


def fit(
    train: Annotated[
        str,
        typer.Argument(help="Table: file, folder, quoted glob, database, or - for standard input."),
    ],
    target: Annotated[str, typer.Option("--target", "-t", help="Column to predict.")],
    output: Annotated[str, typer.Option("--output", "-o", help="Model file.")] = "model.pnml",
    task: Annotated[
        Task | None, typer.Option(help="By default told by the target: words are classes.")
    ] = None,
    learner: Annotated[
        LearnerName,
        typer.Option(
            metavar="NAME",
            help="auto tries ridge, luckiness, boosting and kernel on rows left out; or one of: "
            + ", ".join(LearnerName),
        ),
    ] = LearnerName.auto,
    categorical: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN", help="Column of words, even if it looks otherwise; repeatable."
        ),
    ] = None,
    drop: Annotated[
        list[str] | None, typer.Option(metavar="COLUMN", help="Column to leave out; repeatable.")
    ] = None,
    id_columns: Annotated[
        list[str] | None,
        typer.Option(
            "--id",
            metavar="COLUMN",
            help="Column that names rows; shown, never learnt from; repeatable.",
        ),
    ] = None,
    weight: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Column of row weights.")
    ] = None,
    weight_kind: Annotated[
        WeightKind,
        typer.Option(help="survey: rows count once on average; copies: as often as weights say."),
    ] = WeightKind.survey,
    log_target: Annotated[
        bool, typer.Option("--log-target", help="Learn the logarithm of a positive target.")
    ] = False,
    skip_constant: Annotated[
        bool, typer.Option("--skip-constant", help="Not needed: such columns are left out anyway.")
    ] = False,
    skip_bad: Annotated[
        bool, typer.Option("--skip-bad", help="Leave out files that cannot be read to their end.")
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
    """Learn from a table and write a model file.

    Long tables leave what was counted so far in OUTPUT.part every minute. After a kill, the same
    command goes on from there.
    """
    from pnml.cli.console import print_json, print_words
    from pnml.readers import ReadOptions
    from pnml.tables.roles import Request

    request = Request(
        target=target,
        task=task and task.value,
        categorical=tuple(categorical or ()),
        drop=tuple(drop or ()),
        id=tuple(id_columns or ()),
        weight=weight,
        weight_kind=weight_kind.value,
        skip_constant=skip_constant,
        log_target=log_target,
    )
    gone = tuple(missing or ())
    options = ReadOptions(
        delimiter, encoding, gone, decimal, thousands, date_format, query, max_columns
    )
    start = time.perf_counter()
    model = fit_file(train, request, learner.value, output, options, skip_bad=skip_bad)
    seconds = time.perf_counter() - start
    if as_json:
        print_json(_document(model, output, seconds))
    else:
        print_words(*_words(model, output, seconds))


def fit_file(
    train: str,
    request: Request,
    learner: str,
    output: str,
    options: Any,
    *,
    skip_bad: bool = False,
) -> FittedTable:
    """Read the table `train`, fit a model, write it to the file `output`, and return it.

    `request` says which column is the target and what the others are for; `learner` is the name of
    a learner, or "auto"; `options` are `ReadOptions`. With `skip_bad`, unreadable files are left
    out.
    """
    from pnml.job.fit_table import fit_opened
    from pnml.readers import check_output, open_table

    spare = request.drop.__contains__
    with open_table(train, options, skip_bad=skip_bad, spare=spare) as table:
        check_output(output, table.files, endings=(".pnml",))
        model = fit_opened(table, request, learner, checkpoint=f"{output}.part")
    model.save(output)
    return model.fitted


def _words(model: FittedTable, output: str, seconds: float) -> list[Any]:
    from pnml.cli.console import grid, pairs
    from pnml.tables import describe

    lines: list[Any] = [pairs(describe.facts(model, DEFAULT_LEVEL))]
    if len(model.comparison) > 1:
        classes = model.target.task == "classification"
        headings = ["on rows left out", "log-loss", "wrong" if classes else "error (RMSE)"]
        headings.append("right" if classes else "R²")
        lines.append(
            grid(headings, [list(row) for row in describe.comparison(model)], frozenset({1, 2, 3}))
        )
    shown = [list(row) for row in describe.columns(model)]
    if len(shown) <= 40:
        lines.append(grid(["column", "role", ""], shown))
    lines += [*model.remarks, *describe.left_out(model)]
    lines.append(
        f"Read {model.rows:,} rows in {seconds:.1f} s ({model.rows / seconds:,.0f} a second) "
        f"and wrote {output}."
    )
    return lines


def _document(model: FittedTable, output: str, seconds: float) -> dict[str, Any]:
    from pnml.tables import describe

    return {
        "model": output,
        "seconds": round(seconds, 3),
        "rows_per_second": round(model.rows / seconds),
        **describe.document(model),
    }
