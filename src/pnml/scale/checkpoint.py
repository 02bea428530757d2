"""Checkpoints: resume an interrupted pass over files."""

from __future__ import annotations

import json
import time
import warnings
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pyarrow as pa

from pnml.core.conditions import COUNT
from pnml.core.statistic.exact_sum import Arrays, Document
from pnml.errors import MOST_PATH, InputError, shorten
from pnml.models.container import pack, unpack
from pnml.models.stored_record import read_record
from pnml.readers.file_pass import Mark
from pnml.runtime.atomic import write_whole

_KEY = "counted"

_ANEW = "delete it to begin anew"
_LARGEST = float(np.finfo(np.float64).max)
# What a state raises that is made otherwise than the statistic writes it.
_ODD = (KeyError, IndexError, TypeError, ValueError, AttributeError, OverflowError)

State = tuple[Document, Arrays]


@dataclass(frozen=True)
class Stop:
    """A place in the files where a checkpoint was made, and the state of the statistic there."""

    mark: Mark
    rows: int
    now: State
    before: tuple[int, State]  # rows and state at the beginning of the current file
    bad: dict[str, str]
    schema: pa.Schema


@dataclass(frozen=True)
class _StoredStop:
    """What the file of a checkpoint says of a stop, beside the arrays."""

    identity: dict[str, Any]
    mark: list[Annotated[int, COUNT]]
    rows: Annotated[int, COUNT]
    now: dict[str, Any]
    before: list[Any]  # rows, and the state
    bad: dict[str, str]
    schema: str  # of arrow, in hexadecimal

    def stop(self, arrays: Arrays) -> Stop:
        """The stop with its arrays; raises where it is not whole."""
        try:
            rows, state = self.before
            return Stop(
                mark=Mark(*self.mark),
                rows=self.rows,
                now=(self.now, _named(arrays, "now")),
                before=(rows, (state, _named(arrays, "before"))),
                bad=self.bad,
                schema=pa.ipc.read_schema(pa.py_buffer(bytes.fromhex(self.schema))),
            )
        except (*_ODD, pa.ArrowException) as error:
            raise InputError(f"what it says of the files is not whole; {_ANEW}") from error


def _whole(described: Any) -> _StoredStop:
    try:
        return read_record(_StoredStop, described, {})
    except InputError as error:
        raise InputError(f"{error}; {_ANEW}") from error


def _is_like(fresh: Any, stored: Any) -> bool:
    """Whether a stored state is made as that of a statistic without rows is."""
    if isinstance(fresh, dict) and isinstance(stored, dict) and fresh:
        return fresh.keys() == stored.keys() and all(_is_like(fresh[k], stored[k]) for k in fresh)
    if isinstance(fresh, list) and isinstance(stored, list):
        same = len(fresh) == len(stored)
        return not same or all(map(_is_like, fresh, stored))
    if isinstance(fresh, bool) or isinstance(stored, bool):
        return type(fresh) is type(stored)
    if fresh is None and stored is None:  # a number that is not known yet
        return True
    if fresh is None or isinstance(fresh, int | float):
        return isinstance(stored, int | float) and abs(stored) < _LARGEST
    return isinstance(stored, type(fresh))


class LeftOutWarning(UserWarning):
    """Rows or files were left out of a resumable pass, or a file was left behind, and why."""


class Checkpoint:
    """Checkpoint of a pass over files, written now and then; if it exists, the pass resumes.

    `identity` names its files and columns. Without a path, nothing is written.
    """

    def __init__(self, path: Path | None, identity: Document, seconds: float) -> None:
        self.path, self._seconds = path, seconds
        versions = {name: version(name) for name in ("pnml", "pyarrow", "numpy")}
        self._identity = json.loads(json.dumps(identity | {"versions": versions}))
        self._last = time.monotonic()

    def load(self) -> Stop | None:
        """Where an earlier pass stopped, or None without one."""
        if self.path is None:
            return None
        with self._going_on():
            if not self.path.exists():
                return None
            document, arrays = unpack(self.path)
            if _KEY not in document:
                raise InputError("it is not one; name another file.")
            stored = _whole(document[_KEY])
            self._refuse_other(stored.identity)
            return stored.stop(arrays)

    def take_up(self, stop: Stop, accumulator: Any, columns: Collection[str]) -> None:
        """Bring a statistic to where an earlier pass stopped; raises where that cannot be."""
        with self._going_on():
            if not set(stop.schema.names) <= set(columns):
                raise InputError(f"its columns are not those of the table; {_ANEW}")
            fresh = json.loads(json.dumps(accumulator.state()[0]))
            for state in (stop.before[1], stop.now):  # the last one stays
                if not _is_like(fresh, state[0]):
                    raise InputError(f"what it has counted is not whole; {_ANEW}")
                try:
                    accumulator.restore(*state)
                except InputError as error:
                    raise InputError(f"{error}; {_ANEW}") from error
                except _ODD as error:
                    raise InputError(f"what it has counted is not whole; {_ANEW}") from error

    @contextmanager
    def _going_on(self) -> Iterator[None]:
        """Errors about the file say that it is the checkpoint."""
        label = shorten(self.path, MOST_PATH)
        try:
            yield
        except InputError as error:
            why = str(error).rstrip(".")
            raise InputError(f"Cannot go on from the checkpoint {label}: {why}.") from error
        except OSError as error:
            why = error.strerror or str(error)
            raise InputError(
                f"Cannot go on from the checkpoint {label}: {why}; {_ANEW}."
            ) from error

    def due(self) -> bool:
        """Whether it is time to write again."""
        return self.path is not None and time.monotonic() - self._last >= self._seconds

    def write(self, stop: Stop) -> None:
        """Write the checkpoint, whole or not at all."""
        if self.path is None:
            return
        stored = {
            "identity": self._identity,
            "mark": list(stop.mark),
            "rows": stop.rows,
            "now": stop.now[0],
            "before": [stop.before[0], stop.before[1][0]],
            "bad": stop.bad,
            "schema": stop.schema.serialize().to_pybytes().hex(),
        }
        held = (("now", stop.now[1]), ("before", stop.before[1][1]))
        arrays = {
            f"{w}.{n}": np.ascontiguousarray(a) for w, named in held for n, a in named.items()
        }
        try:
            write_whole(self.path, pack({_KEY: stored}, arrays))
        except OSError as error:
            raise InputError(
                f"Cannot write the checkpoint {shorten(self.path, MOST_PATH)}: "
                f"{error.strerror or error}; make room, or name another file."
            ) from error
        self._last = time.monotonic()

    def remove(self) -> None:
        """Delete the checkpoint, since what it holds does not count."""
        if self.path is None:
            return
        try:
            self.path.unlink(missing_ok=True)
        except OSError as error:
            raise InputError(_undeleted(self.path, error)) from error

    def _refuse_other(self, identity: Any) -> None:
        for what, ours in self._identity.items():
            theirs = identity.get(what)
            if theirs != ours:
                raise InputError(
                    f"it was made with other {what}{_first_difference(theirs, ours)}; delete it to "
                    "begin anew, or name another file."
                )


def remove_finished(path: Path | None) -> None:
    """Delete the checkpoint of a pass that has ended; a warning says where that fails."""
    try:
        if path is not None:
            path.unlink(missing_ok=True)
    except OSError as error:
        warnings.warn(_undeleted(path, error), LeftOutWarning, stacklevel=3)


def _undeleted(path: Path | None, error: OSError) -> str:
    label = shorten(path, MOST_PATH)
    return f"The checkpoint {label} cannot be deleted ({error.strerror or error}); delete it."


def _named(arrays: Arrays, part: str) -> Arrays:
    prefix = f"{part}."
    return {k.removeprefix(prefix): a for k, a in arrays.items() if k.startswith(prefix)}


def _first_difference(theirs: Any, ours: Any) -> str:
    """The name of the first entry that differs, in brackets."""
    if isinstance(theirs, dict) and isinstance(ours, dict):
        names = [name for name in {**ours, **theirs} if ours.get(name) != theirs.get(name)]
        return f" ({shorten(names[0])})"
    if isinstance(theirs, list) and isinstance(ours, list):
        other = [item for item in [*theirs, *ours] if item not in theirs or item not in ours]
        return (
            f" ({shorten(other[0][0])})"
            if other and isinstance(other[0], list) and other[0]
            else ""
        )
    return ""
