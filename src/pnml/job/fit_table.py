"""A model of a table, from a data frame, files or a database."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from pnml.errors import InputError
from pnml.job.python_words import column_name, column_names, in_python_words
from pnml.job.table_model import TableModel
from pnml.readers import ReadOptions, TableSource, open_table
from pnml.runtime.progress import FileProgress
from pnml.scale import resumable_pass
from pnml.scale.mixed_files import fit_mixed_table
from pnml.scale.resumable_pass import Plan, warn_of_bad
from pnml.tables.learners import AUTO, LEARNERS
from pnml.tables.roles import COPIES, SURVEY, Request


def fit_table(
    data: Any,
    target: str | int,
    *,
    task: str | None = None,
    learner: str = "auto",
    categorical: str | Collection[str | int] = (),
    drop: str | Collection[str | int] = (),
    id_columns: str | Collection[str | int] = (),
    weight: str | int | None = None,
    weight_kind: str = "survey",
    log_target: bool = False,
    skip_bad: bool = False,
    checkpoint: str | Path | None = None,
    progress: FileProgress = None,
    options: ReadOptions | None = None,
    storage_options: Mapping[str, Any] | None = None,
) -> TableModel:
    """Fit a `TableModel` to a table of numbers, words, dates and gaps, as ``pnml fit`` does.

    Parameters
    ----------
    data : data frame, path, pattern or address
        A data frame of pandas, polars or pyarrow, anything with ``__arrow_c_stream__`` (a relation
        of DuckDB), a file or folder, a pattern such as ``"sales-*.csv"``, or a database such as
        ``"sqlite:///sales.db"``. It is not changed.
    target : str or int
        The column to predict; whole numbers name columns of a pandas frame.
    task : "regression" or "classification", optional
        By default words and two values are classes, and other numbers are amounts.
    learner : str, default="auto"
        A name that ``pnml fit --learner`` takes. ``"auto"`` compares ridge regression, luckiness,
        gradient boosting and, up to 2,000 rows, a kernel on rows left out, and keeps the best.
    categorical, drop, id_columns : names of columns
        Words even if they look otherwise; left out; names of rows, which are never learnt from.
    weight : str, optional
        A column of weights.
    weight_kind : "survey" or "copies", default="survey"
        Whether only the proportions of the weights count, or each weight is a number of copies.
    log_target : bool, default=False
        Learn the logarithm of a positive target, as suits prices and amounts.
    skip_bad : bool, default=False
        Leave out files that cannot be read to their end.
    checkpoint : path, optional
        Where a long pass over files keeps its state; the same call then goes on after a kill.
    progress : bool or callable, optional
        Show a bar, or call this with the bytes read and their number.
    options : pnml.readers.ReadOptions, optional
        How text is read: delimiter, encoding, decimal sign, dates; the query to a database.
    storage_options : mapping, optional
        Passed to the file system of remote files.

    Returns
    -------
    TableModel

    Examples
    --------
    >>> import pyarrow as pa
    >>> rows = pa.table({"size": [1.0, 2, 3, 4, 5, 6], "price": [2.1, 3.9, 6.2, 7.8, 10.1, 12.0]})
    >>> model = fit_table(rows, target="price", learner="pnml")
    >>> scored = model.score(pa.table({"size": [3.5, 90.0]}))
    >>> scored["trusted"].to_pylist()
    [True, False]
    """
    request = Request(
        target=column_name("target", target),
        task=task,
        categorical=column_names("categorical", categorical),
        drop=column_names("drop", drop),
        id=column_names("id_columns", id_columns),
        weight=None if weight is None else column_name("weight", weight),
        weight_kind=weight_kind,
        log_target=log_target,
    )
    if learner not in (AUTO, *LEARNERS):
        known = ", ".join(LEARNERS)
        raise InputError(f"learner is {learner!r}, which is not known; pass auto, {known}.")
    if task not in (None, "regression", "classification"):
        raise InputError(f"task is {task!r}; pass 'regression', 'classification' or None.")
    if weight_kind not in (SURVEY, COPIES):
        raise InputError(f"weight_kind is {weight_kind!r}; pass {SURVEY!r} or {COPIES!r}.")
    with (
        in_python_words(),
        open_table(
            data,
            options,
            skip_bad=skip_bad,
            access=storage_options,
            spare=request.drop.__contains__,
        ) as table,
    ):
        return fit_opened(table, request, learner, checkpoint=checkpoint, progress=progress)


def fit_opened(
    table: TableSource,
    request: Request,
    learner: str,
    *,
    checkpoint: str | Path | None = None,
    progress: FileProgress = None,
) -> TableModel:
    """Fit a `TableModel` to a table that is open already, as `fit_table` does.

    `request` says which column is the target and what the others are for; `learner` is the name of
    a learner, or "auto". With `checkpoint`, a path, an interrupted fit to files can be resumed.
    """
    # a pipe cannot be read again, and what is read from a database may have changed
    plan = Plan.of(None if table.is_temporary else checkpoint, resumable_pass.EVERY, None, progress)
    fitted = fit_mixed_table(table, request, learner, plan)
    warn_of_bad(table)
    return TableModel(fitted, plan.checkpoint)
