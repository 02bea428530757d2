"""Resumable runs: finished pieces as JSON lines, and fingerprints of what they depend on."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pnml.errors import InputError
from pnml.runtime.atomic import write_whole


@dataclass(frozen=True)
class JournalKind:
    """Error sentences and key field of one kind of journal, a file of JSON lines.

    A sentence may hold ``{path}``; `unwritable` also ``{reason}``. Where `foreign` or `other` is
    None, the file is replaced by an empty journal instead of an error.
    """

    unwritable: str  # the file cannot be read or written
    foreign: str | None  # the file is no journal of this kind
    other: str | None  # a journal of this kind with another head
    key: str = "piece"  # field that holds the key of a piece
    finite: bool = True  # whether values with NaN or infinity are refused


class Journal:
    """Journal of values under keys, one JSON line each, so that a killed run can resume.

    Without a path the journal is in memory only. The first line is the head, which says what all
    values depend on. Each value is added in one write and brought to disk. A run that was killed
    leaves at most one incomplete line at the end, which is cut off.

    Parameters
    ----------
    path : the file; it need not exist
    head : the first line; a file with another one is refused or replaced
    kind : field names and error sentences

    >>> import tempfile
    >>> kind = JournalKind("{path}: {reason}", "{path} is no journal.", "{path} is of another run.")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     first = Journal(Path(folder, "log"), {"stamp": "a"}, kind).piece("sum", lambda: 1 + 1)
    ...     again = Journal(Path(folder, "log"), {"stamp": "a"}, kind).piece("sum", lambda: 0)
    >>> first, again
    (2, 2)
    """

    def __init__(
        self, path: str | os.PathLike[str] | None, head: Mapping[str, Any], kind: JournalKind
    ) -> None:
        self.path = None if path is None else Path(path)
        self._head, self._kind = dict(head), kind
        self._values: dict[str, Any] = {}
        if self.path is not None:
            try:
                self._open(self.path)
            except OSError as error:
                raise self._unwritable(error) from error

    def __contains__(self, key: str) -> bool:
        return key in self._values

    def piece(
        self, key: str, compute: Callable[[], Any], about: Mapping[str, Any] | None = None
    ) -> Any:
        """The value under this key, computed by `compute` and written if it is not known yet.

        Values are plain JSON, and the same whether they were computed now or in an earlier run.
        `about` is written beside the value for readers of the file.
        """
        if key not in self._values:
            value = json.loads(json.dumps(compute(), allow_nan=not self._kind.finite))
            self._add({self._kind.key: key, **(about or {}), "value": value})
            self._values[key] = value
        return self._values[key]

    def _add(self, record: dict[str, Any]) -> None:
        if self.path is None:
            return
        try:
            with self.path.open("ab", buffering=0) as file:
                left = memoryview(_line(record))
                while left:  # as a rule one write; a line without its end is cut off later
                    left = left[file.write(left) :]
                os.fsync(file.fileno())
        except OSError as error:
            raise self._unwritable(error) from error

    def _open(self, path: Path) -> None:
        """Read the values of an earlier run, or begin a new file."""
        text = path.read_bytes() if path.exists() else b""
        complete = text[: text.rfind(b"\n") + 1]
        head = _line(self._head)
        if not complete and head.startswith(text):  # new, empty, or killed within the head
            self._begin(path)
            return
        refusal, cause = self._kind.foreign, None
        try:
            first, *records = (json.loads(line) for line in complete.splitlines())
            values = {record[self._kind.key]: record["value"] for record in records}
            same_kind = isinstance(first, dict) and first.keys() == self._head.keys()
        except (ValueError, KeyError, TypeError) as error:
            same_kind, cause = False, error
        if same_kind and first == self._head:
            if complete != text:
                os.truncate(path, len(complete))
            self._values = values
            return
        if same_kind:
            refusal = self._kind.other
        if refusal is not None:
            raise InputError(refusal.format(path=path)) from cause
        self._begin(path)

    def _begin(self, path: Path) -> None:
        write_whole(path, [_line(self._head)])

    def _unwritable(self, error: OSError) -> InputError:
        reason = error.strerror or str(error)
        return InputError(self._kind.unwritable.format(path=self.path, reason=reason))


def _line(record: Mapping[str, Any]) -> bytes:
    return (json.dumps(record, ensure_ascii=False) + "\n").encode()
