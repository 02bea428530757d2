"""Checkpoints: resume an interrupted pass over files."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from pnml.core.statistic.exact_sum import Arrays, Document
from pnml.errors import InputError
from pnml.models.container import pack, unpack
from pnml.readers.file_pass import Mark
from pnml.runtime.atomic import write_whole

_KEY = "counted"

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
        if self.path is None or not self.path.exists():
            return None
        try:
            document, arrays = unpack(self.path)
            if _KEY not in document:
                raise InputError("it is not one; name another file.")
            stored = document[_KEY]
            self._refuse_other(stored["identity"])
        except (InputError, OSError) as error:
            raise InputError(f"Cannot go on from the checkpoint {self.path}: {error}") from error
        rows_before, state_before = stored["before"]
        return Stop(
            mark=Mark(*stored["mark"]),
            rows=stored["rows"],
            now=(stored["now"], _named(arrays, "now")),
            before=(rows_before, (state_before, _named(arrays, "before"))),
            bad=stored["bad"],
            schema=pa.ipc.read_schema(pa.py_buffer(bytes.fromhex(stored["schema"]))),
        )

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
                f"Cannot write the checkpoint {self.path}: {error.strerror or error}; make room, "
                "or name another file."
            ) from error
        self._last = time.monotonic()

    def remove(self) -> None:
        """Delete the checkpoint."""
        if self.path is not None:
            self.path.unlink(missing_ok=True)

    def _refuse_other(self, identity: Any) -> None:
        for what, ours in self._identity.items():
            theirs = identity.get(what)
            if theirs != ours:
                raise InputError(
                    f"it was made with other {what}{_first_difference(theirs, ours)}; delete it to "
                    "begin anew, or name another file."
                )


def _named(arrays: Arrays, part: str) -> Arrays:
    prefix = f"{part}."
    return {k.removeprefix(prefix): a for k, a in arrays.items() if k.startswith(prefix)}


def _first_difference(theirs: Any, ours: Any) -> str:
    """The name of the first entry that differs, in brackets."""
    if isinstance(theirs, dict) and isinstance(ours, dict):
        names = [name for name in {**ours, **theirs} if ours.get(name) != theirs.get(name)]
        return f" ({names[0]})"
    if isinstance(theirs, list) and isinstance(ours, list):
        differing = [item[0] for item in [*theirs, *ours] if item not in theirs or item not in ours]
        return f" ({differing[0]})" if differing else ""
    return ""
