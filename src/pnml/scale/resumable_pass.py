"""One pass over the files of a table that can be interrupted and resumed, in bounded memory."""

from __future__ import annotations

import os
import warnings
from collections.abc import Collection
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa
from threadpoolctl import threadpool_limits

from pnml.core.statistic.exact_sum import Arrays, Document
from pnml.errors import InputError
from pnml.readers.file_pass import START, Broken, Ended, Mark, Read
from pnml.readers.table_source import TableSource
from pnml.runtime.checks import is_number, is_whole
from pnml.runtime.progress import FileProgress, watching
from pnml.scale.checkpoint import Checkpoint, LeftOutWarning, Stop

_MOST_THREADS = 8  # each holds a piece of the table
EVERY = 60.0  # seconds between two checkpoints


class Accumulator(Protocol):
    """Protocol of a statistic that a pass over the pieces of a table builds, and can resume."""

    def measured(self, batch: pa.RecordBatch, mark: Mark) -> Any:
        """The statistic of one piece, to pass to `add`; called in any thread, in any order.

        `mark` is the position of the piece: number of the file, and of the piece in it.
        """

    def add(self, measured: Any) -> None:
        """Add what `measured` returned for a piece; called in the order of the pieces."""

    def state(self) -> tuple[Document, Arrays]:
        """The sum so far as a JSON-ready dict and arrays by name, for a checkpoint."""

    def restore(self, document: Document, arrays: Arrays) -> None:
        """Continue from what `state` returned in an earlier pass."""


@dataclass(frozen=True)
class Plan:
    """Settings of a pass over files: checkpoint file, seconds between writes, threads, progress."""

    checkpoint: Path | None = None
    seconds: float = EVERY
    threads: int = 1
    progress: FileProgress = None

    @classmethod
    def of(
        cls,
        checkpoint: str | Path | None,
        seconds: float,
        threads: int | None,
        progress: FileProgress,
    ) -> Plan:
        """A plan from arguments of `fit_files`, checked; `seconds` is its `checkpoint_seconds`.

        `threads` None means one for each core, at most 8. Raises InputError for wrong arguments.
        """
        if not is_number(seconds, 0.0):
            raise InputError(
                f"checkpoint_seconds is {seconds!r}, but it is the time between two checkpoints; "
                "pass a number of 0 or more."
            )
        if threads is None:
            threads = min(_MOST_THREADS, _cores())
        if not is_whole(threads, 1):
            raise InputError(f"threads is {threads!r}, but there must be one; pass 1 or more.")
        path = None if checkpoint is None else Path(checkpoint)
        if path is not None and not os.path.isdir(path.parent):  # noqa: PTH112 - raises nothing
            raise InputError(f"There is no folder {path.parent} to write {path.name} to; make it.")
        return cls(path, float(seconds), int(threads), progress)


def accumulate(
    table: TableSource,
    schema: pa.Schema,
    accumulator: Accumulator,
    checkpoint: Checkpoint,
    stop: Stop | None,
    plan: Plan,
    *,
    numeric: Collection[str] = (),
) -> int:
    """Add all pieces of a table to `accumulator` in one pass; returns the number of rows in it.

    The pass begins at `stop`, where an earlier one was interrupted, or at the start where `stop` is
    None. Columns are read with the types of `schema`; in those named in `numeric`, text is refused.
    The table is always cut into the same pieces, which are added in the order of the files. The
    sums are therefore the same to the last bit, however often the pass is interrupted and resumed.
    Where bad files are skipped, no row of a bad file stays in the sums.
    """
    rows, mark = 0, START
    before = (0, accumulator.state())  # kept even if no file may be skipped: a later run may skip
    if stop is not None:
        _refuse_left_out(stop, table)
        checkpoint.take_up(stop, accumulator, table.schema.names)
        rows, mark, before = stop.rows, stop.mark, stop.before
        table.leave_out_named(stop.bad)
    passing = table.passing(
        schema, accumulator.measured, numeric=numeric, start=mark, workers=plan.threads
    )
    # each thread computes statistics of its own pieces; threads of BLAS would only disturb them
    with (
        threadpool_limits(1, "blas"),
        watching(plan.progress, "Counting", table.size, rows) as tell,
        closing(passing) as events,
    ):
        for event in events:
            if isinstance(event, Read):
                accumulator.add(event.result)
                rows += event.rows
                mark = Mark(event.mark.file, event.mark.pieces + 1)
                tell(event.done, rows)
            else:
                mark = Mark(event.file + 1)
            if isinstance(event, Broken):
                table.leave_out(event)
                rows = before[0]
                accumulator.restore(*before[1])
            if isinstance(event, Ended):
                before = (rows, accumulator.state())
            if checkpoint.due():
                now = accumulator.state()
                checkpoint.write(Stop(mark, rows, now, before, dict(table.bad), schema))
    return rows


def warn_of_bad(table: TableSource) -> None:
    """Warn about the files that a pass skipped since they could not be read, if there are any."""
    if table.bad:
        name, why = next(iter(table.bad.items()))
        others = f" (and {len(table.bad) - 1} more)" if len(table.bad) > 1 else ""
        reason = why if name in why else f"{name}: {why}"
        files = "file was" if len(table.bad) == 1 else "files were"
        warnings.warn(
            f"{len(table.bad)} {files} left out{others}: {reason}", LeftOutWarning, stacklevel=3
        )


def _refuse_left_out(stop: Stop, table: TableSource) -> None:
    """Raise where an earlier pass skipped bad files and this one may not skip any."""
    if stop.bad and not table.skips_bad:
        raise InputError(
            f"The pass that is to be taken up has left {next(iter(stop.bad))} out, since bad files "
            "were to be skipped; ask for that again, or delete the checkpoint to begin anew."
        )


def _cores() -> int:
    """Number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
