"""Streams kept in a temporary file, since a table may have to be read twice."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import IO, BinaryIO

import pyarrow as pa

from pnml.errors import MOST_PATH, InputError, shorten
from pnml.runtime.temporary import path_of, sweep, temporary_name, unnamed_file

_OWN = 0o600  # what is read may not be for other users


@dataclass(frozen=True)
class Spool:
    """A temporary file; it has no name, but an open `handle`, where the system has such files."""

    path: Path
    handle: int | None

    @classmethod
    def new(cls) -> Spool:
        """An empty temporary file, in the system's folder for them."""
        folder = Path(tempfile.gettempdir())
        sweep(folder)
        handle = unnamed_file(folder, _OWN)
        if handle is not None:
            return cls(path_of(handle), handle)
        path = temporary_name(folder, "", "table")
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, _OWN))
        return cls(path, None)

    def remove(self) -> None:
        """Delete the temporary file, which frees its room on the disk; to be called once."""
        if self.handle is None:
            self.path.unlink(missing_ok=True)
        else:
            os.close(self.handle)


def spooled_bytes(stream: IO[bytes], name: str) -> Spool:
    """A temporary file with the bytes of a stream; `name` is that of the stream, for messages."""
    return _spooled(name, lambda file: shutil.copyfileobj(stream, file, 2**20))


def spooled_batches(schema: pa.Schema, batches: Iterable[pa.RecordBatch], name: str) -> Spool:
    """A temporary Arrow file with the rows of a stream; memory holds one batch at a time.

    `name` is that of the stream, for messages.
    """

    def write(file: BinaryIO) -> None:
        options = pa.ipc.IpcWriteOptions(compression="lz4")
        with pa.ipc.new_stream(file, schema, options=options) as writer:
            for batch in batches:
                writer.write_batch(batch)

    return _spooled(name, write)


def _spooled(name: str, write: Callable[[BinaryIO], object]) -> Spool:
    spool: Spool | None = None
    try:
        spool = Spool.new()
        with spool.path.open("wb") as file:
            write(file)
    except BaseException as error:
        if spool is not None:
            spool.remove()
        if isinstance(error, OSError) and error.errno is not None:
            raise InputError(
                f"{shorten(name, MOST_PATH)} cannot be kept in {tempfile.gettempdir()} "
                f"({error.strerror}); make room there or set TMPDIR to another folder."
            ) from error
        raise
    return spool
