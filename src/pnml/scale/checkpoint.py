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
    """A position in a pass over files, and the state of the statistic there, to resume from."""

    mark: Mark
    rows: int
    now: State
    before: tuple[int, State]  # rows and state at the beginning of the current file
    bad: dict[str, str]
    schema: pa.Schema


@dataclass(frozen=True)
class _StoredStop:
    """The fields of a Stop in the JSON document of a checkpoint; its arrays are stored apart."""

    identity: dict[str, Any]
    mark: list[Annotated[int, COUNT]]
    rows: Annotated[int, COUNT]
    now: dict[str, Any]
    before: list[Any]  # rows, and the state
    bad: dict[str, str]
    schema: str  # of arrow, in hexadecimal

    def stop(self, arrays: Arrays) -> Stop:
        """The Stop with its arrays; raises InputError where fields are wrong."""
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
    """Whether a stored state has the same keys and types as the state of an empty statistic."""
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
    """Category of warnings about what a pass over files left out.

    That is rows without a label, or with `skip_bad` files that cannot be read. The same category
    tells that the checkpoint of a finished pass cannot be deleted.
    """


class Checkpoint:
    """The checkpoint file of a pass over files, rewritten every `seconds`; see `fit_files`.

    `identity` describes the files and columns, as a dict for JSON; a checkpoint with another
    identity is refused. Without a path, nothing is written.
    """

    def __init__(self, path: Path | None, identity: Document, seconds: float) -> None:
        self.path, self._seconds = path, seconds
        versions = {name: version(name) for name in ("pnml", "pyarrow", "numpy")}
        self._identity = json.loads(json.dumps(identity | {"versions": versions}))
        self._last = time.monotonic()

    def load(self) -> Stop | None:
        """The Stop where an earlier pass was interrupted, or None if there is no checkpoint."""
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
        """Bring `accumulator`, a new statistic, to the state of an earlier pass at `stop`.

        `columns` are those of the table. Raises InputError where the stored state does not fit.
        """
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
        """Context that turns errors about the file into errors that name the checkpoint."""
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
        """Whether `seconds` have passed since the checkpoint was last written."""
        return self.path is not None and time.monotonic() - self._last >= self._seconds

    def write(self, stop: Stop) -> None:
        """Write a Stop to the checkpoint file, whole or not at all."""
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
        """Delete the checkpoint file, since its sums were read with other column types."""
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
    """Delete the checkpoint of a finished pass, if `path` is given; warns where that fails."""
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
    """The first entry that differs between two identities, in brackets, for a message."""
    if isinstance(theirs, dict) and isinstance(ours, dict):
        missing = object()  # an entry of None differs from one that is not there
        names = (n for n in {**ours, **theirs} if ours.get(n, missing) != theirs.get(n, missing))
        return f" ({shorten(next(names))})"
    if isinstance(theirs, list) and isinstance(ours, list):
        other = [item for item in [*theirs, *ours] if item not in theirs or item not in ours]
        return (
            f" ({shorten(other[0][0])})"
            if other and isinstance(other[0], list) and other[0]
            else ""
        )
    return ""
