"""What a pass over files has come to, on disk, so that a killed one goes on where it was."""

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
    """A place in the files, and what was counted up to there."""

    mark: Mark
    rows: int
    now: State
    before: tuple[int, State]  # rows and state at the beginning of the file, to fall back to
    bad: dict[str, str]
    schema: pa.Schema


class Checkpoint:
    """A file that is written from time to time, and read where it is there at the beginning.

    `identity` says of what it is: files and columns. Without a path nothing is ever written.
    """

    def __init__(self, path: Path | None, identity: Document, seconds: float) -> None:
        self.path, self._seconds = path, seconds
        versions = {name: version(name) for name in ("pnml", "pyarrow", "numpy")}
        self._identity = json.loads(json.dumps(identity | {"versions": versions}))
        self._last = time.monotonic()

    def load(self) -> Stop | None:
        """Where an earlier pass has come to; None where there was none."""
        if self.path is None or not self.path.exists():
            return None
        try:
            document, arrays = unpack(self.path)
            if _KEY not in document:
                raise InputError("it is not one; name another file.")
            found = document[_KEY]
            self._refuse_other(found["identity"])
        except (InputError, OSError) as error:
            raise InputError(f"Cannot go on from the checkpoint {self.path}: {error}") from error
        rows_before, state_before = found["before"]
        return Stop(
            mark=Mark(*found["mark"]),
            rows=found["rows"],
            now=(found["now"], _named(arrays, "now")),
            before=(rows_before, (state_before, _named(arrays, "before"))),
            bad=found["bad"],
            schema=pa.ipc.read_schema(pa.py_buffer(bytes.fromhex(found["schema"]))),
        )

    def due(self) -> bool:
        """Whether it is time to write again."""
        return self.path is not None and time.monotonic() - self._last >= self._seconds

    def write(self, stop: Stop) -> None:
        """Put it on disk, whole or not at all."""
        if self.path is None:
            return
        found = {
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
            write_whole(self.path, pack({_KEY: found}, arrays))
        except OSError as error:
            raise InputError(
                f"Cannot write the checkpoint {self.path}: {error.strerror or error}; make room, "
                "or name another file."
            ) from error
        self._last = time.monotonic()

    def remove(self) -> None:
        """Take it from disk: what it was for is done."""
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
    """Of what is said about it: the first thing that is not the same."""
    if isinstance(theirs, dict) and isinstance(ours, dict):
        names = [name for name in {**ours, **theirs} if ours.get(name) != theirs.get(name)]
        return f" ({names[0]})"
    if isinstance(theirs, list) and isinstance(ours, list):
        strange = [item[0] for item in [*theirs, *ours] if item not in theirs or item not in ours]
        return f" ({strange[0]})" if strange else ""
    return ""
