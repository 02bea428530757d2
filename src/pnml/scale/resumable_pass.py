"""One resumable pass over the files of a table: in order, with threads, in bounded memory."""

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
    """A statistic that a resumable pass over a table builds, piece by piece."""

    def measured(self, batch: pa.RecordBatch, mark: Mark) -> Any:
        """The statistic of a piece; called in any thread, in any order."""

    def add(self, measured: Any) -> None:
        """Add the statistic of a piece; called in the order of the pieces."""

    def state(self) -> tuple[Document, Arrays]:
        """State needed to resume."""

    def restore(self, document: Document, arrays: Arrays) -> None:
        """Continue from a state that an earlier pass saved."""


@dataclass(frozen=True)
class Plan:
    """Settings of a resumable pass: checkpoints, threads and progress."""

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
        """A plan from the arguments of a user, checked."""
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
    """One resumable pass: number of rows that were added, from `stop` on if interrupted.

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
    """Warn about the files that a resumable pass left out."""
    if table.bad:
        name, why = next(iter(table.bad.items()))
        others = f" (and {len(table.bad) - 1} more)" if len(table.bad) > 1 else ""
        reason = why if name in why else f"{name}: {why}"
        files = "file was" if len(table.bad) == 1 else "files were"
        warnings.warn(
            f"{len(table.bad)} {files} left out{others}: {reason}", LeftOutWarning, stacklevel=3
        )


def _refuse_left_out(stop: Stop, table: TableSource) -> None:
    """Raise where an earlier pass has skipped files and this one may not."""
    if stop.bad and not table.skips_bad:
        raise InputError(
            f"The pass that is to be taken up has left {next(iter(stop.bad))} out, since bad files "
            "were to be skipped; ask for that again, or delete the checkpoint to begin anew."
        )


def _cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
