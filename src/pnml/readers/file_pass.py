"""One pass over the files of a table, as a stream of events in order."""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator, Sequence
from contextlib import closing
from typing import Any, NamedTuple

import pyarrow as pa

from pnml.errors import InputError
from pnml.readers.common_schema import Part
from pnml.readers.expected import PLAIN, Expected
from pnml.readers.prefetch import prefetch


class Mark(NamedTuple):
    """Position in a pass over files: the first `file` files, and `pieces` of the next, are done."""

    file: int = 0
    pieces: int = 0


START = Mark()


class Read(NamedTuple):
    """Event of a pass over files: a piece was read, with the callback's result for its rows."""

    mark: Mark  # where it begins
    result: Any
    rows: int
    done: int  # bytes of all files up to here


class Ended(NamedTuple):
    """Event of a pass over files: the file with the index `file` was read to its end."""

    file: int


class Broken(NamedTuple):
    """Event of a pass over files: the file with the index `file` cannot be read to its end.

    `error` says why.
    """

    file: int
    error: InputError


class Wider(NamedTuple):
    """Found in a pass over files: CSV text whose cells do not fit the types asked for.

    `schema` has the types that `piece`, a block of rows of the file `part`, needs.
    """

    part: Part
    piece: Any
    schema: pa.Schema


class _Task(NamedTuple):
    mark: Mark
    piece: Any
    done: int


Event = Read | Ended | Broken
# Callback for the rows of a piece; it runs in any thread.
Then = Callable[[pa.RecordBatch, Mark], Any]


def events(
    parts: Sequence[Part],
    schema: pa.Schema,
    then: Then,
    *,
    workers: int,
    expected: Expected = PLAIN,
    start: Mark = START,
    without: Collection[int] = (),
    skip_bad: bool = False,
) -> Generator[Event, None, None]:
    """Events of a pass over files, in order; threads that read ahead call `then` on each piece.

    A piece is a batch of rows, the same in every pass over the same files. With `skip_bad` a file
    that cannot be read gives `Broken`, and the pass goes on after it; exceptions of `then` are
    always raised. Files with an index in `without` are left out.
    """

    def work(task: _Task | Ended | Broken) -> Event:
        if not isinstance(task, _Task):
            return task
        part = parts[task.mark.file]
        try:
            batch = part.converted(task.piece, schema, expected)
        except InputError as error:
            if not skip_bad:
                part.file.check_unchanged()
                raise
            return Broken(task.mark.file, error)
        if isinstance(batch, pa.Schema):
            return Read(task.mark, Wider(part, task.piece, batch), 0, task.done)
        return Read(task.mark, then(batch, task.mark), batch.num_rows, task.done)

    broken = -1
    tasks = _tasks(parts, start, without, skip_bad)
    with closing(prefetch(tasks, work, workers)) as results:
        for event in results:
            file = event.mark.file if isinstance(event, Read) else event.file
            if file != broken:
                yield event
            if isinstance(event, Broken):
                broken = file


def _tasks(
    parts: Sequence[Part], start: Mark, without: Collection[int], skip_bad: bool
) -> Generator[_Task | Ended | Broken, None, None]:
    """Pieces still to be converted; the thread of the prefetch draws them."""
    before = 0
    for file, part in enumerate(parts):
        if file >= start.file and file not in without:
            skip = start.pieces if file == start.file else 0
            try:
                part.file.check_unchanged()
                stream: Generator[Any, None, None] = part.pieces(skip)
                with closing(stream) as pieces:
                    for number, piece in enumerate(pieces, start=skip):
                        yield _Task(Mark(file, number), piece, before + piece.position)
                part.file.check_unchanged()
            except InputError as error:
                if not skip_bad:
                    part.file.check_unchanged()  # what was read may be odd because it changed
                    raise
                yield Broken(file, error)
            else:
                yield Ended(file)
        before += part.file.size
