"""What a long run has finished, one line each, so that it can be taken up again."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from pnml.active.checks import as_array
from pnml.errors import InputError


class Log(Protocol):
    """Something that knows what was computed under a key, now or earlier; plain JSON values."""

    def piece(self, key: str, compute: Callable[[], Any]) -> Any:
        """The value of this key, computed where it is not known."""
        ...


class Forgetful:
    """A log that keeps nothing."""

    def piece(self, key: str, compute: Callable[[], Any]) -> Any:
        """What is computed."""
        return compute()


class LineLog:
    """A log in a file of JSON lines, the first of which says what they depend on.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     first = LineLog(Path(folder, "log"), "a").piece("sum", lambda: 1 + 1)
    ...     again = LineLog(Path(folder, "log"), "a").piece("sum", lambda: 0)
    >>> first, again
    (2, 2)
    """

    def __init__(self, path: Path, stamp: str) -> None:
        self._path = path
        self._pieces: dict[str, Any] = {}
        if path.exists() and path.stat().st_size > 0:
            self._read(stamp)
        else:
            self._write({"stamp": stamp})

    def piece(self, key: str, compute: Callable[[], Any]) -> Any:
        """The value of this key, computed and written where it is not known."""
        if key not in self._pieces:
            value = json.loads(json.dumps(compute(), allow_nan=False))
            self._write({"piece": key, "value": value})
            self._pieces[key] = value
        return self._pieces[key]

    def _write(self, record: dict[str, Any]) -> None:
        # one write of one line: what interrupts us leaves it whole or to be cut off
        line = (json.dumps(record, ensure_ascii=False) + "\n").encode()
        try:
            with self._path.open("ab", buffering=0) as file:
                file.write(line)
                os.fsync(file.fileno())
        except OSError as error:
            raise InputError(
                f"{self._path} cannot be written ({error.strerror}); name a file in a folder that "
                "is there."
            ) from error

    def _read(self, stamp: str) -> None:
        text = self._path.read_bytes()
        whole = text[: text.rfind(b"\n") + 1]
        try:
            lines = [json.loads(line) for line in whole.splitlines()]
            found = lines[0]["stamp"]
            pieces = {line["piece"]: line["value"] for line in lines[1:]}
        except (ValueError, KeyError, TypeError, IndexError) as error:
            raise InputError(
                f"{self._path} holds something else than the rounds of a learning curve; name "
                "another file."
            ) from error
        if found != stamp:
            raise InputError(
                f"{self._path} holds rounds of a run with other data or settings; name another "
                "file, or delete this one."
            )
        if whole != text:  # a line that was cut short
            os.truncate(self._path, len(whole))
        self._pieces = pieces


def fingerprint(*values: Any) -> str:
    """Digest of arrays, tensors and words.

    >>> fingerprint(np.zeros(3), "a") == fingerprint(np.zeros(3), "a")
    True
    >>> fingerprint(np.zeros(3)) == fingerprint(np.zeros((3, 1)))
    False
    """
    total = hashlib.sha256()
    for value in values:
        if isinstance(value, str):
            total.update(hashlib.sha256(value.encode()).digest())
            continue
        array = np.ascontiguousarray(as_array(value, "inputs"))
        head = f"{array.shape} {array.dtype}".encode()
        total.update(hashlib.sha256(head + array.tobytes()).digest())
    return total.hexdigest()
