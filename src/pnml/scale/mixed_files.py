"""Fit models to files of numbers, words, dates and missing cells, as ``pnml fit`` does."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pyarrow as pa

from pnml.core.statistic.exact_sum import Arrays, Document
from pnml.errors import MOST_PATH, InputError, shorten
from pnml.models.stored_record import checked
from pnml.readers import ReadOptions, Retyped, TableSource, open_table
from pnml.readers.file_pass import Mark
from pnml.runtime.checks import is_whole
from pnml.runtime.progress import FileProgress, watching
from pnml.scale.checkpoint import Checkpoint, remove_finished
from pnml.scale.resumable_pass import EVERY, Plan, accumulate, warn_of_bad
from pnml.tables.fitted_table import FittedTable
from pnml.tables.fitting import Job, first_look
from pnml.tables.roles import SURVEY, Request, check_request
from pnml.tables.sampling import uniform_rows
from pnml.tables.table_statistic import TableStatistic


def fit_mixed_files(
    source: str | Path,
    target: str,
    *,
    learner: str = "auto",
    categorical: Collection[str] = (),
    drop: Collection[str] = (),
    id_columns: Collection[str] = (),
    weight: str | None = None,
    weight_kind: str = SURVEY,
    skip_constant: bool = False,
    skip_bad: bool = False,
    checkpoint: str | Path | None = None,
    checkpoint_seconds: float = EVERY,
    threads: int | None = None,
    progress: FileProgress = None,
    options: ReadOptions | None = None,
    storage_options: Mapping[str, Any] | None = None,
) -> FittedTable:
    r"""Fit a model to files of numbers, words, dates and missing cells, as ``pnml fit`` does.

    Scales of numbers, one-hot columns and fill values of missing cells come from the same pass as
    the sums. Files of up to 100,000 rows are fitted in memory, to full accuracy. Learners that need
    the rows themselves are fitted in memory to a sample of longer files.

    Parameters
    ----------
    source, target, skip_bad, threads, progress : as in `fit_files`
    checkpoint, checkpoint_seconds, options, storage_options : as in `fit_files`
    learner : "auto", "pnml", "lpnml", "ols" or another name that ``pnml fit --learner`` takes
    categorical, drop, id_columns, skip_constant : as the options of ``pnml fit``
    weight : column of row weights, or None
    weight_kind : "survey" scales the weights to sum to the number of rows, "copies" counts each
        row as often as its weight says

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "a.csv").write_text("x,c,y\n1,u,1\n2,v,2\n4,u,5\n5,v,5\n7,u,8\n")
    ...     model = fit_mixed_files(folder, target="y", learner="pnml")
    >>> model.encoder.names, model.rows
    (('x', 'c'), 5)
    """
    plan = Plan.of(checkpoint, checkpoint_seconds, threads, progress)
    request = Request(
        target=target,
        categorical=tuple(categorical),
        drop=tuple(drop),
        id=tuple(id_columns),
        weight=weight,
        weight_kind=weight_kind,
        skip_constant=skip_constant,
    )
    with open_table(
        source, options, skip_bad=skip_bad, access=storage_options, spare=request.drop.__contains__
    ) as table:
        model = fit_mixed_table(table, request, learner, plan)
        warn_of_bad(table)
    remove_finished(plan.checkpoint)
    return model


def fit_mixed_table(table: TableSource, request: Request, learner: str, plan: Plan) -> FittedTable:
    """The fitted model of an open table with mixed columns, as `fit_mixed_files` makes it.

    `request` gives the roles of columns, `learner` is the name of a learner or "auto". A short
    table is fitted in memory, a long one in one resumable pass. The caller removes the checkpoint,
    if there is one, once the model is saved.
    """
    check_request(table.schema.names, request, table.name)
    words = [*request.categorical, *request.id, *request.drop]
    if request.task == "classification":
        words.append(request.target)
    identity = {"files": table.identity, "columns": _columns_asked(request, learner)}
    checkpoint = Checkpoint(plan.checkpoint, identity, plan.seconds)
    stop = checkpoint.load()
    schema = table.wanted(text=words) if stop is None else stop.schema
    while True:
        try:
            job, look, model = _first_pass(table, request, learner, schema, plan)
            if model is not None:
                return model
            if not look.schema.equals(schema):  # the look has read to the end, so the schema holds
                schema, stop = look.schema, None
                checkpoint.remove()
            statistic = job.statistic(look)
            accumulate(table, schema, _InOrder(statistic), checkpoint, stop, plan)
            sample = _sample(table, schema, job.most_sampled)
        except Retyped as news:
            schema, stop = news.schema, None
            checkpoint.remove()
        else:
            return job.from_statistic(statistic, sample)


def _sample(table: TableSource, schema: pa.Schema, rows: int) -> pa.Table | None:
    """A uniform sample of at most `rows` rows, or None where `rows` is 0."""
    if not rows:
        return None
    sample, _ = table.read(lambda batches: uniform_rows(batches, rows), schema=schema)
    return sample


def _first_pass(
    table: TableSource, request: Request, learner: str, schema: pa.Schema, plan: Plan
) -> tuple[Job, pa.Table, FittedTable | None]:
    """The job (columns and learners), the first rows, and the model if it was fitted in memory.

    A long table whose rows add up is read only as far as its first rows. All others are read once,
    to their end; only then is progress shown, from the beginning.
    """
    early: list[int] = []  # bytes read before it is known whether to show them
    shown: list[Callable[[int, int], None]] = []

    def progress(done: int, _: int) -> None:
        if shown:
            shown[0](done, 0)
        else:
            early.append(done)

    def begin(batches: Iterator[pa.RecordBatch]) -> tuple[Job, pa.Table, FittedTable | None]:
        look, rest = first_look(batches)
        if look is None:
            raise InputError(
                f"{shorten(table.name, MOST_PATH)} has no rows to learn from; give a table with "
                "some."
            )
        job = Job.of(look, request, learner, table.name)
        if rest is not None and job.streams:
            return job, look, None
        if not shown:
            shown.append(stack.enter_context(watching(plan.progress, "Fitting", table.size)))
            for done in early:
                progress(done, 0)
        return job, look, job.in_memory(look, rest)

    with ExitStack() as stack:
        return table.read(begin, schema=schema, progress=progress)


class _InOrder:
    """Accumulator of a table's statistic; it reads pieces in order, since it learns their words."""

    def __init__(self, statistic: TableStatistic) -> None:
        self._statistic = statistic

    def measured(self, batch: pa.RecordBatch, mark: Mark) -> pa.RecordBatch:
        """The piece itself: the work is done in `add`."""
        return batch

    def add(self, measured: pa.RecordBatch) -> None:
        """Add a piece to the statistic."""
        self._statistic.add(measured)

    def state(self) -> tuple[Document, Arrays]:
        """The statistic so far as a JSON-ready dict and arrays by name, for a checkpoint."""
        return self._statistic.state()

    def restore(self, document: Document, arrays: Arrays) -> None:
        """Continue from what `state` returned in an earlier pass; raises if that is wrong."""
        statistic = self._statistic
        statistic.restore(document, arrays)
        checked(statistic.total)
        width = len(statistic.total.high.x_mean)
        places = [p for column in statistic.builder.columns for p in column.places_kept]
        inside = all(is_whole(place, 0) and place < width for place in places)
        counted = all(is_whole(rows, 1) for _, rows in document["builder"]["patterns"])
        if statistic.builder.width != width or not inside or not counted:
            raise InputError("its columns are not those of its sums")


def _columns_asked(request: Request, learner: str) -> dict[str, Any]:
    asked = {n: list(v) if isinstance(v, tuple) else v for n, v in vars(request).items()}
    return asked | {"learner": learner}
