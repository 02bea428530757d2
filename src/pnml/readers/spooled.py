"""Streams kept in a temporary file, since a table may have to be read twice."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import pyarrow as pa

from pnml.errors import MOST_PATH, InputError, shorten


def spooled_bytes(stream: IO[bytes], name: str) -> Path:
    """Path of a temporary file with the bytes of a stream."""
    with _temporary(name) as path, path.open("wb") as file:
        shutil.copyfileobj(stream, file, 2**20)
    return path


def spooled_batches(schema: pa.Schema, batches: Iterable[pa.RecordBatch], name: str) -> Path:
    """Path of a temporary Arrow file with the rows of a stream, in the memory of one batch."""
    options = pa.ipc.IpcWriteOptions(compression="lz4")
    with (
        _temporary(name) as path,
        path.open("wb") as file,
        pa.ipc.new_stream(file, schema, options=options) as writer,
    ):
        for batch in batches:
            writer.write_batch(batch)
    return path


@contextmanager
def _temporary(name: str) -> Iterator[Path]:
    handle, place = tempfile.mkstemp(prefix="pnml-", suffix=".table")
    os.close(handle)
    path = Path(place)
    try:
        yield path
    except BaseException as error:
        path.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.errno is not None:
            raise InputError(
                f"{shorten(name, MOST_PATH)} cannot be kept in {path.parent} ({error.strerror}); "
                "make room there or set TMPDIR to another folder."
            ) from error
        raise
