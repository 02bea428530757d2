"""Write a table batch by batch; the file appears whole or not at all."""

from __future__ import annotations

import errno
import os
import shutil
import sys
import tempfile
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import BinaryIO

import pyarrow as pa

from pnml.errors import MOST_PATH, InputError, shorten
from pnml.readers.file_errors import listed
from pnml.readers.sinks import Sink, open_sink, refuse_no_text, sink_ending
from pnml.runtime.atomic import whole_file

_WAITING = 2  # batches
_FULL = {errno.ENOSPC, errno.EFBIG, errno.EDQUOT}


class TableWriter:
    """Writer of the batches of a table; see `table_writer`."""

    def __init__(
        self, path: str | Path, schema: pa.Schema | None, escape_formulas: bool = False
    ) -> None:
        self._name, self._ending, self._schema = str(path), sink_ending(path), schema
        self._escape = escape_formulas
        if escape_formulas:
            refuse_no_text(path)
        self._label = shorten(path, MOST_PATH)
        self._sink: Sink | None = None
        self._waiting: deque[Future[None]] = deque()
        self._stack = ExitStack()

    def __enter__(self) -> TableWriter:
        with _writing(self._name), ExitStack() as stack:
            self._file = stack.enter_context(_target(self._name))
            self._pool = stack.enter_context(ThreadPoolExecutor(1, "pnml-table"))
            if self._schema is not None:
                self._open(self._schema)
            self._stack = stack.pop_all()
        return self

    def write(self, batch: pa.RecordBatch) -> None:
        """Add the rows of a batch; all batches have the columns of the first."""
        with _writing(self._name):
            sink = self._sink or self._open(batch.schema)
            if batch.schema.names != sink.schema.names:
                raise InputError(
                    f"Rows for {self._label} have the columns {listed(batch.schema.names)}, but "
                    f"those before have {listed(sink.schema.names)}; write batches of one schema."
                )
            self._waiting.append(self._pool.submit(sink.write, batch))
            while len(self._waiting) > _WAITING:
                self._waiting.popleft().result()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is not None:
            self._abandon()
            self._stack.__exit__(kind, error, trace)
            return
        with _writing(self._name), self._stack:
            try:
                self._finish()
            except BaseException:
                self._abandon()
                raise

    def _open(self, schema: pa.Schema) -> Sink:
        self._sink = open_sink(
            self._file, self._ending, schema, self._name, escape_formulas=self._escape
        )
        return self._sink

    def _finish(self) -> None:
        while self._waiting:
            self._waiting.popleft().result()
        if self._sink is None:
            raise InputError(
                f"There are no rows to write to {self._label}; give a table with rows."
            )
        self._sink.close()

    def _abandon(self) -> None:
        self._pool.shutdown(wait=True, cancel_futures=True)
        if self._sink is not None:
            with suppress(Exception):  # the exception that led here is the one to raise
                self._sink.close()


def table_writer(
    path: str | Path, schema: pa.Schema | None = None, *, escape_formulas: bool = False
) -> TableWriter:
    """A writer of a table's batches to a file, in the format that its ending names.

    Use it in a ``with`` block. The file appears when the block ends without an exception;
    otherwise an old file stays as it was. ``"-"`` means CSV on standard output, which is written
    at the end. Categories are written as their values. A CSV file keeps no types, and an empty
    text in it reads as missing.

    Parameters
    ----------
    path : str or path
    schema : pyarrow.Schema
        Columns; by default those of the first batch.
    escape_formulas : bool, default=False
        Put an apostrophe before texts of a CSV file that a spreadsheet would take for formulas:
        those that begin with =, +, -, @, a tab or a carriage return.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with table_writer(Path(folder, "out.csv")) as writer:
    ...         writer.write(pa.record_batch({"x": [1, None], "ok": [True, False]}))
    ...     print(Path(folder, "out.csv").read_text())
    "x","ok"
    1,true
    ,false
    <BLANKLINE>
    """
    return TableWriter(path, schema, escape_formulas)


def check_output(
    path: str | Path, inputs: Iterable[Path], *, endings: tuple[str, ...] = ()
) -> None:
    """Raise InputError early if a table cannot or should not be written to a path.

    `inputs` are files to read, which must not be overwritten. The name must have one of the
    `endings`; by default those of tables.

    >>> check_output("-", [])
    """
    name, label = str(path), shorten(path, MOST_PATH)
    if endings and not name.lower().endswith(endings):
        raise InputError(f"{label} does not end in {' or '.join(endings)}; name it so.")
    if not endings:
        sink_ending(path)
    if name == "-":
        return
    path = Path(path)
    with _writing(name):
        if path.is_dir():
            raise InputError(f"{label} is a folder; name a file in it.")
        real = Path(os.path.realpath(path))  # where a link leads
        folder = shorten(real.parent if path.is_symlink() else path.parent, MOST_PATH)
        if not real.parent.is_dir():
            file = shorten(real.name, MOST_PATH)
            raise InputError(f"There is no folder {folder} to write {file} to; make it.")
        if not os.access(real.parent, os.W_OK | os.X_OK):
            raise InputError(
                f"The folder {folder} may not be written to by this user; choose another."
            )
        for other in inputs:
            if path.exists() and other.exists() and path.samefile(other):
                raise InputError(
                    f"{label} is one of the files to read ({shorten(other, MOST_PATH)}); choose "
                    "another name for what is written."
                )


@contextmanager
def _target(name: str) -> Iterator[BinaryIO]:
    """A file that takes its name, or is copied to standard output, at the end."""
    if name != "-":
        with whole_file(Path(name)) as file:
            yield file
        return
    # Rows already printed could not be taken back where the table has to be read again.
    with tempfile.TemporaryFile(prefix="pnml-") as spooled:
        yield spooled
        spooled.seek(0)
        shutil.copyfileobj(spooled, sys.stdout.buffer)
        sys.stdout.buffer.flush()


@contextmanager
def _writing(name: str) -> Iterator[None]:
    """Turn errors of writing a file into one sentence about it."""
    label = "standard output" if name == "-" else shorten(name, MOST_PATH)
    try:
        yield
    except BrokenPipeError:
        raise  # the reader of standard output has closed it
    except PermissionError as error:
        raise InputError(
            f"{label} may not be written by this user; choose another folder."
        ) from error
    except FileNotFoundError as error:
        raise InputError(f"There is no folder to write {label} to; make it.") from error
    except OSError as error:
        if error.errno in _FULL:
            raise InputError(
                f"There is no room to write {label} ({error.strerror}); free some or choose "
                "another disk."
            ) from error
        reason = error.strerror or str(error)
        raise InputError(f"{label} cannot be written ({reason}); check the path.") from error
