"""A file layer that counts calls on files, and lets the n-th one fail, fall short or take long.

Python's own files, the calls of `os` that the library makes, and the files that pyarrow opens go
through it, as far as they lie in the folders that are watched.
"""

from __future__ import annotations

import builtins
import errno
import io
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pyarrow as pa
import pyarrow.parquet

_SECONDS = 0.02  # of a delay
# Calls of os by the place of the path or the handle among their arguments.
_CALLS = {
    "open": 0,
    "fsync": 0,
    "stat": 0,
    "fstat": 0,
    "scandir": 0,
    "unlink": 0,
    "truncate": 0,
    "fchmod": 0,
    "access": 0,
    "replace": 1,
    "link": 1,
}
WRITING = {"create", "write", "fsync", "truncate", "replace", "link"}


@dataclass
class Fault:
    """What happens at the n-th call: an error, half of the bytes, a cut file or a delay."""

    kind: str
    number: int

    @property
    def lasts(self) -> bool:
        """Whether all calls after the n-th fail, too."""
        return self.kind in ("full disk", "lost disk")

    def applies(self, call: str) -> bool:
        """Whether such a call can meet this fault."""
        if self.kind in ("ENOSPC", "full disk"):
            return call in WRITING
        if self.kind == "short":
            return call in ("read", "write")
        return call == "read" if self.kind == "cut" else True

    def error(self) -> OSError | None:
        """The error that the call raises."""
        codes = {"ENOSPC": errno.ENOSPC, "full disk": errno.ENOSPC}
        codes |= {"EIO": errno.EIO, "lost disk": errno.EIO}
        code = codes.get(self.kind)
        return None if code is None else OSError(code, os.strerror(code))


KINDS = ("ENOSPC", "EIO", "full disk", "lost disk", "short", "cut", "delay")


@dataclass
class Layer:
    """The file layer: which folders it watches, the calls so far, and the fault."""

    folders: tuple[Path, ...]
    fault: Fault | None = None
    calls: list[str] = field(default_factory=list)
    struck: bool = False

    def __post_init__(self) -> None:
        self._lock, self._fstat, self._truncate = threading.Lock(), os.fstat, os.truncate
        self._below = tuple(f"{os.path.realpath(folder)}/" for folder in self.folders)

    def watches(self, file: Any) -> bool:
        """Whether a path or a handle is of a file in one of the folders, or of a folder."""
        return self.place(file) is not None

    def place(self, file: Any) -> str | None:
        """The path of a watched file."""
        if isinstance(file, int):
            try:
                path = str(Path(f"/proc/self/fd/{file}").readlink())
            except OSError:
                return None
        elif isinstance(file, str | os.PathLike):
            path = os.path.abspath(os.fspath(file))  # noqa: PTH100 - follows no link
        else:
            return None
        return path if f"{path}/".startswith(self._below) else None

    def call(self, name: str, path: str) -> bool:
        """Count a call; raises at the n-th, or says whether it gets half of its bytes only."""
        with self._lock:
            self.calls.append(name)
            fault, number = self.fault, len(self.calls)
        if fault is None or not fault.applies(name):
            return False
        if number != fault.number and not (fault.lasts and number > fault.number):
            return False
        self.struck = True
        error = fault.error()
        if error is not None:
            error.filename = path
            raise error
        if fault.kind == "delay":
            time.sleep(_SECONDS)
        if fault.kind == "cut" and os.path.isfile(path):  # noqa: PTH113
            self._truncate(path, os.path.getsize(path) // 2)  # noqa: PTH202
        return fault.kind == "short"


class _Raw(io.FileIO):
    """A file without buffer whose reads and writes are counted."""

    def __init__(self, layer: Layer, path: str, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._layer, self._path = layer, path

    def readinto(self, buffer: Any) -> int:
        view = memoryview(buffer).cast("B")
        if self._layer.call("read", self._path) and len(view) > 1:
            view = view[: len(view) // 2]
        return super().readinto(view)

    def read(self, size: int = -1) -> bytes:
        if size is None or size < 0:
            return self.readall()
        data = bytearray(size)
        return bytes(data[: self.readinto(data)])

    def readall(self) -> bytes:
        pieces = []
        while piece := self.read(2**16):
            pieces.append(piece)
        return b"".join(pieces)

    def write(self, data: Any) -> int:
        view = memoryview(data).cast("B")
        if self._layer.call("write", self._path) and len(view) > 1:
            view = view[: len(view) // 2]
        return super().write(view)

    def truncate(self, size: int | None = None) -> int:
        self._layer.call("truncate", self._path)
        return super().truncate(size)


def _opener(layer: Layer, real: Callable[..., Any]) -> Callable[..., Any]:
    def opened(
        file: Any,
        mode: str = "r",
        buffering: int = -1,
        encoding: Any = None,
        errors: Any = None,
        newline: Any = None,
        closefd: bool = True,
        opener: Any = None,
    ) -> Any:
        path = layer.place(file)
        if path is None:
            return real(file, mode, buffering, encoding, errors, newline, closefd, opener)
        if not isinstance(file, int):
            layer.call("create" if set(mode) & set("wxa") else "open", path)
        plain = mode.replace("b", "").replace("t", "")
        raw = _Raw(layer, path, file, plain, closefd=closefd, opener=opener)
        if buffering == 0:
            return raw
        size = buffering if buffering > 1 else io.DEFAULT_BUFFER_SIZE
        kind = io.BufferedRandom if "+" in mode else io.BufferedReader
        if "+" not in mode and "r" not in mode:
            kind = io.BufferedWriter
        buffered = kind(raw, size)
        if "b" in mode:
            return buffered
        return io.TextIOWrapper(buffered, encoding, errors, newline)

    return opened


def _counted(layer: Layer, name: str, place: int, real: Callable[..., Any]) -> Callable[..., Any]:
    def call(*arguments: Any, **options: Any) -> Any:
        path = layer.place(arguments[place]) if len(arguments) > place else None
        if path is not None:
            creates = name == "open" and len(arguments) > 1 and arguments[1] & os.O_ACCMODE
            layer.call("create" if creates else name, path)
        return real(*arguments, **options)

    return call


@contextmanager
def faulty(layer: Layer) -> Iterator[Layer]:
    """Let everything that the library does with files go through a layer."""
    opened = _opener(layer, io.open)
    parquet = pyarrow.parquet.ParquetFile

    def arrow_file(path: str) -> Any:
        return pa.PythonFile(opened(path, "rb"), mode="r")

    def parquet_file(source: Any, *arguments: Any, **options: Any) -> Any:
        named = isinstance(source, str | os.PathLike)
        return parquet(opened(source, "rb") if named else source, *arguments, **options)

    changed = [patch.object(io, "open", opened), patch.object(builtins, "open", opened)]
    changed += [patch.object(pa, "OSFile", arrow_file)]
    changed += [patch.object(pyarrow.parquet, "ParquetFile", parquet_file)]
    for name, place in _CALLS.items():
        changed.append(patch.object(os, name, _counted(layer, name, place, getattr(os, name))))
    for one in changed:
        one.start()
    try:
        yield layer
    finally:
        for one in reversed(changed):
            one.stop()
