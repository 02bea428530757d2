"""Tables of numbers, words, dates and missing cells: what ``pnml fit`` does with long ones."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from pnml.core.statistic.exact_sum import Arrays, Document
from pnml.errors import InputError
from pnml.readers import Retyped, TableSource
from pnml.readers.file_pass import Mark
from pnml.runtime.progress import watching
from pnml.scale.checkpoint import Checkpoint
from pnml.scale.resume import Plan, count
from pnml.tables import table_statistic as tables
from pnml.tables.fitting import Job, first_look, fit_table, peek
from pnml.tables.model import TableModel
from pnml.tables.roles import Request, check_request


class _MixedCounting:
    """A table's own counting, which sees its batches in order: words are learnt on the way."""

    def __init__(self, inner: tables.Counting) -> None:
        self.inner = inner

    def measured(self, batch: pa.RecordBatch, mark: Mark) -> pa.RecordBatch:
        """The batch itself."""
        return batch

    def add(self, measured: pa.RecordBatch) -> None:
        """Count a batch."""
        self.inner.add(measured)

    def state(self) -> tuple[Document, Arrays]:
        """All that is to be known to go on from here."""
        return self.inner.state()

    def restore(self, document: Document, arrays: Arrays) -> None:
        """Go on from a state."""
        self.inner.restore(document, arrays)


def fit_mixed_table(table: TableSource, request: Request, learner: str, plan: Plan) -> TableModel:
    """The model of a table: in memory where it is short, else in one pass that can be taken up.

    The checkpoint, if there is one, is left for the caller to remove when the model is safe.
    """
    check_request(table.schema.names, request, table.name)
    words = [*request.categorical, *request.id]
    if request.task == "classification":
        words.append(request.target)
    identity = {"files": table.identity, "columns": _asked(request, learner)}
    checkpoint = Checkpoint(plan.checkpoint, identity, plan.seconds)
    stop = checkpoint.load()
    schema = table.wanted(text=words) if stop is None else stop.schema
    while True:
        try:
            look, more = table.read(_look, schema=schema)
            if look is None:
                raise InputError(f"{table.name} has no rows to learn from; give a table with some.")
            if not look.schema.equals(schema):  # told by a pass to the end, so there is one left
                schema, stop = look.schema, None
                checkpoint.remove()
            job = Job.of(look, request, learner, table.name)
            if not (more and job.streams):
                return _at_once(table, request, learner, schema, plan)
            inner = job.counting(look)
            count(table, schema, _MixedCounting(inner), checkpoint, stop, plan)
        except Retyped as news:
            schema, stop = news.schema, None
            checkpoint.remove()
        else:
            return job.counted(inner)


def _at_once(
    table: TableSource, request: Request, learner: str, schema: pa.Schema, plan: Plan
) -> TableModel:
    with watching(plan.progress, "Fitting", table.size) as tell:
        return table.read(
            lambda batches: fit_table(batches, request, learner, table.name),
            schema=schema,
            progress=lambda done, total: tell(done, 0),
        )


def _look(batches: Iterator[pa.RecordBatch]) -> tuple[pa.Table | None, bool]:
    """The first rows, and whether there are more."""
    look = first_look(batches)
    return look, look is not None and peek(batches) is not None


def _asked(request: Request, learner: str) -> dict[str, Any]:
    asked = {n: list(v) if isinstance(v, tuple) else v for n, v in vars(request).items()}
    return asked | {"learner": learner}
